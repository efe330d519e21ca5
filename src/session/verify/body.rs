//! What one line says, read as carefully as can be.

use std::borrow::Cow;

use serde_json::Value;

use crate::session::entry::{self, EntryBody, VERSION};
use crate::session::index::EntryKind;

/// Counts that a usage may have.
const COUNTS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];

/// A body, and what is odd about it.
pub(super) struct Read {
    /// The body; `None` when an older version of the format said it in a way of its own that holds no fault.
    pub(super) body: Result<Option<EntryBody>, String>,
    pub(super) lone_surrogates: bool,
    /// What of its usage is no number.
    pub(super) usage: Option<String>,
}

/// Reads the body of a line whose head can be read.
pub(super) fn read(kind: EntryKind, version: u64, line: &[u8]) -> Read {
    let Ok(text) = std::str::from_utf8(line) else {
        let body = Err(no_utf_8(line).unwrap_or_default());
        return Read { body, lone_surrogates: false, usage: None };
    };
    let mended = mend(text);
    let lone_surrogates = matches!(mended, Cow::Owned(_));
    let mut read = Read { body: parse(kind, version, &mended), lone_surrogates, usage: None };
    if mended.contains("\"usage\"")
        && let Ok(mut value) = serde_json::from_str::<Value>(&mended)
        && let Some(usage) = usage(&mut value)
        && let Some(odd) = odd_count(usage)
    {
        read.usage = Some(odd);
        *usage = Value::Object(serde_json::Map::new());
        read.body = parse(kind, version, &value.to_string());
    }
    read
}

/// Where a line stops being UTF-8, if it does.
pub(super) fn no_utf_8(line: &[u8]) -> Option<String> {
    let error = std::str::from_utf8(line).err()?;
    Some(format!("not UTF-8 from byte {} of the line on", error.valid_up_to()))
}

fn parse(kind: EntryKind, version: u64, text: &str) -> Result<Option<EntryBody>, String> {
    let text = if version < VERSION { as_of_now(text) } else { Cow::Borrowed(text) };
    if text.is_empty() {
        return Ok(None);
    }
    entry::parse_body(kind, text.as_bytes()).map(Some).map_err(|error| error.to_string())
}

/// A line of an older version as this one would write it; nothing for a message that isn't one of a conversation.
fn as_of_now(text: &str) -> Cow<'_, str> {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return Cow::Borrowed(text) };
    if value["message"]["role"] == "hookMessage" && !value["message"]["content"].is_null() {
        return Cow::Borrowed("");
    }
    match value.get("firstKeptEntryIndex").and_then(Value::as_u64) {
        Some(index) => {
            value["firstKeptEntryId"] = index.to_string().into();
            Cow::Owned(value.to_string())
        }
        None => Cow::Borrowed(text),
    }
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

/// Puts U+FFFD for every escape that is half a surrogate pair without the other half; borrowed where there is none.
fn mend(text: &str) -> Cow<'_, str> {
    let (mut mended, mut from, mut at) = (String::new(), 0, 0);
    while let Some(found) = text[at..].find('\\') {
        at += found;
        match &text.as_bytes()[at..] {
            [b'\\', b'u', ..] => match (unit(&text[at..]), text.get(at + 6..).and_then(unit)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
                (Some(0xd800..=0xdfff), _) => {
                    mended.push_str(&text[from..at]);
                    mended.push_str("\\ufffd");
                    at += 6;
                    from = at;
                }
                _ => at += 2,
            },
            // The escaped character, which may be a backslash and never begins an escape itself.
            _ => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
        }
    }
    if from == 0 {
        return Cow::Borrowed(text);
    }
    mended.push_str(&text[from..]);
    Cow::Owned(mended)
}

/// The UTF-16 unit that an escape at the beginning of a text stands for.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_half_pairs_are_mended() {
        let cases = [
            (r#""\ud83e\udd80""#, r#""\ud83e\udd80""#),
            (r#""\ud83e""#, r#""\ufffd""#),
            (r#""\udd80x\ud83e\ud83e\udd80""#, r#""\ufffdx\ufffd\ud83e\udd80""#),
            (r#""\\ud83e""#, r#""\\ud83e""#),
            (r#""\\\ud83eö""#, r#""\\\ufffdö""#),
            (r#""\ud8""#, r#""\ud8""#),
            ("\"\\ö\\", "\"\\ö\\"),
        ];
        for (text, mended) in cases {
            assert_eq!(mend(text), mended, "{text}");
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
