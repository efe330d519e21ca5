//! The source code of all crates, for tests of rules about it.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use std::fs;
use std::path::{Path, PathBuf};

/// Crates that only tests use.
const FOR_TESTS: &[&str] = &["fuzz-targets", "test-support"];

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Directories with Rust code; all other code is generated or foreign.
const DIRS: &[&str] = &["benches", "crates", "examples", "fuzz/fuzz_targets", "src", "tests"];

/// Reads every Rust file, unchanged.
pub(crate) fn all_code() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for dir in DIRS {
        sources(&root().join(dir), &mut files);
    }
    let code = |file: PathBuf| {
        let code = fs::read_to_string(&file).unwrap();
        (file, code)
    };
    files.into_iter().map(code).collect()
}

/// Reads every file of every crate, without comments, strings and test code.
pub(crate) fn production_code() -> Vec<(PathBuf, String)> {
    production_code_by(bare)
}

/// Reads the same, with the strings that are a single word.
pub(crate) fn production_code_with_words() -> Vec<(PathBuf, String)> {
    production_code_by(|code| replace_texts(code, |text| if is_word(text) { text } else { " " }))
}

fn production_code_by(bare: impl Fn(&str) -> String) -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    sources(&root().join("src"), &mut files);
    for dir in fs::read_dir(root().join("crates")).unwrap() {
        let dir = dir.unwrap().path();
        if !FOR_TESTS.iter().any(|name| dir.ends_with(name)) {
            sources(&dir.join("src"), &mut files);
        }
    }
    let is_of_tests = |file: &Path| file.ends_with("tests.rs") || file.iter().any(|part| part == "tests");
    files.retain(|file| !is_of_tests(file.strip_prefix(root()).unwrap()));
    let code = |file: PathBuf| {
        let code = without_tests(&bare(&fs::read_to_string(&file).unwrap()));
        (file, code)
    };
    files.into_iter().map(code).collect()
}

/// Every Rust file below a directory.
fn sources(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Removes comments, strings and characters, so that the remaining braces and paths are code.
pub(crate) fn bare(code: &str) -> String {
    replace_texts(code, |_| " ")
}

/// Checks whether it is a string of letters and `_` only.
fn is_word(text: &str) -> bool {
    let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    inside.is_some_and(|text| text.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

/// Replaces comments, strings and characters.
fn replace_texts(code: &str, replacement: impl Fn(&str) -> &str) -> String {
    let (mut bare, mut rest) = (String::new(), code);
    while let Some(first) = rest.chars().next() {
        let skipped = skip(rest, bare.chars().last());
        if skipped == 0 {
            bare.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            bare.push_str(replacement(&rest[..skipped]));
            rest = &rest[skipped..];
        }
    }
    bare
}

/// The length of the comment, string or character that `rest` begins with; 0 if it begins with none.
fn skip(rest: &str, before: Option<char>) -> usize {
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return rest.find("*/").map_or(rest.len(), |at| at + 2);
    }
    if rest.starts_with('"') {
        return quoted_length(rest, '"');
    }
    if rest.starts_with('r') && !in_word {
        let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
        if rest[1 + hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = 2 + hashes;
            return rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len());
        }
    }
    if let Some(quoted) = rest.strip_prefix('\'') {
        // A lifetime has no second quote after its first character.
        let mut chars = quoted.chars();
        let is_character = chars.next() == Some('\\') || chars.next() == Some('\'');
        return if is_character { quoted_length(rest, '\'') } else { 0 };
    }
    0
}

/// The length up to and including the closing quote.
fn quoted_length(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    rest.len()
}

/// Removes test items.
pub(crate) fn without_tests(bare: &str) -> String {
    let mut code = String::new();
    let mut rest = bare;
    while let Some((before, after)) = rest.split_once("#[cfg(test)]") {
        code.push_str(before);
        rest = &after[item_length(after)..];
    }
    code + rest
}

/// The length of an item: up to its `;`, or to the brace that closes the first one.
fn item_length(code: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in code.char_indices() {
        match c {
            ';' if depth == 0 => return at + 1,
            '{' => depth += 1,
            '}' if depth <= 1 => return at + 1,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}
