//! What one line says, read as carefully as can be.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::entry::{self, EntryBody};
use crate::line_scan::LineHead;
use crate::lossy::repaired;

/// Counts that a usage may have.
const COUNTS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];

/// The JSON type that an optional key has.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Flag,
    Object,
    List,
}

impl Shape {
    /// Whether JSON text is null or of this type.
    fn fits(self, json: &str) -> bool {
        let first = json.bytes().next();
        match self {
            _ if json == "null" => true,
            Self::Text => first == Some(b'"'),
            Self::Number => first.is_some_and(|byte| byte == b'-' || byte.is_ascii_digit()),
            Self::Flag => matches!(json, "true" | "false"),
            Self::Object => first == Some(b'{'),
            Self::List => first == Some(b'['),
        }
    }
}

/// Optional keys of the header, whose wrong types are read as absent. Its timestamp is checked as a moment.
const HEADER_KEYS: [(&str, Shape); 2] = [("cwd", Shape::Text), ("parentSession", Shape::Text)];

/// The same of entries.
const ENTRY_KEYS: [(&str, Shape); 4] = [
    ("tillerQueueId", Shape::Text),
    ("tillerReceipt", Shape::Object),
    ("tokensBefore", Shape::Number),
    ("display", Shape::Flag),
];

/// The same of messages, under an entry's `message`.
const MESSAGE_KEYS: [(&str, Shape); 12] = [
    ("timestamp", Shape::Number),
    ("tillerTyped", Shape::Text),
    ("api", Shape::Text),
    ("provider", Shape::Text),
    ("model", Shape::Text),
    ("errorMessage", Shape::Text),
    ("toolName", Shape::Text),
    ("isError", Shape::Flag),
    ("exitCode", Shape::Number),
    ("cancelled", Shape::Flag),
    ("truncated", Shape::Flag),
    ("fullOutputPath", Shape::Text),
];

/// The same of a change of the queue, under an entry's `data`.
const QUEUE_KEYS: [(&str, Shape); 3] =
    [("typed", Shape::Text), ("images", Shape::List), ("order", Shape::Number)];

/// An optional key of the header with a value of the wrong type.
pub(super) fn header_misfit(line: &[u8]) -> Option<String> {
    misfit(std::str::from_utf8(line).ok()?, &HEADER_KEYS)
}

/// An optional key of an entry with a value of the wrong type.
pub(super) fn entry_misfit(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let keys: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line).ok()?;
    let below = |name: &str, expected| keys.get(name).and_then(|value| misfit(value.get(), expected));
    let is_queue = keys.get("customType").is_some_and(|name| name.get() == "\"tiller.queue\"");
    misfit(line, &ENTRY_KEYS)
        .or_else(|| below("message", &MESSAGE_KEYS))
        .or_else(|| if is_queue { below("data", &QUEUE_KEYS) } else { None })
}

fn misfit(object: &str, expected: &[(&str, Shape)]) -> Option<String> {
    let keys: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(object).ok()?;
    expected.iter().find_map(|(name, shape)| {
        let value = keys.get(*name).filter(|value| !shape.fits(value.get()))?;
        Some(format!("its optional key `{name}` is {}", value.get().chars().take(80).collect::<String>()))
    })
}

/// A body, and what is odd about it.
pub(super) struct Read {
    pub(super) body: serde_json::Result<EntryBody>,
    pub(super) lone_surrogates: bool,
    /// Where it stops being UTF-8, if it does.
    pub(super) no_utf_8: Option<String>,
    /// What of its usage is no number.
    pub(super) usage: Option<String>,
}

