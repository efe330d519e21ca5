//! The beginning of a line: which entry it is, what it follows, who speaks; and from its end what it cost.
//!
//! Logs are written by machines that put these keys first and no blanks between, so a scan of the first hundred bytes is enough for
//! nearly every line. Whatever looks different is parsed whole, with the same result.

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::FinderRev;
use serde::Deserialize;
use serde::de::{Error as _, IgnoredAny};
use serde_json::value::RawValue;
use tiller_core::message::Usage;
use tiller_core::unit::UnixMs;

use super::index::{EntryKind, is_json};
use super::lossy::repaired;

/// Who speaks in a `message` entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the roles")]
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
    /// Each at the place of its number.
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

/// What the head of a line says.
#[derive(Debug, PartialEq)]
pub(super) struct LineHead<'a> {
    pub(super) kind: EntryKind,
    pub(super) id: Cow<'a, str>,
    pub(super) parent: Option<Cow<'a, str>>,
    /// Zero where it can't be read.
    pub(super) timestamp: UnixMs,
    /// Only of messages.
    pub(super) role: Option<LineRole>,
    /// Whether it carries a fact of tiller's own that has to be remembered: a queue, a command begun, an entry hidden.
    pub(super) own: bool,
    /// What the entry cost, on whatever.
    pub(super) usage: Option<Usage>,
}

impl<'a> LineHead<'a> {
    /// Reads the head of a line.
    pub(super) fn parse(line: &'a [u8]) -> serde_json::Result<Self> {
        if let Some(head) = scan(line) {
            return Ok(head);
        }
        whole(line).or_else(|error| match repaired(line) {
            Some(text) => whole(text.as_bytes()).map(LineHead::into_owned),
            None => Err(error),
        })
    }

    fn into_owned<'b>(self) -> LineHead<'b> {
        LineHead {
            kind: self.kind,
            id: Cow::Owned(self.id.into_owned()),
            parent: self.parent.map(|parent| Cow::Owned(parent.into_owned())),
            timestamp: self.timestamp,
            role: self.role,
            own: self.own,
            usage: self.usage,
        }
    }
}

/// Facts that stand for themselves where they are: nobody looks for them later.
fn is_remembered(custom_type: &str) -> bool {
    custom_type.starts_with("tiller.") && custom_type != "tiller.leaf"
}

/// Reads the head of a line that is written as expected; `None` says nothing about the line.
fn scan(line: &[u8]) -> Option<LineHead<'_>> {
    let mut cursor = Cursor { line, at: 0 };
    let (mut kind, mut id, mut parent, mut moment) = (None, None, None, None);
    cursor.eat(b"{")?;
    while kind.is_none() || id.is_none() || parent.is_none() || moment.is_none() {
        cursor.eat(b"\"")?;
        match cursor.string()? {
            "type" => kind = Some(EntryKind::parse(cursor.value()??)),
            "id" => id = Some(cursor.value()??),
            "parentId" => parent = Some(cursor.value()?),
            "timestamp" => moment = Some(UnixMs::from_iso(cursor.value()??)?),
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
        timestamp: moment?,
        role: None,
        own: false,
        usage: None,
    };
    head.look_further(&mut cursor)?;
    Some(head)
}

impl LineHead<'_> {
    /// What the keys after the first four tell.
    fn look_further(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        match self.kind {
            EntryKind::Message => {
                cursor.eat(b"\"message\":{\"role\":\"")?;
                let role = LineRole::parse(cursor.string()?);
                self.role = Some(role);
                if role == LineRole::Assistant {
                    self.usage = Some(usage_at_end(cursor.line)?);
                } else {
                    ends_as_expected(cursor.line).then_some(())?;
                }
            }
            EntryKind::Custom => {
                cursor.eat(b"\"customType\":\"")?;
                self.own = is_remembered(cursor.string()?);
                is_json(cursor.line).then_some(())?;
            }
            // Rare, and what they cost may stand anywhere.
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

/// A place in a line.
struct Cursor<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn eat(&mut self, token: &[u8]) -> Option<()> {
        self.line[self.at..].starts_with(token).then(|| self.at += token.len())
    }

    /// A string without escapes, after its opening quote.
    fn string(&mut self) -> Option<&'a str> {
        let rest = &self.line[self.at..];
        let text = &rest[..memchr::memchr(b'"', rest)?];
        // Without a way out of the loop the compiler looks at many bytes at once.
        if text.iter().fold(false, |odd, byte| odd | (*byte < b' ') | (*byte == b'\\')) {
            return None;
        }
        self.at += text.len() + 1;
        str::from_utf8(text).ok()
    }

    /// A key's value after the key: a string, or null.
    fn value(&mut self) -> Option<Option<&'a str>> {
        self.eat(b":")?;
        if self.eat(b"null").is_some() {
            return Some(None);
        }
        self.eat(b"\"")?;
        self.string().map(Some)
    }
}

