//! Exports from the command line and from the TUI.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use super::sandbox::Sandbox;
use tiller_test_support::terminal::TerminalKey;

/// A sandbox with one session, and a part of its id.
fn sandbox() -> (Sandbox, String) {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Four: `2 + 2`."}"#]);
    let output = sandbox.run(&[
        "-p",
        "--provider",
        "scripted",
        "--model",
        &script,
        "--name",
        "My sum!",
        "what is it?",
    ]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let id = sandbox.log()[0]["id"].as_str().unwrap().to_owned();
    let short = id[id.len() - 6..].to_owned();
    (sandbox, short)
}

#[test]
fn export_file_is_named_after_session_and_never_overwrites() {
    let (sandbox, id) = sandbox();
    let output = sandbox.run(&["sessions", "export", &id]);
    let path = sandbox.project().canonicalize().unwrap().join(format!("my-sum-{id}.html"));
    assert_eq!((output.out.trim(), output.code), (path.to_str().unwrap(), Some(0)), "{}", output.err);
    let page = fs::read_to_string(&path).unwrap();
    assert!(page.contains("<h1>My sum!</h1>") && page.contains("<code>2 + 2</code>"), "{page}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

    fs::write(&path, "mine").unwrap();
    let output = sandbox.run(&["sessions", "export", &id]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("already exists") && output.err.contains("--force"), "{}", output.err);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    assert_eq!(sandbox.run(&["sessions", "export", &id, "--force"]).code, Some(0));
    assert_eq!(fs::read_to_string(&path).unwrap(), page);
}

#[test]
fn export_format_from_flag_or_extension() {
    let (sandbox, id) = sandbox();
    let export =
        |extra_arguments: &[&str]| sandbox.run(&[&["sessions", "export", &id], extra_arguments].concat());
    assert_eq!(export(&["-o", "sum.md"]).out, "sum.md\n");
    let text = fs::read_to_string(sandbox.project().join("sum.md")).unwrap();
    assert!(text.starts_with("# My sum!\n") && text.contains("\nFour: `2 + 2`.\n"), "{text}");
    assert_eq!(export(&["-o", "-", "--format", "md"]).out, text);

    let log = fs::read_to_string(&sandbox.logs()[0]).unwrap();
    assert_eq!(export(&["-o", "-", "--format", "jsonl", "--all-branches"]).out, log);
    let branch = export(&["-o", "-", "--format", "jsonl"]).out;
    assert_eq!(branch.lines().skip(1).collect::<Vec<_>>(), log.lines().skip(1).collect::<Vec<_>>());

    let entry = sandbox.log().into_iter().find(|line| line["message"]["role"] == "user").unwrap();
    let exported = export(&["-o", "-", "--format", "jsonl", "--entry", entry["id"].as_str().unwrap()]).out;
    let last: Value = serde_json::from_str(exported.lines().last().unwrap()).unwrap();
    assert_eq!(last, entry);

    let output = export(&["-o", "sum.docx"]);
    assert_eq!((output.code, output.out.as_str()), (Some(2), ""));
    assert!(output.err.contains("sum.docx") && output.err.contains("--format"), "{}", output.err);
    assert!(!sandbox.project().join("sum.docx").exists());
}

#[test]
fn export_in_tui_writes_the_open_session() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Four."}"#], &[]);
    let mut enter = |line: &str, answer: &str| {
        terminal.wait_for("❯");
        terminal.send(line);
        terminal.wait_for(&format!("❯ {line}"));
        terminal.key(TerminalKey::Enter);
        terminal.wait_for(answer);
        terminal.wait_without("esc stops");
    };
    enter("what is it?", "Four.");
    enter("/export sum.md", "Exported to");
    enter("/export sum.md", "sum.md already exists");
    let text = fs::read_to_string(sandbox.project().join("sum.md")).unwrap();
    assert!(text.contains("what is it?") && text.contains("\nFour.\n"), "{text}");
    // The rejected name can be edited.
    terminal.wait_for("❯ /export sum.md");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_without("❯ /export");
    assert_eq!(terminal.quit().exit_code(), 0);
}

#[test]
fn export_markdown_has_every_branch_once() {
    let sandbox = Sandbox::new();
    let line = |id: &str, parent: &str, text: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-11-21T03:17:00.000Z","message":{{"role":"user","content":"{text}","timestamp":1}}}}"#
        )
    };
    let leaf = r#"{"type":"custom","id":"x1","parentId":"a1","timestamp":"2026-11-21T03:17:00.000Z","customType":"tiller.leaf","data":{}}"#;
    let header =
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/p"}"#;
    let lines = [
        header.to_owned(),
        line("a1", "null", "the trunk"),
        line("b1", r#""a1""#, "the left"),
        leaf.to_owned(),
        line("c1", r#""a1""#, "the right"),
    ];
    let log = sandbox.project().join("branched.jsonl");
    fs::write(&log, lines.join("\n") + "\n").unwrap();
    let output = sandbox.run(&[
        "sessions",
        "export",
        log.to_str().unwrap(),
        "--format",
        "md",
        "--all-branches",
        "-o",
        "-",
    ]);
    let count = |words: &str| output.out.matches(&format!("\n{words}\n")).count();
    assert_eq!((count("the trunk"), count("the left"), count("the right")), (1, 1, 1), "{}", output.out);
    assert_eq!(output.out.matches("# Another branch, starting at a1").count(), 1, "{}", output.out);
}

#[test]
fn export_to_dir_uses_default_name() {
    let (sandbox, id) = sandbox();
    fs::create_dir(sandbox.project().join("out")).unwrap();
    let output = sandbox.run(&["sessions", "export", &id, "--format", "md", "-o", "out", "--json"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let created: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(created["path"], format!("out/my-sum-{id}.md"));
    let output = sandbox.run(&["sessions", "export", &id, "-o", "nowhere/x.md"]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("the directory nowhere doesn't exist"), "{}", output.err);
}
