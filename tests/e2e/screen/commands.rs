//! Slash commands and shell commands.

use std::fs;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::screen::prompting::{enter, prompt_and_wait};
use tiller_test_support::terminal::TerminalKey;

const TWO: [&str; 2] = [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#];

/// The id of the only session.
fn only_log(sandbox: &Sandbox) -> String {
    sandbox.log()[0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn bash_double_mark_is_hidden_from_the_model() {
    let sandbox = Sandbox::new();
    let mut terminal =
        sandbox.open_scripted(&[r#"{"expect": "what was that?", "text": "A greeting."}"#], &[]);
    enter(&mut terminal, "!echo hi there");
    terminal.wait_until("its output", |screen| screen.matches("hi there").count() == 2);
    terminal.wait_without("esc stops");
    enter(&mut terminal, "!!echo secret word");
    terminal.wait_until("its output", |screen| screen.matches("secret word").count() == 2);
    terminal.wait_without("esc stops");
    prompt_and_wait(&mut terminal, "what was that?", "A greeting.");
    enter(&mut terminal, "/quit");
    assert_eq!(terminal.wait().exit_code(), 0);

    let log = sandbox.log();
    let records = log.iter().filter(|line| line["message"]["role"] == "bashExecution");
    let records: Vec<(&str, bool)> = records
        .map(|line| &line["message"])
        .map(|record| (record["output"].as_str().unwrap(), record["excludeFromContext"] == true))
        .collect();
    assert_eq!(records, [("hi there\n", false), ("secret word\n", true)]);
    let context = sandbox.run(&["sessions", "show", &only_log(&sandbox), "--context"]).out;
    assert!(context.contains("hi there") && !context.contains("secret"), "{context}");
}

const COLORED: &str = r"printf 'a\rb\n\033[31mred\033[0m plain\nab\bc\n'";

#[test]
fn bash_output_is_colored_and_plain_for_the_model() {
    let sandbox = Sandbox::new();
    let call = serde_json::json!({"calls": [{"name": "bash", "arguments": {"command": COLORED}}]});
    let lines = [
        r#"{"expect": "what was that?", "text": "I see."}"#.to_owned(),
        call.to_string(),
        r#"{"expect": "b\nred plain\nac\n", "text": "So it is."}"#.to_owned(),
    ];
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut terminal = sandbox.open_scripted(&lines, &[]);
    sandbox.write("slow.sh", &format!("{COLORED}; touch printed; while [ ! -e go ]; do sleep 0.1; done"));
    enter(&mut terminal, "!sh slow.sh");
    sandbox.wait_for_file("printed");
    terminal.wait_until_screen("its colors while it runs", |screen| reds(screen) == ["red"]);
    sandbox.write("go", "");
    terminal.wait_without("esc stops");
    let is_kept = |screen: &vt100::Screen| {
        let contents = screen.contents();
        let is_there = |line| contents.lines().any(|contents| contents.trim() == line);
        ["│ b", "│ red plain", "│ ac"].into_iter().all(is_there)
    };
    terminal
        .wait_until_screen("its colors when it is over", |screen| is_kept(screen) && reds(screen) == ["red"]);
    prompt_and_wait(&mut terminal, "what was that?", "I see.");
    prompt_and_wait(&mut terminal, "now you", "So it is.");
    enter(&mut terminal, "/quit");
    assert_eq!(terminal.wait().exit_code(), 0);

    let log = sandbox.log();
    let record = log.iter().find(|line| line["message"]["role"] == "bashExecution").unwrap();
    let result = log.iter().find(|line| line["message"]["role"] == "toolResult").unwrap();
    assert_eq!(record["message"]["output"], "b\nred plain\nac\n");
    assert_eq!(result["message"]["content"][0]["text"], "b\nred plain\nac\n");
    let style_runs = serde_json::json!([[2, 3, "31"]]);
    assert_eq!(
        (&record["message"]["tillerStrokes"], &result["message"]["details"]["strokes"]),
        (&style_runs, &style_runs)
    );
    let context = sandbox.run(&["sessions", "show", &only_log(&sandbox), "--context"]).out;
    assert!(!context.contains(['\u{1b}', '␛', '\r', '␍']), "{context}");

    let terminal = sandbox.open_scripted(&lines, &["-c"]);
    terminal.wait_until_screen("both outputs in their colors", |screen| {
        is_kept(screen) && reds(screen) == ["red", "red"]
    });
}

/// The red text on each row of an output.
fn reds(screen: &vt100::Screen) -> Vec<String> {
    let (rows, columns) = screen.size();
    let (rows, columns) = (rows.get(), columns.get());
    let row = |row| -> String {
        let cells = (0..columns).filter_map(|column| screen.cell(row, column));
        cells.filter(|cell| cell.fgcolor() == vt100::Color::Idx(1)).map(vt100::Cell::contents).collect()
    };
    let is_output = |at: &u16| screen.contents_between(*at, 0, *at, columns).contains("│ ");
    (0..rows).filter(is_output).map(row).filter(|row| !row.is_empty()).collect()
}

#[test]
fn tree_command_starts_a_second_branch() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    prompt_and_wait(&mut terminal, "question two", "Answer two.");
    enter(&mut terminal, "/tree");
    terminal.wait_for("▸●   Answer two.");
    terminal.key(TerminalKey::Up);
    terminal.wait_for("▸• ▌ question two");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("▸ no summary");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("❯ question two");
    terminal.wait_without("Answer two.");
    terminal.send(", put differently");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ question two, put differently");
    terminal.wait_for_answer("Answer two.");

    let output = sandbox.run(&["sessions", "show", &only_log(&sandbox)]).out;
    assert!(output.contains("question one") && output.contains("put differently"), "{output}");
    assert!(!output.contains("> question two\n"), "{output}");
    let tree = sandbox.run(&["sessions", "tree", &only_log(&sandbox)]).out;
    assert_eq!(
        without_ids(&sandbox, tree),
        "* ·   now  > question one\n\
         * ·   now  Answer one.\n  \
           ├─ ·   now  > question two\n  \
           │  ·   now  Answer two.\n\
         * └─ ·   now  > question two, put differently\n\
         * │  ·   now  Answer two.\n"
    );
}

#[test]
fn tree_labels_and_hides() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    prompt_and_wait(&mut terminal, "question two", "Answer two.");
    enter(&mut terminal, "/label");
    terminal.wait_for("The newest message has no label; /label NAME sets one.");
    enter(&mut terminal, "/label dead end");
    terminal.wait_for("Labeled dead end.");
    enter(&mut terminal, "/tree");
    terminal.wait_for("[dead end]");
    terminal.key(TerminalKey::Ctrl('x'));
    terminal.wait_for("can't hide the current branch");
    terminal.key(TerminalKey::Up);
    terminal.wait_for("▸• ▌ question two");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("▸ no summary");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("❯ question two");
    terminal.wait_without("Answer two.");
    terminal.send("b");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Answer two.");

    enter(&mut terminal, "/tree");
    terminal.wait_for("▸●      Answer two.");
    terminal.send("dead end");
    terminal.wait_for("1 found");
    terminal.key(TerminalKey::Ctrl('x'));
    terminal.wait_for("hide this branch?");
    terminal.wait_for_question("▸ hide this entry and the");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("no match");
    terminal.key(TerminalKey::Ctrl('u'));
    terminal.wait_for("question twob");
    terminal.wait_without("[dead end]");
    terminal.key(TerminalKey::Ctrl('a'));
    terminal.wait_for("[dead end]");
    terminal.send("dead end");
    terminal.wait_for("1 found");
    terminal.wait_for("enter: unhide");
    terminal.key(TerminalKey::Enter);
    terminal.wait_until("restored", |screen| !screen.contains("enter: unhide"));
    let log = sandbox.log();
    let facts: Vec<&Value> =
        log.iter().filter(|entry| entry["customType"] == "tiller.hide").map(|entry| &entry["data"]).collect();
    assert_eq!(facts.iter().map(|fact| &fact["hidden"]).collect::<Vec<_>>(), [true, false]);
    assert_eq!(facts[0]["targetId"], facts[1]["targetId"]);
}

fn without_ids(sandbox: &Sandbox, text: String) -> String {
    let log = sandbox.log();
    let ids = log.iter().filter_map(|entry| entry["id"].as_str());
    ids.fold(text, |text, id| text.replace(&id[id.len().saturating_sub(6)..], "·"))
}

#[test]
fn fork_command_keeps_the_old_session() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &["--name", "trunk"]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    prompt_and_wait(&mut terminal, "question two", "Answer two.");
    let parent = sandbox.logs()[0].clone();
    enter(&mut terminal, "/fork");
    terminal.wait_for("▸● ▌ question two");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("❯ question two");
    terminal.wait_without("Answer two.");
    terminal.send("b");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_answer("Answer two.");
    let logs = sandbox.logs();
    assert_eq!(logs.len(), 2);
    let fork = logs.iter().find(|path| **path != parent).unwrap();
    let header: Value =
        serde_json::from_str(fs::read_to_string(fork).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], parent.to_str().unwrap());
    let log = fs::read_to_string(fork).unwrap();
    assert!(log.contains("question twob") && !log.contains("\"question two\""), "{log}");

    enter(&mut terminal, "/new");
    terminal.wait_for("Type a request");
    terminal.wait_without("question one");
    enter(&mut terminal, "/resume");
    let parent_id = parent.file_stem().unwrap().to_str().unwrap().to_owned();
    terminal.wait_for("▸ trunk");
    terminal.send(&parent_id[parent_id.len() - 6..]);
    terminal.wait_for("1 of 2");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ question two");
    terminal.wait_without("question twob");
    assert_eq!(sandbox.logs().len(), 2, "a session in which nothing was said leaves no file");
}

#[test]
fn overlays_open_and_close() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    enter(&mut terminal, "/model");
    terminal.wait_for("── models");
    terminal.wait_for("200,000 tokens");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── models");
    enter(&mut terminal, "/help");
    terminal.wait_for("── help");
    terminal.wait_for("alt+enter");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── help");
    terminal.send("?");
    terminal.wait_for("── help");
    terminal.send("q");
    terminal.wait_without("── help");
}

