//! Extraction of catalog data from a line of a log: searchable text, model and usage.
//!
//! Tool results take most of a log's bytes; their text is skipped, not copied. Unreadable values are skipped
//! too: opening the session reports them.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tiller_core::message::{Usage, lenient};
use tiller_core::unit::UnixMs;

use crate::EntryKind;
use crate::line_scan::LineHead;
use crate::lossy::repair_text;

/// Maximum searchable text of an entry, in bytes. A longer text was pasted, and its beginning is enough.
const MAX_TEXT: usize = 256 << 10;

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEntry<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    timestamp: Option<String>,
    #[serde(default, borrow)]
    message: Option<RawMessage<'a>>,
    #[serde(default, borrow)]
    name: Option<&'a RawValue>,
    #[serde(default, borrow)]
    summary: Option<&'a RawValue>,
    #[serde(default, borrow)]
    provider: Option<&'a RawValue>,
    #[serde(default, borrow)]
    model_id: Option<&'a RawValue>,
    #[serde(default, borrow)]
    model: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
    #[serde(default, borrow)]
    custom_type: Option<&'a RawValue>,
    #[serde(default, borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawMessage<'a> {
    #[serde(default, borrow)]
    role: Cow<'a, str>,
    #[serde(default, borrow)]
    content: Option<&'a RawValue>,
    #[serde(default, borrow)]
    tiller_typed: Option<&'a RawValue>,
    #[serde(default, borrow)]
    command: Option<&'a RawValue>,
    #[serde(default, borrow)]
    provider: Option<&'a RawValue>,
    #[serde(default, borrow)]
    model: Option<&'a RawValue>,
    #[serde(default, borrow)]
    usage: Option<&'a RawValue>,
}

/// The keys that every entry has.
#[derive(Deserialize)]
struct RawHead {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<String>,
}

/// A block of a message; only text is used.
#[derive(Deserialize)]
struct RawBlock<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
}

/// Directory and remote of a `tiller.run` entry.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct RunInfo {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) remote: Option<String>,
}

/// Catalog data of an entry.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ExtractedEntry {
    /// The entry's id; empty in a log of version 1, which has no ids.
    pub(super) id: String,
    pub(super) timestamp: Option<UnixMs>,
    pub(super) is_message: bool,
    /// The model that was selected or that answered, as `provider/model`.
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    /// The model that the usage is for, if it isn't the session's.
    pub(super) usage_model: Option<String>,
    pub(super) fact: EntryFact,
}

/// The content of an entry for the catalog.
#[derive(Debug, Default, PartialEq)]
pub(super) enum EntryFact {
    /// A user message.
    Prompt {
        /// The text as typed, if it differs from the message's.
        typed: Option<String>,
        /// The searchable text: the typed text and the message's.
        text: String,
    },
    /// Another searchable text: an answer, a summary or a user command.
    Text(String),
    /// The session's new name, or its removal.
    Name(Option<String>),
    /// The start of a tiller process.
    Run(RunInfo),
    /// No searchable text.
    #[default]
    None,
}

impl EntryFact {
    /// Returns the searchable text, if there is any.
    pub(super) fn into_search_text(self) -> Option<String> {
        let search_text = match self {
            Self::Prompt { text, .. } | Self::Text(text) | Self::Name(Some(text)) => text,
            Self::Name(None) | Self::Run(_) | Self::None => return None,
        };
        (!search_text.trim().is_empty()).then(|| truncate(search_text))
    }
}

/// Extracts data from a line after the header; `None` if it isn't an entry.
pub(super) fn extract_entry(line: &[u8]) -> Option<ExtractedEntry> {
    if !has_escaped_surrogate(line)
        && let Ok(raw) = serde_json::from_slice::<RawEntry<'_>>(line)
    {
        return Some(extract(raw));
    }
    // A lone surrogate or an invalid byte makes only a character unreadable, not the line.
    let repaired = repair_text(line);
    let line = repaired.as_ref().map_or(line, |text| text.as_bytes());
    if let Ok(raw) = serde_json::from_slice::<RawEntry<'_>>(line) {
        return Some(extract(raw));
    }
    let head: RawHead = serde_json::from_slice(line).ok()?;
    let is_message = head.kind == "message";
    Some(ExtractedEntry { id: head.id.unwrap_or_default(), is_message, ..ExtractedEntry::default() })
}

/// Extracts data from the head of a closed line with a damaged end: the line is an entry if its head can be
/// read.
pub(super) fn extract_head(line: &[u8]) -> Option<ExtractedEntry> {
    let head = LineHead::parse(line.trim_ascii()).ok()?;
    let (id, is_message) = (head.id.into_owned(), head.kind == EntryKind::Message);
    Some(ExtractedEntry { id, is_message, usage: head.usage, ..ExtractedEntry::default() })
}

/// Returns true if a line contains an escaped surrogate, including those in pairs. A lone one would make
/// parsing of raw values fail later.
fn has_escaped_surrogate(line: &[u8]) -> bool {
    [b"\\ud", b"\\uD"].iter().any(|escape| memchr::memmem::find(line, *escape).is_some())
}

