//! The page of `tiller serve` in headless Chromium. Skipped, with a word, where there is none.

mod browser;

use std::io::Write as _;

use serde_json::{Value, json};

use super::sandbox::Sandbox;
use super::serve::{Served, create};
use browser::Browser;

/// The sizes of a phone and a laptop in CSS pixels.
const PHONE: (u32, u32) = (390, 844);
const LAPTOP: (u32, u32) = (1280, 800);

/// A PNG image of one pixel, in base64.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Minimum size of what is touched, in CSS pixels (WCAG 2.2, success criterion 2.5.5).
const MIN_TARGET: u32 = 44;

fn browser() -> Option<Browser> {
    let browser = Browser::start();
    if browser.is_none() {
        // Not captured, as `println!` would be.
        let _ = writeln!(std::io::stderr(), "SKIPPED: no Chromium");
    }
    browser
}

/// Opens a session with this script in the page, and focuses the composer.
fn open(browser: &mut Browser, server: &Served, sandbox: &Sandbox, script: &[&str]) -> String {
    let (session, _) = create(server, sandbox, &sandbox.script(script));
    let id = session.rsplit('/').next().unwrap();
    browser.open(&format!("http://{}/?token={}&session={id}", server.address, server.token));
    browser.wait_for("!find('.composer').hidden && !session.isLost && session.model");
    browser.run("find('.composer textarea').focus()");
    session
}

/// Opens a session with one exchange in the page, and closes it on the server.
fn open_closed(browser: &mut Browser, server: &Served, sandbox: &Sandbox) -> String {
    let session = open(browser, server, sandbox, &[r#"{"text": "End."}"#]);
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("!session.isRunning && find('main').textContent.includes('End.')");
    server.call("POST", &format!("{session}/close"), None);
    browser.wait_for("!find('.closed').hidden");
    session
}

fn click(browser: &mut Browser, buttons: &str, text: &str) {
    let button = format!(
        "[...document.querySelectorAll('{buttons}')].find((it) => it.textContent.includes('{text}'))"
    );
    browser.wait_for(&button);
    browser.run(&format!("{button}.click()"));
}

fn assert_stays_at_home(browser: &mut Browser, server: &Served) {
    let (requests, problems) = browser.requests_and_problems();
    let home = format!("http://{}/", server.address);
    let is_local =
        |url: &&String| url.starts_with(&home) || url.starts_with("data:") || *url == "about:blank";
    let elsewhere: Vec<&String> = requests.iter().filter(|url| !is_local(url)).collect();
    assert!(requests.len() > 5 && elsewhere.is_empty(), "{elsewhere:?}");
    assert_eq!(problems, [""; 0]);
}

/// Asserts that the page fits its width, and that everything to be touched is large enough, within two
/// seconds: an event may be changing the page.
fn assert_fits_phone(browser: &mut Browser) {
    let small = format!(
        "[...document.querySelectorAll('button, select, textarea, input:not([type=checkbox]), summary, .tree a, .session-list a, .background a')]
            .filter((it) => it.checkVisibility())
            .map((it) => [it.outerHTML.slice(0, 80), it.getBoundingClientRect()])
            .filter(([, box]) => Math.min(box.width, box.height) < {MIN_TARGET} - 0.5)
            .map(([html, box]) => `${{html}} ${{box.width}} x ${{box.height}}, ${{innerWidth}} ${{document.body.outerHTML.slice(0, 80)}}`)"
    );
    let small = browser.run(&format!(
        "(async () => {{
            const small = () => {small};
            for (let frame = 0; frame < 120 && small().length > 0; frame++) await new Promise(requestAnimationFrame);
            return small();
        }})()"
    ));
    assert_eq!(small, json!([]));
    let widths = browser.run("[document.scrollingElement.scrollWidth, innerWidth]");
    assert!(widths[0].as_u64() <= widths[1].as_u64(), "{widths}");
}

