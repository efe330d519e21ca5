//! The pages that say what can be typed.

use tiller_engine::SlashCommand;
use tiller_render::{Emphasis, Line, Role, Span, Style};

use super::keymap::{Context, KeyBinding, KeyCommand as K, Keymap};
use super::slash_command::TABLE;
use super::tool_call::one_line;

/// Keys that a newcomer needs, and what they do in as few words as that takes.
const FIRST: [(&[K], &str); 15] = [
    (&[K::Send], "send; while the agent works: steer it"),
    (&[K::FollowUp], "send when the agent has finished"),
    (&[K::Newline], "a new line; everywhere: \\ enter"),
    (&[K::EditQueue], "messages that wait: edit, move, remove them"),
    (
        &[K::Allow, K::AllowSession, K::Deny, K::DenyWithWord],
        "a call asks: once, in this session, no, no and why",
    ),
    (&[K::Stop], "stop the agent; twice, when nothing runs: go back in the tree"),
    (&[K::Clear, K::Quit], "clear the editor; leave"),
    (&[K::PickModel, K::NextThinking], "choose a model; think more"),
    (&[K::NextApproval], "which calls ask: ask, auto, read-only"),
    (&[K::UnfoldOutput, K::UnfoldThinking], "unfold output; thinking"),
    (&[K::PageUp, K::PageDown], "scroll"),
    (&[K::Search, K::ChooseOlder], "search in what was said; choose a block of it"),
    (&[K::SearchHistory, K::EditElsewhere], "earlier prompts; write in your own editor"),
    (&[K::PasteImage], "attach the picture on the clipboard"),
    (&[K::Suspend], "back to the shell; `fg` comes back here"),
];

/// What to type first, then the keys one needs, then commands.
pub(super) fn page(keymap: &Keymap, agents: &[SlashCommand]) -> Vec<Line> {
    let mut lines = vec![
        heading("Type what you want done."),
        row("!COMMAND", "run it in the shell; the model reads what it prints"),
        row("!!COMMAND", "run it in the shell; the model never sees it"),
        row("/", "a command, a template or a skill"),
        row("@", "a file of this project"),
        Line::default(),
        heading("Keys"),
    ];
    let named = |commands: &[K]| {
        let keys: Vec<String> = commands.iter().map(|command| keymap.key_of(*command)).collect();
        keys.join(" ")
    };
    let keys = FIRST.iter().map(|(commands, about)| (named(commands), about));
    lines.extend(keys.filter(|(keys, _)| !keys.trim().is_empty()).map(|(keys, about)| row(&keys, about)));
    lines.push(row("/hotkeys", "all of them"));
    lines.extend([Line::default(), heading("Commands")]);
    for command in &TABLE {
        let also: Vec<String> = command.aliases.iter().map(|alias| format!("/{alias}")).collect();
        let also = if also.is_empty() { String::new() } else { format!(" (also {})", also.join(" ")) };
        let about = format!("{}{also}", command.about);
        lines.push(row(&format!("/{} {}", command.name, command.argument), &about));
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

/// Every key by where it counts, those first that don't do what `keybindings.json` says.
pub(super) fn keys(keymap: &Keymap) -> Vec<Line> {
    let problems = keymap.problems().iter();
    let mut lines: Vec<Line> =
        problems.map(|problem| Line::new(format!("! {}", one_line(problem)), Role::Warning)).collect();
    let find = keymap.key_of(K::FindInPage);
    lines.push(Line::new(format!("On the right: the name in keybindings.json. {find} finds."), Role::Muted));
    let mut context = None;
    for (binding, keys) in keymap.rows() {
        if context.replace(binding.context) != Some(binding.context) {
            lines.extend([Line::default(), heading(place(binding.context))]);
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

/// Where keys of a context count.
pub(super) const fn place(context: Context) -> &'static str {
    match context {
        Context::Main => "Anywhere",
        Context::Editor => "In the text",
        Context::Approval => "When a call asks",
        Context::Queue => "Among the messages that wait",
        Context::Popup => "In lists and pages",
        Context::Page => "On a page",
        Context::Sessions => "In the list of sessions",
        Context::Models => "In the list of models",
        Context::Settings => "In the settings",
        Context::Permissions => "In the list of permissions",
        Context::Tree => "In the tree",
        Context::Block => "When a block is chosen (editor empty)",
        Context::Search => "While searching",
    }
}

fn heading(words: &str) -> Line {
    Line::new(words, Style::from(Role::Accent).with(Emphasis::BOLD))
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
    fn what_does_not_hold_stands_first_and_what_is_changed_is_marked() {
        let keymap = Keymap::read(r#"{"suspend": "f9", "help": [], "quit": "q"}"#, "keybindings.json");
        let lines = texts(&keys(&keymap));
        assert_eq!(lines[0], "! keybindings.json, line 1: q is needed to type with; quit stays ctrl+d");
        assert!(lines.contains(&"f9 *  suspend (yours)suspend".to_owned()), "{lines:?}");
        assert!(lines.iter().any(|line| line.starts_with("no key *")), "{lines:?}");
        assert!(lines.iter().any(|line| line == "In the text"));
    }

    #[test]
    fn help_names_keys_as_they_are_bound() {
        let keymap = Keymap::read(r#"{"follow_up": "f7", "paste_image": []}"#, "keybindings.json");
        let lines = texts(&page(&keymap, &[]));
        assert!(lines.contains(&"f7  send when the agent has finished".to_owned()), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("clipboard")), "{lines:?}");
    }
}
