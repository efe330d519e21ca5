//! Trust in a project's own settings, extensions and keys: the question, the stored answer, and ignored files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::sandbox::Sandbox;
use tiller_test_support::terminal::TerminalKey;

/// Answers every hook with nothing; leaves a mark where it ran. Its command shouts.
const EXTENSION: &str = r#"#!/bin/bash
echo ran >> "$(dirname "$0")/../../mark"
read -r hello
echo '{"type": "ready", "protocol": 1, "hooks": ["tool_call"], "commands": [{"name": "shout", "description": "louder"}]}'
while read -r line; do
  [[ $line =~ \"id\":([0-9]+),\"hook\":\"([a-z_]+)\" ]] || continue
  case ${BASH_REMATCH[2]} in
    command) result='{"prompt": "HEY"}' ;;
    tool_call) result='{"verdict": "deny", "reason": "not in this sandbox"}' ;;
  esac
  echo "{\"type\": \"answer\", \"id\": ${BASH_REMATCH[1]}, \"result\": $result}"
done
"#;

const PASSED_OVER: &str = "is not trusted; ignored: .tiller/settings.json, .env, .tiller/extensions/guard.sh; to trust it, use /trust in the TUI or --trust-project";

fn write_executable(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A sandbox whose project has a settings file, a `.env` and an extension.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    write_executable(&sandbox.project().join(".tiller/extensions/guard.sh"), EXTENSION);
    sandbox.write(".tiller/settings.json", r#"{"sync": "always", "session_dir": "elsewhere"}"#);
    sandbox.write(".env", "TILLER_MAX_TOKENS=77\nVISUAL=./evil\n");
    sandbox
}

fn ask(sandbox: &Sandbox, extra_arguments: &[&str]) -> super::sandbox::RunOutput {
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "bash", "arguments": {"command": "echo hi"}}]}"#,
        r#"{"text": "Done."}"#,
        r#"{"text": "Done again."}"#,
    ]);
    sandbox.run(&[&["-p", "--yes", "--provider", "scripted", "--model", &script], extra_arguments].concat())
}

/// Number of starts of the extension.
fn marks(sandbox: &Sandbox) -> usize {
    fs::read_to_string(sandbox.project().join("mark")).unwrap_or_default().lines().count()
}

/// The results of calls in the only log.
fn results(sandbox: &Sandbox) -> String {
    sandbox.messages().into_iter().filter(|line| line.starts_with("toolResult")).collect()
}

#[test]
fn trust_without_terminal_ignores_files() {
    let sandbox = sandbox();
    let output = ask(&sandbox, &["go"]);
    assert_eq!(
        (output.code, output.out.as_str(), marks(&sandbox)),
        (Some(0), "Done.\n", 0),
        "{}",
        output.err
    );
    let notices: Vec<&str> = output.err.lines().filter(|line| line.starts_with("warning:")).collect();
    assert_eq!(notices.len(), 1, "{}", output.err);
    assert!(notices[0].ends_with(PASSED_OVER), "{}", output.err);
    assert!(results(&sandbox).contains("hi"), "{}", results(&sandbox));
    let settings = sandbox.run(&["settings"]);
    assert!(
        !settings.out.contains(".tiller/settings.json") && settings.err.contains(PASSED_OVER),
        "{settings:?}"
    );
    assert!(!sandbox.home().join("tiller/state/trust.json").exists(), "no answer was given");
}

#[test]
fn trust_project_flag_lasts_until_a_file_changes() {
    let sandbox = sandbox();
    let output = ask(&sandbox, &["--trust-project", "go"]);
    assert_eq!((output.code, marks(&sandbox)), (Some(0), 1), "{}", output.err);
    assert!(
        output.err.contains("`session_dir` can only be set by the user, not by a project"),
        "{}",
        output.err
    );
    let denied = "toolResult: denied: not in this sandbox (extension guard)";
    assert_eq!(results(&sandbox), denied);

    let settings = sandbox.run(&["settings"]);
    let from = |name: &str| settings.out.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(
        from("sync ").contains("always") && from("sync ").contains(".tiller/settings.json"),
        "{settings:?}"
    );
    assert!(from("max_tokens ").contains("77"), "{settings:?}");
    assert!(from("session_dir ").ends_with("default"), "{settings:?}");

    let second = ask(&sandbox, &["-c", "/shout"]);
    assert_eq!((second.code, marks(&sandbox)), (Some(0), 2), "{}", second.err);
    assert!(sandbox.messages().contains(&"user: HEY".to_owned()), "{:?}", sandbox.messages());

    sandbox.write(".env", "TILLER_MAX_TOKENS=78\n");
    let changed = ask(&sandbox, &["-c", "go"]);
    assert!(changed.err.contains("has changed since it was trusted"), "{}", changed.err);
    assert_eq!(marks(&sandbox), 2);
}

