//! The events in docs/rpc.md are the same as in the code.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use std::collections::BTreeSet;
use std::fs;

use crate::source_code::root;

/// The JSON names of the events, from the variants of `EventKind`.
fn event_names() -> BTreeSet<String> {
    let source = fs::read_to_string(root().join("crates/core/src/event.rs")).unwrap();
    let (_, rest) = source.split_once("pub enum EventKind {\n").unwrap();
    let (variants, _) = rest.split_once("\n}\n").unwrap();
    let names = variants.lines().filter_map(|line| line.strip_prefix("    "));
    let names = names.filter(|line| line.starts_with(|first: char| first.is_ascii_uppercase()));
    names.map(|line| snake_case(line.split(|c: char| !c.is_alphanumeric()).next().unwrap())).collect()
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The names in the first column of the table of events.
fn documented_names() -> BTreeSet<String> {
    let page = fs::read_to_string(root().join("docs/rpc.md")).unwrap();
    let (_, rest) = page.split_once("\n| event | fields |\n").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let cells = table.lines().skip(1).map(|row| row.split('|').nth(1).unwrap());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn events_page_has_every_event_and_no_other() {
    assert_eq!(documented_names(), event_names());
}