fn extract(raw: RawEntry<'_>) -> ExtractedEntry {
    let timestamp = raw.timestamp.as_deref().and_then(UnixMs::from_iso);
    let mut entry = ExtractedEntry { id: raw.id.unwrap_or_default(), timestamp, ..ExtractedEntry::default() };
    entry.usage = value(raw.usage);
    entry.usage_model = model(raw.provider, raw.model);
    match &*raw.kind {
        "message" => {
            entry.is_message = true;
            extract_message(&mut entry, &raw.message.unwrap_or_default());
        }
        "model_change" => entry.model = model(raw.provider, raw.model_id),
        "compaction" | "branch_summary" => {
            entry.fact = text_value(raw.summary).map_or(EntryFact::None, EntryFact::Text)
        }
        "session_info" => entry.fact = EntryFact::Name(text_value(raw.name).filter(|name| !name.is_empty())),
        "custom" if text_value(raw.custom_type).as_deref() == Some("tiller.run") => {
            entry.fact = EntryFact::Run(value(raw.data).unwrap_or_default());
        }
        _ => {}
    }
    entry
}

fn extract_message(entry: &mut ExtractedEntry, message: &RawMessage<'_>) {
    match &*message.role {
        "user" => entry.fact = prompt(message),
        "assistant" => {
            entry.fact = EntryFact::Text(content(message.content));
            entry.model = model(message.provider, message.model);
            entry.usage = value(message.usage);
        }
        "bashExecution" => entry.fact = text_value(message.command).map_or(EntryFact::None, EntryFact::Text),
        _ => {}
    }
}

/// Returns the text of a user message: the typed text, and the message's own, with templates expanded and
/// files attached.
fn prompt(message: &RawMessage<'_>) -> EntryFact {
    let (typed, content) = (text_value(message.tiller_typed), content(message.content));
    let text = typed.as_ref().map_or(content.clone(), |typed| format!("{typed}\n{content}"));
    EntryFact::Prompt { typed, text }
}

/// Returns the text of a message's content: the string, or its text blocks joined by newlines.
fn content(raw: Option<&RawValue>) -> String {
    let Some(raw) = raw else { return String::new() };
    if !raw.get().starts_with('[') {
        return text_value(Some(raw)).unwrap_or_default();
    }
    let blocks: Vec<RawBlock<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let texts = blocks.into_iter().filter(|block| block.kind == "text");
    texts.filter_map(|block| text_value(block.text)).collect::<Vec<_>>().join("\n")
}

fn model(provider: Option<&RawValue>, model: Option<&RawValue>) -> Option<String> {
    let (provider, model) = (text_value(provider)?, text_value(model)?);
    (!model.is_empty()).then(|| format!("{provider}/{model}"))
}

fn text_value(raw: Option<&RawValue>) -> Option<String> {
    value(raw)
}

/// Parses a value; `None` if it has another type.
fn value<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

fn truncate(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let end = (0..=MAX_TEXT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search_text(line: &str) -> Option<String> {
        extract_entry(line.as_bytes()).unwrap().fact.into_search_text()
    }

    #[test]
    fn extract_entry_skips_thinking_and_tool_output() {
        let answer = r#"{"type":"message","id":"a","message":{"role":"assistant","provider":"p","model":"m","content":[
            {"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"},{"type":"toolCall","id":"c","name":"bash","arguments":{}},
            {"type":"text","text":"done"}],"usage":{"input":3,"cost":{"total":0.5}}}}"#;
        let entry = extract_entry(answer.as_bytes()).unwrap();
        assert_eq!((entry.model.as_deref(), entry.is_message), (Some("p/m"), true));
        assert_eq!(entry.usage.unwrap().cost.total, tiller_core::unit::Usd(0.5));
        assert_eq!(entry.fact, EntryFact::Text("yes\ndone".into()));
        let result = r#"{"type":"message","message":{"role":"toolResult","content":[{"type":"text","text":"secret"}]}}"#;
        assert_eq!(search_text(result), None);
        let bash = r#"{"type":"message","message":{"role":"bashExecution","command":"make","output":"no","excludeFromContext":true}}"#;
        assert_eq!(search_text(bash).as_deref(), Some("make"));
        let name = r#"{"type":"session_info","id":"b","name":"parser"}"#;
        assert_eq!(search_text(name).as_deref(), Some("parser"));
    }

    #[test]
    fn extract_entry_lone_surrogate_is_replaced() {
        let name = r#"{"type":"session_info","id":"b","name":"fix \ud83d the parser"}"#;
        assert_eq!(search_text(name).as_deref(), Some("fix \u{fffd} the parser"));
        let pair = r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"\uD83D\uDE00 \udc00"}]}}"#;
        assert_eq!(search_text(pair).as_deref(), Some("\u{1f600} \u{fffd}"));
    }

    #[test]
    fn extract_entry_wrong_types_are_ignored() {
        assert!(extract_entry(br#"{"type":"message","id":"a","message":7}"#).unwrap().is_message);
        assert_eq!(extract_entry(b"{\"type\":\"session_info\",\"name\":\"caf\xe9\"}").unwrap().fact, {
            EntryFact::Name(Some("caf\u{fffd}".into()))
        });
        let bad_time = r#"{"type":"session_info","timestamp":7,"name":"x"}"#;
        assert_eq!(search_text(bad_time).as_deref(), Some("x"));
        let bad_run = r#"{"type":"custom","customType":"tiller.run","data":{"cwd":7,"remote":"here"}}"#;
        let expected = RunInfo { cwd: None, remote: Some("here".into()) };
        assert_eq!(extract_entry(bad_run.as_bytes()).unwrap().fact, EntryFact::Run(expected));
        assert_eq!(extract_entry(b"{\"id\":\"a\"}"), None);
        assert_eq!(extract_entry(b"not json"), None);
    }
}