/// The texts of a log's messages, from their roles on.
fn messages(server: &Served, session: &str) -> Vec<String> {
    let (_, entries) = server.call("GET", &format!("{session}/entries"), None);
    let entries = entries["entries"].as_array().unwrap().iter().map(|entry| &entry["message"]);
    let text = |message: &Value| match &message["content"] {
        Value::String(text) => text.clone(),
        blocks => blocks[0]["text"].as_str().unwrap_or_default().to_owned(),
    };
    let named = |message: &Value| format!("{}: {}", message["role"].as_str().unwrap(), text(message));
    entries.filter(|message| message["role"].is_string()).map(named).collect()
}

#[test]
fn serve_page_approves_steers_and_forks() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(LAPTOP.0, LAPTOP.1);
    let script = [
        r#"{"text": "I will **write** it.", "calls": [{"name": "bash", "arguments": {"command": "touch made; while [ ! -e go ]; do sleep 0.05; done"}}]}"#,
        r#"{"text": "Steered answer."}"#,
        r#"{"text": "Followed answer."}"#,
    ];
    let session = open(&mut browser, &server, &sandbox, &script);
    browser.type_and_press("please make it", "Enter", 0);

    // The call waits for the approval, which shows its command.
    browser.wait_for("find('.question pre').textContent.includes('touch made')");
    assert!(!sandbox.project().join("made").exists());
    click(&mut browser, ".question button", "Allow once");
    browser.wait_for("document.querySelectorAll('.question').length === 0 && find('.running .call .name')");
    assert_eq!(browser.run("find('main article.answer strong').textContent"), "write");

    // Enter steers, Alt+Enter queues; both wait while the call runs.
    browser.run("find('.composer textarea').focus()");
    browser.type_and_press("rather like this", "Enter", 0);
    browser.wait_for("find('.queued').textContent.includes('rather like this')");
    browser.type_and_press("to be removed", "Enter", 1);
    browser.wait_for("document.querySelectorAll('.queued').length === 2");
    click(&mut browser, ".queued:last-of-type button", "Remove");
    browser.wait_for("document.querySelectorAll('.queued').length === 1");
    browser.type_and_press("and then this", "Enter", 1);
    browser.wait_for("document.querySelectorAll('.queued').length === 2");
    sandbox.write("go", "");
    browser.wait_for("!session.isRunning && find('main').textContent.includes('Followed answer.')");
    browser.wait_for("find('.running').childElementCount === 0");
    let said = messages(&server, &session);
    let said: Vec<&str> =
        said.iter().map(String::as_str).filter(|text| !text.starts_with("toolResult")).collect();
    assert_eq!(
        said,
        [
            "user: please make it",
            "assistant: I will **write** it.",
            "user: rather like this",
            "assistant: Steered answer.",
            "user: and then this",
            "assistant: Followed answer.",
        ]
    );

    // A fork from the outline opens a session that ends there.
    click(&mut browser, ".tree a", "Steered answer.");
    click(&mut browser, "article.here button", "Fork");
    let id = session.rsplit('/').next().unwrap();
    browser.wait_for(&format!("session.isOpen && session.id !== '{id}' && session.leaf >= 0"));
    browser.wait_for("find('main').textContent.includes('Steered answer.')");
    assert_eq!(browser.run("find('main').textContent.includes('Followed answer.')"), false);
    browser.wait_for("document.querySelectorAll('.session-list a').length === 2");

    // A fork at a prompt ends before it, and its text is in the composer only.
    browser.run(&format!("sessions.go('{id}')"));
    click(&mut browser, ".tree a", "and then this");
    click(&mut browser, "article.here button", "Fork");
    browser.wait_for(&format!("session.isOpen && session.id !== '{id}' && session.leaf >= 0"));
    browser.wait_for("find('.composer textarea').value === 'and then this' && find('.queue').hidden");
    assert_eq!(browser.run("find('main').textContent.includes('and then this')"), false);
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_continues_from_an_entry_and_stops() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(LAPTOP.0, LAPTOP.1);
    let script = [r#"{"text": "First."}"#, r#"{"text": "Growing *text*", "hang": true}"#];
    let session = open(&mut browser, &server, &sandbox, &script);
    browser.type_and_press("one", "Enter", 0);
    browser.wait_for("!session.isRunning && find('main').textContent.includes('First.')");
    browser.type_and_press("two", "Enter", 0);
    browser.wait_for("find('.running em').textContent === 'text'");
    browser.run("find('.composer textarea').focus()");
    browser.type_and_press("", "Escape", 0);
    browser.wait_for("!session.isRunning && find('main').textContent.includes('stopped')");

    // A user message comes back to be edited, and the branch ends before it.
    click(&mut browser, ".tree a", "two");
    click(&mut browser, "article.here button", "Continue from here");
    browser.wait_for(
        "find('.composer textarea').value === 'two' && !find('main').textContent.includes('Growing')",
    );
    browser.run("find('.composer textarea').select()");
    browser.type_and_press("other", "Enter", 0);
    browser.wait_for("find('.parting').textContent.includes('2 branches')");
    assert_eq!(messages(&server, &session).last().unwrap(), "user: other");

    // Without the server the page shows a message. From this point, the browser reports failed requests.
    assert_stays_at_home(&mut browser, &server);
    server.terminate();
    browser.wait_for("find('.state').textContent.includes('Reconnecting')");
}