#[test]
fn trust_broken_project_settings_matter_only_if_trusted() {
    let sandbox = sandbox();
    sandbox.write(".tiller/settings.json", "{");
    assert_eq!(ask(&sandbox, &["go"]).code, Some(0));
    let output = ask(&sandbox, &["--trust-project", "go"]);
    assert_eq!(output.code, Some(2));
    assert!(
        output.err.contains(".tiller/settings.json, line 1: invalid JSON: unexpected end of file"),
        "{}",
        output.err
    );
}

#[test]
fn trust_is_not_stored_without_session() {
    let sandbox = sandbox();
    let output = ask(&sandbox, &["--trust-project", "--no-session", "go"]);
    assert_eq!((output.code, marks(&sandbox)), (Some(0), 1), "{}", output.err);
    assert!(ask(&sandbox, &["go"]).err.contains("is not trusted"));
}

#[test]
fn trust_question_remembers_yes() {
    let sandbox = sandbox();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Answer one."}"#], &[]);
    terminal.wait_for("Trust these files?");
    assert!(terminal.screen().contains(".tiller/extensions/guard.sh"), "{}", terminal.screen());
    assert_eq!(marks(&sandbox), 0, "nothing runs before the answer");
    terminal.send("y\r");
    terminal.wait_for("❯");
    // The extension's command is known, and is sent.
    terminal.send("/shout");
    terminal.wait_for("louder");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("HEY");
    terminal.wait_for("Answer one.");
    assert!(terminal.quit().success());

    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Answer one."}"#], &[]);
    // Extensions are started after the first frame.
    terminal.wait_for("Type a request");
    assert_eq!(marks(&sandbox), 2);
    assert!(terminal.quit().success());
}

#[test]
fn trust_question_remembers_no_and_lists_ignored() {
    let sandbox = sandbox();
    let mut terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("Trust these files?");
    terminal.send("\r");
    terminal.wait_for("--trust-project");
    assert!(terminal.quit().success());
    let mut terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("--trust-project");
    assert!(terminal.quit().success());
    assert_eq!(marks(&sandbox), 0);
}

#[test]
fn trust_command_asks_again_and_loads_the_settings() {
    let sandbox = sandbox();
    sandbox.write(".tiller/settings.json", r#"{"approval": "auto"}"#);
    let mut terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("Trust these files?");
    terminal.send("\r");
    terminal.wait_for("--trust-project");
    terminal.send("/trust");
    terminal.wait_for("❯ /trust");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▸ no, keep ignoring these files");
    assert!(terminal.screen().contains(".tiller/extensions/guard.sh"), "{}", terminal.screen());
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ trust ");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("approval auto now");
    assert_eq!(marks(&sandbox), 0, "extensions wait for the next start");
    assert!(terminal.quit().success());
    let mut terminal = sandbox.open_scripted(&[], &[]);
    terminal.wait_for("Type a request");
    assert_eq!(marks(&sandbox), 1);
    assert!(terminal.quit().success());
}

#[test]
fn extensions_of_user_need_no_trust_and_exit_with_tiller() {
    let sandbox = Sandbox::new();
    let extension = "#!/bin/bash\necho $$ > pid\nread -r hello\necho '{\"type\": \"ready\", \"protocol\": 1}'\ntrap '' TERM\nsleep 1000\n";
    write_executable(&sandbox.home().join("tiller/extensions/own"), extension);
    let script = sandbox.script(&[r#"{"text": "x", "hang": true}"#]);
    let arguments = ["-p", "--provider", "scripted", "--model", &script, "go"];
    let mut child = sandbox.start(&mut sandbox.command(&arguments));
    let pid = loop {
        let text = fs::read_to_string(sandbox.project().join("pid")).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n') {
            break nix::unistd::Pid::from_raw(pid.parse().unwrap());
        }
        std::thread::yield_now();
    };
    child.kill().unwrap();
    child.wait().unwrap();
    let start = std::time::Instant::now();
    while nix::sys::signal::kill(pid, None).is_ok() {
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "the extension lives");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}
