//! The help pages: `/help` and `/hotkeys`.

use tiller_engine::AgentCommand;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::available_commands;
use tiller_render::{Emphasis, Line, Role, Span, Style};

use crate::keymap::Keymap;
use crate::keymap::table::{KeyBinding, KeyCommand as K, KeyContext};
use crate::text::one_line;

/// The keys for newcomers, with short descriptions.
const ESSENTIAL_KEYS: [(&[K], &str); 15] = [
    (&[K::Send], "send; while the agent works: steer it"),
    (&[K::FollowUp], "send after the agent has finished"),
    (&[K::Newline], "insert a new line (in any terminal: \\ then enter)"),
    (&[K::EditQueue], "edit, reorder or remove queued messages"),
    (
        &[K::Allow, K::AllowSession, K::Deny, K::DenyWithReason],
        "approval: allow once, allow for this session, deny, deny with a reason",
    ),
    (&[K::Stop], "stop the agent; twice when idle: open the tree"),
    (&[K::Clear, K::Quit], "clear the editor; quit"),
    (&[K::PickModel, K::NextThinking], "choose a model; next thinking level"),
    (&[K::NextApproval], "approval mode: ask, auto, plan, read-only"),
    (&[K::UnfoldOutput, K::UnfoldThinking], "expand output; expand thinking"),
    (&[K::PageUp, K::PageDown], "scroll"),
    (&[K::Search, K::ChooseOlder], "search the transcript; select a block"),
    (&[K::SearchHistory, K::ExternalEditor], "search earlier prompts; edit in $EDITOR"),
    (&[K::PasteImage], "attach an image from the clipboard"),
    (&[K::Suspend], "suspend; `fg` in the shell resumes"),
];

/// The page of `/help`: prompt syntax, the most important keys, commands.
pub(super) fn page(keymap: &Keymap, agents: &[AgentCommand]) -> Vec<Line> {
    let mut lines = vec![
        heading("Describe a task."),
        row("!COMMAND", "run it in the shell; the model sees the output"),
        row("!!COMMAND", "run it in the shell; the model doesn't see it"),
        row("/", "a command, a template or a skill"),
        row("@", "a file in this project"),
        Line::default(),
        heading("Keys"),
    ];
    let named = |commands: &[K]| {
        let keys: Vec<String> = commands.iter().map(|command| keymap.key_of(*command)).collect();
        keys.join(" ")
    };
    let keys = ESSENTIAL_KEYS.iter().map(|(commands, about)| (named(commands), about));
    lines.extend(keys.filter(|(keys, _)| !keys.trim().is_empty()).map(|(keys, about)| row(&keys, about)));
    lines.push(row("/hotkeys", "all keys"));
    lines.extend([Line::default(), heading("Commands")]);
    for command in available_commands(Tui) {
        let name = format!("/{} {}", command.name, command.usage(Tui).argument);
        lines.push(row(&name, &command.description(Tui)));
    }
    if !agents.is_empty() {
        lines.extend([Line::default(), heading("Templates and skills")]);
    }
    for command in agents {
        let name = format!("/{} {}", command.name, command.argument_hint.as_deref().unwrap_or_default());
        lines.push(row(&one_line(&name), &one_line(&command.description)));
    }
    lines
}

/// The page of `/hotkeys`: problems of `keybindings.json`, then every key by context.
pub(super) fn keys(keymap: &Keymap) -> Vec<Line> {
    let problems = keymap.problems().iter();
    let mut lines: Vec<Line> =
        problems.map(|problem| Line::new(format!("! {}", one_line(problem)), Role::Warning)).collect();
    let find = keymap.key_of(K::FindInPage);
    lines.push(Line::new(
        format!("Right column: the action's name in keybindings.json. {find} filters the page."),
        Role::Muted,
    ));
    let mut context = None;
    for (binding, keys) in keymap.rows() {
        if context.replace(binding.context) != Some(binding.context) {
            lines.extend([Line::default(), heading(context_heading(binding.context))]);
        }
        lines.push(key_row(keymap, binding, &keys));
    }
    lines
}

fn key_row(keymap: &Keymap, binding: &KeyBinding, keys: &str) -> Line {
    let keys = if keys.is_empty() { "no key" } else { keys };
    let mut line = match keymap.is_changed(binding) {
        true => row(&format!("{keys} *"), &format!("{} (yours)", binding.about)),
        false => row(keys, binding.about),
    };
    line.spans.push(Span::new(binding.name, Role::Muted));
    line
}

/// The heading of a context.
pub(super) const fn context_heading(context: KeyContext) -> &'static str {
    match context {
        KeyContext::Main => "Anywhere",
        KeyContext::Editor => "In the editor",
        KeyContext::Approval => "When a call needs approval",
        KeyContext::Queue => "In the message queue",
        KeyContext::Popup => "In lists and pages",
        KeyContext::Page => "On a page",
        KeyContext::Sessions => "In the session list",
        KeyContext::Models => "In the model list",
        KeyContext::Settings => "In the settings list",
        KeyContext::Permissions => "In the permissions list",
        KeyContext::Tree => "In the tree",
        KeyContext::Block => "When a block is selected (editor empty)",
        KeyContext::Search => "While searching",
    }
}

fn heading(text: &str) -> Line {
    Line::new(text, Style::from(Role::Accent).with(Emphasis::BOLD))
}

fn row(left: &str, right: &str) -> Line {
    let bold = Style::from(Role::Text).with(Emphasis::BOLD);
    Line::from(vec![Span::new(format!("{left}  "), bold), Span::new(right, Role::Muted)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[Line]) -> Vec<String> {
        lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn hotkeys_problems_first_and_changes_marked() {
        let keymap = Keymap::parse(r#"{"suspend": "f9", "help": [], "quit": "q"}"#, "keybindings.json");
        let lines = texts(&keys(&keymap));
        assert_eq!(
            lines[0],
            "! keybindings.json, line 1: q is needed for typing; keeping `ctrl+d` for `quit`"
        );
        assert!(lines.contains(&"f9 *  suspend tiller (yours)suspend".to_owned()), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("no key *")), "{lines:?}");
        assert!(lines.iter().any(|line| line == "In the editor"));
    }

    #[test]
    fn help_uses_effective_bindings() {
        let keymap = Keymap::parse(r#"{"follow_up": "f7", "paste_image": []}"#, "keybindings.json");
        let lines = texts(&page(&keymap, &[]));
        assert!(lines.contains(&"f7  send after the agent has finished".to_owned()), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("clipboard")), "{lines:?}");
    }
}
