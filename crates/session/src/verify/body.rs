//! Strict checks of a line's body.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use crate::entry::{self, EntryBody};
use crate::line_scan::LineHead;
use crate::lossy::repair_text;

/// Token counts of a usage.
const COUNTS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];

/// The JSON type of an optional key.
#[derive(Clone, Copy)]
enum ValueType {
    Text,
    Number,
    Flag,
    Object,
    List,
}

impl ValueType {
    /// Returns true if JSON text is null or of this type.
    fn is_valid(self, json: &str) -> bool {
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

/// Optional keys of the header; values of other types are ignored. Its timestamp is checked separately.
const HEADER_KEYS: [(&str, ValueType); 2] = [("cwd", ValueType::Text), ("parentSession", ValueType::Text)];

/// Optional keys of entries.
const ENTRY_KEYS: [(&str, ValueType); 4] = [
    ("tillerQueueId", ValueType::Text),
    ("tillerReceipt", ValueType::Object),
    ("tokensBefore", ValueType::Number),
    ("display", ValueType::Flag),
];

/// Optional keys of messages, under an entry's `message`.
const MESSAGE_KEYS: [(&str, ValueType); 12] = [
    ("timestamp", ValueType::Number),
    ("tillerTyped", ValueType::Text),
    ("api", ValueType::Text),
    ("provider", ValueType::Text),
    ("model", ValueType::Text),
    ("errorMessage", ValueType::Text),
    ("toolName", ValueType::Text),
    ("isError", ValueType::Flag),
    ("exitCode", ValueType::Number),
    ("cancelled", ValueType::Flag),
    ("truncated", ValueType::Flag),
    ("fullOutputPath", ValueType::Text),
];

/// Optional keys of a queue change, under an entry's `data`.
const QUEUE_KEYS: [(&str, ValueType); 3] =
    [("typed", ValueType::Text), ("images", ValueType::List), ("order", ValueType::Number)];

/// Describes an optional key of the header with a value of the wrong type.
pub(super) fn header_type_error(line: &[u8]) -> Option<String> {
    type_error(std::str::from_utf8(line).ok()?, &HEADER_KEYS)
}

/// Describes an optional key of an entry with a value of the wrong type.
pub(super) fn entry_type_error(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let keys: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(line).ok()?;
    let below = |name: &str, expected| keys.get(name).and_then(|value| type_error(value.get(), expected));
    let is_queue = keys.get("customType").is_some_and(|name| name.get() == "\"tiller.queue\"");
    type_error(line, &ENTRY_KEYS)
        .or_else(|| below("message", &MESSAGE_KEYS))
        .or_else(|| if is_queue { below("data", &QUEUE_KEYS) } else { None })
}

fn type_error(object: &str, expected: &[(&str, ValueType)]) -> Option<String> {
    let keys: HashMap<Cow<'_, str>, &RawValue> = serde_json::from_str(object).ok()?;
    expected.iter().find_map(|(name, shape)| {
        let value = keys.get(*name).filter(|value| !shape.is_valid(value.get()))?;
        let value: String = value.get().chars().take(80).collect();
        Some(format!("optional key `{name}`: {value} has the wrong type"))
    })
}

/// The body of a line, with its problems.
pub(super) struct BodyCheck {
    pub(super) body: serde_json::Result<EntryBody>,
    pub(super) lone_surrogates: bool,
    /// The position of the first byte that is not UTF-8, as text.
    pub(super) invalid_utf8: Option<String>,
    /// The invalid part of its usage, as text.
    pub(super) invalid_usage: Option<String>,
}

/// Checks the body of a line whose head can be read.
pub(super) fn check(head: &LineHead<'_>, line: &[u8]) -> BodyCheck {
    let parse = |line: &[u8]| entry::parse_body(head.kind, head.role, line);
    let (no_utf_8, repaired) = (invalid_utf8(line), repair_text(line));
    let lone_surrogates = no_utf_8.is_none() && repaired.is_some();
    let mut read =
        BodyCheck { body: parse(line), lone_surrogates, invalid_utf8: no_utf_8, invalid_usage: None };
    if memchr::memmem::find(line, b"\"usage\"").is_some()
        && let Some(mut value) = value(line)
        && let Some(usage) = usage(&mut value)
        && let Some(invalid) = invalid_count(usage)
    {
        read.invalid_usage = Some(invalid);
        *usage = Value::Object(serde_json::Map::new());
        read.body = parse(value.to_string().as_bytes());
    }
    read
}

pub(super) fn key_value(line: &[u8], name: &str) -> Option<Value> {
    value(line)?.as_object_mut()?.remove(name)
}

fn value(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok().or_else(|| serde_json::from_str(&repair_text(line)?).ok())
}

/// Describes the first byte of a line that is not UTF-8.
pub(super) fn invalid_utf8(line: &[u8]) -> Option<String> {
    let error = std::str::from_utf8(line).err()?;
    Some(format!("not UTF-8 starting at byte {} of the line", error.valid_up_to()))
}

fn usage(value: &mut Value) -> Option<&mut Value> {
    let is_on_entry = value.get("usage").is_some();
    if is_on_entry { value.get_mut("usage") } else { value.get_mut("message")?.get_mut("usage") }
}

fn invalid_count(usage: &Value) -> Option<String> {
    let Some(counts) = usage.as_object() else { return Some(format!("it is {usage}")) };
    let count = |name: &&str| counts.get(*name).filter(|count| !count.is_u64());
    let invalid = COUNTS.iter().find_map(|name| Some(format!("`{name}` is {}", count(name)?)));
    invalid.or_else(|| {
        let costs = counts.get("cost")?.as_object()?;
        let (name, cost) = costs.iter().find(|(_, cost)| !cost.is_number())?;
        Some(format!("`cost.{name}` is {cost}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_error_wrong_type_is_named() {
        let of_header = |keys: &str| header_type_error(format!(r#"{{"type":"session",{keys}}}"#).as_bytes());
        assert_eq!(of_header(r#""cwd":"/x","parentSession":null,"more":7"#), None);
        assert_eq!(
            of_header(r#""parentSession":7"#).as_deref(),
            Some("optional key `parentSession`: 7 has the wrong type")
        );
        let of_entry = |keys: &str| entry_type_error(format!(r#"{{"type":"x",{keys}}}"#).as_bytes());
        for valid in [
            r#""message":{"timestamp":-7,"isError":false,"errorMessage":"no"},"display":true"#,
            r#""customType":"tiller.queue","data":{"images":[],"order":1,"typed":null}"#,
            r#""customType":"other","data":{"images":7}"#,
            r#""message":7"#,
        ] {
            assert_eq!(of_entry(valid), None, "{valid}");
        }
        for (keys, name) in [
            (r#""message":{"timestamp":"now"}"#, "timestamp"),
            (r#""message":{"isError":0}"#, "isError"),
            (r#""tillerReceipt":[]"#, "tillerReceipt"),
            (r#""customType":"tiller.queue","data":{"images":7}"#, "images"),
        ] {
            assert!(of_entry(keys).is_some_and(|text| text.contains(&format!("`{name}`"))), "{keys}");
        }
    }

    #[test]
    fn invalid_count_non_number_is_named() {
        let invalid = |text: &str| invalid_count(&serde_json::from_str(text).unwrap());
        assert_eq!(invalid(r#"{"input":1,"output":2,"cost":{"total":0.5},"reasoning":"much"}"#), None);
        assert_eq!(invalid(r#"{"input":"1"}"#).as_deref(), Some("`input` is \"1\""));
        assert_eq!(invalid(r#"{"output":-1}"#).as_deref(), Some("`output` is -1"));
        assert_eq!(invalid(r#"{"cost":{"total":null}}"#).as_deref(), Some("`cost.total` is null"));
        assert_eq!(invalid("7").as_deref(), Some("it is 7"));
    }
}
