//! The effective key bindings: the defaults of [`table`] and the user's own ([`bindings`]).

mod bindings;
pub(crate) mod chord;
pub(crate) mod table;

use std::collections::HashMap;
use std::path::Path;

use crossterm::event::KeyEvent;
use tiller_files::{CONFIG_LIMIT, read_text};

use crate::keymap::chord::Chord;
use crate::keymap::table::{KeyBinding, KeyCommand, KeyContext, TABLE, defaults};

/// The effective key bindings.
#[derive(Clone, Debug)]
pub(super) struct Keymap {
    bound: HashMap<(KeyContext, Chord), KeyCommand>,
    /// Keys for each row of the table.
    keys: Vec<Vec<Chord>>,
    /// Rejected lines of `keybindings.json`, one sentence each with the binding used instead.
    problems: Vec<String>,
}

/// Returns the problems with a `keybindings.json`, one sentence each with the binding used instead.
#[must_use]
pub fn keybinding_problems(path: &Path) -> Vec<String> {
    Keymap::load(path).problems
}

impl Default for Keymap {
    fn default() -> Self {
        Self::new(defaults(), Vec::new())
    }
}

impl Keymap {
    /// Reads `keybindings.json`; an unreadable file counts as missing.
    pub(super) fn load(path: &Path) -> Self {
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        Self::parse(&read_text(path, CONFIG_LIMIT).unwrap_or_default(), &name)
    }

    /// Parses `keybindings.json` over the defaults; `file` is its name in problem messages.
    pub(super) fn parse(text: &str, file: &str) -> Self {
        let (keys, problems) = bindings::parse(text, file);
        Self::new(keys, problems)
    }

    /// Binds `keys` to the rows of the table, in its order.
    fn new(keys: Vec<Vec<Chord>>, problems: Vec<String>) -> Self {
        let bound = TABLE.iter().zip(&keys);
        let bound = bound
            .flat_map(|(row, keys)| keys.iter().map(|chord| ((row.context, *chord), row.command)))
            .collect();
        Self { bound, keys, problems }
    }

    /// Rejected lines of `keybindings.json`, one sentence each with the binding used instead.
    pub(super) fn problems(&self) -> &[String] {
        &self.problems
    }

    /// Returns true if a row's keys differ from its defaults.
    pub(super) fn is_changed(&self, row: &KeyBinding) -> bool {
        let at = TABLE.iter().position(|default_row| default_row.name == row.name);
        at.is_some_and(|at| self.keys[at].iter().map(ToString::to_string).ne(row.keys.iter().copied()))
    }

    /// The command bound to a key in a context.
    pub(super) fn command(&self, context: KeyContext, key: KeyEvent) -> Option<KeyCommand> {
        self.bound.get(&(context, Chord::from_event(key))).copied()
    }

    /// The first key of a command, for display; empty if it has none.
    pub(super) fn key_of(&self, command: KeyCommand) -> String {
        let at = TABLE.iter().position(|row| row.command == command);
        at.and_then(|at| self.keys[at].first()).map(ToString::to_string).unwrap_or_default()
    }

    /// Replaces command names in braces with their keys: `{send} sends` becomes `enter sends`. A command
    /// without a key keeps its name.
    pub(super) fn name_keys(&self, text: &str) -> String {
        TABLE.iter().fold(text.to_owned(), |text, row| {
            let placeholder = format!("{{{}}}", row.name);
            if !text.contains(&placeholder) {
                return text;
            }
            let key = Some(self.key_of(row.command)).filter(|key| !key.is_empty());
            text.replace(&placeholder, key.as_deref().unwrap_or(row.name))
        })
    }

    /// Every row with its keys joined by commas: `alt+enter, ctrl+q`.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'static KeyBinding, String)> {
        TABLE.iter().zip(&self.keys).map(|(row, keys)| {
            let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
            (row, keys.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::super::help;
    use super::*;

    /// The table in docs/keys-and-terminals.md.
    fn markdown() -> String {
        let mut out = String::new();
        let mut context = None;
        for row in TABLE {
            if context.replace(row.context) != Some(row.context) {
                writeln!(
                    out,
                    "\n### {}\n\n| keys | name | what |\n|---|---|---|",
                    help::context_heading(row.context)
                )
                .unwrap();
            }
            let keys: Vec<String> = row.keys.iter().map(|key| format!("`{key}`")).collect();
            writeln!(out, "| {} | `{}` | {} |", keys.join(" "), row.name, row.about).unwrap();
        }
        out
    }

    #[test]
    fn key_docs_match_the_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/keys-and-terminals.md");
        let page = std::fs::read_to_string(path).unwrap();
        let (_, rest) = page.split_once("<!-- keys -->\n").unwrap();
        let (keys, _) = rest.split_once("\n<!-- end of keys -->").unwrap();
        assert!(keys == markdown(), "between its marks it is to be:\n{}", markdown());
    }

    #[test]
    fn name_keys_uses_effective_bindings() {
        let keymap = Keymap::parse(r#"{"send": "ctrl+x", "help": []}"#, "keybindings.json");
        assert_eq!(
            keymap.name_keys("{send} sends · {help} shows {keys}"),
            "ctrl+x sends · help shows {keys}"
        );
    }

    #[test]
    fn table_main_leaves_editor_keys_alone() {
        // These reach the editor when they have no meaning for the screen: the editor is empty, something is
        // running, or there is no command.
        let shared = ["home", "end", "ctrl+d", "ctrl+b"];
        for row in TABLE.iter().filter(|row| row.context == KeyContext::Editor) {
            for key in row.keys.iter().filter(|key| !shared.contains(key)) {
                let taken =
                    TABLE.iter().find(|other| other.context == KeyContext::Main && other.keys.contains(key));
                assert!(taken.is_none(), "{key}: {} never hears of it", row.name);
            }
        }
    }

    #[test]
    fn table_commands_and_keys_are_unique() {
        let keymap = Keymap::default();
        let keys: usize = TABLE.iter().map(|row| row.keys.len()).sum();
        assert_eq!(keymap.bound.len(), keys);
        for (at, row) in TABLE.iter().enumerate() {
            let twice =
                TABLE[..at].iter().find(|other| other.command == row.command || other.name == row.name);
            assert!(twice.is_none(), "{row:?} {twice:?}");
        }
    }
}
