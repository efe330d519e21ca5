//! `tiller sessions show`: a branch as a transcript, as a model would get it, or as facts.

use serde_json::{Value, json};

use super::{branch, print_json, print_raw, say, warn};
use crate::cli::{Failure, transcript};
use crate::session::context::{Projection, sendable};
use crate::session::{Finding, Reader};

pub(super) fn show(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    if as_json {
        warn(reader, &reader.findings());
        let path = reader.leaf().map(|leaf| reader.tree().path(&leaf)).unwrap_or_default();
        return print_raw(reader, path, ("", ""));
    }
    say(&transcript::transcript(&branch(reader)?))
}

pub(super) fn context(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    let (projection, damaged) = projection(reader)?;
    warn(reader, &damaged);
    let sent = sendable(projection.messages.iter().map(|projected| &projected.message));
    if as_json {
        return print_json(&sent);
    }
    for message in sent {
        println!("{}", transcript::message(&message, false));
    }
    Ok(())
}

pub(super) fn stats(reader: &Reader, as_json: bool) -> Result<(), Failure> {
    let stats = facts(reader)?;
    if as_json {
        return print_json(&stats);
    }
    for (name, value) in stats.as_object().into_iter().flatten() {
        match value {
            Value::String(text) => println!("{name:<16} {text}"),
            value => println!("{name:<16} {value}"),
        }
    }
    Ok(())
}

fn projection(reader: &Reader) -> Result<(Projection, Vec<Finding>), Failure> {
    match reader.leaf() {
        Some(leaf) => Ok(reader.projection(&leaf)?),
        None => Ok((Projection::default(), Vec::new())),
    }
}

fn facts(reader: &Reader) -> Result<Value, Failure> {
    let (projection, damaged) = projection(reader)?;
    let warnings = [reader.findings(), damaged].concat();
    let mut stats = json!({
        "path": reader.path(),
        "id": reader.id(),
        "version": reader.header().version,
        "cwd": reader.header().cwd,
        "entries": reader.entry_count(),
        "branches": reader.tree().branch_count(),
        "leaf": reader.leaf(),
        "contextMessages": projection.message_count(),
        "contextTokens": projection.tokens(),
        "thinkingLevel": projection.thinking,
        "usage": reader.usage(),
        "warnings": warnings,
    });
    if let Some(name) = reader.name() {
        stats["name"] = name.into();
    }
    if let Some(model) = &projection.model {
        stats["model"] = json!({"provider": model.provider, "id": model.id});
    }
    Ok(stats)
}
