//! A second tiller process on a session that the first one has open.

#[cfg(target_os = "linux")]
use std::path::Path;

use super::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

const ANSWERS: [&str; 3] =
    [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#, r#"{"text": "Answer three."}"#];

/// A first tiller in a terminal, idle after one answer.
fn first(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_scripted(&ANSWERS, &["first prompt"]);
    terminal.wait_for_answer("Answer one.");
    terminal
}

/// A second one that asks for the user's choice.
fn second(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_scripted(&ANSWERS, &["-c"]);
    terminal.wait_for("[f]ork, [r]ead-only, [q]uit?");
    terminal
}

/// The process that has the only log open, according to the lock file.
fn holder(sandbox: &Sandbox) -> u64 {
    let note = format!("{}.lock", sandbox.logs()[0].display());
    let note: serde_json::Value = serde_json::from_slice(&std::fs::read(note).unwrap()).unwrap();
    note["pid"].as_u64().unwrap()
}

#[test]
fn locked_session_is_refused_in_print_mode() {
    let sandbox = Sandbox::new();
    let _first = first(&sandbox);
    let (log, pid) = (sandbox.logs().remove(0), holder(&sandbox));
    let before = std::fs::read(&log).unwrap();
    let script = sandbox.script(&ANSWERS);
    let output = sandbox.run(&["-c", "-p", "--provider", "scripted", "--model", &script, "me too"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{}", output.err);
    let expected =
        format!("error: session file {}: another tiller process has it open (pid {pid} on ", log.display());
    assert!(output.err.starts_with(&expected), "{}", output.err);
    let hint =
        "hint: attach to it: tiller --attach ID; or fork it: tiller --fork ID; or close the other tiller";
    assert!(output.err.contains(hint), "{}", output.err);
    assert_eq!(std::fs::read(&log).unwrap(), before);
}

#[test]
fn locked_session_can_be_forked() {
    let sandbox = Sandbox::new();
    let mut first = first(&sandbox);
    let log = sandbox.logs().remove(0);
    let before = std::fs::read(&log).unwrap();
    let mut second = second(&sandbox);
    assert!(second.screen().contains(&format!("(pid {} on ", holder(&sandbox))), "{}", second.screen());
    second.send("what?\r");
    second.wait_for("Type a, f, r or q, then Enter.");
    second.send("f\r");
    second.wait_for("forked from");
    second.wait_for("Answer one.");
    second.send("second prompt\r");
    second.wait_for("Answer two.");
    assert!(second.quit().success());
    assert_eq!(std::fs::read(&log).unwrap(), before);
    assert_eq!(sandbox.logs().len(), 2);

    first.send("my own second\r");
    first.wait_for("Answer two.");
}

#[test]
fn locked_session_can_be_followed_without_writing() {
    let sandbox = Sandbox::new();
    let mut first = first(&sandbox);
    let mut second = second(&sandbox);
    second.send("r\r");
    second.wait_for("> first prompt");
    second.wait_for("Answer one.");
    first.send("second prompt\r");
    second.wait_for("> second prompt");
    second.wait_for("Answer two.");
    second.key(TerminalKey::Ctrl('c'));
    assert_eq!(second.wait().exit_code(), 130);
    assert!(first.quit().success());
    let runs = sandbox.log().iter().filter(|line| line["customType"] == "tiller.run").count();
    assert_eq!(runs, 1, "only the first one wrote");
    assert_eq!(sandbox.messages().len(), 4);
}

#[test]
fn locked_session_can_be_attached_to() {
    let sandbox = Sandbox::new();
    let mut first = first(&sandbox);
    let mut second = second(&sandbox);
    second.send("a\r");
    second.wait_for("quitting leaves it open");
    second.wait_for("Answer one.");
    second.send("from the second\r");
    first.wait_for("from the second");
    first.wait_for_answer("Answer two.");
    second.wait_for_answer("Answer two.");
    first.send("from the first\r");
    second.wait_for("from the first");
    second.wait_for_answer("Answer three.");
    second.send("/new\r");
    second.wait_for("another tiller process has this session open");
    second.key(TerminalKey::Ctrl('c'));
    assert!(second.quit().success());
    assert_eq!(sandbox.messages().len(), 6);

    let id = sandbox.log()[0]["id"].as_str().unwrap().to_owned();
    let mut third = sandbox.open(&["--attach", &id]);
    third.wait_for("Answer three.");
    assert!(third.quit().success());
    let command = format!("Resume this session with: tiller --attach {id}\r\n");
    assert!(third.output().contains(&command), "{}", third.output());
    let mut third = sandbox.open(&["--attach", &id]);
    third.wait_for("Answer three.");
    assert!(first.quit().success());
    assert!(third.wait().success());
    let command = format!("Resume this session with: tiller --session {id}\r\n");
    assert!(third.output().contains(&command), "{}", third.output());
    let output = sandbox.run(&["--attach", &id]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("--attach needs the TUI"), "{}", output.err);
    let output = sandbox.run(&["--attach", &id, "--plain"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("'--attach <URL|PATH|ID>' cannot be used with '--plain'"), "{}", output.err);
}

/// A command of a session could approve its own calls, or leave the sandbox.
#[cfg(target_os = "linux")]
#[test]
fn locked_session_refuses_its_own_commands() {
    if !Path::new("/usr/bin/script").exists() {
        return eprintln!("SKIPPED: `script` is needed to give a command a terminal");
    }
    let sandbox = Sandbox::new();
    let mut first = first(&sandbox);
    let id = sandbox.log()[0]["id"].as_str().unwrap().to_owned();
    let attach = format!("{} --attach {id}", env!("CARGO_BIN_EXE_tiller"));
    first.send(&format!("! script -qec '{attach}' /dev/null </dev/null\r"));
    first.wait_for("the connection to the session failed");
    assert!(first.quit().success());
}

#[test]
fn locked_session_can_be_quit() {
    let sandbox = Sandbox::new();
    let _first = first(&sandbox);
    let mut second = second(&sandbox);
    second.send("q\r");
    assert!(second.wait().success());
    assert_eq!(sandbox.logs().len(), 1);
}
