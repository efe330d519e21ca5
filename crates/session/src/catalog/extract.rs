//! What a line of a log says, as far as a catalog wants to know: who said what, and what it cost.
//!
//! The results of tools are most of a log's bytes; their text is passed over, never copied. What can't be read is passed
//! over too: opening the session is what reports it.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tiller_core::message::{Usage, lenient};
use tiller_core::unit::UnixMs;

use crate::EntryKind;
use crate::line_scan::LineHead;
use crate::lossy::repaired;

/// Longest text of one entry that can be searched, in bytes; what is longer was pasted, and its beginning tells.
const LONGEST_TEXT: usize = 256 << 10;

/// A line as it stands.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
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

/// The least of an entry: that it is one.
#[derive(Deserialize)]
struct RawHead {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    id: Option<String>,
}

/// A block of a message; only text is looked at.
#[derive(Deserialize)]
struct RawBlock<'a> {
    #[serde(rename = "type", default, borrow)]
    kind: Cow<'a, str>,
    #[serde(default, borrow)]
    text: Option<&'a RawValue>,
}

/// What `tiller.run` says of the place.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Run {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) cwd: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) remote: Option<String>,
}

/// What an entry adds to a catalog.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    /// The entry's id; empty in a log of version 1, which has none.
    pub(super) id: String,
    pub(super) moment: Option<UnixMs>,
    pub(super) is_message: bool,
    /// Who answers, as `provider/model`.
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) fact: Fact,
}

/// What kind of thing was said.
#[derive(Debug, Default, PartialEq)]
pub(super) enum Fact {
    /// The user said this.
    Prompt(String),
    /// Somebody else did: an answer, a summary, a command of the user's own.
    Text(String),
    /// The session is called this, or nothing any more.
    Name(Option<String>),
    /// A process of tiller's began to write.
    Run(Run),
    /// Nothing that a person would look for.
    #[default]
    Silent,
}

impl Fact {
    /// The words by which the entry is found; none if it isn't.
    pub(super) fn into_words(self) -> Option<String> {
        let words = match self {
            Self::Prompt(text) | Self::Text(text) | Self::Name(Some(text)) => text,
            Self::Name(None) | Self::Run(_) | Self::Silent => return None,
        };
        (!words.trim().is_empty()).then(|| cut(words))
    }
}

/// Reads a line after the header; `None` when it isn't an entry.
pub(super) fn read(line: &[u8]) -> Option<Told> {
    if !may_hold_half_a_pair(line)
        && let Ok(raw) = serde_json::from_slice::<Raw<'_>>(line)
    {
        return Some(told(raw));
    }
    // Half of a surrogate pair, or a byte that is no UTF-8, costs a character, not the line.
    let mended = repaired(line);
    let line = mended.as_ref().map_or(line, |text| text.as_bytes());
    if let Ok(raw) = serde_json::from_slice::<Raw<'_>>(line) {
        return Some(told(raw));
    }
    let head: RawHead = serde_json::from_slice(line).ok()?;
    let is_message = head.kind == "message";
    Some(Told { id: head.id.unwrap_or_default(), is_message, ..Told::default() })
}

/// Reads the beginning of a closed line whose end is damaged: it is an entry as long as its head can be read.
pub(super) fn read_head(line: &[u8]) -> Option<Told> {
    let head = LineHead::parse(line.trim_ascii()).ok()?;
    let (id, is_message) = (head.id.into_owned(), head.kind == EntryKind::Message);
    Some(Told { id, is_message, usage: head.usage, ..Told::default() })
}

/// Whether a surrogate is escaped in a line, whole pairs included. Parts of a line that are parsed late would lose their text
/// to a half one.
fn may_hold_half_a_pair(line: &[u8]) -> bool {
    [b"\\ud", b"\\uD"].iter().any(|escape| memchr::memmem::find(line, *escape).is_some())
}

fn told(raw: Raw<'_>) -> Told {
    let moment = raw.timestamp.as_deref().and_then(UnixMs::from_iso);
    let mut told = Told { id: raw.id.unwrap_or_default(), moment, ..Told::default() };
    told.usage = value(raw.usage);
    match &*raw.kind {
        "message" => {
            told.is_message = true;
            message(&mut told, &raw.message.unwrap_or_default());
        }
        "model_change" => told.model = model(raw.provider, raw.model_id),
        "compaction" | "branch_summary" => told.fact = text_of(raw.summary).map_or(Fact::Silent, Fact::Text),
        "session_info" => told.fact = Fact::Name(text_of(raw.name).filter(|name| !name.is_empty())),
        "custom" if text_of(raw.custom_type).as_deref() == Some("tiller.run") => {
            told.fact = Fact::Run(value(raw.data).unwrap_or_default());
        }
        _ => {}
    }
    told
}

