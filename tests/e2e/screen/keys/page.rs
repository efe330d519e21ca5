//! The documentation's page of keys and the key tests name the same keys.
//!
//! A test next to the program's own table compares the page to that.

use std::collections::BTreeSet;

use super::SEQUENCES;

/// Rows and keys in `docs/keys-and-terminals.md`.
fn listed_keys() -> BTreeSet<(String, String)> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/keys-and-terminals.md"));
    let page = page.unwrap();
    let (_, keys) = page.split_once("<!-- keys -->").unwrap();
    let (keys, _) = keys.split_once("<!-- end of keys -->").unwrap();
    let rows = keys.lines().filter(|line| line.starts_with("| `"));
    rows.flat_map(|line| {
        let mut columns = line.split(" | ");
        let (keys, name) = (columns.next().unwrap(), columns.next().unwrap().trim_matches('`').to_owned());
        let keys = keys.trim_start_matches("| ").split_whitespace();
        keys.map(move |key| (name.clone(), key.trim_matches('`').to_owned())).collect::<Vec<_>>()
    })
    .collect()
}

#[test]
fn keys_every_binding_is_pressed() {
    let pressed_keys = SEQUENCES.iter().flat_map(|sequence| sequence.pressed_keys());
    let pressed_keys: BTreeSet<(String, String)> =
        pressed_keys.map(|(row, key)| (row.to_owned(), key.to_owned())).collect();
    let listed_keys = listed_keys();
    assert!(listed_keys.len() > 150, "{listed_keys:?}");
    let missing: Vec<_> = listed_keys.difference(&pressed_keys).collect();
    assert!(missing.is_empty(), "no sequence presses {missing:?}");
    let unknown: Vec<_> = pressed_keys.difference(&listed_keys).collect();
    assert!(unknown.is_empty(), "there is no such row or key: {unknown:?}");
}
