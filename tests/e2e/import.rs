//! `tiller sessions import`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};

/// A foreign log of the fixtures, placed below the sandbox's home as a session of the sandbox's project.
fn put(sandbox: &Sandbox, fixture: &str, place: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/foreign").join(fixture);
    let project = sandbox.project().canonicalize().unwrap().display().to_string();
    let text = ["/home/ada/orchard", "/home/ada/mill", "/home/ada/pond"]
        .into_iter()
        .fold(fs::read_to_string(source).unwrap(), |text, cwd| text.replace(cwd, &project));
    let path = sandbox.home().join(place);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Statuses by program.
fn statuses(ran: &RunOutput) -> Vec<(String, String)> {
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sessions = told["sessions"].as_array().unwrap();
    sessions.iter().map(|session| (text(&session["from"]), text(&session["status"]))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(from, status)| ((*from).to_owned(), (*status).to_owned())).collect()
}

#[test]
fn import_all_finds_default_folders_and_sessions_continue() {
    let sandbox = Sandbox::new();
    put(&sandbox, "claude/orchard.jsonl", ".claude/projects/-orchard/5b0f8a52.jsonl");
    put(&sandbox, "claude/agent-side.jsonl", ".claude/projects/-orchard/5b0f8a52/subagents/agent-side.jsonl");
    put(&sandbox, "codex/sessions/rollout-mill.jsonl", ".codex/sessions/2026/03/04/rollout-mill.jsonl");
    put(&sandbox, "codex/sessions/rollout-hello.jsonl", ".codex/archived_sessions/rollout-hello.jsonl");
    put(&sandbox, "codex/session_index.jsonl", ".codex/session_index.jsonl");
    put(&sandbox, "pi/pond.jsonl", ".pi/agent/sessions/--pond--/pond.jsonl");
    let dry = sandbox.run(&["sessions", "import", "--all", "--dry-run"]);
    assert_eq!((dry.code, sandbox.logs().len()), (Some(0), 0), "{}", dry.err);
    assert!(dry.out.contains("would be imported: 24 entries"), "{}", dry.out);
    let ran = sandbox.run(&["sessions", "import", "--all", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let expected = [
        ("claude", "skipped"),
        ("claude", "imported"),
        ("codex", "imported"),
        ("codex", "imported"),
        ("pi", "imported"),
    ];
    assert_eq!(statuses(&ran), pairs(&expected));
    let again = sandbox.run(&["sessions", "import", "--all"]);
    assert!(
        again.err.contains("0 imported, 0 updated, 4 already imported, 1 skipped, 0 failed"),
        "{}",
        again.err
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
    let said: Vec<String> = shown.as_array().unwrap().iter().map(super::sandbox::message_line).collect();
    assert_eq!(said[1..], ["assistant: Fed.", "user: ", "user: thanks", "assistant: Fed too."]);
    for command in ["show", "tree"] {
        for session in listed.as_array().unwrap() {
            let ran = sandbox.run(&["sessions", command, session["id"].as_str().unwrap()]);
            assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{command}");
        }
    }
}

#[test]
fn import_from_one_program_uses_its_variable() {
    let sandbox = Sandbox::new();
    let moved = sandbox.home().join("moved").display().to_string();
    let sandbox = sandbox.with("CODEX_HOME", &moved);
    put(&sandbox, "claude/bees.jsonl", ".claude/projects/-orchard/bees.jsonl");
    put(&sandbox, "codex/sessions/rollout-mill.jsonl", "moved/sessions/2026/rollout-mill.jsonl");
    let ran = sandbox.run(&["sessions", "import", "--all", "--from", "codex", "--json"]);
    assert_eq!(statuses(&ran), pairs(&[("codex", "imported")]), "{}", ran.err);
    let bees = sandbox.home().join(".claude/projects/-orchard/bees.jsonl").display().to_string();
    let ran = sandbox.run(&["sessions", "import", &bees, "--from", "pi", "--json"]);
    assert_eq!(statuses(&ran), pairs(&[("claude", "skipped")]));
}

#[test]
fn import_bad_file_is_named_and_others_imported() {
    let sandbox = Sandbox::new();
    put(&sandbox, "claude/bees.jsonl", "logs/bees.jsonl");
    fs::write(sandbox.home().join("logs/a.jsonl"), "{\"dear\": \"diary\"}\n").unwrap();
    let folder = sandbox.home().join("logs").display().to_string();
    let ran = sandbox.run(&["sessions", "import", &folder]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.contains("a.jsonl, line 1: not a log of Claude Code, Codex or pi"), "{}", ran.err);
    assert!(
        ran.err.contains("1 imported, 0 updated, 0 already imported, 0 skipped, 1 failed"),
        "{}",
        ran.err
    );
    assert!(ran.out.contains("imported: 11 entries"), "{}", ran.out);
}

/// Creates a folder below `logs` whose path is too long to be listed by any user.
fn put_unlistable(logs: &Path) {
    let script = "n=$(printf '%0200d' 0); for i in $(seq 25); do mkdir $n && cd -P ./$n || exit 1; done";
    let made = Command::new("bash").args(["-c", script]).current_dir(logs).status().unwrap();
    assert!(made.success());
}

#[test]
fn import_unlistable_folder_is_reported() {
    let sandbox = Sandbox::new();
    put(&sandbox, "claude/bees.jsonl", ".claude/projects/-orchard/bees.jsonl");
    put_unlistable(&sandbox.home().join(".claude/projects"));
    let ran = sandbox.run(&["sessions", "import", "--all", "--json"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.err.starts_with("error: ") && ran.err.contains("can't be listed"), "{}", ran.err);
    assert_eq!(statuses(&ran), pairs(&[("claude", "imported")]));
}

#[test]
fn import_closed_stdout_is_no_failure() {
    let sandbox = Sandbox::new();
    for name in ["claude/bees.jsonl", "claude/orchard.jsonl"] {
        put(&sandbox, name, &format!("logs/{name}"));
    }
    let logs = sandbox.home().join("logs").display().to_string();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let ended = sandbox.command(&["sessions", "import", &logs]).stdout(writer).output().unwrap();
    let told = String::from_utf8_lossy(&ended.stderr);
    assert_eq!((ended.status.code(), sandbox.logs().len()), (Some(0), 2), "{told}");
}

#[test]
fn import_without_logs_is_a_usage_error() {
    let sandbox = Sandbox::new();
    let cases: [(&[&str], &str); 3] = [
        (&["sessions", "import"], "--all for the default locations"),
        (&["sessions", "import", "no/such/place"], "no file or folder at no/such/place"),
        (&["sessions", "import", "--all", "here"], "cannot be used with"),
    ];
    for (arguments, said) in cases {
        let ran = sandbox.run(arguments);
        assert_eq!(ran.code, Some(2), "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(said), "{arguments:?}: {}", ran.err);
    }
    let ran = sandbox.run(&["sessions", "import", "--all"]);
    assert_eq!((ran.code, ran.err.contains("no logs found")), (Some(0), true), "{}", ran.err);
}
