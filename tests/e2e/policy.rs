//! The rules of the settings.

use std::fs;

use serde_json::{Value, json};

use super::sandbox::Sandbox;

fn with_rules(rules: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.home().join("tiller")).unwrap();
    let settings = json!({ "policy": { "rules": rules } }).to_string();
    fs::write(sandbox.home().join("tiller/settings.json"), settings).unwrap();
    sandbox
}

/// Runs one command of the model in a run that nobody answers; returns the text of its result.
fn command(sandbox: &Sandbox, line: &str, flags: &[&str]) -> String {
    let call = json!({ "calls": [{ "name": "bash", "arguments": { "command": line } }] });
    let script = sandbox.script(&[&call.to_string(), r#"{"text": "done"}"#]);
    let fixed = ["-p", "--sandbox", "off", "--mode", "json", "--provider", "scripted", "--model", &script];
    let out = sandbox.run(&[&fixed, flags, &["go"]].concat()).out;
    let mut events = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let end = events.find(|event| event["type"] == "tool_execution_end").unwrap();
    end["result"]["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn policy_rules_decide_on_commands_of_the_model() {
    let sandbox = with_rules(&json!([
        { "tool": "bash", "match": "printf *", "decision": "allow" },
        { "tool": "bash", "match": "printf hush*", "decision": "deny" },
    ]));
    assert!(command(&sandbox, "printf 'a b' && printf c", &[]).starts_with("a bc"));
    let asked = command(&sandbox, "touch x; printf c", &[]);
    assert!(asked.contains("no one can approve it"), "{asked}");
    let denied = "a settings rule denies this (deny bash `printf hush*`, in ";
    for line in ["printf hush", "env sh -c 'printf hush'"] {
        let result = command(&sandbox, line, &["--yes"]);
        assert!(result.contains(denied), "{result}");
    }
    let result = command(&sandbox, "rm -rf /usr", &["--yes"]);
    assert!(result.contains("(denied in every mode)"), "{result}");
}

#[test]
fn policy_explain_shows_commands_rules_and_decisions() {
    let sandbox = with_rules(&json!([{ "match": "cargo test*", "decision": "allow" }]));
    let output =
        sandbox.run(&["--sandbox", "off", "policy", "explain", "--", "cd a && cargo test | tee log"]);
    let path = sandbox.home().join("tiller/settings.json");
    let expected = format!(
        "cd a\n    allow if the other commands are allowed: only prints, filters or changes the directory\n\
         cargo test\n    rule: allow * `cargo test*` ({})\ntee log\n    ask: runs a command\n\n\
         ask        ask: runs a command\nauto       allow\n\
         plan       deny: bash can make changes, and plan mode forbids them\n\
         read-only  deny: bash can make changes, and read-only mode forbids them\n\n\
         Commands run without a sandbox.\n",
        path.display()
    );
    assert_eq!((output.code, output.out), (Some(0), expected), "{}", output.err);
    let line = "cd /srv && rm -rf x; ls src; sudo ls; cargo test > /etc/x";
    let output = sandbox.run(&["--sandbox", "off", "policy", "explain", "--json", line]);
    let explained: Value = serde_json::from_str(&output.out).unwrap();
    let decisions: Vec<&str> = explained["commands"]
        .as_array()
        .unwrap()
        .iter()
        .map(|command| command["decision"].as_str().unwrap())
        .collect();
    let rule = format!("rule: allow * `cargo test*` ({})", path.display());
    let expected = [
        "allow if the other commands are allowed: only prints, filters or changes the directory",
        "ask: deletes everything under x",
        "allow: only reads in the workspace",
        "ask: runs as another user (sudo)",
        &format!("{rule}; ask: writes outside the working directory: /etc/x"),
    ];
    assert_eq!(decisions[1..], expected[1..], "{}", output.out);
    let output = sandbox.run(&["policy", "rules"]);
    assert_eq!(output.out, format!("{:<44} {}\n", "allow * `cargo test*`", path.display()));
}

#[test]
fn policy_explain_checks_the_paths_that_a_command_reads() {
    let sandbox = with_rules(&json!([]));
    fs::write(sandbox.project().join("a"), "").unwrap();
    let explain = |line: &str| {
        let output = sandbox.run(&["--sandbox", "off", "policy", "explain", "--json", line]);
        let explained: Value = serde_json::from_str(&output.out).unwrap();
        ["ask", "plan"].map(|mode| explained["decisions"][mode].as_str().unwrap().to_owned())
    };
    assert_eq!(explain("cat a | wc -l"), ["allow: only reads in the workspace"; 2]);
    let denied = "deny: bash can make changes, and plan mode forbids them";
    for line in ["cat /etc/passwd", "ls /", "cat a /etc/passwd"] {
        assert_eq!(explain(line), ["ask: runs a command", denied], "{line}");
    }
}

#[test]
fn policy_invalid_rule_is_reported_and_only_reading_is_left() {
    let sandbox = with_rules(&json!([{ "tool": "bash", "decision": "denied" }]));
    let output = sandbox.run(&["-p", "--provider", "demo", "--no-session", "hello"]);
    let warning = "rule 1 of `policy.rules`: `decision`: `denied` is not one of deny, ask, allow; \
        until it is fixed, the approval mode is read-only";
    assert!(output.err.contains(warning), "{}", output.err);
    assert!(command(&sandbox, "ls", &["--yes"]).contains("read-only"));
}
