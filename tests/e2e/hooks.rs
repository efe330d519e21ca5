//! Hooks of settings files, in the real binary.

use std::fs;

use super::sandbox::{RunOutput, Sandbox};

const SCRIPT: [&str; 4] = [
    r#"{"calls": [{"name": "write_file", "arguments": {"path": "api.gen.rs", "content": "by hand"}}]}"#,
    r#"{"calls": [{"name": "write_file", "arguments": {"path": "main.rs", "content": "fn main(){}"}}]}"#,
    r#"{"text": "Done."}"#,
    r#"{"text": "Tested."}"#,
];

/// Denies edits of generated files, formats edited ones, demands tests once, and says which branch it is.
const HOOKS: &str = r##"{"hooks": {
  "SessionStart": [{"hooks": [{"type": "command", "command": "echo be brief"}]}],
  "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "if grep -q secret; then echo it has a secret >&2; exit 2; fi"}]}],
  "PreToolUse": [{"matcher": "write_file|edit_file", "hooks": [{"type": "command", "command": "if grep -q gen.rs; then echo 'generated; edit api.json' >&2; exit 2; fi"}]}],
  "PostToolUse": [{"matcher": "write_file|edit_file", "hooks": [{"type": "command", "command": "echo '// formatted' >> \"$TILLER_PROJECT_DIR\"/main.rs"}]}],
  "Stop": [{"hooks": [{"type": "command", "command": "if grep -q 'stop_hook_active\":false'; then echo run the tests >&2; exit 2; fi"}]}],
  "Notification": []
}}"##;

fn run(sandbox: &Sandbox, arguments: &[&str]) -> RunOutput {
    let script = sandbox.script(&SCRIPT);
    sandbox.run(&[&["-p", "--yes", "--provider", "scripted", "--model", &script], arguments].concat())
}

fn user_settings(sandbox: &Sandbox, text: &str) {
    let dir = sandbox.home().join("tiller");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("settings.json"), text).unwrap();
}

#[test]
fn hooks_of_the_user_take_part_in_a_run() {
    let sandbox = Sandbox::new();
    user_settings(&sandbox, HOOKS);
    let output = run(&sandbox, &["go"]);
    assert_eq!((output.code, output.out.as_str()), (Some(0), "Tested.\n"), "{}", output.err);
    assert!(output.err.contains("`hooks.Notification`: unknown event"), "{}", output.err);
    let messages = sandbox.messages();
    assert!(
        messages.contains(&"toolResult: denied: generated; edit api.json (hook)".to_owned()),
        "{messages:?}"
    );
    assert!(messages[0].contains("be brief"), "{messages:?}");
    assert!(!sandbox.project().join("api.gen.rs").exists());
    let main = fs::read_to_string(sandbox.project().join("main.rs")).unwrap();
    assert_eq!(main, "fn main(){}// formatted\n");

    let rejected = run(&sandbox, &["the secret is 7"]);
    assert_eq!(rejected.code, Some(1), "{}", rejected.err);
    assert!(rejected.err.contains("not sent: it has a secret (hook)"), "{}", rejected.err);
    let settings = sandbox.run(&["settings"]).out;
    assert!(settings.contains("hooks\n    SessionStart: echo be brief\n"), "{settings}");
}

#[test]
fn hooks_of_a_project_need_trust() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join(".tiller")).unwrap();
    sandbox.write(".tiller/settings.json", HOOKS);
    let untrusted = run(&sandbox, &["go"]);
    assert_eq!(untrusted.out, "Done.\n", "{}", untrusted.err);
    assert!(sandbox.project().join("api.gen.rs").exists());
    let trusted = run(&sandbox, &["--trust-project", "go"]);
    assert_eq!(trusted.out, "Tested.\n", "{}", trusted.err);
}
