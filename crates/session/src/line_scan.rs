//! Fast scan of a line's head (type, id, parent, time, role) and of the usage at its end.
//!
//! Most logs have these keys first and no blanks between them, so a scan of the first hundred bytes is enough
//! for nearly every line. Any other line is parsed in full, with the same result.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::{Finder, FinderRev};
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::value::RawValue;
use tiller_core::id::JobId;
use tiller_core::message::Usage;
use tiller_core::unit::UnixMs;

use super::entry_kind::EntryKind;
use super::lossy::repair_text;

/// The role of a `message` entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the same as the roles")]
pub enum LineRole {
    User,
    Assistant,
    ToolResult,
    BashExecution,
    System,
    Custom,
    Unknown,
}

impl LineRole {
    /// All variants, each at the index given by its discriminant.
    pub(super) const ALL: [Self; 7] = [
        Self::User,
        Self::Assistant,
        Self::ToolResult,
        Self::BashExecution,
        Self::System,
        Self::Custom,
        Self::Unknown,
    ];

    fn parse(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "toolResult" => Self::ToolResult,
            "bashExecution" => Self::BashExecution,
            "system" => Self::System,
            "custom" => Self::Custom,
            _ => Self::Unknown,
        }
    }
}

/// The head of an entry's line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LineHead<'a> {
    pub(super) kind: EntryKind,
    pub(super) id: Cow<'a, str>,
    pub(super) parent: Option<Cow<'a, str>>,
    /// The timestamp; the Unix epoch if it can't be read.
    pub(super) timestamp: UnixMs,
    /// The role of a message; `None` for other entries.
    pub(super) role: Option<LineRole>,
    /// True for entries in the index's `tiller_entries`: queue changes, started commands, hidden entries and
    /// others.
    pub(super) is_tiller_entry: bool,
    /// The entry's usage: of an answer, a summary or another request.
    pub(super) usage: Option<Usage>,
}

impl<'a> LineHead<'a> {
    pub(super) fn parse(line: &'a [u8]) -> serde_json::Result<Self> {
        if let Some(head) = scan(line) {
            return Ok(head);
        }
        parse_fully(line).or_else(|error| match repair_text(line) {
            Some(text) => parse_fully(text.as_bytes()).map(LineHead::into_owned),
            None => Err(error),
        })
    }

    pub(super) fn into_owned<'b>(self) -> LineHead<'b> {
        LineHead {
            kind: self.kind,
            id: Cow::Owned(self.id.into_owned()),
            parent: self.parent.map(|parent| Cow::Owned(parent.into_owned())),
            timestamp: self.timestamp,
            role: self.role,
            is_tiller_entry: self.is_tiller_entry,
            usage: self.usage,
        }
    }
}

/// Returns true for tiller's own types that are looked up later. `tiller.leaf` isn't one: only its position
/// matters.
pub(super) fn is_indexed_type(custom_type: &str) -> bool {
    custom_type.starts_with("tiller.") && custom_type != "tiller.leaf"
}

/// Finds the number of the background job in a result's details. A similar key in the result's text isn't
/// found, because its quotation marks are escaped.
pub(super) fn job_number(line: &[u8]) -> Option<u64> {
    // Searching forwards is many times faster than backwards.
    static KEY: LazyLock<Finder<'static>> =
        LazyLock::new(|| Finder::new(&format!(r#""jobId":"{}"#, JobId::PREFIX)).into_owned());
    let rest = &line[KEY.find(line)? + KEY.needle().len()..];
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}

/// Scans the head of a line in the common form; `None` if the line must be parsed in full.
fn scan(line: &[u8]) -> Option<LineHead<'_>> {
    let mut cursor = Cursor { line, at: 0 };
    let (mut kind, mut id, mut parent, mut timestamp) = (None, None, None, None);
    cursor.eat(b"{")?;
    while kind.is_none() || id.is_none() || parent.is_none() || timestamp.is_none() {
        cursor.eat(b"\"")?;
        match cursor.string()? {
            "type" => kind = Some(EntryKind::parse(cursor.value()??)),
            "id" => id = Some(cursor.value()??),
            "parentId" => parent = Some(cursor.value()?),
            "timestamp" => timestamp = Some(UnixMs::from_iso(cursor.value()??)?),
            _ => return None,
        }
        if cursor.eat(b",").is_none() {
            break;
        }
    }
    let mut head = LineHead {
        kind: kind?,
        id: Cow::Borrowed(id?),
        parent: parent?.map(Cow::Borrowed),
        timestamp: timestamp?,
        role: None,
        is_tiller_entry: false,
        usage: None,
    };
    head.scan_rest(&mut cursor)?;
    Some(head)
}

impl LineHead<'_> {
    /// Reads the keys after the first four.
    fn scan_rest(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        match self.kind {
            EntryKind::Message => {
                cursor.eat(b"\"message\":{\"role\":\"")?;
                let role = LineRole::parse(cursor.string()?);
                self.role = Some(role);
                if role == LineRole::Assistant {
                    self.usage = Some(usage_at_end(cursor.line)?);
                } else {
                    ends_with_timestamp(cursor.line).then_some(())?;
                }
            }
            EntryKind::Custom => {
                cursor.eat(b"\"customType\":\"")?;
                self.is_tiller_entry = is_indexed_type(cursor.string()?);
                is_json(cursor.line).then_some(())?;
            }
            // Rare, and their usage may be anywhere in the line.
            EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Usage => return None,
            EntryKind::ModelChange
            | EntryKind::ThinkingLevelChange
            | EntryKind::ContextEdit
            | EntryKind::CustomMessage
            | EntryKind::Label
            | EntryKind::SessionInfo
            | EntryKind::Unknown => is_json(cursor.line).then_some(())?,
        }
        Some(())
    }
}

/// A position in a line.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, token: &[u8]) -> Option<()> {
        self.line[self.at..].starts_with(token).then(|| self.at += token.len())
    }

    /// Reads a string without escapes, after its opening quote.
    fn string(&mut self) -> Option<&'a str> {
        let rest = &self.line[self.at..];
        let text = &rest[..memchr::memchr(b'"', rest)?];
        // No early exit, so that the compiler vectorizes the loop.
        if text.iter().fold(false, |is_invalid, byte| is_invalid | (*byte < b' ') | (*byte == b'\\')) {
            return None;
        }
        self.at += text.len() + 1;
        str::from_utf8(text).ok()
    }

    /// Reads a string or null after a key.
    fn value(&mut self) -> Option<Option<&'a str>> {
        self.eat(b":")?;
        if self.eat(b"null").is_some() {
            return Some(None);
        }
        self.eat(b"\"")?;
        self.string().map(Some)
    }
}

