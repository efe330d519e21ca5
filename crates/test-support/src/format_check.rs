//! A strict checker of the public log format: a log that it accepts is accepted by every other reader. It is
//! based on docs/session-format.md alone, not on the code that writes logs.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The keys of an object: name, whether it is required, and the shape of its value.
type Keys = &'static [(&'static str, Requirement, ValueShape)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Requirement {
    Always,
    Perhaps,
}

use Requirement::{Always, Perhaps};

/// The shape of a value.
#[derive(Clone, Copy)]
enum ValueShape {
    Text,
    Number,
    Flag,
    Anything,
    Moment,
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
    ("type", Always, ValueShape::OneOf(&["session"])),
    ("version", Always, ValueShape::Number),
    ("id", Always, ValueShape::Text),
    ("timestamp", Always, ValueShape::Moment),
    ("cwd", Always, ValueShape::AbsolutePath),
    ("parentSession", Perhaps, ValueShape::AbsolutePath),
];

const PLACE: Keys = &[
    ("type", Always, ValueShape::Text),
    ("id", Always, ValueShape::Text),
    ("parentId", Always, ValueShape::NullOr(&ValueShape::Text)),
    ("timestamp", Always, ValueShape::Moment),
];

const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh"];

/// Every type of entry with its own keys.
const ENTRIES: &[(&str, Keys)] = &[
    ("message", &[("message", Always, ValueShape::Message)]),
    ("model_change", &[("provider", Always, ValueShape::Text), ("modelId", Always, ValueShape::Text)]),
    ("thinking_level_change", &[("thinkingLevel", Always, ValueShape::OneOf(LEVELS))]),
    (
        "compaction",
        &[
            ("summary", Always, ValueShape::Text),
            ("firstKeptEntryId", Always, ValueShape::Text),
            ("tokensBefore", Always, ValueShape::Number),
            ("details", Perhaps, ValueShape::AnyObject),
            ("usage", Perhaps, ValueShape::Object(USAGE)),
            ("systemMessage", Perhaps, ValueShape::Anything),
            ("fromHook", Perhaps, ValueShape::Flag),
            // An extra key of tiller: the origin of the entry.
            ("provider", Perhaps, ValueShape::Text),
            ("model", Perhaps, ValueShape::Text),
        ],
    ),
    (
        "branch_summary",
        &[
            ("fromId", Always, ValueShape::Text),
            ("summary", Always, ValueShape::Text),
            ("details", Perhaps, ValueShape::AnyObject),
            ("usage", Perhaps, ValueShape::Object(USAGE)),
            ("provider", Perhaps, ValueShape::Text),
            ("model", Perhaps, ValueShape::Text),
        ],
    ),
    (
        "context_edit",
        &[
            ("targetId", Always, ValueShape::Text),
            ("replacement", Always, ValueShape::NullOr(&ValueShape::Object(CONTENT))),
        ],
    ),
    ("custom", &[("customType", Always, ValueShape::Text), ("data", Perhaps, ValueShape::Anything)]),
    (
        "custom_message",
        &[
            ("customType", Always, ValueShape::Text),
            ("content", Always, ValueShape::Content),
            ("display", Always, ValueShape::Flag),
            ("details", Perhaps, ValueShape::Anything),
        ],
    ),
    ("label", &[("targetId", Always, ValueShape::Text), ("label", Perhaps, ValueShape::Text)]),
    ("session_info", &[("name", Always, ValueShape::Text)]),
    (
        "usage",
        &[
            ("kind", Always, ValueShape::Text),
            ("provider", Always, ValueShape::Text),
            ("model", Always, ValueShape::Text),
            ("usage", Always, ValueShape::Object(USAGE)),
        ],
    ),
];

const CONTENT: Keys = &[("content", Always, ValueShape::Content)];

const USAGE: Keys = &[
    ("input", Always, ValueShape::Number),
    ("output", Always, ValueShape::Number),
    ("cacheRead", Always, ValueShape::Number),
    ("cacheWrite", Always, ValueShape::Number),
    ("totalTokens", Always, ValueShape::Number),
    ("cost", Always, ValueShape::Object(COST)),
];

const COST: Keys = &[
    ("input", Always, ValueShape::Number),
    ("output", Always, ValueShape::Number),
    ("cacheRead", Always, ValueShape::Number),
    ("cacheWrite", Always, ValueShape::Number),
    ("total", Always, ValueShape::Number),
];

const TEXT: (&str, Keys) = ("text", &[("text", Always, ValueShape::Text)]);

/// Blocks of user and tool messages.
const SAID: &[(&str, Keys)] =
    &[TEXT, ("image", &[("data", Always, ValueShape::Text), ("mimeType", Always, ValueShape::Text)])];

/// Blocks of an answer.
const ANSWERED: &[(&str, Keys)] = &[
    TEXT,
    ("thinking", &[("thinking", Always, ValueShape::Text), ("thinkingSignature", Perhaps, ValueShape::Text)]),
    (
        "toolCall",
        &[
            ("id", Always, ValueShape::Text),
            ("name", Always, ValueShape::Text),
            ("arguments", Always, ValueShape::AnyObject),
        ],
    ),
];

