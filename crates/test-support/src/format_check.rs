//! A strict checker of the public log format: a log that it accepts is accepted by every other reader. It is
//! based on docs/session-format.md alone, not on the code that writes logs.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The keys of an object: name, whether it is required, and the shape of its value.
type Keys = &'static [(&'static str, Requirement, ValueShape)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Requirement {
    Required,
    Optional,
}

use Requirement::{Optional, Required};

#[derive(Clone, Copy)]
enum ValueShape {
    Text,
    Number,
    Flag,
    Anything,
    Timestamp,
    AbsolutePath,
    OneOf(&'static [&'static str]),
    Object(Keys),
    AnyObject,
    /// Text, or blocks of user and tool messages.
    Content,
    Blocks(&'static [(&'static str, Keys)]),
    NullOr(&'static ValueShape),
    Message,
}

const HEADER: Keys = &[
    ("type", Required, ValueShape::OneOf(&["session"])),
    ("version", Required, ValueShape::Number),
    ("id", Required, ValueShape::Text),
    ("timestamp", Required, ValueShape::Timestamp),
    ("cwd", Required, ValueShape::AbsolutePath),
    ("parentSession", Optional, ValueShape::AbsolutePath),
];

const ENTRY_KEYS: Keys = &[
    ("type", Required, ValueShape::Text),
    ("id", Required, ValueShape::Text),
    ("parentId", Required, ValueShape::NullOr(&ValueShape::Text)),
    ("timestamp", Required, ValueShape::Timestamp),
];

const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh"];

/// Every type of entry with its own keys.
const ENTRIES: &[(&str, Keys)] = &[
    ("message", &[("message", Required, ValueShape::Message)]),
    ("model_change", &[("provider", Required, ValueShape::Text), ("modelId", Required, ValueShape::Text)]),
    ("thinking_level_change", &[("thinkingLevel", Required, ValueShape::OneOf(LEVELS))]),
    (
        "compaction",
        &[
            ("summary", Required, ValueShape::Text),
            ("firstKeptEntryId", Required, ValueShape::Text),
            ("tokensBefore", Required, ValueShape::Number),
            ("details", Optional, ValueShape::AnyObject),
            ("usage", Optional, ValueShape::Object(USAGE)),
            ("systemMessage", Optional, ValueShape::Anything),
            ("fromHook", Optional, ValueShape::Flag),
            // An extra key of tiller: the origin of the entry.
            ("provider", Optional, ValueShape::Text),
            ("model", Optional, ValueShape::Text),
        ],
    ),
    (
        "branch_summary",
        &[
            ("fromId", Required, ValueShape::Text),
            ("summary", Required, ValueShape::Text),
            ("details", Optional, ValueShape::AnyObject),
            ("usage", Optional, ValueShape::Object(USAGE)),
            ("provider", Optional, ValueShape::Text),
            ("model", Optional, ValueShape::Text),
        ],
    ),
    (
        "context_edit",
        &[
            ("targetId", Required, ValueShape::Text),
            ("replacement", Required, ValueShape::NullOr(&ValueShape::Object(CONTENT))),
        ],
    ),
    ("custom", &[("customType", Required, ValueShape::Text), ("data", Optional, ValueShape::Anything)]),
    (
        "custom_message",
        &[
            ("customType", Required, ValueShape::Text),
            ("content", Required, ValueShape::Content),
            ("display", Required, ValueShape::Flag),
            ("details", Optional, ValueShape::Anything),
        ],
    ),
    ("label", &[("targetId", Required, ValueShape::Text), ("label", Optional, ValueShape::Text)]),
    ("session_info", &[("name", Required, ValueShape::Text)]),
    (
        "usage",
        &[
            ("kind", Required, ValueShape::Text),
            ("provider", Required, ValueShape::Text),
            ("model", Required, ValueShape::Text),
            ("usage", Required, ValueShape::Object(USAGE)),
        ],
    ),
];

const CONTENT: Keys = &[("content", Required, ValueShape::Content)];

