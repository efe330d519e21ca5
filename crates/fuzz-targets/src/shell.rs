//! Command lines and the decisions about them.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_core::protected_path::ProtectedPaths;
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller_tools::policy::{
    AllowReason, ApprovalMode, AskBehavior, PermissionRule, Policy, PolicyVerdict, RepositoryState,
    SessionRules,
};

/// A line that is dangerous wherever it runs.
const DANGEROUS: &str = "sudo ls";

/// Characters that can make the next line part of a word or of a here-document.
const SWALLOWING: [char; 5] = ['\'', '"', '`', '\\', '<'];

/// Texts between two commands.
const SEPARATORS: [&str; 3] = ["\n", "; ", " | "];

/// Judges a command line.
///
/// - `read-only` denies it. `ask` asks about it. `auto` allows it or asks. A line that destroys a system is denied.
/// - The rule that a question offers allows the line, and not a dangerous one.
/// - A dangerous line before it is found, and one behind it too unless a quote, an escape or a here-document is open.
/// - If it only reads, it is one line, and the rule for it is a pattern.
///
/// # Panics
/// If a property doesn't hold.
pub fn shell_policy(data: &[u8]) {
    let line = String::from_utf8_lossy(data);
    let none = SessionRules::default();
    let read_only = judge(ApprovalMode::ReadOnly, AskBehavior::Yes, &line, &none);
    assert!(matches!(read_only, PolicyVerdict::Deny { .. }), "{read_only:?}");
    for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
        match judge(mode, AskBehavior::User, &line, &none) {
            PolicyVerdict::Ask { reason, rule } => {
                assert!(!reason.is_empty());
                check_rule(mode, &line, &rule);
            }
            PolicyVerdict::Deny { .. } => continue,
            verdict => assert_eq!((mode, verdict), (ApprovalMode::Auto, PolicyVerdict::Allow)),
        }
        assert!(judge(mode, AskBehavior::Yes, &line, &none).runs());
    }
    for separator in SEPARATORS {
        let line = format!("{DANGEROUS}{separator}{line}");
        let verdict = judge(ApprovalMode::Auto, AskBehavior::User, &line, &none);
        assert!(!verdict.runs(), "{line:?} runs: {verdict:?}");
    }
    if !line.contains(SWALLOWING) {
        let line = format!("{line}\n{DANGEROUS}");
        let verdict = judge(ApprovalMode::Auto, AskBehavior::User, &line, &none);
        assert!(!verdict.runs(), "{line:?} runs: {verdict:?}");
    }
    check_reading(&line);
}

/// A rule allows its line, and nothing dangerous with it.
fn check_rule(mode: ApprovalMode, line: &str, rule: &PermissionRule) {
    let mut rules = SessionRules::default();
    rules.add(rule.clone());
    let verdict = judge(mode, AskBehavior::User, line, &rules);
    assert_eq!(
        verdict,
        PolicyVerdict::Granted(AllowReason::Rule(rule.clone())),
        "the rule doesn't cover {line:?}"
    );
    if line != DANGEROUS {
        assert!(!judge(mode, AskBehavior::User, DANGEROUS, &rules).runs(), "{rule} allows {DANGEROUS}");
    }
    let longer = format!("{DANGEROUS}\n{line}");
    assert!(!judge(mode, AskBehavior::User, &longer, &rules).runs(), "{rule} allows {longer:?}");
}

fn check_reading(line: &str) {
    let policy = policy(ApprovalMode::Ask, AskBehavior::User);
    if policy.list_read_paths(line, || RepositoryState::Harmless).is_none() {
        return;
    }
    assert!(!line.contains(['\r', '\0']), "{line:?} reads");
    let verdict = judge(ApprovalMode::Ask, AskBehavior::User, line, &SessionRules::default());
    let is_harmless = matches!(&verdict, PolicyVerdict::Ask { reason, .. } if reason == "runs a command");
    assert!(is_harmless, "{line:?} only reads, but {verdict:?}");
}

fn judge(mode: ApprovalMode, ask_behavior: AskBehavior, line: &str, rules: &SessionRules) -> PolicyVerdict {
    let spec = ToolSpec {
        name: "bash".into(),
        description: String::new(),
        parameters: Arc::new(Value::Null),
        traits: ToolTraits::new(Access::Executes),
    };
    policy(mode, ask_behavior).judge(&spec, &json!({ "command": line }), rules)
}

fn policy(mode: ApprovalMode, ask_behavior: AskBehavior) -> Policy {
    let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
    Policy { mode, ask_behavior, root: "/home/me/work".into(), protected, ..Policy::default() }
}
