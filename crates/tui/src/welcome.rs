//! The welcome screen of a new session, shown until the first message. Data that must be looked up is added
//! when it arrives, so that the start doesn't have to wait for it.

use std::path::{Path, PathBuf};

use tiller_core::message::ModelRef;
use tiller_engine::{ApprovalMode, CommandSource};
use tiller_render::truncate_to;

use crate::block::banner::Banner;
use crate::component::ViewContext;
use crate::keymap::table::KeyCommand;
use crate::path_display::at_home;
use crate::picker::approval_modes::mode_about;
use crate::text::age;

/// The placeholder in an empty editor until the first message.
pub(super) fn placeholder(view: &ViewContext<'_>) -> Option<String> {
    let help = view.key_of(KeyCommand::Help);
    let text = format!("Describe a task · / commands · @ files · ! shell · {help} help");
    view.focus.is_start_screen.then_some(text)
}

/// Returns the banner of a new session with the data known so far.
pub(super) fn banner(view: &ViewContext<'_>) -> Banner {
    let facts = [
        ("model", view.model.info.model.as_ref().map(|model| model_fact(view, model))),
        ("context", context_fact(view)),
        ("skills", skills_fact(view)),
        ("approval", approval_fact(view)),
        ("previous", last_fact(view)),
    ];
    let facts = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect();
    Banner { lines: view.ui.banner.clone(), facts }
}

fn model_fact(view: &ViewContext<'_>, model: &ModelRef) -> String {
    let known = view.ui.provider_keys.iter().find(|known| known.provider == model.provider);
    let source = known.map(|known| format!(" · {}", known.source)).unwrap_or_default();
    format!("{}{source}", model.display_name())
}

fn context_fact(view: &ViewContext<'_>) -> Option<String> {
    let welcome = view.model.info.welcome.as_ref()?;
    let display_path = |path: &PathBuf| shown(path, &view.ui.cwd, view.ui.home.as_deref());
    let files: Vec<String> = welcome.files.iter().map(display_path).collect();
    Some(if files.is_empty() { "no AGENTS.md or CLAUDE.md here".to_owned() } else { files.join(", ") })
}

fn skills_fact(view: &ViewContext<'_>) -> Option<String> {
    let skills = view.model.info.commands.iter().filter(|command| command.source == CommandSource::Skill);
    let names: Vec<&str> = skills.map(|skill| skill.name.trim_start_matches("skill:")).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn approval_fact(view: &ViewContext<'_>) -> Option<String> {
    let mode = view.model.info.approval.as_str();
    let about = match ApprovalMode::parse(mode) {
        Some(mode) => mode_about(mode),
        None if mode == "yes" => "no call needs approval",
        None => return None,
    };
    Some(format!("{mode}: {about} · /approval"))
}

fn last_fact(view: &ViewContext<'_>) -> Option<String> {
    let (title, at) = view.model.info.welcome.as_ref()?.last.as_ref()?;
    /// Maximum width of the title, which leaves room for the hint.
    const TITLE: usize = 32;
    let age = age(*at, view.now);
    let age = if age == "now" { "just now" } else { &age };
    Some(format!("“{}”, {age} · /resume or tiller -c", truncate_to(title, TITLE)))
}

/// Formats a path relative to the working directory, or else with `~`.
fn shown(path: &Path, cwd: &Path, home: Option<&Path>) -> String {
    match path.strip_prefix(cwd) {
        Ok(inner) => inner.display().to_string(),
        Err(_) => at_home(path, home),
    }
}
