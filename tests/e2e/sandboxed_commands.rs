//! Commands of the model in the sandbox.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller::process::SandboxSupport;

use super::sandbox::Sandbox;
use tiller_test_support::terminal::TerminalKey;

/// Prints a note and returns true if the kernel has no sandbox or if the tests' directory is a temporary one, which
/// commands may write to.
fn is_skipped() -> bool {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if !SandboxSupport::detect().restricts_tcp() {
        eprintln!("SKIPPED: the system can't restrict commands");
        return true;
    }
    if ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|temporary| target.starts_with(temporary)) {
        eprintln!("SKIPPED: {} is in a temporary directory", target.display());
        return true;
    }
    false
}

fn outside() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Runs one call of a tool in a run that nobody answers; returns its result and whether it is an error.
fn call(sandbox: &Sandbox, name: &str, arguments: &Value, flags: &[&str]) -> (String, bool) {
    let call = json!({ "calls": [{ "name": name, "arguments": arguments }] });
    let script = sandbox.script(&[&call.to_string(), r#"{"text": "done"}"#]);
    let fixed = ["-p", "--mode", "json", "--provider", "scripted", "--model", &script];
    let output = sandbox.run(&[&fixed, flags, &["go"]].concat());
    let mut events = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let end = events.find(|event| event["type"] == "tool_execution_end").unwrap();
    (end["result"]["content"][0]["text"].as_str().unwrap().to_owned(), end["isError"] == true)
}

fn bash(sandbox: &Sandbox, command: &str, flags: &[&str]) -> (String, bool) {
    call(sandbox, "bash", &json!({ "command": command }), flags)
}

fn git(dir: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    let mut command = Command::new("git");
    command.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").args(identity).args(arguments);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A sandbox of tests whose commands are restricted.
fn restricted() -> Sandbox {
    Sandbox::new().with_variable("TILLER_SANDBOX_MODE", "workspace")
}

#[test]
fn sandboxed_command_writes_only_inside() {
    if is_skipped() {
        return;
    }
    let (sandbox, outside) = (restricted(), outside());
    let command =
        format!("mkdir build && echo x > build/f && cat build/f && touch {0}/f", outside.path().display());
    // It runs without approval, because the sandbox contains it.
    let (text, is_error) = bash(&sandbox, "mkdir build && echo x > build/f && cat build/f", &[]);
    assert_eq!((text.as_str(), is_error), ("x\n", false));
    fs::remove_dir_all(sandbox.project().join("build")).unwrap();
    let (text, is_error) = bash(&sandbox, &command, &["--yes"]);
    assert!(is_error && text.contains("Permission denied"), "{text}");
    assert!(text.contains("[the sandbox may have refused this: commands can write only to"), "{text}");
    assert!(text.contains("`unsandboxed: true`"), "{text}");
    assert!(!outside.path().join("f").exists());
    let added = ["--yes", "--add-dir", outside.path().to_str().unwrap()];
    assert!(!bash(&sandbox, &format!("touch {}/f", outside.path().display()), &added).1);
    assert!(outside.path().join("f").exists());
}

#[test]
fn sandboxed_demo_still_shows_an_approval_request() {
    let sandbox = restricted();
    let mut terminal = sandbox.open(&[]);
    terminal.wait_for("This is the demo model");
    terminal.send("hello");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("? bash needs approval:");
}

#[test]
fn sandboxed_mode_read_only_protects_the_project() {
    if is_skipped() {
        return;
    }
    // Temporary directories are writable, so the project must be elsewhere.
    let (sandbox, project) = (restricted(), outside());
    let cwd = ["--cwd", project.path().to_str().unwrap(), "--sandbox", "read-only"];
    let (text, is_error) = bash(&sandbox, "echo x > f", &cwd);
    assert!(is_error && text.contains("commands can write only to temporary directories"), "{text}");
    let cwd = ["--cwd", project.path().to_str().unwrap(), "--sandbox", "off", "--yes"];
    assert_eq!(bash(&sandbox, "echo x > f", &cwd), ("[no output]".to_owned(), false));
}

#[test]
fn sandboxed_command_needs_approval_to_leave() {
    if is_skipped() {
        return;
    }
    let (sandbox, outside) = (restricted(), outside());
    let arguments =
        json!({ "command": format!("touch {}/f", outside.path().display()), "unsandboxed": true });
    let (text, is_error) = call(&sandbox, "bash", &arguments, &["--approval", "auto"]);
    assert!(is_error && text.contains("runs a command without the sandbox"), "{text}");
    assert!(!outside.path().join("f").exists());
    assert!(!call(&sandbox, "bash", &arguments, &["--yes"]).1);
    assert!(outside.path().join("f").exists());
}

#[test]
fn sandboxed_command_has_no_tcp_unless_set() {
    if is_skipped() {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    let (text, is_error) = bash(&restricted(), &command, &["--yes"]);
    assert!(is_error && text.contains("can't use TCP"), "{text}");
    let sandbox = restricted().with_variable("TILLER_SANDBOX_NETWORK", "on");
    assert_eq!(bash(&sandbox, &command, &["--yes"]), ("[no output]".to_owned(), false));
}

#[test]
fn sandboxed_command_has_tcp_by_a_rule() {
    if is_skipped() {
        return;
    }
    let sandbox = restricted();
    fs::create_dir(sandbox.home().join("tiller")).unwrap();
    let rule = json!({ "tool": "bash", "match": "bash connect.sh", "decision": "allow", "network": true });
    let settings = json!({ "policy": { "rules": [rule] } }).to_string();
    fs::write(sandbox.home().join("tiller/settings.json"), settings).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    sandbox.write("connect.sh", &format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo connected"));
    assert_eq!(bash(&sandbox, "bash connect.sh", &[]), ("connected\n".to_owned(), false));
    let (text, is_error) = bash(&sandbox, "bash ./connect.sh", &[]);
    assert!(is_error && text.contains("can't use TCP"), "{text}");
}

#[test]
fn sandboxed_git_commits_also_in_worktree() {
    if is_skipped() {
        return;
    }
    let (sandbox, dir) = (restricted(), outside());
    let (main, tree): (PathBuf, PathBuf) = (dir.path().join("main"), dir.path().join("tree"));
    fs::create_dir(&main).unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["commit", "-q", "--allow-empty", "-m", "first"]);
    git(&main, &["worktree", "add", "-q", tree.to_str().unwrap()]);
    git(&main, &["config", "user.name", "A"]);
    git(&main, &["config", "user.email", "a@example.org"]);
    for project in [&main, &tree] {
        fs::write(project.join("f"), "x").unwrap();
        let flags = ["--yes", "--cwd", project.to_str().unwrap()];
        let (text, is_error) = call(&sandbox, "git_add", &json!({ "paths": ["f"] }), &flags);
        assert!(!is_error, "{text}");
        let (text, is_error) = call(&sandbox, "git_commit", &json!({ "message": "add f" }), &flags);
        assert!(!is_error && text.contains("add f") && !text.contains("hooks"), "{text}");
    }
}

#[test]
fn sandboxed_change_of_hooks_is_reported() {
    if is_skipped() {
        return;
    }
    let sandbox = restricted();
    git(sandbox.project(), &["init", "-q"]);
    let changed = "[the command changed .git/config or .git/hooks, from which git runs programs]";
    let (text, _) = bash(&sandbox, "touch .git/hooks/pre-commit", &["--yes"]);
    assert!(text.contains(changed), "{text}");
    let (text, _) = bash(&sandbox, "touch other", &["--yes"]);
    assert!(!text.contains(changed), "{text}");
}

#[test]
fn sandboxed_server_of_a_project_writes_only_in_the_workspace() {
    if is_skipped() {
        return;
    }
    let outside = outside();
    let script = format!("echo x > inside; echo x > {}/new; exit 1", outside.path().display());
    let servers = json!({"mcpServers": {"sh": {"command": "/bin/sh", "args": ["-c", script]}}}).to_string();
    for (mode, writes_outside) in [("workspace", false), ("off", true)] {
        let sandbox = Sandbox::new().with_variable("TILLER_SANDBOX_MODE", mode);
        fs::write(sandbox.project().join(".mcp.json"), &servers).unwrap();
        let doctor = sandbox.run(&["--trust-project", "doctor"]);
        assert_eq!(doctor.code, Some(1), "the server ends at once: {}", doctor.out);
        assert!(doctor.out.contains("✗ MCP servers    sh ("), "{}", doctor.out);
        assert!(sandbox.project().join("inside").exists());
        assert_eq!(outside.path().join("new").exists(), writes_outside, "{mode}");
    }
}
