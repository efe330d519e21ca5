//! The pages that say what can be typed.

use super::call::one_line;
use super::command::TABLE;
use crate::agent::SlashCommand;
use crate::render::{Emphasis, Line, Role, Span, Style};

/// Every key that does something, in the order it is likely to be wanted.
const KEYS: [(&str, &str); 27] = [
    ("enter", "send; while the agent works: steer it at the next gap between its calls"),
    ("ctrl+enter, enter again", "steer now: stop what is in flight, keep what it said, go on with this"),
    ("alt+enter, ctrl+q", "send when the agent has finished"),
    ("shift+enter, ctrl+j, \\ enter", "a new line"),
    ("esc", "stop the agent; what waited comes back into the editor"),
    ("esc esc", "the tree (nothing runs, editor empty)"),
    ("ctrl+x, ctrl+a", "in the tree: hide a branch; show the hidden ones"),
    ("alt+up", "take a waiting message back into the editor"),
    ("y  a  n", "answer a call that asks: once, this session, no (editor empty)"),
    ("ctrl+c", "clear the editor; empty: stop the agent; twice: quit"),
    ("ctrl+d", "quit (nothing runs, editor empty)"),
    ("ctrl+l", "choose a model"),
    ("ctrl+p, shift+ctrl+p", "next model, previous model"),
    ("shift+tab", "think more"),
    ("ctrl+o", "unfold output and summaries"),
    ("ctrl+t", "unfold thinking"),
    ("pgup, pgdn", "scroll"),
    ("home, end", "top; end, and follow again (editor empty)"),
    ("ctrl+r", "search earlier prompts"),
    ("up, down", "earlier prompts, at the edges of the text"),
    ("tab", "complete a command"),
    ("ctrl+w, alt+d, ctrl+u, ctrl+k", "delete a word back, forth; to the line's beginning, end"),
    ("ctrl+y", "put back what was deleted"),
    ("alt+u, alt+r", "undo, redo"),
    ("alt+b, alt+f, ctrl+a, ctrl+e", "a word back, forth; the line's beginning, end"),
    ("ctrl+g", "edit in $EDITOR"),
    ("ctrl+z", "suspend"),
];

/// Keys, commands, and what else can be typed.
pub(super) fn page(agents: &[SlashCommand]) -> Vec<Line> {
    let mut lines = keys();
    lines.push(Line::default());
    for command in &TABLE {
        lines.push(row(&format!("/{} {}", command.name, command.argument), command.about));
    }
    lines.push(Line::default());
    for command in agents {
        let name = format!("/{} {}", command.name, command.argument_hint.as_deref().unwrap_or_default());
        lines.push(row(&one_line(&name), &one_line(&command.description)));
    }
    lines.push(Line::default());
    lines.push(row("!COMMAND", "run it in the shell; the model reads what it prints"));
    lines.push(row("!!COMMAND", "run it in the shell; the model never sees it"));
    lines
}

/// Every key.
pub(super) fn keys() -> Vec<Line> {
    KEYS.iter().map(|(key, about)| row(key, about)).collect()
}

fn row(left: &str, right: &str) -> Line {
    let bold = Style::from(Role::Text).with(Emphasis::BOLD);
    Line::from(vec![Span::new(format!("{left:<31}"), bold), Span::new(right, Role::Muted)])
}
