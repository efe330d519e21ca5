//! A reader of the public format that is as strict as one can be: what it takes, any other reader takes too. It knows
//! docs/session-format.md alone and nothing of the code that writes.
#![allow(dead_code, reason = "whoever takes it in uses a part")]

use std::collections::HashSet;

use serde_json::{Map, Value};

/// Keys of an object: name, whether it has to be there, and what it holds.
type Keys = &'static [(&'static str, Need, Shape)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Always,
    Perhaps,
}

use Need::{Always, Perhaps};

/// What a value may be.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    Number,
    Flag,
    Anything,
    Moment,
    AbsolutePath,
    OneOf(&'static [&'static str]),
    Object(Keys),
    AnyObject,
    /// A text, or blocks that users and tools may say.
    Content,
    Blocks(&'static [(&'static str, Keys)]),
    NullOr(&'static Shape),
    Message,
}

const HEADER: Keys = &[
    ("type", Always, Shape::OneOf(&["session"])),
    ("version", Always, Shape::Number),
    ("id", Always, Shape::Text),
    ("timestamp", Always, Shape::Moment),
    ("cwd", Always, Shape::AbsolutePath),
    ("parentSession", Perhaps, Shape::AbsolutePath),
];

const PLACE: Keys = &[
    ("type", Always, Shape::Text),
    ("id", Always, Shape::Text),
    ("parentId", Always, Shape::NullOr(&Shape::Text)),
    ("timestamp", Always, Shape::Moment),
];

const LEVELS: &[&str] = &["off", "minimal", "low", "medium", "high", "xhigh"];

/// Every type of entry with its keys besides its place.
const ENTRIES: &[(&str, Keys)] = &[
    ("message", &[("message", Always, Shape::Message)]),
    ("model_change", &[("provider", Always, Shape::Text), ("modelId", Always, Shape::Text)]),
    ("thinking_level_change", &[("thinkingLevel", Always, Shape::OneOf(LEVELS))]),
    (
        "compaction",
        &[
            ("summary", Always, Shape::Text),
            ("firstKeptEntryId", Always, Shape::Text),
            ("tokensBefore", Always, Shape::Number),
            ("details", Perhaps, Shape::AnyObject),
            ("usage", Perhaps, Shape::Object(USAGE)),
            ("systemMessage", Perhaps, Shape::Anything),
            ("fromHook", Perhaps, Shape::Flag),
            // Extra keys of tiller's: who made it.
            ("provider", Perhaps, Shape::Text),
            ("model", Perhaps, Shape::Text),
        ],
    ),
    (
        "branch_summary",
        &[
            ("fromId", Always, Shape::Text),
            ("summary", Always, Shape::Text),
            ("details", Perhaps, Shape::AnyObject),
            ("usage", Perhaps, Shape::Object(USAGE)),
            ("provider", Perhaps, Shape::Text),
            ("model", Perhaps, Shape::Text),
        ],
    ),
    (
        "context_edit",
        &[("targetId", Always, Shape::Text), ("replacement", Always, Shape::NullOr(&Shape::Object(CONTENT)))],
    ),
    ("custom", &[("customType", Always, Shape::Text), ("data", Perhaps, Shape::Anything)]),
    (
        "custom_message",
        &[
            ("customType", Always, Shape::Text),
            ("content", Always, Shape::Content),
            ("display", Always, Shape::Flag),
            ("details", Perhaps, Shape::Anything),
        ],
    ),
    ("label", &[("targetId", Always, Shape::Text), ("label", Perhaps, Shape::Text)]),
    ("session_info", &[("name", Always, Shape::Text)]),
    (
        "usage",
        &[
            ("kind", Always, Shape::Text),
            ("provider", Always, Shape::Text),
            ("model", Always, Shape::Text),
            ("usage", Always, Shape::Object(USAGE)),
        ],
    ),
];

const CONTENT: Keys = &[("content", Always, Shape::Content)];

const USAGE: Keys = &[
    ("input", Always, Shape::Number),
    ("output", Always, Shape::Number),
    ("cacheRead", Always, Shape::Number),
    ("cacheWrite", Always, Shape::Number),
    ("totalTokens", Always, Shape::Number),
    ("cost", Always, Shape::Object(COST)),
];

const COST: Keys = &[
    ("input", Always, Shape::Number),
    ("output", Always, Shape::Number),
    ("cacheRead", Always, Shape::Number),
    ("cacheWrite", Always, Shape::Number),
    ("total", Always, Shape::Number),
];

const TEXT: (&str, Keys) = ("text", &[("text", Always, Shape::Text)]);

