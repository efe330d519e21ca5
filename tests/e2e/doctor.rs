//! `tiller doctor`.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};

fn states(output: &RunOutput) -> BTreeMap<String, String> {
    let checks: Vec<Value> = serde_json::from_str(&output.out).unwrap();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    checks.iter().map(|check| (text(check, "name"), text(check, "state"))).collect()
}

#[test]
fn doctor_names_keys_but_never_prints_them() {
    let sandbox = Sandbox::new().with_variable("ANTHROPIC_API_KEY", "sk-hush");
    let output = sandbox.run(&["doctor"]);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
    let line = |name: &str| output.out.lines().find(|line| line.contains(name)).unwrap();
    assert_eq!(line(" keys "), "✓ keys           anthropic");
    assert_eq!(line(" commands "), "✓ commands       supervisor and shell start correctly");
    assert!(line(" sandbox ").starts_with("– sandbox        "), "{}", output.out);
    assert!(!output.out.contains("hush"));
    let in_force = sandbox.run(&["--sandbox", "workspace", "doctor", "--json"]);
    let expected =
        if tiller::process::SandboxSupport::detect().restricts_writing() { "ok" } else { "absent" };
    assert_eq!(states(&in_force)["sandbox"], expected);
}

#[test]
fn doctor_names_ignored_files() {
    let sandbox = Sandbox::new();
    let agents = sandbox.home().join("tiller/agents");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("broken.md"), "No front matter.").unwrap();
    fs::write(sandbox.home().join("tiller/keybindings.json"), r#"{"help": "h"}"#).unwrap();
    let output = sandbox.run(&["doctor"]);
    let problem = "broken.md: agent ignored: no front matter; it needs at least `description`";
    assert!(output.out.contains("– configuration") && output.out.contains(problem), "{}", output.out);
    let problem = "keybindings.json, line 1: h is needed for typing; keeping `?` for `help`";
    let line = format!("\n{:17}{problem}\n", "");
    assert!(output.out.contains(&line), "each problem has its line: {}", output.out);
}

#[test]
fn doctor_exits_with_1_if_something_is_broken() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.home().join("tiller")).unwrap();
    for settings in ["{ nonsense", r#"{"policy": {"rules": [{"tool": "bash", "decision": "maybe"}]}}"#] {
        fs::write(sandbox.home().join("tiller/settings.json"), settings).unwrap();
        let output = sandbox.run(&["doctor", "--json"]);
        let configuration = states(&output)["configuration"].clone();
        assert_eq!((output.code, configuration.as_str()), (Some(1), "broken"), "{}", output.out);
    }
    fs::remove_file(sandbox.home().join("tiller/settings.json")).unwrap();
    fs::write(sandbox.home().join("tiller/sessions"), "").unwrap();
    let output = sandbox.run(&["doctor", "--json"]);
    assert_eq!((output.code, states(&output)["sessions"].as_str()), (Some(1), "broken"), "{}", output.out);
}
