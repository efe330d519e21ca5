//! What one line says, read as carefully as can be.

use serde_json::Value;

use crate::session::entry::{self, EntryBody};
use crate::session::head::Head;
use crate::session::repair::repaired;

/// Counts that a usage may have.
const COUNTS: [&str; 5] = ["input", "output", "cacheRead", "cacheWrite", "totalTokens"];

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
pub(super) fn read(head: &Head<'_>, line: &[u8]) -> Read {
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
    fn a_count_that_is_no_number_is_named() {
        let odd = |text: &str| odd_count(&serde_json::from_str(text).unwrap());
        assert_eq!(odd(r#"{"input":1,"output":2,"cost":{"total":0.5},"reasoning":"much"}"#), None);
        assert_eq!(odd(r#"{"input":"1"}"#).as_deref(), Some("`input` is \"1\""));
        assert_eq!(odd(r#"{"output":-1}"#).as_deref(), Some("`output` is -1"));
        assert_eq!(odd(r#"{"cost":{"total":null}}"#).as_deref(), Some("`cost.total` is null"));
        assert_eq!(odd("7").as_deref(), Some("it is 7"));
    }
}