#[test]
fn serve_page_resumes_without_a_model_that_is_gone() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    open_closed(&mut browser, &server, &sandbox);
    std::fs::remove_file(sandbox.home().join("script.jsonl")).unwrap();
    click(&mut browser, ".closed button", "Resume");
    browser.wait_for("session.isOpen && !find('.composer').hidden");
    browser.wait_for("find('.problem').textContent.includes('add a key or choose another model')");
}

#[test]
fn serve_page_resume_without_its_directory_says_so() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let dir = sandbox.project().join("sub");
    std::fs::create_dir(&dir).unwrap();
    let body = json!({"workspacePath": dir, "provider": "demo", "model": "tour"});
    let (_, session) = server.call("POST", "/api/sessions", Some(body));
    let id = session["id"].as_str().unwrap();
    server.call("POST", &format!("/api/sessions/{id}/close"), None);
    std::fs::remove_dir(&dir).unwrap();
    browser.open(&format!("http://{}/?token={}&session={id}", server.address, server.token));
    click(&mut browser, ".closed:not([hidden]) button", "Resume");
    browser.wait_for("find('.problem').textContent.includes('directory is gone')");
}

#[test]
fn serve_page_shows_the_recorded_answer_after_a_restart() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "Half an answer", "hang": true}"#]);
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("session.isRunning && find('.running').textContent.includes('Half an answer')");
    let address = server.address.clone();
    server.terminate();
    browser.wait_for("session.isLost");
    let _server = Served::start_on(&sandbox, &address);
    browser.wait_for("!session.isOpen && !find('.closed').hidden");
    browser.wait_for("find('main').textContent.includes('Half an answer')");
}

#[test]
fn serve_page_marks_the_prompt_of_a_killed_run() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    open(
        &mut browser,
        &server,
        &sandbox,
        &[r#"{"text": "Half an answer", "hang": true}"#, r#"{"text": "Whole."}"#],
    );
    let is_marked = "[...document.querySelectorAll('main .unfinished')].some((it) => it.checkVisibility() && it.textContent.includes('not answered'))";
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("session.isRunning && find('.running').textContent.includes('Half an answer')");
    browser.wait_for("find('main').textContent.includes('begin')");
    assert_eq!(browser.run(is_marked), false);
    let address = server.address.clone();
    server.kill();
    browser.wait_for("session.isLost");
    let _server = Served::start_on(&sandbox, &address);
    browser.wait_for(is_marked);
    click(&mut browser, ".closed button", "Resume");
    browser.wait_for("session.isOpen && !find('.composer').hidden && session.model");
    browser.wait_for(is_marked);
}

