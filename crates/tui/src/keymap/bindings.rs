//! `keybindings.json`: user bindings over the rows of the table.
//!
//! Errors in the file are reported, not fatal: a rejected row keeps its default keys.

use std::collections::HashMap;

use serde_json::{Map, Value};
use tiller_core::{json_error, suggest};

use crate::keymap::chord::Chord;
use crate::keymap::table::{KeyContext, TABLE, defaults};

/// pi's old and new names of commands and the corresponding names here
/// (packages/coding-agent/docs/keybindings.md of badlogic/pi-mono; the names with dots are from its versions
/// of 2026).
const ALIASES: [[&str; 3]; 40] = [
    ["cursorUp", "tui.editor.cursorUp", "cursor_up"],
    ["cursorDown", "tui.editor.cursorDown", "cursor_down"],
    ["cursorLeft", "tui.editor.cursorLeft", "cursor_left"],
    ["cursorRight", "tui.editor.cursorRight", "cursor_right"],
    ["cursorWordLeft", "tui.editor.cursorWordLeft", "word_left"],
    ["cursorWordRight", "tui.editor.cursorWordRight", "word_right"],
    ["cursorLineStart", "tui.editor.cursorLineStart", "line_start"],
    ["cursorLineEnd", "tui.editor.cursorLineEnd", "line_end"],
    ["pageUp", "tui.editor.pageUp", "page_up"],
    ["pageDown", "tui.editor.pageDown", "page_down"],
    ["deleteCharBackward", "tui.editor.deleteCharBackward", "delete_back"],
    ["deleteCharForward", "tui.editor.deleteCharForward", "delete_forward"],
    ["deleteWordBackward", "tui.editor.deleteWordBackward", "delete_word_back"],
    ["deleteWordForward", "tui.editor.deleteWordForward", "delete_word_forward"],
    ["deleteToLineStart", "tui.editor.deleteToLineStart", "delete_to_line_start"],
    ["deleteToLineEnd", "tui.editor.deleteToLineEnd", "delete_to_line_end"],
    ["yank", "tui.editor.yank", "yank"],
    ["yankPop", "tui.editor.yankPop", "yank_before"],
    ["undo", "tui.editor.undo", "undo"],
    ["newLine", "tui.input.newLine", "newline"],
    ["submit", "tui.input.submit", "send"],
    ["selectUp", "tui.select.up", "up"],
    ["selectDown", "tui.select.down", "down"],
    ["selectPageUp", "tui.select.pageUp", "list_page_up"],
    ["selectPageDown", "tui.select.pageDown", "list_page_down"],
    ["selectConfirm", "tui.select.confirm", "accept"],
    ["pasteImage", "app.clipboard.pasteImage", "paste_image"],
    ["interrupt", "app.interrupt", "stop"],
    ["clear", "app.clear", "clear"],
    ["exit", "app.exit", "quit"],
    ["suspend", "app.suspend", "suspend"],
    ["externalEditor", "app.editor.external", "external_editor"],
    ["selectModel", "app.model.select", "pick_model"],
    ["cycleModelForward", "app.model.cycleForward", "next_model"],
    ["cycleModelBackward", "app.model.cycleBackward", "previous_model"],
    ["cycleThinkingLevel", "app.thinking.cycle", "next_thinking"],
    ["expandTools", "app.tools.expand", "unfold_output"],
    ["toggleThinking", "app.thinking.toggle", "unfold_thinking"],
    ["followUp", "app.message.followUp", "follow_up"],
    ["dequeue", "app.message.dequeue", "edit_queue"],
];

/// Earlier names of commands, which files may still have, and the current ones.
const FORMER_NAMES: [[&str; 2]; 8] = [
    ["deny_with_word", "deny_with_reason"],
    ["edit_elsewhere", "external_editor"],
    ["no_answer", "clear_answer"],
    ["question_down", "call_down"],
    ["question_up", "call_up"],
    ["queue_turn", "queue_switch"],
    ["show_whole", "show_call"],
    ["take_answer", "confirm_answer"],
];

/// A valid row of the file.
struct FileRow {
    row: usize,
    name: String,
    line: usize,
    keys: Vec<Chord>,
}

/// Returns the keys of each row of the table, and the problems of the file.
pub(super) fn parse(text: &str, file: &str) -> (Vec<Vec<Chord>>, Vec<String>) {
    let entries: Map<String, Value> = match serde_json::from_str(text) {
        _ if text.trim().is_empty() => Map::new(),
        Ok(entries) => entries,
        Err(error) => {
            let reason = if error.is_data() {
                format!("line {}: expected an object", error.line())
            } else {
                json_error::in_file(&error)
            };
            let problem = format!("{file}, {reason}; using the default keys");
            return (defaults(), vec![problem]);
        }
    };
    let (mut bound, mut problems) = (Vec::new(), Vec::new());
    for (name, value) in &entries {
        let line = line_of(text, name);
        match parse_row(name, value, line) {
            Ok(row) => bound.push(row),
            Err(problem) => problems.push((line, problem)),
        }
    }
    while let Some((at, problem)) = conflict(&bound) {
        let FileRow { row, line, .. } = bound.remove(at);
        problems.push((line, format!("{problem}; {}", fallback(row))));
    }
    problems.extend(shadows(&bound));
    problems.sort_by_key(|(line, _)| *line);
    let message = |(line, problem): (usize, String)| format!("{file}, line {line}: {problem}");
    (bind(&bound), problems.into_iter().map(message).collect())
}