#[test]
fn slash_unknown_command_gets_a_suggestion() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    enter(&mut terminal, "/modle");
    terminal.wait_for("unknown command /modle; did you mean /model?");
    terminal.wait_for("❯ /modle");
    assert!(sandbox.logs().is_empty());
}

#[test]
fn slash_aliases_are_completed() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    terminal.wait_for("Type a request");
    terminal.send("/stat");
    terminal.wait_for("/status = /session");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("── session");
    terminal.key(TerminalKey::Esc);
    enter(&mut terminal, "/exit");
    assert_eq!(terminal.wait().exit_code(), 0);
}

#[test]
fn reload_applies_settings_or_asks_for_restart() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    terminal.wait_for("Type a request");
    let file = sandbox.home().join("tiller/settings.json");
    fs::write(&file, r#"{"steering_mode": "one-at-a-time", "max_tokens": 100}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("steering_mode one-at-a-time now; max_tokens at the next start");
    fs::write(&file, r#"{"steering_mode": "one-at-a-time", "colour": "red"}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("unknown setting `colour`");
    terminal.wait_without("at the next start");
    enter(&mut terminal, "/settings steering_mode");
    terminal.wait_for("one-at-a-time · yours");
    terminal.key(TerminalKey::Ctrl('c'));
    fs::write(&file, "{").unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("all settings stay as they were; fix the file, then run /reload");
    terminal.wait_without("read-only");
    enter(&mut terminal, "/reload");
    terminal.wait_for("settings unchanged");
    assert_eq!(terminal.screen().matches("invalid JSON").count(), 1, "{}", terminal.screen());
    fs::write(&file, "{}").unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("outdated");
    terminal.wait_without("everything stays as it was");
}

#[test]
fn reload_invalid_value_affects_only_itself() {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("tiller/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "{").unwrap();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    terminal.wait_for("ignored, and the approval mode is read-only");
    fs::write(&file, r#"{"approval": "auto", "mouse": "maybe", "nonsense": 1}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("approval auto now");
    terminal.wait_for("outdated");
    terminal.wait_for("unknown setting `nonsense`");
    terminal.wait_for("`maybe` is not one of on, off");
    fs::write(&file, r#"{"approval": "autoo", "steering_mode": "one-at-a-time"}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("steering_mode one-at-a-time now");
    terminal.wait_for("`autoo` is not one of");
    terminal.wait_until("the strictest in the footer", |screen| {
        screen.trim_end().trim_end_matches(" (alt+a)").ends_with("read-only")
    });
}

#[test]
fn reload_applies_the_theme_setting() {
    let sandbox = Sandbox::new();
    let themes = sandbox.home().join("tiller/themes");
    fs::create_dir_all(&themes).unwrap();
    fs::write(themes.join("mine.json"), r##"{"name": "mine", "roles": {"accent": "#010203"}}"##).unwrap();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    terminal.wait_for("Type a request");
    let file = sandbox.home().join("tiller/settings.json");
    fs::write(&file, r#"{"theme": "gruvboxx"}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("theme: unknown theme `gruvboxx`; did you mean gruvbox?");
    terminal.wait_without("gruvboxx now");
    fs::write(&file, format!(r#"{{"theme": "{}"}}"#, themes.join("mine.json").display())).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("mine.json now");
    fs::write(&file, r#"{"theme": "~/elsewhere.json"}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("theme at the next start");
}

#[test]
fn reload_ignores_changed_trusted_project() {
    let sandbox = Sandbox::new();
    let file = sandbox.project().join(".tiller/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, r#"{"steering_mode": "one-at-a-time"}"#).unwrap();
    let mut terminal = sandbox.open_scripted(&TWO, &["--trust-project"]);
    terminal.wait_for("Type a request");
    fs::write(&file, r#"{"steering_mode": "all"}"#).unwrap();
    enter(&mut terminal, "/reload");
    terminal.wait_for("all settings stay as they were; fix the file, then run /reload");
    terminal.wait_without("steering_mode");
}

#[test]
fn copy_command_uses_the_terminal_clipboard() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&TWO, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    enter(&mut terminal, "/copy");
    terminal.wait_for("Sent the last answer to the terminal's clipboard.");
    let sequence = format!("\x1b]52;c;{}", BASE64_STANDARD.encode("Answer one."));
    assert!(terminal.output().contains(&sequence));
}