/// Blocks that users and tools may say.
const SAID: &[(&str, Keys)] =
    &[TEXT, ("image", &[("data", Always, Shape::Text), ("mimeType", Always, Shape::Text)])];

/// Blocks of an answer.
const ANSWERED: &[(&str, Keys)] = &[
    TEXT,
    ("thinking", &[("thinking", Always, Shape::Text), ("thinkingSignature", Perhaps, Shape::Text)]),
    (
        "toolCall",
        &[
            ("id", Always, Shape::Text),
            ("name", Always, Shape::Text),
            ("arguments", Always, Shape::AnyObject),
        ],
    ),
];

/// Every role of a message with its keys besides `role` and `timestamp`.
const ROLES: &[(&str, Keys)] = &[
    ("user", CONTENT),
    (
        "assistant",
        &[
            ("content", Always, Shape::Blocks(ANSWERED)),
            ("api", Always, Shape::Text),
            ("provider", Always, Shape::Text),
            ("model", Always, Shape::Text),
            ("usage", Always, Shape::Object(USAGE)),
            ("stopReason", Always, Shape::OneOf(&["stop", "length", "toolUse", "error", "aborted"])),
            ("errorMessage", Perhaps, Shape::Text),
        ],
    ),
    (
        "toolResult",
        &[
            ("toolCallId", Always, Shape::Text),
            ("toolName", Always, Shape::Text),
            ("content", Always, Shape::Blocks(SAID)),
            ("details", Perhaps, Shape::Anything),
            ("isError", Always, Shape::Flag),
        ],
    ),
    (
        "bashExecution",
        &[
            ("command", Always, Shape::Text),
            ("output", Always, Shape::Text),
            ("exitCode", Perhaps, Shape::Number),
            ("cancelled", Always, Shape::Flag),
            ("truncated", Always, Shape::Flag),
            ("fullOutputPath", Perhaps, Shape::Text),
            ("excludeFromContext", Perhaps, Shape::Flag),
        ],
    ),
    ("system", &[("content", Always, Shape::Text)]),
];

/// The log without the lines that a kill or a full disk cut off in their middle; they are closed, and cost themselves alone.
pub fn without_torn(log: &str) -> String {
    let is_torn =
        |line: &str| serde_json::from_str::<Value>(line.trim_end()).is_err_and(|error| error.is_eof());
    log.split_inclusive('\n').filter(|line| line.trim().is_empty() || !is_torn(line)).collect()
}

/// Holds a log against the format.
///
/// # Errors
/// The first line that a reader could refuse, with the reason.
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

/// The keys of what calls itself so.
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

fn check_value(value: &Value, shape: Shape) -> Result<(), String> {
    let fits = match shape {
        Shape::Text => value.is_string(),
        Shape::Number => value.is_number(),
        Shape::Flag => value.is_boolean(),
        Shape::Anything => true,
        Shape::Moment => value.as_str().is_some_and(is_moment),
        Shape::AbsolutePath => value.as_str().is_some_and(|path| path.starts_with('/')),
        Shape::OneOf(names) => value.as_str().is_some_and(|name| names.contains(&name)),
        Shape::AnyObject => value.is_object(),
        Shape::Object(keys) => return check_keys(object(value)?, &[keys]),
        Shape::Content if value.is_string() => true,
        Shape::Content => return check_blocks(value, SAID),
        Shape::Blocks(blocks) => return check_blocks(value, blocks),
        Shape::NullOr(_) if value.is_null() => true,
        Shape::NullOr(shape) => return check_value(value, *shape),
        Shape::Message => return check_message(object(value)?),
    };
    if fits { Ok(()) } else { Err(format!("it can't be {value}")) }
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or(format!("{value} is no object"))
}

fn check_blocks(value: &Value, blocks: &[(&str, Keys)]) -> Result<(), String> {
    const TYPE: Keys = &[("type", Always, Shape::Text)];
    for block in value.as_array().ok_or(format!("{value} is no list"))? {
        let block = object(block)?;
        check_keys(block, &[TYPE, keys_of(blocks, block, "type")?])?;
    }
    Ok(())
}

fn check_message(message: &Map<String, Value>) -> Result<(), String> {
    const SPOKEN: Keys = &[("role", Always, Shape::Text), ("timestamp", Always, Shape::Number)];
    check_keys(message, &[SPOKEN, keys_of(ROLES, message, "role")?])
}

/// `2026-11-21T03:16:58.249Z`
fn is_moment(text: &str) -> bool {
    let pattern = "dddd-dd-ddTdd:dd:dd.dddZ";
    let fits = |(byte, wanted): (u8, u8)| if wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted };
    text.len() == pattern.len() && text.bytes().zip(pattern.bytes()).all(fits)
}