fn parse_row(name: &str, value: &Value, line: usize) -> Result<FileRow, String> {
    let row = row_of(name).ok_or_else(|| {
        let nearest = suggest::nearest(name, TABLE.iter().map(|row| row.name));
        let instead = nearest.map_or("see /hotkeys".to_owned(), |name| format!("did you mean {name}?"));
        format!("unknown action `{name}`; {instead}")
    })?;
    let texts: Option<Vec<&str>> = match value {
        Value::String(key) => Some(vec![key]),
        Value::Array(keys) => keys.iter().map(Value::as_str).collect(),
        _ => None,
    };
    let texts = texts.ok_or_else(|| format!("{name} takes a key or a list of keys; {}", fallback(row)))?;
    let keys: Result<Vec<Chord>, String> = texts.into_iter().map(Chord::parse).collect();
    let keys = keys.map_err(|problem| format!("{problem}; {}", fallback(row)))?;
    let own = |chord: &Chord| TABLE[row].keys.contains(&chord.to_string().as_str());
    let is_typed = !matches!(TABLE[row].context, KeyContext::Approval | KeyContext::Queue | KeyContext::Page);
    if let Some(chord) = keys.iter().find(|chord| is_typed && chord.is_text() && !own(chord)) {
        return Err(format!("{chord} is needed for typing; {}", fallback(row)));
    }
    Ok(FileRow { row, name: name.to_owned(), line, keys })
}

/// Returns the row of the table with a name, which may be tiller's or pi's.
fn row_of(name: &str) -> Option<usize> {
    let position = |name: &str| TABLE.iter().position(|row| row.name == name);
    let rows = || ALIASES.iter().map(|names| &names[..]).chain(FORMER_NAMES.iter().map(|names| &names[..]));
    let current = || rows().find(|names| names.contains(&name))?.last().copied();
    position(name).or_else(|| position(current()?))
}

/// Returns the first row of the file, searched from the end, that uses a key of another row in the same
/// context.
fn conflict(bound: &[FileRow]) -> Option<(usize, String)> {
    let all = bind(bound);
    let mut holders: HashMap<(KeyContext, Chord), Vec<usize>> = HashMap::new();
    for (row, keys) in all.iter().enumerate() {
        for chord in keys {
            let holders = holders.entry((TABLE[row].context, *chord)).or_default();
            if !holders.contains(&row) {
                holders.push(row);
            }
        }
    }
    let clash = |own: &FileRow, chord: &Chord| {
        let holders = &holders[&(TABLE[own.row].context, *chord)];
        holders.iter().copied().find(|row| *row != own.row)
    };
    let of_row = |(at, own): (usize, &FileRow)| {
        let (chord, other) = own.keys.iter().find_map(|chord| Some((chord, clash(own, chord)?)))?;
        Some((at, format!("{}: {chord} is already bound to {}", own.name, TABLE[other].name)))
    };
    // A row that is set under both its names is one row.
    let twice = |(at, own): (usize, &FileRow)| {
        let before = bound[..at].iter().find(|other| other.row == own.row)?;
        Some((at, format!("{} is already set on line {}", TABLE[own.row].name, before.line)))
    };
    let from_last = || bound.iter().enumerate().rev();
    from_last().find_map(twice).or_else(|| from_last().find_map(of_row))
}

/// Returns editor keys that the file binds to commands of `Main`, which take precedence.
fn shadows(bound: &[FileRow]) -> Vec<(usize, String)> {
    let all = bind(bound);
    let of_editor = |chord: &Chord| {
        let rows = TABLE.iter().zip(&all).filter(|(row, _)| row.context == KeyContext::Editor);
        rows.into_iter().find(|(_, keys)| keys.contains(chord)).map(|(row, _)| row.name)
    };
    let in_main = bound.iter().filter(|own| TABLE[own.row].context == KeyContext::Main);
    let own = |own: &FileRow, chord: &Chord| TABLE[own.row].keys.contains(&chord.to_string().as_str());
    in_main
        .flat_map(|main| main.keys.iter().filter(|chord| !own(main, chord)).map(move |chord| (main, chord)))
        .filter_map(|(main, chord)| {
            let hidden = of_editor(chord)?;
            Some((main.line, format!("{chord} is now bound to {} instead of {hidden}", main.name)))
        })
        .collect()
}

fn bind(bound: &[FileRow]) -> Vec<Vec<Chord>> {
    let mut keys = defaults();
    for own in bound {
        keys[own.row].clone_from(&own.keys);
    }
    keys
}