#[test]
fn serve_page_resume_keeps_the_model_and_reaches_other_pages() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let session = open_closed(&mut browser, &server, &sandbox);
    // Another client changes the model meanwhile.
    let demo = json!({"provider": "demo", "model": "tour"});
    server.call("POST", &format!("{session}/resume"), Some(demo));
    server.call("POST", &format!("{session}/model"), Some(json!({"model": "demo/tour"})));
    server.call("POST", &format!("{session}/close"), None);
    click(&mut browser, ".closed button", "Resume");
    browser.wait_for("session.isOpen && !find('.composer').hidden && session.model");
    assert_eq!(browser.run("session.model.provider"), "demo");

    server.call("POST", &format!("{session}/close"), None);
    browser.wait_for("!find('.closed').hidden");
    server.call("POST", &format!("{session}/resume"), None);
    browser.run("window.dispatchEvent(new Event('focus'))");
    browser.wait_for("session.isOpen && find('.closed').hidden");
}

#[test]
fn serve_page_edit_survives_changes_of_the_queue() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let session = open(&mut browser, &server, &sandbox, &[r#"{"text": "Growing", "hang": true}"#]);
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("session.isRunning && find('.running').textContent.includes('Growing')");
    browser.type_and_press("one", "Enter", 1);
    click(&mut browser, ".queued button", "Edit");
    browser.run("find('.queued textarea').select()");
    browser.type_and_press("the first", "Shift", 0);
    // Another client adds a message and removes it; the edit continues in the same place.
    server.call("POST", &format!("{session}/follow-up"), Some(json!({"message": "of another client"})));
    browser.wait_for("find('.queue').textContent.includes('of another client')");
    browser.type_and_press(" of all", "Shift", 0);
    click(&mut browser, ".queued button", "Save");
    let queued =
        |server: &Served| server.call("GET", &format!("{session}/queue"), None).1["followUp"].clone();
    browser.wait_for("find('.queue').textContent.includes('the first of all')");
    assert_eq!(queued(&server), json!(["the first of all", "of another client"]));
    // A message that is gone before its edit ends leaves the text.
    click(&mut browser, ".queued button", "Edit");
    browser.run("find('.queued textarea').select()");
    browser.type_and_press("too late", "Shift", 0);
    server.call("DELETE", &format!("{session}/queue"), None);
    browser.wait_for("find('.composer textarea').value === 'too late' && find('.queue').hidden");
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_edit_keeps_the_edit_of_another_client() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let session = open(&mut browser, &server, &sandbox, &[r#"{"text": "Growing", "hang": true}"#]);
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("session.isRunning && find('.running').textContent.includes('Growing')");
    browser.type_and_press("one", "Enter", 1);
    click(&mut browser, ".queued button", "Edit");
    browser.run("find('.queued textarea').select()");
    browser.type_and_press("mine", "Shift", 0);
    browser.run(
        "(async () => {
            const path = `${session.path}/queue`;
            const { data, version } = await exchange('GET', path);
            const items = [{ id: data.items[0].id, text: 'theirs' }];
            await request('PUT', path, { items }, { 'If-Match': version });
        })()",
    );
    click(&mut browser, ".queued button", "Save");
    browser.wait_for("find('.problem').textContent.startsWith('Someone else has changed this message')");
    assert_eq!(browser.run("find('.queued textarea').value"), "mine");
    let (_, queue) = server.call("GET", &format!("{session}/queue"), None);
    assert_eq!(queue["followUp"], json!(["theirs"]));
    click(&mut browser, ".queued button", "Cancel");
    browser.wait_for("find('.queued .text').textContent === 'theirs'");
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_keeps_the_draft_of_each_session() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let first = open(&mut browser, &server, &sandbox, &[r#"{"text": "One."}"#]);
    browser.type_and_press("not sent yet", "Shift", 0);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "Two."}"#]);
    assert_eq!(browser.run("find('.composer textarea').value"), "");
    let id = first.rsplit('/').next().unwrap();
    browser.run(&format!("sessions.go('{id}')"));
    browser.wait_for("find('.composer textarea').value === 'not sent yet'");
    browser.run("find('.composer textarea').focus()");
    browser.type_and_press("", "Enter", 0);
    browser.wait_for("!session.isRunning && find('main').textContent.includes('One.')");
    browser.run(&format!("sessions.go('{id}')"));
    browser.wait_for("find('main').textContent.includes('One.')");
    assert_eq!(browser.run("find('.composer textarea').value"), "");
}

#[test]
fn serve_page_keeps_the_end_in_view_while_it_grows() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(LAPTOP.0, LAPTOP.1);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "One."}"#]);
    let grow = "find('main').append(make('div', { style: 'height: 1000px' }));";
    let gap = "document.documentElement.scrollHeight - innerHeight - scrollY";
    // The page grows again before the event of its own scroll.
    browser.run(&format!("{grow} scrollTo(0, document.documentElement.scrollHeight); {grow}"));
    browser.wait_for(&format!("{gap} < 2"));
    // A user who scrolls up stays there.
    browser.run("scrollBy(0, -300)");
    browser.wait_for(&format!("{gap} > 200"));
    browser.run(grow);
    browser.wait_for(&format!("{gap} > 1200"));
}