const USAGE: Keys = &[
    ("input", Required, ValueShape::Number),
    ("output", Required, ValueShape::Number),
    ("cacheRead", Required, ValueShape::Number),
    ("cacheWrite", Required, ValueShape::Number),
    ("totalTokens", Required, ValueShape::Number),
    ("cost", Required, ValueShape::Object(COST)),
];

const COST: Keys = &[
    ("input", Required, ValueShape::Number),
    ("output", Required, ValueShape::Number),
    ("cacheRead", Required, ValueShape::Number),
    ("cacheWrite", Required, ValueShape::Number),
    ("total", Required, ValueShape::Number),
];

const TEXT: (&str, Keys) = ("text", &[("text", Required, ValueShape::Text)]);

/// Blocks of user and tool messages.
const CONTENT_BLOCKS: &[(&str, Keys)] =
    &[TEXT, ("image", &[("data", Required, ValueShape::Text), ("mimeType", Required, ValueShape::Text)])];

/// Blocks of an answer.
const ANSWER_BLOCKS: &[(&str, Keys)] = &[
    ("text", &[("text", Required, ValueShape::Text), ("textSignature", Optional, ValueShape::Text)]),
    (
        "thinking",
        &[("thinking", Required, ValueShape::Text), ("thinkingSignature", Optional, ValueShape::Text)],
    ),
    (
        "toolCall",
        &[
            ("id", Required, ValueShape::Text),
            ("name", Required, ValueShape::Text),
            ("arguments", Required, ValueShape::AnyObject),
        ],
    ),
];

/// Every role of a message with its keys besides `role` and `timestamp`.
const ROLES: &[(&str, Keys)] = &[
    ("user", CONTENT),
    (
        "assistant",
        &[
            ("content", Required, ValueShape::Blocks(ANSWER_BLOCKS)),
            ("api", Required, ValueShape::Text),
            ("provider", Required, ValueShape::Text),
            ("model", Required, ValueShape::Text),
            ("usage", Required, ValueShape::Object(USAGE)),
            ("stopReason", Required, ValueShape::OneOf(&["stop", "length", "toolUse", "error", "aborted"])),
            ("errorMessage", Optional, ValueShape::Text),
        ],
    ),
    (
        "toolResult",
        &[
            ("toolCallId", Required, ValueShape::Text),
            ("toolName", Required, ValueShape::Text),
            ("content", Required, ValueShape::Blocks(CONTENT_BLOCKS)),
            ("details", Optional, ValueShape::Anything),
            ("isError", Required, ValueShape::Flag),
        ],
    ),
    (
        "bashExecution",
        &[
            ("command", Required, ValueShape::Text),
            ("output", Required, ValueShape::Text),
            ("exitCode", Optional, ValueShape::Number),
            ("cancelled", Required, ValueShape::Flag),
            ("truncated", Required, ValueShape::Flag),
            ("fullOutputPath", Optional, ValueShape::Text),
            ("excludeFromContext", Optional, ValueShape::Flag),
        ],
    ),
    ("system", &[("content", Required, ValueShape::Text)]),
];

/// Removes lines that a kill or a full disk has truncated; each such line ends with a newline and affects only
/// itself.
pub fn without_torn(log: &str) -> String {
    let is_torn =
        |line: &str| serde_json::from_str::<Value>(line.trim_end()).is_err_and(|error| error.is_eof());
    log.split_inclusive('\n').filter(|line| line.trim().is_empty() || !is_torn(line)).collect()
}

/// Checks a log against the format.
///
/// # Errors
/// The first invalid line, with the reason.
pub fn check(log: &str) -> Result<(), String> {
    let lines = log.strip_suffix('\n').ok_or("the last line has no end")?;
    let mut known = HashSet::new();
    for (at, line) in lines.split('\n').enumerate() {
        let outcome = if at == 0 { check_header(line) } else { check_entry(line, &mut known) };
        outcome.map_err(|reason| format!("line {}: {reason}: {line}", at + 1))?;
    }
    Ok(())
}

fn parse(line: &str) -> Result<Map<String, Value>, String> {
    serde_json::from_str(line).map_err(|error| error.to_string())
}

fn check_header(line: &str) -> Result<(), String> {
    let header = parse(line)?;
    check_keys(&header, &[HEADER])?;
    if header["version"] == 3 { Ok(()) } else { Err("not version 3".into()) }
}

