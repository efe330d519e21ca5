//! Questions to the user and their answers. Pure.

use super::elicitation::ElicitationDialog;
use crate::event::{ApprovalRequest, CompactionChoice, Decision, Preview};
use crate::proposed_rules::ProposedRules;
use crate::tool_catalog::ToolCatalog;

/// A question that waits for the user's answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReplQuestion {
    /// Approval of a tool call.
    Approval(Box<ApprovalRequest>),
    /// A question from a server.
    Elicitation(Box<ElicitationDialog>),
    /// A failed compaction, with its error.
    Compaction(String),
}

impl ReplQuestion {
    /// Formats the question.
    pub(super) fn text(&self, tools: &ToolCatalog) -> String {
        match self {
            Self::Approval(request) => approval(request, tools),
            Self::Elicitation(dialog) => dialog.text(),
            Self::Compaction(error) => format!(
                "question: the summary failed: {error}\n  r = retry; t = drop older messages without a summary; g or any other text = continue with the context unchanged"
            ),
        }
    }
}

/// Parses the answer to a failed compaction; an unclear answer leaves the context unchanged.
pub(super) fn compaction_choice(answer: &str) -> CompactionChoice {
    match answer.trim().to_lowercase().as_str() {
        "r" | "retry" => CompactionChoice::Retry,
        "t" | "truncate" => CompactionChoice::Truncate,
        _ => CompactionChoice::GoOn,
    }
}

