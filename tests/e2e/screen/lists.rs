//! Lists and completion.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::screen::prompting::{enter, prompt_and_wait, quit};
use tiller_test_support::terminal::{Terminal, TerminalKey};

const TWO: [&str; 2] = [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#];

#[test]
fn settings_list_writes_only_its_setting() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("tiller/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, r#"{"zeta.of_tomorrow": 1, "retry": {"max": 3}}"#).unwrap();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    enter(&mut terminal, "/settings");
    terminal.send("steering_mode");
    terminal.wait_for("▸ steering_mode");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("saved and in effect");
    terminal.key(TerminalKey::Ctrl('u'));
    terminal.send("retry.max");
    terminal.wait_for("▸ retry.max");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("retry.max ❯ 3");
    terminal.key(TerminalKey::Backspace);
    terminal.send("many");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("is not a whole number");
    terminal.key(TerminalKey::Ctrl('u'));
    terminal.send("7");
    terminal.wait_for("retry.max ❯ 7");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("at the next start");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("type to filter");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── settings ──");
    quit(terminal);
    let settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let expected =
        serde_json::json!({"zeta.of_tomorrow": 1, "retry": {"max": 7}, "steering_mode": "one-at-a-time"});
    assert_eq!(settings, expected);
}

#[test]
fn completion_of_files_and_paths() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join("src")).unwrap();
    sandbox.write("src/my notes.md", "");
    sandbox.write("src/main.rs", "");
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    terminal.wait_for("❯");
    terminal.send("read @notes");
    terminal.wait_for("▸ src/my notes.md");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("read @\"src/my notes.md\"");
    terminal.send("and ./src/ma");
    terminal.key(TerminalKey::Tab);
    terminal.wait_for("./src/main.rs");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Answer one.");
    quit(terminal);
    let attached = "<file path=\"src/my notes.md\" lines=\"0\">\n[the file is empty]\n</file>";
    assert_eq!(
        sandbox.messages()[0],
        format!("user: read @\"src/my notes.md\" and ./src/main.rs\n\n{attached}")
    );
}

#[test]
fn session_list_renames_trashes_and_restores() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    enter(&mut terminal, "/new");
    terminal.wait_without("Answer one.");
    prompt_and_wait(&mut terminal, "question two", "Answer");
    enter(&mut terminal, "/resume");
    terminal.wait_for("── sessions in this directory");
    terminal.wait_for("question two");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ question one");
    terminal.wait_for("▌ question one");
    terminal.key(TerminalKey::Ctrl('r'));
    terminal.send("the first");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("renamed to the first");
    terminal.wait_for("▸ the first · question one");
    terminal.key(TerminalKey::Ctrl('x'));
    terminal.wait_for("moved to the trash");
    terminal.wait_without("the first · question one");
    assert_eq!(sandbox.logs().len(), 1);
    terminal.key(TerminalKey::Ctrl('z'));
    terminal.wait_for("restored");
    terminal.wait_for("the first · question one");
    assert_eq!(sandbox.logs().len(), 2);
    // The restored row is selected.
    terminal.wait_for("▸ the first · question one");
    terminal.key(TerminalKey::Up);
    terminal.wait_for("▸ question two");
    terminal.key(TerminalKey::Ctrl('x'));
    terminal.wait_for("this session is open; switch to another one first");
    terminal.send("first");
    terminal.wait_for("▸ the first");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Answer one.");
    terminal.wait_without("── sessions");
    quit(terminal);
}

#[test]
fn session_list_locked_session_can_be_forked() {
    let sandbox = Sandbox::new();
    let mut second = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut second, "question one", "Answer one.");
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    enter(&mut terminal, "/resume");
    terminal.wait_for("▸ question one");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("open elsewhere (pid");
    terminal.wait_for_question("▸ attach to it");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ continue in a fork");
    terminal.key(TerminalKey::Enter);
    terminal.wait_until("the fork", |screen| screen.contains("Answer one.") && !screen.contains("esc back"));
    assert_eq!(sandbox.logs().len(), 2);
    quit(terminal);
    quit(second);
}

