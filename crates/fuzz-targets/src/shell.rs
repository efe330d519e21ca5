//! Command lines and the decisions about them.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_core::message::{Access, ToolSpec};
use tiller_core::protected_path::ProtectedPaths;
use tiller_tools::policy::{Asking, Grant, Mode, Policy, Repository, Rule, SessionRules, Verdict};

/// A line that is dangerous wherever it runs.
const DANGEROUS: &str = "sudo ls";

/// Characters that can make the next line part of a word or of a here-document.
const SWALLOWING: [char; 5] = ['\'', '"', '`', '\\', '<'];

/// Texts between two commands.
const SEPARATORS: [&str; 3] = ["\n", "; ", " | "];

/// Judges a command line.
///
/// - `read-only` denies it. `ask` asks about it. `auto` allows it or asks.
/// - The rule that a question offers allows the line, and not a dangerous one.
/// - A dangerous line before it is found, and one behind it too unless a quote, an escape or a here-document is open.
/// - If it only reads, it is one line, and the rule for it is a pattern.
///
/// # Panics
/// If a property doesn't hold.
pub fn shell_policy(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let none = SessionRules::default();
    let read_only = judge(Mode::ReadOnly, Asking::Yes, &line, &none);
    assert!(matches!(read_only, Verdict::Deny { .. }), "{read_only:?}");
    for mode in [Mode::Ask, Mode::Auto] {
        match judge(mode, Asking::User, &line, &none) {
            Verdict::Ask { reason, rule } => {
                assert!(!reason.is_empty());
                check_rule(mode, &line, &rule);
            }
            verdict => assert_eq!((mode, verdict), (Mode::Auto, Verdict::Allow)),
        }
        assert!(judge(mode, Asking::Yes, &line, &none).runs());
    }
    for separator in SEPARATORS {
        let line = format!("{DANGEROUS}{separator}{line}");
        let verdict = judge(Mode::Auto, Asking::User, &line, &none);
        assert!(!verdict.runs(), "{line:?} runs: {verdict:?}");
    }
    if !line.contains(SWALLOWING) {
        let line = format!("{line}\n{DANGEROUS}");
        let verdict = judge(Mode::Auto, Asking::User, &line, &none);
        assert!(!verdict.runs(), "{line:?} runs: {verdict:?}");
    }
    check_reading(&line);
}

/// A rule allows its line, and nothing dangerous with it.
fn check_rule(mode: Mode, line: &str, rule: &Rule) {
    let mut rules = SessionRules::default();
    rules.add(rule.clone());
    let verdict = judge(mode, Asking::User, line, &rules);
    assert_eq!(verdict, Verdict::Granted(Grant::Rule(rule.clone())), "the rule doesn't cover {line:?}");
    if line != DANGEROUS {
        assert!(!judge(mode, Asking::User, DANGEROUS, &rules).runs(), "{rule} allows {DANGEROUS}");
    }
    let longer = format!("{DANGEROUS}\n{line}");
    assert!(!judge(mode, Asking::User, &longer, &rules).runs(), "{rule} allows {longer:?}");
}

fn check_reading(line: &str) {
    let policy = policy(Mode::Ask, Asking::User);
    if policy.list_read_paths(line, || Repository::Harmless).is_none() {
        return;
    }
    assert!(!line.contains(['\n', '\r', '\0']), "{line:?} reads");
    let verdict = judge(Mode::Ask, Asking::User, line, &SessionRules::default());
    let is_pattern = matches!(verdict, Verdict::Ask { rule: Rule::Pattern { .. }, .. });
    assert!(is_pattern, "{line:?} only reads, but {verdict:?}");
}

fn judge(mode: Mode, asking: Asking, line: &str, rules: &SessionRules) -> Verdict {
    let spec = ToolSpec {
        name: "bash".into(),
        description: String::new(),
        parameters: Arc::new(Value::Null),
        access: Access::Executes,
    };
    policy(mode, asking).judge(&spec, &json!({ "command": line }), rules)
}

fn policy(mode: Mode, asking: Asking) -> Policy {
    let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
    Policy { mode, asking, root: "/home/me/work".into(), protected, ..Policy::default() }
}
