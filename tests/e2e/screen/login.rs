//! Login and logout in the TUI, and imported sessions.

use std::fs;
use std::path::Path;

use crate::sandbox::Sandbox;
use crate::screen::prompting::enter;
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};
use tiller_test_support::terminal::TerminalKey;

/// Files below a directory that contain a string.
fn holding(dir: &Path, text: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true => holding(&path, text),
        false => {
            let bytes = fs::read(&path).unwrap_or_default();
            let is_there = bytes.windows(text.len()).any(|window| window == text.as_bytes());
            is_there.then(|| path.file_name().unwrap().to_string_lossy().into_owned()).into_iter().collect()
        }
    });
    found.collect()
}

#[test]
fn login_in_tui_stores_and_removes_key() {
    let server = MockServer::start([Reply::answer([AnswerPart::text("Here I am.")])]);
    let sandbox = Sandbox::new().with_variable("TILLER_LOG_LEVEL", "trace");
    fs::create_dir_all(sandbox.home().join("tiller")).unwrap();
    let mut terminal = sandbox.open(&[]);
    terminal.wait_for("/login");
    enter(&mut terminal, "/login");
    terminal.wait_for("anthropic");
    terminal.wait_for("no key");
    terminal.wait_for("subscriptions (Claude, ChatGPT) are not supported");
    // A custom server could be used without a key, so it is set only now; the address is read again with the
    // key.
    fs::write(sandbox.home().join("tiller/.env"), format!("ANTHROPIC_BASE_URL={}\n", server.url)).unwrap();
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("key for anthropic ❯");
    terminal.send("sk-hush-hush");
    terminal.wait_for("12 characters");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("stored the key for anthropic");
    terminal.wait_for("takes over with the next request; ctrl+l chooses another");
    enter(&mut terminal, "are you there?");
    terminal.wait_for_answer("Here I am.");
    assert_eq!(server.requests()[0].headers["x-api-key"], "sk-hush-hush");
    fs::remove_file(sandbox.home().join("tiller/.env")).unwrap();
    enter(&mut terminal, "/logout anthropic");
    terminal.wait_for("removed the key for");
    terminal.wait_for("demo/tour is the only model left");
    enter(&mut terminal, "and now?");
    terminal.wait_for("? bash needs approval:");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("esc stops");
    assert_eq!(server.requests().len(), 1);
    enter(&mut terminal, "/login anthropic");
    terminal.wait_for("key for anthropic ❯");
    terminal.send("sk-hush-hush");
    terminal.wait_for("12 characters");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("stored the key for");
    enter(&mut terminal, "/quit");
    assert_eq!(terminal.wait().exit_code(), 0);
    assert_eq!(holding(sandbox.home(), "sk-hush"), ["auth.json"]);
    assert!(!terminal.output().contains("sk-hush"));
}

#[test]
fn import_in_tui_lists_searched_dirs() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open(&[]);
    terminal.wait_for("demo");
    enter(&mut terminal, "/import");
    for dir in ["~/.claude/projects", "~/.codex/sessions", "~/.pi/agent/sessions"] {
        terminal.wait_for(dir);
    }
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("no logs found; /import PATH imports a log or directory");
}

#[test]
fn import_in_tui_opens_the_session() {
    let sandbox = Sandbox::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign/claude/orchard.jsonl");
    let project = sandbox.project().canonicalize().unwrap().display().to_string();
    let text = fs::read_to_string(source).unwrap().replace("/home/ada/orchard", &project);
    let log = sandbox.home().join(".claude/projects/-orchard/5b0f8a52.jsonl");
    fs::create_dir_all(log.parent().unwrap()).unwrap();
    fs::write(&log, text).unwrap();
    let mut terminal = sandbox.open(&[]);
    terminal.wait_for("demo");
    enter(&mut terminal, "/import");
    terminal.wait_for("count the trees in this picture");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("open it, session");
    terminal.key(TerminalKey::Enter);
    terminal.wait_without("open it, session");
    terminal.wait_for("The orchard");
    enter(&mut terminal, "/import ~/.claude/projects");
    terminal.wait_for_question("already imported, nothing new");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("already imported, nothing new");
    enter(&mut terminal, "/import nowhere.jsonl");
    terminal.wait_for("no file or directory at");
    terminal.wait_for("❯ /import nowhere.jsonl");
    terminal.key(TerminalKey::Ctrl('c'));
    enter(&mut terminal, "/quit");
    assert_eq!(terminal.wait().exit_code(), 0);
    assert_eq!(sandbox.logs().len(), 1);
}
