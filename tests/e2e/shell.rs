//! The environment and the shell of commands.

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};

/// Runs a command through the model's bash tool; returns its result as well.
fn run(sandbox: &Sandbox, command: &str) -> (RunOutput, String) {
    let call = serde_json::json!({"calls": [{"name": "bash", "arguments": {"command": command}}]});
    let script = sandbox.script(&[&call.to_string(), r#"{"text": "done"}"#]);
    let output =
        sandbox.run(&["-p", "--yes", "--mode", "json", "--provider", "scripted", "--model", &script, "go"]);
    let events = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let end = events.into_iter().find(|event| event["type"] == "tool_execution_end");
    let text = end.map(|end| end["result"]["content"][0]["text"].as_str().unwrap().to_owned());
    (output, text.unwrap_or_default())
}

const SHOW: &str = "echo \"[$OPENAI_API_KEY$GEMINI_API_KEY] [$MY_API_KEY] $greeting\"";

#[test]
fn shell_commands_get_no_api_keys_by_default() {
    let sandbox = Sandbox::new()
        .with_variable("OPENAI_API_KEY", "sk-hush")
        .with_variable("GEMINI_API_KEY", "-g")
        .with_variable("MY_API_KEY", "mine");
    assert_eq!(run(&sandbox, SHOW).1, "[] [mine] \n");
    let sandbox = sandbox.with_variable("TILLER_BASH_INHERIT_KEYS", "on");
    assert_eq!(run(&sandbox, SHOW).1, "[sk-hush-g] [mine] \n");
}

#[test]
fn shell_prefix_and_shell_settings() {
    let sandbox = Sandbox::new()
        .with_variable("TILLER_BASH_PREFIX", "greeting=hello")
        .with_variable("TILLER_BASH_SHELL", "sh");
    assert_eq!(run(&sandbox, SHOW).1, "[] [] hello\n");
    let sandbox = Sandbox::new().with_variable("TILLER_BASH_SHELL", "no-such-shell-anywhere");
    let (output, _) = run(&sandbox, "true");
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("shell no-such-shell-anywhere: program not found"), "{}", output.err);
}
