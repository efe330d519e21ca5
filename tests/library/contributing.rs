//! CONTRIBUTING.md lists files and functions that exist.

use std::fs;
use std::path::PathBuf;

use crate::source_code::root;

/// Directories of the root in the tables; all other paths are relative to `crates/`.
const ROOT_DIRS: &[&str] = &["src/", "docs/", "tests/", "benches/", "prompts/", "themes/"];

/// Returns the rows of the tables of changes, one table for each part of the program.
fn rows() -> Vec<String> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    page.lines().filter(|line| line.starts_with("| ")).map(str::to_owned).collect()
}

/// Returns the quoted strings of a row, each with the text before it.
fn quoted(row: &str) -> Vec<(&str, &str)> {
    let parts: Vec<&str> = row.split('`').collect();
    parts.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect()
}

fn is_path(text: &str) -> bool {
    text.contains('/') && !text.starts_with('/')
}

fn path_of(path: &str) -> PathBuf {
    match ROOT_DIRS.iter().any(|dir| path.starts_with(dir)) {
        true => root().join(path),
        false => root().join("crates").join(path),
    }
}

#[test]
fn contributing_table_names_existing_paths() {
    let rows = rows();
    let texts = rows.iter().flat_map(|row| quoted(row)).map(|(_, text)| text);
    let paths: Vec<&str> = texts.filter(|text| is_path(text)).collect();
    assert!(paths.len() > 30, "{paths:?}");
    let missing: Vec<_> = paths.iter().filter(|path| !path_of(path).exists()).collect();
    assert!(missing.is_empty(), "update the tables in CONTRIBUTING.md: {missing:?}");
}

/// In "`next_step`, `tool_ended` in `FILE`" the file defines both functions.
#[test]
fn contributing_table_names_existing_functions() {
    let (mut found, mut missing) = (0, Vec::new());
    for row in rows() {
        let mut functions = Vec::new();
        for (before, text) in quoted(&row) {
            match (is_path(text), before) {
                (false, ", ") => functions.push(text.to_owned()),
                (false, _) => functions = vec![text.to_owned()],
                (true, " in ") => {
                    let code = fs::read_to_string(path_of(text)).unwrap();
                    let is_defined = |name: &String| {
                        ["fn", "enum", "struct", "const"]
                            .iter()
                            .any(|kind| code.contains(&format!("{kind} {name}")))
                    };
                    found += functions.len();
                    missing.extend(functions.drain(..).filter(|name| !is_defined(name)));
                }
                (true, _) => functions.clear(),
            }
        }
    }
    assert!(found > 5, "{found}");
    assert!(missing.is_empty(), "update the tables in CONTRIBUTING.md: {missing:?}");
}