#[test]
fn serve_page_says_that_its_session_was_deleted() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let session = open(&mut browser, &server, &sandbox, &[r#"{"text": "One."}"#]);
    server.call("DELETE", &session, None);
    browser.wait_for("find('.problem').textContent === 'The session was deleted.'");
    assert_eq!(browser.run("session === null && find('.composer').hidden && find('.closed').hidden"), true);
}

#[test]
fn serve_page_hidden_releases_its_stream_and_catches_up() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let session = open(&mut browser, &server, &sandbox, &[r#"{"text": "One."}"#]);
    let set_hidden = |browser: &mut Browser, hidden: bool| {
        browser.run(&format!(
            "Object.defineProperty(document, 'hidden', {{ value: {hidden}, configurable: true }});
             document.dispatchEvent(new Event('visibilitychange'))"
        ));
    };
    set_hidden(&mut browser, true);
    browser.wait_for("session.isPaused");
    server.call("POST", &format!("{session}/chat"), Some(json!({"message": "go"})));
    set_hidden(&mut browser, false);
    browser.wait_for("!session.isLost && find('main').textContent.includes('One.')");
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_without_a_free_connection_says_so() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "One."}"#]);
    // With the page's own stream they are six, like those of six windows.
    browser.run(
        "var streams = [...Array(5)].map(() => new EventSource(`${session.path}/stream`));
         Promise.all(streams.map((stream) => new Promise((resolve) => (stream.onopen = resolve)))).then(() => true)",
    );
    browser.type_and_press("hello", "Enter", 0);
    browser.wait_for("find('.late').checkVisibility()");
    let text = browser.run("find('.late').textContent");
    assert_eq!(
        text,
        "The server hasn’t responded yet. If many windows of this server are open, close some: \
         browsers allow six connections per server."
    );
    browser.run("streams.forEach((stream) => stream.close())");
    browser.wait_for("find('main').textContent.includes('One.') && !find('.late').checkVisibility()");
    // A command may take as long as it needs.
    browser.type_and_press("!sleep 3.5; echo done", "Enter", 0);
    browser.wait_for("find('.late').checkVisibility() || find('main').textContent.includes('done')");
    assert_eq!(browser.run("find('.late').hidden"), true);
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_double_click_starts_one_session() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let session = open(&mut browser, &server, &sandbox, &[r#"{"text": "End."}"#]);
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("!session.isRunning && find('main').textContent.includes('End.')");
    let id = session.rsplit('/').next().unwrap();
    let open_sessions = |server: &Served| {
        let (_, page) = server.call("GET", "/api/sessions", None);
        page["sessions"].as_array().unwrap().iter().filter(|session| session["isOpen"] == true).count()
    };
    click(&mut browser, ".tree a", "End.");
    browser.run("find('[data-do=fork]').click(); find('[data-do=fork]').click()");
    browser.wait_for(&format!("session.isOpen && session.id !== '{id}' && session.leaf >= 0"));
    assert_eq!(open_sessions(&server), 2);
    let fork = browser.run("session.id").as_str().unwrap().to_owned();
    browser.run("find('.new-session').open = true; find('[name=model]').value = 'demo'");
    browser.run("const start = find('.new-session [type=submit]'); start.click(); start.click()");
    browser.wait_for(&format!("session.isOpen && session.id !== '{fork}'"));
    // A new session is listed with its first entry.
    browser.run("find('.composer textarea').focus()");
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("session.leaf >= 0 && document.querySelectorAll('.session-list a').length === 3");
    assert_eq!(open_sessions(&server), 3, "the first one, the fork and the new one");
}

#[test]
fn serve_page_shows_commands_images_jobs_and_agents() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(PHONE.0, PHONE.1);
    let job = r#"{"calls": [{"name": "bash", "arguments": {"command": "sleep 600", "background": true}}]}"#;
    let agent = r#"{"calls": [{"name": "delegate_to_agent", "arguments": {"agent": "explore", "task": "LOOK around"}}]}"#;
    let script =
        [job, agent, r#"{"when": "LOOK", "text": "Looking", "hang": true}"#, r#"{"text": "All stopped."}"#];
    let session = open(&mut browser, &server, &sandbox, &script);

    // A command of the user, while it runs and as an entry.
    browser.type_and_press("!echo first; while [ ! -e go ]; do sleep 0.05; done", "Enter", 0);
    browser.wait_for("find('.running .tail').textContent.includes('first')");
    assert_fits_phone(&mut browser);
    sandbox.write("go", "");
    browser.wait_for("find('main article.bash .about').textContent.startsWith('echo first')");
    browser.wait_for("find('.running').childElementCount === 0");
    browser.type_and_press("!!echo secret", "Enter", 0);
    browser.wait_for("find('main').textContent.includes('not sent to the model')");

    let image = json!([{"type": "image", "data": DOT, "mimeType": "image/png"}]);
    server.call("POST", &format!("{session}/chat"), Some(json!({"message": "look", "images": image})));
    browser.wait_for("find('main article.user img').naturalWidth === 1");
    click(&mut browser, ".question button", "Allow once");
    browser.wait_for("find('.background').textContent.includes('sleep 600')");
    browser.wait_for("find('.background').textContent.includes('explore: LOOK around')");
    assert_fits_phone(&mut browser);
    // A page that comes later has them too.
    browser.send("Page.reload", json!({}));
    browser.wait_for("find('.background').querySelectorAll('.queued').length === 2");
    click(&mut browser, ".background button", "Stop");
    browser.wait_for("!find('.background').textContent.includes('sleep 600')");
    click(&mut browser, ".background button", "Stop");
    browser.wait_for("!find('.background').textContent.includes('explore')");
    browser.wait_for("find('main').textContent.includes('All stopped.')");
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_answered_request_leaves_the_focus_in_the_dock() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    let call = |name: &str| {
        format!(r#"{{"calls": [{{"name": "bash", "arguments": {{"command": "touch {name}"}}}}]}}"#)
    };
    // The list of sessions is on the screen.
    browser.resize(LAPTOP.0, LAPTOP.1);
    open(&mut browser, &server, &sandbox, &[&call("first"), &call("second"), r#"{"text": "End."}"#]);
    browser.type_and_press("begin", "Enter", 0);
    for name in ["first", "second"] {
        browser.wait_for(&format!("find('.question pre').textContent.includes('touch {name}')"));
        browser.run("find('.question .primary').focus(); document.activeElement.click()");
        browser.wait_for("document.activeElement === find('.dock')");
    }
    browser.wait_for("!session.isRunning && find('main').textContent.includes('End.')");
    // A link of the list keeps the focus when the list is loaded again.
    browser.run("find('.session-list a').focus(); sessions.refresh()");
    browser.wait_for("document.activeElement.matches('.session-list a')");
}

#[test]
fn serve_page_list_has_more_sessions_than_a_request_returns() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "End."}"#]);
    // A server with 230 sessions.
    browser.run(
        "window.fetch = async (path) => {
            const parameters = new URLSearchParams(path.split('?')[1]);
            const [limit, offset] = ['limit', 'offset'].map((name) => Number(parameters.get(name)));
            const ids = [...Array(230).keys()].slice(offset, offset + Math.min(limit, 200));
            const sessions = ids.map((id) => ({ id: `${id}`, name: `number ${id}`, workspacePath: '/w' }));
            const end = offset + sessions.length;
            return Response.json({ sessions, ...(end < 230 ? { nextOffset: end } : {}) });
        }",
    );
    for count in [100, 150, 200, 230] {
        browser.run("find('.more').click()");
        browser.wait_for(&format!("document.querySelectorAll('.session-list a').length === {count}"));
    }
    assert_eq!(browser.run("find('.more').hidden"), true);
    assert_eq!(browser.run("find('.session-list li:last-child .text').textContent"), "number 229");
}

#[test]
fn serve_page_names_show_reordering_and_control_characters() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "End."}"#]);
    let body = json!({
        "workspacePath": sandbox.project(),
        "provider": "scripted",
        "model": sandbox.home().join("script.jsonl"),
        "name": "a\u{202e}b\u{2066}c\u{200b}d \u{1f468}\u{200d}\u{1f469}",
    });
    let (status, session) = server.call("POST", "/api/sessions", Some(body));
    assert_eq!(status, 201, "{session}");
    browser.run(&format!("sessions.go({})", session["id"]));
    browser.wait_for("session.name && session.isOpen && !find('.composer').hidden");
    let shown = "a<U+202E>b<U+2066>c<U+200B>d \u{1f468}\u{200d}\u{1f469}";
    browser.wait_for(&format!("find('h1').textContent === '{shown}' && document.title === '{shown}'"));
    // A server that lists it.
    browser.run(
        "window.fetch = async () =>
            Response.json({ sessions: [{ id: 'x', name: session.name, workspacePath: '/w' }] })",
    );
    browser.run("sessions.refresh()");
    browser.wait_for(&format!("find('.session-list .text').textContent === '{shown}'"));
    assert_eq!(browser.run(r"visible('\u001b[1m\u007f')"), "\u{241b}[1m\u{2421}");
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_sends_pasted_images() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(PHONE.0, PHONE.1);
    open(&mut browser, &server, &sandbox, &[r#"{"expect": "look", "text": "A dot."}"#]);
    browser.run(&format!(
        "(() => {{
            const bytes = Uint8Array.from(atob('{DOT}'), (c) => c.charCodeAt(0));
            const clipboardData = new DataTransfer();
            for (const name of ['dot.png', 'other.png']) {{
                clipboardData.items.add(new File([bytes], name, {{ type: 'image/png' }}));
            }}
            clipboardData.items.add(new File([bytes], 'notes.txt', {{ type: 'text/plain' }}));
            find('.composer textarea').dispatchEvent(new ClipboardEvent('paste', {{ clipboardData }}));
        }})()"
    ));
    browser.wait_for("find('.attachments').querySelectorAll('.queued').length === 2");
    let problem = browser.run("find('.problem').checkVisibility() && find('.problem').textContent");
    assert_eq!(problem, "Only PNG, JPEG, GIF, WebP and PDF files can be attached.");
    assert_fits_phone(&mut browser);
    browser.run("find('.attachments [aria-label=\"Remove other.png\"]').click()");
    browser.wait_for("find('.attachments').querySelectorAll('.queued').length === 1");
    browser.run("find('.composer textarea').focus()");
    browser.type_and_press("look", "Enter", 0);
    browser.wait_for("find('main article.user img').naturalWidth === 1");
    browser.wait_for("find('main').textContent.includes('A dot.')");
    browser.wait_for("find('.attachments').hidden");
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_fits_a_phone() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(PHONE.0, PHONE.1);
    let wide = "x".repeat(400);
    let first = format!(
        r#"{{"think": "Hm", "text": "Text {wide}\n\n```\n{wide}\n```\n\n| a | b |\n|---|---|\n| {wide} | c |", "calls": [{{"name": "bash", "arguments": {{"command": "echo {wide}"}}}}]}}"#
    );
    open(&mut browser, &server, &sandbox, &[&first, r#"{"text": "End."}"#]);
    browser.type_and_press(&format!("look at {wide}"), "Enter", 0);
    browser.wait_for("find('.question .inside')");
    assert_fits_phone(&mut browser);
    click(&mut browser, ".question button", "Allow once");
    browser.wait_for("!session.isRunning && find('main').textContent.includes('End.')");
    assert_fits_phone(&mut browser);
    for panel in ["Sessions", "Outline", "Options"] {
        click(&mut browser, "button[data-panel]", panel);
        assert_fits_phone(&mut browser);
    }
    click(&mut browser, "button[data-panel]", "Outline");
    click(&mut browser, ".tree a", "End.");
    browser.wait_for("!document.body.dataset.panel && find('article.here .entry-actions').checkVisibility()");
    assert_fits_phone(&mut browser);
    assert_stays_at_home(&mut browser, &server);
}

#[test]
fn serve_page_slash_opens_the_search_of_a_phone() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(PHONE.0, PHONE.1);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "End."}"#]);
    browser.run("document.activeElement.blur()");
    browser.type_and_press("", "/", 0);
    browser.wait_for(
        "document.activeElement === find('.controls input') && find('.controls input').checkVisibility()",
    );
    browser.type_and_press("", "/", 0);
    assert_eq!(browser.run("document.body.dataset.panel"), "outline");
}

