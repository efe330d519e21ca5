//! Questions to the user, and what an answer means. Pure.

use crate::event::{ApprovalRequest, Decision};
use crate::message::ToolCall;

/// What is asked about a call.
pub(super) fn approval(request: &ApprovalRequest) -> String {
    let call = ToolCall {
        id: request.tool_call_id.clone(),
        name: request.tool_name.clone(),
        arguments: request.args.clone(),
        raw_arguments: None,
    };
    let whole = request.args.get("command").and_then(|command| command.as_str()).map(str::to_owned);
    let about = whole.unwrap_or_else(|| call.summary());
    format!(
        "question: may {} run?\n  {}\n  why it asks: {}\n  y = yes, this once; a = always in this session ({}); n or anything else = no, and the model is told what you type\n",
        request.tool_name,
        about.replace('\n', "\n  "),
        request.reason,
        request.rule,
    )
}

/// What an answer decides; whatever isn't clearly a yes is a no.
pub(super) fn decision(answer: &str) -> Decision {
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Decision::Once,
        "a" | "always" => Decision::Session,
        "" | "n" | "no" => Decision::Deny { reason: "the user said no".to_owned() },
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
        assert_eq!([decision(" Y "), decision("yes")], [Decision::Once, Decision::Once]);
        assert_eq!(decision("a"), Decision::Session);
        let no = |reason: &str| Decision::Deny { reason: reason.to_owned() };
        assert_eq!([decision(""), decision("no")], [no("the user said no"), no("the user said no")]);
        assert_eq!(decision("yes please"), no("the user said no: yes please"));
        assert_eq!(decision("n not in here"), no("the user said no: not in here"));
    }

    #[test]
    fn a_question_shows_all_of_a_command() {
        let request = ApprovalRequest {
            tool_call_id: "c".into(),
            tool_name: "bash".into(),
            args: serde_json::json!({"command": "cd /\nrm -rf x"}),
            reason: "it removes files".into(),
            rule: "rm".into(),
        };
        let text = approval(&request);
        assert!(
            text.contains("may bash run?\n  cd /\n  rm -rf x\n  why it asks: it removes files"),
            "{text}"
        );
    }
}