fn message(told: &mut Told, message: &RawMessage<'_>) {
    match &*message.role {
        "user" => told.fact = Fact::Prompt(prompt(message)),
        "assistant" => {
            told.fact = Fact::Text(content(message.content));
            told.model = model(message.provider, message.model);
            told.usage = value(message.usage);
        }
        "bashExecution" => told.fact = text_of(message.command).map_or(Fact::Silent, Fact::Text),
        _ => {}
    }
}

/// What the user said: what was typed, and what a template made of it.
fn prompt(message: &RawMessage<'_>) -> String {
    let said = content(message.content);
    match text_of(message.tiller_typed) {
        Some(typed) => format!("{typed}\n{said}"),
        None => said,
    }
}

/// A message's text: that of a string, or of the text blocks, joined by newlines.
fn content(raw: Option<&RawValue>) -> String {
    let Some(raw) = raw else { return String::new() };
    if !raw.get().starts_with('[') {
        return text_of(Some(raw)).unwrap_or_default();
    }
    let blocks: Vec<RawBlock<'_>> = serde_json::from_str(raw.get()).unwrap_or_default();
    let texts = blocks.into_iter().filter(|block| block.kind == "text");
    texts.filter_map(|block| text_of(block.text)).collect::<Vec<_>>().join("\n")
}

fn model(provider: Option<&RawValue>, model: Option<&RawValue>) -> Option<String> {
    let (provider, model) = (text_of(provider)?, text_of(model)?);
    (!model.is_empty()).then(|| format!("{provider}/{model}"))
}

fn text_of(raw: Option<&RawValue>) -> Option<String> {
    value(raw)
}

/// The value, if it is one of the kind that is wanted.
fn value<T: DeserializeOwned>(raw: Option<&RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

fn cut(mut text: String) -> String {
    if text.len() > LONGEST_TEXT {
        let end = (0..=LONGEST_TEXT).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        text.truncate(end);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<String> {
        read(line.as_bytes()).unwrap().fact.into_words()
    }

    #[test]
    fn what_user_and_model_say_is_found_and_what_is_thought_or_printed_is_not() {
        let answer = r#"{"type":"message","id":"a","message":{"role":"assistant","provider":"p","model":"m","content":[
            {"type":"thinking","thinking":"hm"},{"type":"text","text":"yes"},{"type":"toolCall","id":"c","name":"bash","arguments":{}},
            {"type":"text","text":"done"}],"usage":{"input":3,"cost":{"total":0.5}}}}"#;
        let told = read(answer.as_bytes()).unwrap();
        assert_eq!((told.model.as_deref(), told.is_message), (Some("p/m"), true));
        assert_eq!(told.usage.unwrap().cost.total, tiller_core::unit::Usd(0.5));
        assert_eq!(told.fact, Fact::Text("yes\ndone".into()));
        let result = r#"{"type":"message","message":{"role":"toolResult","content":[{"type":"text","text":"secret"}]}}"#;
        assert_eq!(words(result), None);
        let bash = r#"{"type":"message","message":{"role":"bashExecution","command":"make","output":"no","excludeFromContext":true}}"#;
        assert_eq!(words(bash).as_deref(), Some("make"));
        let name = r#"{"type":"session_info","id":"b","name":"parser"}"#;
        assert_eq!(words(name).as_deref(), Some("parser"));
    }

    #[test]
    fn half_a_surrogate_pair_costs_a_character_and_not_the_text() {
        let name = r#"{"type":"session_info","id":"b","name":"fix \ud83d the parser"}"#;
        assert_eq!(words(name).as_deref(), Some("fix \u{fffd} the parser"));
        let pair = r#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"\uD83D\uDE00 \udc00"}]}}"#;
        assert_eq!(words(pair).as_deref(), Some("\u{1f600} \u{fffd}"));
    }

    #[test]
    fn a_line_with_odd_parts_is_an_entry_all_the_same() {
        assert!(read(br#"{"type":"message","id":"a","message":7}"#).unwrap().is_message);
        assert_eq!(read(b"{\"type\":\"session_info\",\"name\":\"caf\xe9\"}").unwrap().fact, {
            Fact::Name(Some("caf\u{fffd}".into()))
        });
        let odd_time = r#"{"type":"session_info","timestamp":7,"name":"x"}"#;
        assert_eq!(words(odd_time).as_deref(), Some("x"));
        let odd_run = r#"{"type":"custom","customType":"tiller.run","data":{"cwd":7,"remote":"here"}}"#;
        let expected = Run { cwd: None, remote: Some("here".into()) };
        assert_eq!(read(odd_run.as_bytes()).unwrap().fact, Fact::Run(expected));
        assert_eq!(read(b"{\"id\":\"a\"}"), None);
        assert_eq!(read(b"not json"), None);
    }
}