#[test]
fn serve_page_narrow_prompt_breaks_only_its_note() {
    const NARROWEST: u32 = 320;
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(NARROWEST, PHONE.1);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "End."}"#]);
    browser.type_and_press("begin", "Enter", 0);
    browser.wait_for("!session.isRunning && find('main').textContent.includes('End.')");
    browser.run("find('.user time').before(make('span', { className: 'note' }, 'steered · '.repeat(20)))");
    let lines =
        "['h2', 'time'].map((it) => Math.round(find(`.user ${it}`).getBoundingClientRect().height / 20))";
    assert_eq!(browser.run(lines), json!([1, 1]));
}

#[test]
fn serve_page_every_control_has_a_name() {
    let Some(mut browser) = browser() else { return };
    let sandbox = Sandbox::new();
    let server = Served::start(&sandbox);
    browser.resize(LAPTOP.0, LAPTOP.1);
    open(&mut browser, &server, &sandbox, &[r#"{"text": "End."}"#]);
    browser.run("find('.new-session').open = true");
    let tree = browser.send("Accessibility.getFullAXTree", json!({}));
    let roles = ["button", "textbox", "searchbox", "combobox", "checkbox", "link", "DisclosureTriangle"];
    let nodes = tree["nodes"].as_array().unwrap().iter();
    let controls: Vec<&Value> =
        nodes.filter(|node| roles.iter().any(|role| node["role"]["value"] == *role)).collect();
    assert!(controls.len() > 12, "{controls:?}");
    let unnamed: Vec<_> = controls.iter().filter(|node| node["name"]["value"] == "").collect();
    assert!(unnamed.is_empty(), "{unnamed:?}");
}