/// Whether a message that is no answer ends as machines end it: the moment is its last key, and the message the entry's. A line that
/// was cut off within it doesn't, and one that says more after it is better parsed whole.
fn ends_as_expected(line: &[u8]) -> bool {
    let Some(rest) = line.strip_suffix(b"}}") else { return false };
    let digits = rest.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && rest[..rest.len() - digits].ends_with(b"\"timestamp\":")
}

/// What an answer cost, found from the line's end; `None` means that one better looks at the whole line. A quote within a string is
/// written `\"`, so the key can't be part of what was said. That it is the answer's own shows in what follows it, and in how
/// many objects are closed behind it, which also tells that the line is there to its end.
fn usage_at_end(line: &[u8]) -> Option<Usage> {
    static KEY: LazyLock<FinderRev<'static>> = LazyLock::new(|| FinderRev::new("\"usage\":"));
    let at = KEY.rfind(line)?;
    let value = &line[at + KEY.needle().len()..];
    let length = object_length(value)?;
    value[length..].starts_with(b",\"stopReason\":\"").then_some(())?;
    // The message closes, and then the entry: two levels, with more keys or without.
    (closed_levels(&value[length..])? == 2).then_some(())?;
    serde_json::from_slice(&value[..length]).ok()
}

/// Length of the object that `text` begins with.
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

/// How many objects `text`, which begins outside of any string, closes that it doesn't open; they have to be closed at its very end.
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

/// Where the string that begins at `at` has its closing quote.
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
struct Whole<'a> {
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
struct Spoken<'a> {
    #[serde(borrow, default)]
    role: Option<&'a RawValue>,
    #[serde(borrow, default)]
    usage: Option<&'a RawValue>,
}

/// What only matters if it is what it should be; otherwise the body is damaged, not the head.
fn lenient<'a, T: Deserialize<'a>>(raw: Option<&'a RawValue>) -> Option<T> {
    serde_json::from_str(raw?.get()).ok()
}

fn whole(line: &[u8]) -> serde_json::Result<LineHead<'_>> {
    // Serde would take a list for the fields in their order.
    if line.first().is_some_and(|first| *first != b'{') {
        serde_json::from_slice::<IgnoredAny>(line)?;
        return Err(serde_json::Error::custom("not a JSON object"));
    }
    let whole: Whole<'_> = serde_json::from_slice(line)?;
    let kind = EntryKind::parse(&whole.kind);
    let moment = lenient::<String>(whole.timestamp).and_then(|text| UnixMs::from_iso(&text));
    let (role, usage) = match kind {
        EntryKind::Message => {
            let spoken = lenient::<Spoken<'_>>(whole.message);
            let name = spoken.as_ref().and_then(|spoken| lenient::<String>(spoken.role));
            let role = LineRole::parse(&name.unwrap_or_default());
            let usage =
                spoken.filter(|_| role == LineRole::Assistant).and_then(|spoken| lenient(spoken.usage));
            (Some(role), usage)
        }
        EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::Usage => (None, lenient(whole.usage)),
        _ => (None, None),
    };
    let own = match kind {
        EntryKind::Message => {
            role == Some(LineRole::User) && lenient::<String>(whole.tiller_queue_id).is_some()
        }
        EntryKind::Custom => lenient::<String>(whole.custom_type).is_some_and(|name| is_remembered(&name)),
        _ => false,
    };
    Ok(LineHead {
        kind,
        id: whole.id,
        parent: whole.parent_id,
        timestamp: moment.unwrap_or_default(),
        role,
        own,
        usage,
    })
}