/// Returns true if a message other than an answer ends in the common form: `timestamp` is the last key of the
/// message, and `message` that of the entry. A truncated line doesn't end like that, and a line with more
/// keys must be parsed in full.
fn ends_with_timestamp(line: &[u8]) -> bool {
    let Some(rest) = line.strip_suffix(b"}}") else { return false };
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest[..rest.len() - digits].ends_with(b"\"timestamp\":")
}

/// Finds the usage of an answer from the end of the line; `None` if the line must be parsed in full. A quote
/// within a string is written `\"`, so the key can't be part of a string. The key after the usage and the
/// number of objects that are closed after it show that it is the answer's own usage, and that the line is
/// complete.
fn usage_at_end(line: &[u8]) -> Option<Usage> {
    static KEY: LazyLock<FinderRev<'static>> = LazyLock::new(|| FinderRev::new("\"usage\":"));
    let at = KEY.rfind(line)?;
    let value = &line[at + KEY.needle().len()..];
    let length = object_length(value)?;
    value[length..].starts_with(b",\"stopReason\":\"").then_some(())?;
    // First the message closes, then the entry: two levels, with or without further keys.
    (closed_levels(&value[length..])? == 2).then_some(())?;
    serde_json::from_slice(&value[..length]).ok()
}

/// Returns the length of the object at the start of `text`.
fn object_length(text: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = string_end(text, at)?,
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// Returns the number of objects that `text` closes without opening them; `None` if an object, array or string
/// in it isn't closed. `text` must start outside a string.
fn closed_levels(text: &[u8]) -> Option<usize> {
    let (mut depth, mut closed) = (0_usize, 0_usize);
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => depth += 1,
            b'}' if depth == 0 => closed += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
    }
    (depth == 0).then_some(closed)
}

/// Returns the index of the closing quote of the string that starts at `at`.
fn string_end(text: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text[at] {
            b'"' => return Some(at),
            _ => at += 2,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LineFields<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    id: Cow<'a, str>,
    #[serde(borrow, default)]
    parent_id: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    custom_type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tiller_queue_id: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct MessageFields<'a> {
    #[serde(borrow, default)]
    role: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

/// Parses a value; one of the wrong type is ignored, because it makes the body unreadable, not the head.
fn lenient<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

fn parse_fully(line: &[u8]) -> serde_json::Result<LineHead<'_>> {
    // Serde would also accept a list of the fields in order.
    if line.first().is_some_and(|first| *first != b'{') {
        serde_json::from_slice::<IgnoredAny>(line)?;
        return Err(serde_json::Error::custom("not a JSON object"));
    }
    let full: LineFields<'_> = serde_json::from_slice(line)?;
    let kind = EntryKind::parse(&full.kind);
    let timestamp = lenient::<String>(full.timestamp).and_then(|text| UnixMs::from_iso(&text));
    let (role, usage) = match kind {
        EntryKind::Message => {
            let fields = lenient::<MessageFields<'_>>(full.message);
            let name = fields.as_ref().and_then(|fields| lenient::<String>(fields.role));
            let role = LineRole::parse(&name.unwrap_or_default());
            let usage =
                fields.filter(|_| role == LineRole::Assistant).and_then(|fields| lenient(fields.usage));
            (Some(role), usage)
        }
        EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Usage => (None, lenient(full.usage)),
        _ => (None, None),
    };
    let own = match kind {
        EntryKind::Message => {
            role == Some(LineRole::User) && lenient::<String>(full.tiller_queue_id).is_some()
        }
        EntryKind::Custom => lenient::<String>(full.custom_type).is_some_and(|name| is_indexed_type(&name)),
        _ => false,
    };
    Ok(LineHead {
        kind,
        id: full.id,
        parent: full.parent_id,
        timestamp: timestamp.unwrap_or_default(),
        role,
        is_tiller_entry: own,
        usage,
    })
}

/// Returns true if these bytes are complete JSON.
pub(super) fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}