fn check_entry(line: &str, known: &mut HashSet<String>) -> Result<(), String> {
    let entry = parse(line)?;
    let keys = find_keys(ENTRIES, &entry, "type")?;
    check_keys(&entry, &[ENTRY_KEYS, keys])?;
    if let Value::String(parent) = &entry["parentId"]
        && !known.contains(parent)
    {
        return Err(format!("its parent {parent} is not before it"));
    }
    let id = entry["id"].as_str().unwrap_or_default().to_owned();
    if id.is_empty() || !known.insert(id.clone()) { Err(format!("the id {id:?} is taken")) } else { Ok(()) }
}

/// The keys of the type that the object's `key` names.
fn find_keys(types: &[(&str, Keys)], object: &Map<String, Value>, key: &str) -> Result<Keys, String> {
    let name = object.get(key).and_then(Value::as_str).ok_or(format!("it has no {key}"))?;
    let found = types.iter().find(|(type_name, _)| *type_name == name);
    found.map(|(_, keys)| *keys).ok_or(format!("no {key} is called {name}"))
}

fn check_keys(object: &Map<String, Value>, key_sets: &[Keys]) -> Result<(), String> {
    let keys: Vec<_> = key_sets.iter().copied().flatten().collect();
    for (name, requirement, shape) in &keys {
        match object.get(*name) {
            Some(value) => check_value(value, *shape).map_err(|reason| format!("{name}: {reason}"))?,
            None if *requirement == Required => return Err(format!("{name} is missing")),
            None => {}
        }
    }
    let is_known = |name: &str| name.starts_with("tiller") || keys.iter().any(|(key, ..)| *key == name);
    match object.keys().find(|name| !is_known(name)) {
        Some(name) => Err(format!("unknown key {name}")),
        None => Ok(()),
    }
}

fn check_value(value: &Value, shape: ValueShape) -> Result<(), String> {
    let is_valid = match shape {
        ValueShape::Text => value.is_string(),
        ValueShape::Number => value.is_number(),
        ValueShape::Flag => value.is_boolean(),
        ValueShape::Anything => true,
        ValueShape::Timestamp => value.as_str().is_some_and(is_timestamp),
        ValueShape::AbsolutePath => value.as_str().is_some_and(|path| path.starts_with('/')),
        ValueShape::OneOf(names) => value.as_str().is_some_and(|name| names.contains(&name)),
        ValueShape::AnyObject => value.is_object(),
        ValueShape::Object(keys) => return check_keys(object(value)?, &[keys]),
        ValueShape::Content if value.is_string() => true,
        ValueShape::Content => return check_blocks(value, CONTENT_BLOCKS),
        ValueShape::Blocks(blocks) => return check_blocks(value, blocks),
        ValueShape::NullOr(_) if value.is_null() => true,
        ValueShape::NullOr(shape) => return check_value(value, *shape),
        ValueShape::Message => return check_message(object(value)?),
    };
    if is_valid { Ok(()) } else { Err(format!("it can't be {value}")) }
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or(format!("{value} is not an object"))
}

fn check_blocks(value: &Value, blocks: &[(&str, Keys)]) -> Result<(), String> {
    const TYPE: Keys = &[("type", Required, ValueShape::Text)];
    for block in value.as_array().ok_or(format!("{value} is not a list"))? {
        let block = object(block)?;
        check_keys(block, &[TYPE, find_keys(blocks, block, "type")?])?;
    }
    Ok(())
}

fn check_message(message: &Map<String, Value>) -> Result<(), String> {
    const MESSAGE_KEYS: Keys =
        &[("role", Required, ValueShape::Text), ("timestamp", Required, ValueShape::Number)];
    check_keys(message, &[MESSAGE_KEYS, find_keys(ROLES, message, "role")?])
}

/// `2026-11-21T03:16:58.249Z`
fn is_timestamp(text: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd.dddZ";
    let is_match =
        |(byte, expected): (u8, u8)| if expected == b'd' { byte.is_ascii_digit() } else { byte == expected };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(is_match)
}