#[test]
fn session_list_locked_session_can_be_attached_to() {
    let sandbox = Sandbox::new();
    let mut second = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut second, "question one", "Answer one.");
    let mut terminal = sandbox.open(&["-r"]);
    terminal.wait_for_question("▸ question one");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("▸ attach to it");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("quitting leaves it open");
    terminal.wait_for("Answer one.");
    terminal.send("question two\r");
    terminal.wait_for_answer("Answer two.");
    second.wait_for("question two");
    assert_eq!(sandbox.logs().len(), 1);
    quit(terminal);
    quit(second);
}

#[test]
fn export_command_error_keeps_the_name() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    enter(&mut terminal, "/export talk.pdf");
    terminal.wait_for("can't determine the format");
    terminal.wait_for("use the extension .html, .md or .jsonl");
    terminal.wait_for("❯ /export talk.pdf");
    terminal.key(TerminalKey::Ctrl('u'));
    enter(&mut terminal, "/export nowhere/talk.md");
    terminal.wait_for("create it first");
    terminal.wait_for("❯ /export nowhere/talk.md");
    terminal.key(TerminalKey::Ctrl('u'));
    enter(&mut terminal, "/export ~/talk.md");
    terminal.wait_for("Exported to");
    assert!(sandbox.home().join("talk.md").exists());
    quit(terminal);
}

#[test]
fn session_list_open_session_is_reported() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    let log = sandbox.logs().remove(0);
    let id = log.file_stem().unwrap().to_str().unwrap().rsplit('_').next().unwrap().to_owned();
    enter(&mut terminal, &format!("/resume {}", &id[..10]));
    // The completion next to the typed text looks like the row.
    terminal.wait_until("the list with its row", |screen| {
        screen.contains("── sessions") && screen.contains("open · 2 messages")
    });
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("this session is already open");
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("type to filter");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── sessions");
    quit(terminal);
}

/// A sandbox with a session of a model without a key.
fn with_session_of_another_model() -> Sandbox {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    quit(terminal);
    let log = sandbox.logs().remove(0);
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains(r#""provider":"scripted""#), "{text}");
    fs::write(&log, text.replace(r#""provider":"scripted""#, r#""provider":"anthropic""#)).unwrap();
    sandbox
}

#[test]
fn model_unavailable_is_shown_in_session() {
    let sandbox = with_session_of_another_model();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    enter(&mut terminal, "/resume");
    terminal.wait_for("▸ question one");
    terminal.key(TerminalKey::Enter);
    terminal.wait_without("── sessions");
    terminal.wait_for("no API key for anthropic");
    quit(terminal);
}

#[test]
fn demo_model_needs_choice_in_other_sessions() {
    let sandbox = with_session_of_another_model();
    let mut terminal = sandbox.open(&["-c"]);
    terminal.wait_for("Answer one.");
    terminal.wait_for("add a key or choose another model");
    enter(&mut terminal, "go on please");
    terminal.wait_for("or store a key with `tiller login anthropic`");
    enter(&mut terminal, "/model demo/tour");
    terminal.wait_for("demo/tour");
    enter(&mut terminal, "and now");
    terminal.wait_for("This is the demo model");
}

#[test]
fn footer_shows_approval_and_thinking() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    enter(&mut terminal, "/approval");
    terminal.wait_for("── approval ──");
    terminal.send("read");
    terminal.wait_for("▸   read-only");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Approval: read-only");
    enter(&mut terminal, "/approval au");
    terminal.wait_for("Approval: auto");
    enter(&mut terminal, "/tools");
    terminal.wait_for("▸ ✓ read_file");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸ – read_file");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── tools");
    quit(terminal);
}

#[test]
fn mouse_click_chooses_a_row() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("Type a request");
    terminal.send("/settings\r");
    terminal.wait_for("── settings");
    terminal.wait_for("▸ ");
    let row = |terminal: &Terminal, text: &str| {
        let screen = terminal.screen();
        screen.lines().position(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text}:\n{screen}"))
            + 1
    };
    let click = |terminal: &mut Terminal, row: usize| {
        terminal.send(&format!("\x1b[<0;6;{row}M\x1b[<0;6;{row}m"));
    };
    let at = row(&terminal, " approval ");
    click(&mut terminal, at);
    terminal.wait_for("▸ approval ");
    assert_eq!(row(&terminal, "▸ approval "), at, "it stays where it was");
    click(&mut terminal, at);
    terminal.wait_for("── approval");
    // The wheel moves to the next match.
    terminal.wait_for("▸ ● ask");
    terminal.send("\x1b[<65;6;4M");
    terminal.wait_for("▸   auto");
}