/// Returns the part of a message about the keys of a rejected row.
fn fallback(row: usize) -> String {
    let row = &TABLE[row];
    match row.keys {
        [] => format!("`{}` still has no key", row.name),
        keys => format!("keeping `{}` for `{}`", keys.join("`, `"), row.name),
    }
}

/// Returns the line number of a name in the file, from 1.
fn line_of(text: &str, name: &str) -> usize {
    let quoted = Value::from(name).to_string();
    let places = text.match_indices(&quoted).map(|(at, _)| at);
    let is_name = |at: &usize| text[at + quoted.len()..].trim_start().starts_with(':');
    let at = places.into_iter().find(is_name).unwrap_or(0);
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::super::{KeyCommand, Keymap};
    use super::*;

    fn parse(text: &str) -> (Keymap, Vec<String>) {
        let keymap = Keymap::parse(text, "keybindings.json");
        let problems = keymap.problems().to_vec();
        (keymap, problems)
    }

    #[test]
    fn bindings_replace_or_remove_keys() {
        let (keymap, problems) =
            parse(r#"{"follow_up": "alt+q", "unfold_output": ["f2", "ctrl+o"], "page_up": []}"#);
        assert_eq!(problems, [""; 0]);
        assert_eq!(keymap.key_of(KeyCommand::FollowUp), "alt+q");
        assert_eq!(keymap.key_of(KeyCommand::UnfoldOutput), "f2");
        assert_eq!(keymap.key_of(KeyCommand::PageUp), "");
        assert_eq!(keymap.key_of(KeyCommand::PageDown), "pgdn");
    }

    #[test]
    fn bindings_swapped_keys_are_valid() {
        let (keymap, problems) = parse(r#"{"pick_model": "ctrl+p", "next_model": "ctrl+l"}"#);
        assert_eq!(problems, [""; 0]);
        assert_eq!(keymap.key_of(KeyCommand::NextModel), "ctrl+l");
    }

    #[test]
    fn bindings_problem_names_line_and_fallback() {
        let (keymap, problems) = parse(
            r#"{
                "folow_up": "alt+q",
                "quit": "hyper+q",
                "help": "h",
                "send": 7,
                "pick_model": "ctrl+g",
                "next_model": "ctrl+x",
                "previous_model": "ctrl+x",
                "newline": "ctrl+a"
            }"#,
        );
        assert_eq!(
            problems,
            [
                "keybindings.json, line 2: unknown action `folow_up`; did you mean follow_up?",
                "keybindings.json, line 3: `hyper+q`: unknown modifier `hyper`; use ctrl, alt, shift or super; keeping `ctrl+d` for `quit`",
                "keybindings.json, line 4: h is needed for typing; keeping `?` for `help`",
                "keybindings.json, line 5: send takes a key or a list of keys; keeping `enter` for `send`",
                "keybindings.json, line 6: pick_model: ctrl+g is already bound to external_editor; keeping `ctrl+l` for `pick_model`",
                "keybindings.json, line 8: previous_model: ctrl+x is already bound to next_model; keeping `ctrl+shift+p` for `previous_model`",
                "keybindings.json, line 9: ctrl+a is now bound to newline instead of line_start",
            ]
        );
        assert_eq!(keymap.key_of(KeyCommand::NextModel), "ctrl+x");
        assert_eq!(keymap.key_of(KeyCommand::Newline), "ctrl+a");
    }

    #[test]
    fn bindings_invalid_json_keeps_defaults() {
        let (keymap, problems) = parse("{\n  \"send\": \"f2\",\n}");
        assert_eq!(keymap.key_of(KeyCommand::Send), "enter");
        assert_eq!(
            problems,
            ["keybindings.json, line 3, column 1: invalid JSON: trailing comma; using the default keys"]
        );
        let (_, problems) = parse("[]");
        assert_eq!(problems, ["keybindings.json, line 1: expected an object; using the default keys"]);
        assert_eq!(parse("").1, [""; 0]);
    }

    #[test]
    fn bindings_pi_names_are_aliases() {
        let (keymap, problems) = parse(r#"{"externalEditor": "f4", "tui.editor.yankPop": "f5"}"#);
        assert_eq!(problems, [""; 0]);
        assert_eq!(keymap.key_of(KeyCommand::ExternalEditor), "f4");
        let (_, problems) = parse(r#"{"exit": "f4", "quit": "f5"}"#);
        assert_eq!(
            problems,
            ["keybindings.json, line 1: quit is already set on line 1; keeping `ctrl+d` for `quit`"]
        );
        for [theirs, _, ours] in ALIASES {
            assert!(TABLE.iter().any(|row| row.name == ours), "{theirs}");
        }
    }

    #[test]
    fn bindings_former_names_are_aliases() {
        let (keymap, problems) = parse(r#"{"deny_with_word": "f4"}"#);
        assert_eq!(problems, [""; 0]);
        assert_eq!(keymap.key_of(KeyCommand::DenyWithReason), "f4");
        for [former, current] in FORMER_NAMES {
            assert!(TABLE.iter().any(|row| row.name == current), "{former}");
        }
    }
}
