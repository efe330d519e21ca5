//! `tiller sessions import`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};

/// A foreign log of the fixtures, placed below the sandbox's home as a session of the sandbox's project.
fn copy_fixture(sandbox: &Sandbox, fixture: &str, target: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign").join(fixture);
    let project = sandbox.project().canonicalize().unwrap().display().to_string();
    let text = ["/home/ada/orchard", "/home/ada/mill", "/home/ada/pond"]
        .into_iter()
        .fold(fs::read_to_string(source).unwrap(), |text, cwd| text.replace(cwd, &project));
    let path = sandbox.home().join(target);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Statuses by program.
fn statuses(output: &RunOutput) -> Vec<(String, String)> {
    let result: Value = serde_json::from_str(&output.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sessions = result["sessions"].as_array().unwrap();
    sessions.iter().map(|session| (text(&session["from"]), text(&session["status"]))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(from, status)| ((*from).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn import_all_finds_default_dirs_and_sessions_continue() {
    let sandbox = Sandbox::new();
    copy_fixture(&sandbox, "claude/orchard.jsonl", ".claude/projects/-orchard/5b0f8a52.jsonl");
    copy_fixture(
        &sandbox,
        "claude/agent-side.jsonl",
        ".claude/projects/-orchard/5b0f8a52/subagents/agent-side.jsonl",
    );
    copy_fixture(
        &sandbox,
        "codex/sessions/rollout-mill.jsonl",
        ".codex/sessions/2026/03/04/rollout-mill.jsonl",
    );
    copy_fixture(
        &sandbox,
        "codex/sessions/rollout-hello.jsonl",
        ".codex/archived_sessions/rollout-hello.jsonl",
    );
    copy_fixture(&sandbox, "codex/session_index.jsonl", ".codex/session_index.jsonl");
    copy_fixture(&sandbox, "pi/pond.jsonl", ".pi/agent/sessions/--pond--/pond.jsonl");
    let dry = sandbox.run(&["sessions", "import", "--all", "--dry-run"]);
    assert_eq!((dry.code, sandbox.logs().len()), (Some(0), 0), "{}", dry.err);
    assert!(dry.out.contains("would be imported: 24 entries"), "{}", dry.out);
    let output = sandbox.run(&["sessions", "import", "--all", "--json"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let expected = [
        ("claude", "skipped"),
        ("claude", "imported"),
        ("codex", "imported"),
        ("codex", "imported"),
        ("pi", "imported"),
    ];
    assert_eq!(statuses(&output), pairs(&expected));
    let second_output = sandbox.run(&["sessions", "import", "--all"]);
    assert!(
        second_output.err.contains("0 imported, 0 updated, 4 already imported, 1 skipped, 0 failed"),
        "{}",
        second_output.err
    );

    let listed: Value = serde_json::from_str(&sandbox.run(&["sessions", "list", "--json"]).out).unwrap();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|session| session["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["Pond", "Greetings", "The mill", "The orchard"]);

    // The newest session continues; it has one answer already.
    let script = sandbox.script(&[r#"{"text": "Fed."}"#, r#"{"text": "Fed too."}"#]);
    let gone_on = sandbox.run(&["-p", "-c", "--provider", "scripted", "--model", &script, "thanks"]);
    assert_eq!((gone_on.out.trim(), gone_on.code), ("Fed too.", Some(0)), "{}", gone_on.err);
    assert_eq!(sandbox.logs().len(), 4);
    let pond = listed[0]["id"].as_str().unwrap();
    let shown: Value =
        serde_json::from_str(&sandbox.run(&["sessions", "show", pond, "--context", "--json"]).out).unwrap();
    let messages: Vec<String> = shown.as_array().unwrap().iter().map(super::sandbox::message_line).collect();
    assert_eq!(messages[1..], ["assistant: Fed.", "user: ", "user: thanks", "assistant: Fed too."]);
    for command in ["show", "tree"] {
        for session in listed.as_array().unwrap() {
            let output = sandbox.run(&["sessions", command, session["id"].as_str().unwrap()]);
            assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{command}");
        }
    }
}

#[test]
fn import_from_one_program_uses_its_variable() {
    let sandbox = Sandbox::new();
    let moved = sandbox.home().join("moved").display().to_string();
    let sandbox = sandbox.with_variable("CODEX_HOME", &moved);
    copy_fixture(&sandbox, "claude/bees.jsonl", ".claude/projects/-orchard/bees.jsonl");
    copy_fixture(&sandbox, "codex/sessions/rollout-mill.jsonl", "moved/sessions/2026/rollout-mill.jsonl");
    let output = sandbox.run(&["sessions", "import", "--all", "--from", "codex", "--json"]);
    assert_eq!(statuses(&output), pairs(&[("codex", "imported")]), "{}", output.err);
    let bees = sandbox.home().join(".claude/projects/-orchard/bees.jsonl").display().to_string();
    let output = sandbox.run(&["sessions", "import", &bees, "--from", "pi", "--json"]);
    assert_eq!(statuses(&output), pairs(&[("claude", "skipped")]));
}

#[test]
fn import_bad_file_is_named_and_others_imported() {
    let sandbox = Sandbox::new();
    copy_fixture(&sandbox, "claude/bees.jsonl", "logs/bees.jsonl");
    fs::write(sandbox.home().join("logs/a.jsonl"), "{\"dear\": \"diary\"}\n").unwrap();
    let dir = sandbox.home().join("logs").display().to_string();
    let output = sandbox.run(&["sessions", "import", &dir]);
    assert_eq!(output.code, Some(1));
    assert!(output.err.contains("a.jsonl, line 1: not a Claude Code, Codex or pi log"), "{}", output.err);
    assert!(
        output.err.contains("1 imported, 0 updated, 0 already imported, 0 skipped, 1 failed"),
        "{}",
        output.err
    );
    assert!(output.out.contains("imported: 11 entries"), "{}", output.out);
}

/// Creates a directory below `logs` whose path is too long to be listed by any user.
fn put_unlistable(logs: &Path) {
    let script = "n=$(printf '%0200d' 0); for i in $(seq 25); do mkdir $n && cd -P ./$n || exit 1; done";
    let created = Command::new("bash").args(["-c", script]).current_dir(logs).status().unwrap();
    assert!(created.success());
}

#[test]
fn import_unlistable_dir_is_reported() {
    let sandbox = Sandbox::new();
    copy_fixture(&sandbox, "claude/bees.jsonl", ".claude/projects/-orchard/bees.jsonl");
    put_unlistable(&sandbox.home().join(".claude/projects"));
    let output = sandbox.run(&["sessions", "import", "--all", "--json"]);
    assert_eq!(output.code, Some(1));
    assert!(output.err.starts_with("error: ") && output.err.contains("can't be listed"), "{}", output.err);
    assert_eq!(statuses(&output), pairs(&[("claude", "imported")]));
}

#[test]
fn import_closed_stdout_is_no_failure() {
    let sandbox = Sandbox::new();
    for name in ["claude/bees.jsonl", "claude/orchard.jsonl"] {
        copy_fixture(&sandbox, name, &format!("logs/{name}"));
    }
    let logs = sandbox.home().join("logs").display().to_string();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = sandbox.command(&["sessions", "import", &logs]).stdout(writer).output().unwrap();
    let result = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), sandbox.logs().len()), (Some(0), 2), "{result}");
}

#[test]
fn import_without_logs_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 3] = [
        (&["sessions", "import"], "--all for the default locations"),
        (&["sessions", "import", "no/such/place"], "no file or directory at no/such/place"),
        (&["sessions", "import", "--all", "here"], "cannot be used with"),
    ];
    for (arguments, expected) in cases {
        let output = sandbox.run(arguments);
        assert_eq!(output.code, Some(2), "{arguments:?}: {}", output.err);
        assert!(output.err.contains(expected), "{arguments:?}: {}", output.err);
    }
    let output = sandbox.run(&["sessions", "import", "--all"]);
    assert_eq!((output.code, output.err.contains("no logs found")), (Some(0), true), "{}", output.err);
}
