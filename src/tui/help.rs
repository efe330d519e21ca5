//! The pages that say what can be typed.

use super::call::one_line;
use super::command::TABLE;
use super::keymap::Keymap;
use crate::agent::SlashCommand;
use crate::render::{Emphasis, Line, Role, Span, Style};

/// Keys, commands, and what else can be typed.
pub(super) fn page(keymap: &Keymap, agents: &[SlashCommand]) -> Vec<Line> {
    let mut lines = keys(keymap);
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
pub(super) fn keys(keymap: &Keymap) -> Vec<Line> {
    keymap
        .rows()
        .filter(|(_, keys)| !keys.is_empty())
        .map(|(binding, keys)| row(&keys, binding.about))
        .collect()
}

fn row(left: &str, right: &str) -> Line {
    let bold = Style::from(Role::Text).with(Emphasis::BOLD);
    Line::from(vec![Span::new(format!("{left:<31}"), bold), Span::new(right, Role::Muted)])
}
