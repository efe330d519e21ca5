//! Questions to the user, and what an answer means. Pure.

use crate::event::{ApprovalRequest, CompactionChoice, Decision, Preview};
use crate::message::ToolCall;

/// Something that waits for the user's word.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ReplQuestion {
    /// Whether a call may run.
    Approval(Box<ApprovalRequest>),
    /// What to do without a summary, and why there is none.
    Compaction(String),
}

impl ReplQuestion {
    /// The question in words.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Approval(request) => approval(request),
            Self::Compaction(error) => format!(
                "question: no summary could be made: {error}\n  r = try again; t = leave the older part out without a summary; g or anything else = go on with the context as it is"
            ),
        }
    }
}

/// What to do without a summary; whatever isn't clearly something else leaves the context as it is.
pub(super) fn compaction_choice(answer: &str) -> CompactionChoice {
    match answer.trim().to_lowercase().as_str() {
        "r" | "retry" => CompactionChoice::Retry,
        "t" | "truncate" => CompactionChoice::Truncate,
        _ => CompactionChoice::GoOn,
    }
}

/// What is asked about a call.
fn approval(request: &ApprovalRequest) -> String {
    let call = ToolCall {
        id: request.tool_call_id.clone(),
        name: request.tool_name.clone(),
        arguments: request.args.clone(),
        raw_arguments: None,
    };
    let whole = request.args.get("command").and_then(|command| command.as_str()).map(str::to_owned);
    let about = whole.unwrap_or_else(|| call.summary());
    let preview = match &request.preview {
        Some(Preview::Change(change)) => format!("\n  {}", change.diff.trim_end().replace('\n', "\n  ")),
        Some(Preview::Failure { message }) => format!("\n  it would fail: {message}"),
        None => String::new(),
    };
    let always = match request.rule.as_str() {
        "" => String::new(),
        rule => format!("a or 2 = always in this session ({rule}); "),
    };
    format!(
        "question: may {} run?\n  {}{preview}\n  why it asks: {}\n  y or 1 = yes, this once; {always}n or anything else = no, and the model is told what you type",
        request.tool_name,
        about.replace('\n', "\n  "),
        request.reason,
    )
}

/// What an answer decides; whatever isn't clearly a yes is a no.
pub(super) fn decision(answer: &str, request: &ApprovalRequest) -> Decision {
    let has_rule = !request.rule.is_empty();
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" | "1" => Decision::Once,
        "2" if has_rule => Decision::Session,
        "a" | "always" => Decision::Session,
        "" | "n" | "no" | "2" | "3" => Decision::Deny { reason: "the user said no".to_owned() },
        _ => {
            let words = answer.trim();
            let words = words.strip_prefix("n ").or(words.strip_prefix("no ")).unwrap_or(words);
            Decision::Deny { reason: format!("the user said no: {}", words.trim()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_allows_a_call() {
        let decision = |answer| decision(answer, &request("ls"));
        assert_eq!([decision(" Y "), decision("yes")], [Decision::Once, Decision::Once]);
        assert_eq!(decision("a"), Decision::Session);
        let no = |reason: &str| Decision::Deny { reason: reason.to_owned() };
        assert_eq!([decision(""), decision("no")], [no("the user said no"), no("the user said no")]);
        assert_eq!(decision("yes please"), no("the user said no: yes please"));
        assert_eq!(decision("n not in here"), no("the user said no: not in here"));
    }

    #[test]
    fn decision_number_is_the_listed_answer() {
        let no = Decision::Deny { reason: "the user said no".to_owned() };
        let decided = |rule| ["1", "2", "3"].map(|answer| decision(answer, &request(rule)));
        assert_eq!(decided("ls"), [Decision::Once, Decision::Session, no.clone()]);
        assert_eq!(decided(""), [Decision::Once, no.clone(), no]);
    }

    #[test]
    fn without_a_clear_word_the_context_stays_as_it_is() {
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
            preview: None,
            later: 0,
        }
    }

    #[test]
    fn a_question_shows_all_of_a_command() {
        let request = request("rm");
        let text = ReplQuestion::Approval(Box::new(request.clone())).text();
        assert!(
            text.contains("may bash run?\n  cd /\n  rm -rf x\n  why it asks: it removes files"),
            "{text}"
        );
        assert!(text.contains("this once; a or 2 = always in this session (rm); n or"), "{text}");
        let every_time = ApprovalRequest { rule: String::new(), ..request };
        assert!(ReplQuestion::Approval(Box::new(every_time)).text().contains("this once; n or"));
    }
}