fn approval(request: &ApprovalRequest, tools: &ToolCatalog) -> String {
    let subject = tools.traits(&request.tool_name).shown_argument.text(&request.args);
    let preview = match &request.preview {
        Some(Preview::Change(change)) => format!("\n  {}", change.diff.trim_end().replace('\n', "\n  ")),
        Some(Preview::Failure { message }) => format!("\n  this would fail: {message}"),
        None => String::new(),
    };
    let always = match request.rule.as_str() {
        "" => String::new(),
        rule => format!("a or 2 = allow for this session ({rule}); "),
    };
    let saved = match &request.proposed {
        None => String::new(),
        Some(rules) => {
            let number = if request.rule.is_empty() { 2 } else { 3 };
            let (tool, line) = (&rules.tool, rules.line());
            format!(
                "always or {number} = allow always, with the rule `{tool} {line}` in your settings (always RULE = with a different rule); "
            )
        }
    };
    format!(
        "question: allow {}?\n  {}{preview}\n  reason: {}\n  y or 1 = allow once; {always}{saved}n or any other text = deny, with your text as the reason",
        request.tool_name,
        subject.replace('\n', "\n  "),
        request.reason,
    )
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ApprovalAnswer {
    Decide(Decision),
    /// Allows the call by saving rules in the user's settings.
    Save(ProposedRules),
}

pub(super) fn approval_answer(answer: &str, request: &ApprovalRequest) -> ApprovalAnswer {
    let number = if request.rule.is_empty() { "2" } else { "3" };
    let (first, rest) = answer.trim().split_once(' ').unwrap_or((answer.trim(), ""));
    let saved = request.proposed.as_ref().and_then(|proposed| match (first.to_lowercase().as_str(), rest) {
        ("always", "") => Some(proposed.clone()),
        ("always", line) => Some(ProposedRules::parse(&proposed.tool, line)),
        (first, "") if first == number => Some(proposed.clone()),
        _ => None,
    });
    saved.map_or_else(|| ApprovalAnswer::Decide(decision(answer, request)), ApprovalAnswer::Save)
}

/// Parses an answer that doesn't save a rule; anything but a clear yes denies the call.
fn decision(answer: &str, request: &ApprovalRequest) -> Decision {
    let has_rule = !request.rule.is_empty();
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" | "1" => Decision::Once,
        "2" if has_rule => Decision::Session,
        "a" => Decision::Session,
        "" | "n" | "no" | "2" | "3" | "4" => Decision::Deny { reason: "the user rejected it".to_owned() },
        _ => {
            let text = answer.trim();
            let text = text.strip_prefix("n ").or(text.strip_prefix("no ")).unwrap_or(text);
            Decision::Deny { reason: format!("the user rejected it: {}", text.trim()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::built_in_tools;

    #[test]
    fn decision_only_clear_yes_allows() {
        let decision = |answer| decision(answer, &request("ls"));
        assert_eq!([decision(" Y "), decision("yes")], [Decision::Once, Decision::Once]);
        assert_eq!(decision("a"), Decision::Session);
        let deny = |reason: &str| Decision::Deny { reason: reason.to_owned() };
        assert_eq!(
            [decision(""), decision("no")],
            [deny("the user rejected it"), deny("the user rejected it")]
        );
        assert_eq!(decision("yes please"), deny("the user rejected it: yes please"));
        assert_eq!(decision("n not in here"), deny("the user rejected it: not in here"));
    }

    #[test]
    fn decision_number_is_the_listed_answer() {
        let denial = Decision::Deny { reason: "the user rejected it".to_owned() };
        let decided = |rule| ["1", "2", "3"].map(|answer| decision(answer, &request(rule)));
        assert_eq!(decided("ls"), [Decision::Once, Decision::Session, denial.clone()]);
        assert_eq!(decided(""), [Decision::Once, denial.clone(), denial]);
    }

    #[test]
    fn approval_answer_always_saves_the_proposed_or_typed_rule() {
        let proposed = ProposedRules::parse("bash", "rm x");
        let request = ApprovalRequest { proposed: Some(proposed.clone()), ..request("rm") };
        let saved = |answer| match approval_answer(answer, &request) {
            ApprovalAnswer::Save(rules) => Some(rules.line()),
            ApprovalAnswer::Decide(_) => None,
        };
        assert_eq!([saved("Always"), saved("3")], [Some("rm x".to_owned()), Some("rm x".to_owned())]);
        assert_eq!(saved("always rm *").as_deref(), Some("rm *"));
        assert_eq!([saved("always, please"), saved("2"), saved("4"), saved("3 x")], [None, None, None, None]);
        let without = ApprovalRequest { proposed: None, ..request.clone() };
        let denial = Decision::Deny { reason: "the user rejected it: always".to_owned() };
        assert_eq!(approval_answer("always", &without), ApprovalAnswer::Decide(denial));
        let text = ReplQuestion::Approval(Box::new(request)).text(&built_in_tools());
        assert!(
            text.contains("always or 3 = allow always, with the rule `bash rm x` in your settings"),
            "{text}"
        );
    }

    #[test]
    fn compaction_choice_unclear_answer_changes_nothing() {
        let choices = ["R", "truncate", "", "what?"].map(compaction_choice);
        let go_on = CompactionChoice::GoOn;
        assert_eq!(choices, [CompactionChoice::Retry, CompactionChoice::Truncate, go_on, go_on]);
    }

    fn request(rule: &str) -> ApprovalRequest {
        ApprovalRequest {
            tool_call_id: "c".into(),
            tool_name: "bash".into(),
            args: serde_json::json!({"command": "cd /\nrm -rf x"}),
            reason: "it removes files".into(),
            rule: rule.into(),
            proposed: None,
            agent: None,
            cwd: None,
            preview: None,
            later: 0,
        }
    }

    #[test]
    fn question_approval_shows_whole_command() {
        let request = request("rm");
        let text = ReplQuestion::Approval(Box::new(request.clone())).text(&built_in_tools());
        assert!(text.contains("allow bash?\n  cd /\n  rm -rf x\n  reason: it removes files"), "{text}");
        assert!(text.contains("allow once; a or 2 = allow for this session (rm); n or"), "{text}");
        let without_rule = ApprovalRequest { rule: String::new(), ..request };
        assert!(
            ReplQuestion::Approval(Box::new(without_rule))
                .text(&built_in_tools())
                .contains("allow once; n or")
        );
    }
}