/// Reads the body of a line whose head can be read.
pub(super) fn read(head: &LineHead<'_>, line: &[u8]) -> Read {
    let parse = |line: &[u8]| entry::parse_body(head.kind, head.role, line);
    let (no_utf_8, repaired) = (no_utf_8(line), repaired(line));
    let lone_surrogates = no_utf_8.is_none() && repaired.is_some();
    let mut read = Read { body: parse(line), lone_surrogates, no_utf_8, usage: None };
    if memchr::memmem::find(line, b"\"usage\"").is_some()
        && let Some(mut value) = value(line)
        && let Some(usage) = usage(&mut value)
        && let Some(odd) = odd_count(usage)
    {
        read.usage = Some(odd);
        *usage = Value::Object(serde_json::Map::new());
        read.body = parse(value.to_string().as_bytes());
    }
    read
}

/// What a line says under a key.
pub(super) fn key(line: &[u8], name: &str) -> Option<Value> {
    value(line)?.as_object_mut()?.remove(name)
}

fn value(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().or_else(|| serde_json::from_str(&repaired(line)?).ok())
}

/// Where a line stops being UTF-8, if it does.
pub(super) fn no_utf_8(line: &[u8]) -> Option<String> {
    let error = std::str::from_utf8(line).err()?;
    Some(format!("not UTF-8 from byte {} of the line on", error.valid_up_to()))
}

fn usage(value: &mut Value) -> Option<&mut Value> {
    let says_it_itself = value.get("usage").is_some();
    if says_it_itself { value.get_mut("usage") } else { value.get_mut("message")?.get_mut("usage") }
}

fn odd_count(usage: &Value) -> Option<String> {
    let Some(counts) = usage.as_object() else { return Some(format!("it is {usage}")) };
    let count = |name: &&str| counts.get(*name).filter(|count| !count.is_u64());
    let odd = COUNTS.iter().find_map(|name| Some(format!("`{name}` is {}", count(name)?)));
    odd.or_else(|| {
        let costs = counts.get("cost")?.as_object()?;
        let (name, cost) = costs.iter().find(|(_, cost)| !cost.is_number())?;
        Some(format!("`cost.{name}` is {cost}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misfit_key_of_the_wrong_type_is_named() {
        let of_header = |keys: &str| header_misfit(format!(r#"{{"type":"session",{keys}}}"#).as_bytes());
        assert_eq!(of_header(r#""cwd":"/x","parentSession":null,"more":7"#), None);
        assert_eq!(
            of_header(r#""parentSession":7"#).as_deref(),
            Some("its optional key `parentSession` is 7")
        );
        let of_entry = |keys: &str| entry_misfit(format!(r#"{{"type":"x",{keys}}}"#).as_bytes());
        for fine in [
            r#""message":{"timestamp":-7,"isError":false,"errorMessage":"no"},"display":true"#,
            r#""customType":"tiller.queue","data":{"images":[],"order":1,"typed":null}"#,
            r#""customType":"other","data":{"images":7}"#,
            r#""message":7"#,
        ] {
            assert_eq!(of_entry(fine), None, "{fine}");
        }
        for (keys, name) in [
            (r#""message":{"timestamp":"now"}"#, "timestamp"),
            (r#""message":{"isError":0}"#, "isError"),
            (r#""tillerReceipt":[]"#, "tillerReceipt"),
            (r#""customType":"tiller.queue","data":{"images":7}"#, "images"),
        ] {
            assert!(of_entry(keys).is_some_and(|told| told.contains(&format!("`{name}`"))), "{keys}");
        }
    }

    #[test]
    fn a_count_that_is_no_number_is_named() {
        let odd = |text: &str| odd_count(&serde_json::from_str(text).unwrap());
        assert_eq!(odd(r#"{"input":1,"output":2,"cost":{"total":0.5},"reasoning":"much"}"#), None);
        assert_eq!(odd(r#"{"input":"1"}"#).as_deref(), Some("`input` is \"1\""));
        assert_eq!(odd(r#"{"output":-1}"#).as_deref(), Some("`output` is -1"));
        assert_eq!(odd(r#"{"cost":{"total":null}}"#).as_deref(), Some("`cost.total` is null"));
        assert_eq!(odd("7").as_deref(), Some("it is 7"));
    }
}
