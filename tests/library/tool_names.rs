//! Names of built-in tools in code: a tool's own file defines everything about it, so other code doesn't compare names.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use std::fs;

use crate::source_code::{production_code_with_words, root};

/// The directories of the tools themselves.
const TOOLS: &[&str] = &["crates/tools/src/tool", "crates/engine/src/agents"];

/// Files that may quote the name of a built-in tool, because they mean something else by it.
const ALLOWED: &[&str] = &[
    // Tools of other programs.
    "crates/session/src/import/foreign_tools.rs",
    "crates/engine/src/foreign_tools.rs",
    // Calls that a scripted model makes.
    "crates/provider/src/demo.rs",
    // Sets of tools.
    "crates/core/src/tool_spec.rs",
    // Programs.
    "crates/engine/src/interactive.rs",
    "crates/tools/src/policy/line_rules.rs",
    "crates/tools/src/policy/pattern/table.rs",
    "crates/tools/src/policy/reading.rs",
    "crates/tools/src/policy/risk/arguments.rs",
    "crates/tools/src/policy/risk/git_options.rs",
    "crates/tools/src/policy/risk/outside.rs",
    "crates/tools/src/policy/risk/writes.rs",
    "crates/tools/src/process.rs",
    // A language, as the highlighter names it.
    "crates/tui/src/approval_panel/call_lines.rs",
    // Sample texts.
    "crates/tui/src/picker/themes.rs",
];

/// The names that the tools' files define, in quotes.
fn quoted_names() -> Vec<String> {
    let dirs = ["crates/tools/src/tool/git", "crates/tools/src/tool/github"];
    let dirs: Vec<_> = TOOLS.iter().chain(&dirs).map(|dir| root().join(dir)).collect();
    let files = dirs.iter().flat_map(|dir| fs::read_dir(dir).unwrap()).map(|entry| entry.unwrap().path());
    let name = |code: &str| {
        let (_, rest) = code.split_once("const NAME: &'static str = ")?;
        rest.split_once(';').map(|(name, _)| name.to_owned())
    };
    files.filter(|file| file.is_file()).filter_map(|file| name(&fs::read_to_string(file).unwrap())).collect()
}

#[test]
fn tool_names_are_quoted_only_by_their_tools() {
    let names = quoted_names();
    assert!(names.contains(&"\"bash\"".to_owned()) && names.len() >= 6, "{names:?}");
    let quotes_one = |code: &str| names.iter().any(|name| code.contains(name));
    let users: Vec<String> = production_code_with_words()
        .into_iter()
        .filter(|(_, code)| quotes_one(code))
        .map(|(file, _)| file.strip_prefix(root()).unwrap().display().to_string())
        .filter(|file| !TOOLS.iter().any(|dir| file.starts_with(dir)))
        .collect();
    let forbidden: Vec<&String> = users.iter().filter(|file| !ALLOWED.contains(&file.as_str())).collect();
    assert!(forbidden.is_empty(), "use the tool's `ToolTraits`: {forbidden:#?}");
    let unused: Vec<_> = ALLOWED.iter().filter(|file| !users.iter().any(|user| user == *file)).collect();
    assert!(unused.is_empty(), "no longer quotes a tool's name: {unused:#?}");
}
