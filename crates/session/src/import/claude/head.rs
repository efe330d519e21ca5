//! What a line of Claude Code's is, as far as the tree's shape depends on it.

use serde_json::Value;

use super::super::source::{Span, count, flag, items, text};
use super::super::warning::ImportWarnings;

/// Kinds of line that are no part of the conversation and are passed over without a word.
pub(super) const HOUSEKEEPING: [&str; 12] = [
    "queue-operation",
    "mode",
    "permission-mode",
    "file-history-snapshot",
    "file-history-delta",
    "progress",
    "agent-name",
    "agent-color",
    "agent-setting",
    "attribution-snapshot",
    "tag",
    "system",
];

/// The model's name on answers that the program made up itself.
const SYNTHETIC: &str = "<synthetic>";

/// One line of the conversation.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) span: Span,
    pub(super) uuid: Option<String>,
    pub(super) parent: Option<String>,
    /// A line that could not be read stands directly before.
    pub(super) after_gap: bool,
    pub(super) kind: Kind,
}

/// What it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing that is imported; what hangs on it hangs on its parent.
    Passing,
    /// Something the user said, now or queued before.
    Prompt,
    /// Results of calls, by the calls' ids.
    Results(Vec<String>),
    /// A part of an answer.
    Answer(Part),
    /// What came before is compacted.
    Boundary(Boundary),
    /// The summary of a compaction.
    Summary,
    /// A slash command.
    Command,
    /// What a slash command printed that no model was asked for.
    LocalOutput,
    /// A text that the program put in the user's mouth.
    Injected,
    /// A `!` command.
    BashInput,
    /// What it printed.
    BashOutput,
    /// The user stopped the answer before.
    Interrupted,
}

/// A part of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The answer's id.
    pub(super) answer: String,
    /// Calls in it: id and tool.
    pub(super) calls: Vec<(String, String)>,
    /// Whether it says why the answer ended.
    pub(super) ended: bool,
}

/// Where a compaction cut.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Boundary {
    /// The line that was the leaf.
    pub(super) before: Option<String>,
    /// First and last line that stay as they are.
    pub(super) kept: Option<(String, String)>,
    pub(super) tokens: u64,
}

impl Head {
    /// Takes a line that has a place in the tree.
    pub(super) fn read(
        span: Span,
        line: &Value,
        after_gap: bool,
        notes: &mut ImportWarnings,
    ) -> Option<Self> {
        let uuid = text(line, "uuid").map(str::to_owned);
        let kind = match text(line, "type").unwrap_or_default() {
            "user" => user(span, line, notes),
            "assistant" => answer(span, line, notes),
            "system" if uuid.is_some() => system(span, line, notes),
            "attachment" => attachment(span, line, notes),
            kind if uuid.is_some() => {
                if !HOUSEKEEPING.contains(&kind) {
                    notes.add(span.number, format!("lines left out, of an unknown kind ({kind})"));
                }
                Kind::Passing
            }
            _ => return None,
        };
        Some(Self { span, uuid, parent: text(line, "parentUuid").map(str::to_owned), after_gap, kind })
    }
}

/// The first text of a message.
pub(super) fn first_text(message: &Value) -> &str {
    text(message, "content")
        .or_else(|| items(message, "content").iter().find_map(|block| text(block, "text")))
        .unwrap_or_default()
}

fn user(span: Span, line: &Value, notes: &mut ImportWarnings) -> Kind {
    let message = line.get("message").unwrap_or(&Value::Null);
    let results: Vec<String> = items(message, "content")
        .iter()
        .filter(|block| text(block, "type") == Some("tool_result"))
        .map(|block| text(block, "tool_use_id").unwrap_or_default().to_owned())
        .collect();
    let said = first_text(message).trim_start();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| said.starts_with(beginning));
    if flag(line, "isCompactSummary") {
        Kind::Summary
    } else if !results.is_empty() {
        Kind::Results(results)
    } else if begins(&["<local-command-"]) {
        Kind::LocalOutput
    } else if flag(line, "isMeta") {
        Kind::Injected
    } else if begins(&["<command-name>", "<command-message>"]) {
        Kind::Command
    } else if begins(&["<bash-input>"]) {
        Kind::BashInput
    } else if begins(&["<bash-stdout>", "<bash-stderr>"]) {
        Kind::BashOutput
    } else if begins(&["[Request interrupted by user"]) {
        notes.add(span.number, "marks of an interruption left out");
        Kind::Interrupted
    } else {
        Kind::Prompt
    }
}

fn answer(span: Span, line: &Value, notes: &mut ImportWarnings) -> Kind {
    let message = line.get("message").unwrap_or(&Value::Null);
    if text(message, "model") == Some(SYNTHETIC) && !flag(line, "isApiErrorMessage") {
        notes.add(span.number, "answers left out that no model gave");
        return Kind::Passing;
    }
    let calls = items(message, "content").iter().filter(|block| text(block, "type") == Some("tool_use"));
    let call = |block: &Value| {
        let part = |key| text(block, key).unwrap_or_default().to_owned();
        (part("id"), part("name"))
    };
    Kind::Answer(Part {
        // An answer without an id is one line.
        answer: text(message, "id").map_or_else(|| format!("line {}", span.number), str::to_owned),
        calls: calls.map(call).collect(),
        ended: text(message, "stop_reason").is_some(),
    })
}

fn system(span: Span, line: &Value, notes: &mut ImportWarnings) -> Kind {
    match text(line, "subtype").unwrap_or_default() {
        "compact_boundary" => {
            let facts = line.get("compactMetadata").unwrap_or(&Value::Null);
            let segment = facts.get("preservedSegment").unwrap_or(&Value::Null);
            let end = |key| text(segment, key).map(str::to_owned);
            Kind::Boundary(Boundary {
                before: text(line, "logicalParentUuid").map(str::to_owned),
                kept: end("headUuid").zip(end("tailUuid")),
                tokens: count(facts, "preTokens"),
            })
        }
        "local_command" => {
            notes.add(span.number, "local commands left out");
            Kind::Passing
        }
        "api_error" => {
            notes.add(span.number, "failed requests left out");
            Kind::Passing
        }
        _ => Kind::Passing,
    }
}

fn attachment(span: Span, line: &Value, notes: &mut ImportWarnings) -> Kind {
    let attachment = line.get("attachment").unwrap_or(&Value::Null);
    match text(attachment, "type").unwrap_or_default() {
        "queued_command" if attachment.get("prompt").is_some() => Kind::Prompt,
        kind => {
            notes.add(span.number, format!("attachments left out ({kind})"));
            Kind::Passing
        }
    }
}
