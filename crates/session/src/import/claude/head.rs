//! Classification of Claude Code's lines for the tree.

use serde_json::Value;

use super::super::source::{LineSpan, count, flag, items, text};
use super::super::warning::ImportWarnings;

/// Kinds of line outside the conversation, skipped without a warning.
pub(super) const SKIPPED_KINDS: [&str; 12] = [
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

/// The model name of synthetic answers.
const SYNTHETIC: &str = "<synthetic>";

#[derive(Debug)]
pub(super) struct ConversationLine {
    pub(super) span: LineSpan,
    pub(super) uuid: Option<String>,
    pub(super) parent: Option<String>,
    /// True directly after an unreadable line.
    pub(super) after_gap: bool,
    pub(super) kind: LineKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LineKind {
    /// Not imported; its children become children of its parent.
    Passing,
    /// A user message, possibly from the queue.
    Prompt,
    /// Tool results, by call ids.
    Results(Vec<String>),
    /// A block of an answer.
    Answer(AnswerPart),
    /// The start of a compaction.
    Boundary(Boundary),
    /// The summary of a compaction.
    Summary,
    /// A slash command.
    Command,
    /// The output of a local slash command, without a request to a model.
    LocalOutput,
    /// A string injected by the program as a user message.
    Injected,
    /// A `!` command.
    BashInput,
    /// The output of a `!` command.
    BashOutput,
    /// A mark that the user stopped the previous answer.
    Interrupted,
}

/// A block of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AnswerPart {
    pub(super) answer: String,
    /// Its calls: id and tool.
    pub(super) calls: Vec<(String, String)>,
    /// True if the line has the answer's stop reason.
    pub(super) has_stop_reason: bool,
}

/// The boundary of a compaction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Boundary {
    /// The leaf before the compaction.
    pub(super) previous_leaf: Option<String>,
    /// First and last kept line.
    pub(super) kept_range: Option<(String, String)>,
    pub(super) tokens: u64,
}

impl ConversationLine {
    /// Classifies a line; `None` if it isn't part of the tree.
    pub(super) fn read(
        span: LineSpan,
        line: &Value,
        after_gap: bool,
        warnings: &mut ImportWarnings,
    ) -> Option<Self> {
        let uuid = text(line, "uuid").map(str::to_owned);
        let kind = match text(line, "type").unwrap_or_default() {
            "user" => user(span, line, warnings),
            "assistant" => answer(span, line, warnings),
            "system" if uuid.is_some() => system(span, line, warnings),
            "attachment" => attachment(span, line, warnings),
            kind if uuid.is_some() => {
                if !SKIPPED_KINDS.contains(&kind) {
                    warnings.add(span.number, format!("skipped lines of unknown type ({kind})"));
                }
                LineKind::Passing
            }
            _ => return None,
        };
        Some(Self { span, uuid, parent: text(line, "parentUuid").map(str::to_owned), after_gap, kind })
    }
}

pub(super) fn first_text(message: &Value) -> &str {
    text(message, "content")
        .or_else(|| items(message, "content").iter().find_map(|block| text(block, "text")))
        .unwrap_or_default()
}

fn user(span: LineSpan, line: &Value, warnings: &mut ImportWarnings) -> LineKind {
    let message = line.get("message").unwrap_or(&Value::Null);
    let results: Vec<String> = items(message, "content")
        .iter()
        .filter(|block| text(block, "type") == Some("tool_result"))
        .map(|block| text(block, "tool_use_id").unwrap_or_default().to_owned())
        .collect();
    let start = first_text(message).trim_start();
    let begins = |beginnings: &[&str]| beginnings.iter().any(|beginning| start.starts_with(beginning));
    if flag(line, "isCompactSummary") {
        LineKind::Summary
    } else if !results.is_empty() {
        LineKind::Results(results)
    } else if begins(&["<local-command-"]) {
        LineKind::LocalOutput
    } else if flag(line, "isMeta") {
        LineKind::Injected
    } else if begins(&["<command-name>", "<command-message>"]) {
        LineKind::Command
    } else if begins(&["<bash-input>"]) {
        LineKind::BashInput
    } else if begins(&["<bash-stdout>", "<bash-stderr>"]) {
        LineKind::BashOutput
    } else if begins(&["[Request interrupted by user"]) {
        warnings.add(span.number, "skipped interruption markers");
        LineKind::Interrupted
    } else {
        LineKind::Prompt
    }
}

fn answer(span: LineSpan, line: &Value, warnings: &mut ImportWarnings) -> LineKind {
    let message = line.get("message").unwrap_or(&Value::Null);
    if text(message, "model") == Some(SYNTHETIC) && !flag(line, "isApiErrorMessage") {
        warnings.add(span.number, "skipped answers that are not from a model");
        return LineKind::Passing;
    }
    let calls = items(message, "content").iter().filter(|block| text(block, "type") == Some("tool_use"));
    let call = |block: &Value| {
        let part = |key| text(block, key).unwrap_or_default().to_owned();
        (part("id"), part("name"))
    };
    LineKind::Answer(AnswerPart {
        // An answer without an id consists of one line.
        answer: text(message, "id").map_or_else(|| format!("line {}", span.number), str::to_owned),
        calls: calls.map(call).collect(),
        has_stop_reason: text(message, "stop_reason").is_some(),
    })
}

fn system(span: LineSpan, line: &Value, warnings: &mut ImportWarnings) -> LineKind {
    match text(line, "subtype").unwrap_or_default() {
        "compact_boundary" => {
            let metadata = line.get("compactMetadata").unwrap_or(&Value::Null);
            let segment = metadata.get("preservedSegment").unwrap_or(&Value::Null);
            let end = |key| text(segment, key).map(str::to_owned);
            LineKind::Boundary(Boundary {
                previous_leaf: text(line, "logicalParentUuid").map(str::to_owned),
                kept_range: end("headUuid").zip(end("tailUuid")),
                tokens: count(metadata, "preTokens"),
            })
        }
        "local_command" => {
            warnings.add(span.number, "skipped local commands");
            LineKind::Passing
        }
        "api_error" => {
            warnings.add(span.number, "skipped failed requests");
            LineKind::Passing
        }
        _ => LineKind::Passing,
    }
}

fn attachment(span: LineSpan, line: &Value, warnings: &mut ImportWarnings) -> LineKind {
    let attachment = line.get("attachment").unwrap_or(&Value::Null);
    match text(attachment, "type").unwrap_or_default() {
        "queued_command" if attachment.get("prompt").is_some() => LineKind::Prompt,
        kind => {
            warnings.add(span.number, format!("skipped attachments ({kind})"));
            LineKind::Passing
        }
    }
}