/// Every role of a message with its keys besides `role` and `timestamp`.
const ROLES: &[(&str, Keys)] = &[
    ("user", CONTENT),
    (
        "assistant",
        &[
            ("content", Always, ValueShape::Blocks(ANSWERED)),
            ("api", Always, ValueShape::Text),
            ("provider", Always, ValueShape::Text),
            ("model", Always, ValueShape::Text),
            ("usage", Always, ValueShape::Object(USAGE)),
            ("stopReason", Always, ValueShape::OneOf(&["stop", "length", "toolUse", "error", "aborted"])),
            ("errorMessage", Perhaps, ValueShape::Text),
        ],
    ),
    (
        "toolResult",
        &[
            ("toolCallId", Always, ValueShape::Text),
            ("toolName", Always, ValueShape::Text),
            ("content", Always, ValueShape::Blocks(SAID)),
            ("details", Perhaps, ValueShape::Anything),
            ("isError", Always, ValueShape::Flag),
        ],
    ),
    (
        "bashExecution",
        &[
            ("command", Always, ValueShape::Text),
            ("output", Always, ValueShape::Text),
            ("exitCode", Perhaps, ValueShape::Number),
            ("cancelled", Always, ValueShape::Flag),
            ("truncated", Always, ValueShape::Flag),
            ("fullOutputPath", Perhaps, ValueShape::Text),
            ("excludeFromContext", Perhaps, ValueShape::Flag),
        ],
    ),
    ("system", &[("content", Always, ValueShape::Text)]),
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
        let taken = if at == 0 { check_header(line) } else { check_entry(line, &mut known) };
        taken.map_err(|why| format!("line {}: {why}: {line}", at + 1))?;
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
    let keys = keys_of(ENTRIES, &entry, "type")?;
    check_keys(&entry, &[PLACE, keys])?;
    if let Value::String(parent) = &entry["parentId"]
        && !known.contains(parent)
    {
        return Err(format!("its parent {parent} is not before it"));
    }
    let id = entry["id"].as_str().unwrap_or_default().to_owned();
    if id.is_empty() || !known.insert(id.clone()) { Err(format!("the id {id:?} is taken")) } else { Ok(()) }
}

/// The keys of the type that the object's `key` names.
fn keys_of(all: &[(&str, Keys)], object: &Map<String, Value>, key: &str) -> Result<Keys, String> {
    let name = object.get(key).and_then(Value::as_str).ok_or(format!("it has no {key}"))?;
    let found = all.iter().find(|(own, _)| *own == name);
    found.map(|(_, keys)| *keys).ok_or(format!("no {key} is called {name}"))
}

fn check_keys(object: &Map<String, Value>, all: &[Keys]) -> Result<(), String> {
    let keys: Vec<_> = all.iter().copied().flatten().collect();
    for (name, need, shape) in &keys {
        match object.get(*name) {
            Some(value) => check_value(value, *shape).map_err(|why| format!("{name}: {why}"))?,
            None if *need == Always => return Err(format!("{name} is missing")),
            None => {}
        }
    }
    let is_known = |name: &str| name.starts_with("tiller") || keys.iter().any(|(own, ..)| *own == name);
    match object.keys().find(|name| !is_known(name)) {
        Some(name) => Err(format!("nobody knows a key {name}")),
        None => Ok(()),
    }
}

fn check_value(value: &Value, shape: ValueShape) -> Result<(), String> {
    let fits = match shape {
        ValueShape::Text => value.is_string(),
        ValueShape::Number => value.is_number(),
        ValueShape::Flag => value.is_boolean(),
        ValueShape::Anything => true,
        ValueShape::Moment => value.as_str().is_some_and(is_timestamp),
        ValueShape::AbsolutePath => value.as_str().is_some_and(|path| path.starts_with('/')),
        ValueShape::OneOf(names) => value.as_str().is_some_and(|name| names.contains(&name)),
        ValueShape::AnyObject => value.is_object(),
        ValueShape::Object(keys) => return check_keys(object(value)?, &[keys]),
        ValueShape::Content if value.is_string() => true,
        ValueShape::Content => return check_blocks(value, SAID),
        ValueShape::Blocks(blocks) => return check_blocks(value, blocks),
        ValueShape::NullOr(_) if value.is_null() => true,
        ValueShape::NullOr(shape) => return check_value(value, *shape),
        ValueShape::Message => return check_message(object(value)?),
    };
    if fits { Ok(()) } else { Err(format!("it can't be {value}")) }
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or(format!("{value} is no object"))
}

fn check_blocks(value: &Value, blocks: &[(&str, Keys)]) -> Result<(), String> {
    const TYPE: Keys = &[("type", Always, ValueShape::Text)];
    for block in value.as_array().ok_or(format!("{value} is no list"))? {
        let block = object(block)?;
        check_keys(block, &[TYPE, keys_of(blocks, block, "type")?])?;
    }
    Ok(())
}

fn check_message(message: &Map<String, Value>) -> Result<(), String> {
    const SPOKEN: Keys = &[("role", Always, ValueShape::Text), ("timestamp", Always, ValueShape::Number)];
    check_keys(message, &[SPOKEN, keys_of(ROLES, message, "role")?])
}

/// `2026-11-21T03:16:58.249Z`
fn is_timestamp(text: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |(byte, wanted): (u8, u8)| if wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}
