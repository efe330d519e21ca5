//! The data for dialogs and pages about the current session: summaries when leaving a branch, prompts, session
//! information.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tiller_core::counted::counted;
use tiller_core::id::EntryId;
use tiller_core::message::Message;
use tiller_core::unit::Tokens;
use tiller_engine::compaction::BranchPlan;
use tiller_engine::{BranchSummary, ContextBreakdown, SessionState, ToolServerStatus};
use tiller_render::{ControlChars, Line, Role, Span, sanitize, truncate_to};
use tiller_session::Reader;

use crate::dialog::Dialog;
use crate::message::{ListResult, TaskResult};
use crate::path_display::shortened;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::text::{MAX_CHARS, one_line, spaced};

/// Columns of a name on the page of `/session`.
const NAME_WIDTH: usize = 15;

/// Lines of a prompt in its preview.
const PREVIEW_LINES: usize = 40;

/// Returns the question about hiding an entry and its descendants.
pub(super) fn ask_to_hide(reader: &Reader, entry: EntryId) -> TaskResult {
    let (tree, leaf) = (reader.tree(), reader.leaf());
    let path = leaf.and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    if path.contains(&entry) {
        return TaskResult::Failed {
            message: "the current branch can't be hidden".to_owned(),
            hint: Some("go to another branch first: /tree".to_owned()),
            text: None,
        };
    }
    let count = tree.count_from(&entry);
    TaskResult::List(ListResult::AskToHide { entry, count })
}

/// Returns the question about a summary of the branch that is abandoned by going to `entry`; `None` if no
/// branch is abandoned.
pub(super) fn ask_on_leaving(reader: &Reader, entry: &EntryId) -> Option<TaskResult> {
    let to = reader.navigation_target(entry).ok()?.entry;
    let abandoned = reader.abandoned_by(&reader.leaf()?, to.as_ref()).ok()?;
    BranchPlan::is_useful(&abandoned).then(|| TaskResult::Dialog(leave_dialog(entry)))
}

/// Returns the dialog about the summary of an abandoned branch.
pub(super) fn leave_dialog(entry: &EntryId) -> Dialog {
    let summary = BranchSummary::Made { instructions: None };
    let items = vec![
        PickerItem::new("no summary", PickerChoice::Leave(entry.clone(), BranchSummary::None)),
        PickerItem::new("summarize it for the model", PickerChoice::Leave(entry.clone(), summary)),
        PickerItem::new("summarize with instructions…", PickerChoice::Instruct(entry.clone())),
        PickerItem::new("stay on this branch", PickerChoice::Nothing),
    ];
    Dialog { title: "leave this branch".to_owned(), items }
}

/// Returns the last user or model message on the path to the leaf.
pub(super) fn newest_message(reader: &Reader) -> Option<EntryId> {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok())?;
    path.into_iter().rev().find(|id| {
        reader.entry(id).is_ok_and(|entry| {
            matches!(
                entry.body.as_message().map(|message| &**message),
                Some(Message::User(_) | Message::Assistant(_))
            )
        })
    })
}

/// Returns earlier prompts, newest first, without duplicates.
pub(super) fn prompts(history: &[String]) -> Vec<PickerItem> {
    let mut seen = HashSet::new();
    let newest = history.iter().rev().filter(|text| seen.insert(text.as_str()));
    let item = |text: &String| {
        let label = spaced(&text.chars().take(MAX_CHARS).collect::<String>());
        let whole =
            text.lines().take(PREVIEW_LINES).map(|line| line.chars().take(MAX_CHARS).collect::<String>());
        let whole = whole.map(|line| Line::new(one_line(&line), Role::Text)).collect();
        PickerItem::new(label, PickerChoice::Prompt(text.clone())).with_detail(whole)
    };
    newest.map(item).collect()
}

/// Data about a session that isn't in its state.
pub(super) struct ListContext {
    pub(super) home: Option<PathBuf>,
    /// Additional directories and how tools may access them.
    pub(super) dirs: Vec<String>,
    /// The context files in the system prompt.
    pub(super) files: Vec<PathBuf>,
    /// Columns of a row.
    pub(super) width: usize,
}

/// The rows of `/session`.
pub(super) fn facts(state: &SessionState, reader: &Reader, about: &ListContext) -> Vec<Line> {
    let usage = &state.usage;
    let path =
        |path: &PathBuf| shortened(path, about.home.as_deref(), about.width.saturating_sub(NAME_WIDTH));
    let context = format!("{} of {} tokens", state.context.used, state.context.window);
    let tokens = format!(
        "↑{} ↓{} · cache read {} · cache write {}",
        usage.input, usage.output, usage.cache_read, usage.cache_write
    );
    let branches = reader.tree().branch_count();
    let branches = counted(branches, "branch", "branches");
    let entries = format!("{} on {branches}", reader.entry_count());
    let unreadable = reader.findings().len();
    let resume = match state.path {
        Some(_) => format!("tiller --session {}", state.session.short()),
        None => "not possible: the session is in memory only".to_owned(),
    };
    let rows = [
        ("session", state.session.to_string()),
        ("name", state.name.clone().unwrap_or_default()),
        ("file", state.path.as_ref().map_or("in memory only".to_owned(), path)),
        ("directory", path(&state.cwd)),
        ("added dirs", about.dirs.join(" · ")),
        ("model", state.model.display_name()),
        ("thinking", state.thinking.name().to_owned()),
        ("context", context),
        ("context files", about.files.iter().map(path).collect::<Vec<_>>().join(" · ")),
        ("tokens", tokens),
        ("cost", usage.cost.total.to_string()),
        ("entries", entries),
        ("unreadable", if unreadable == 0 { String::new() } else { unreadable.to_string() }),
        ("resume with", resume),
    ];
    let row = |(name, value): (&str, String)| {
        Line::from(vec![Span::new(format!("{name:<NAME_WIDTH$}"), Role::Muted), Span::new(value, Role::Text)])
    };
    rows.into_iter().filter(|(_, value)| !value.is_empty()).map(row).collect()
}

/// Returns the page of `/context`: a row for each part of the window, with its share as a bar.
pub(super) fn context(breakdown: &ContextBreakdown, home: Option<&Path>, width: usize) -> Vec<Line> {
    /// Columns of a part's name, of its size and share, and of the longest bar.
    const PART: usize = 34;
    const NUMBERS: usize = 16;
    const BAR: usize = 24;
    let window = breakdown.context.window.0.max(1);
    let part = PART.min(width.saturating_sub(NUMBERS));
    let bar = BAR.min(width.saturating_sub(part + NUMBERS));
    let row = |label: &str, tokens: Tokens, role: Role| {
        let label = truncate_to(&one_line(label), part.saturating_sub(2));
        let blanks = " ".repeat(part.saturating_sub(Span::new(label.as_str(), role).width()));
        let share = tokens.0.saturating_mul(1_000) / window;
        // Rounded, so very small parts have no bar.
        let cells = (tokens.0.saturating_mul(bar as u64) + window / 2) / window;
        let filled = usize::try_from(cells).unwrap_or(bar).min(bar);
        let numbers = format!("{:>7} {:>3}.{}%  ", tokens.to_string(), share / 10, share % 10);
        Line::from(vec![
            Span::new(label + &blanks, role),
            Span::new(numbers, Role::Text),
            Span::new("█".repeat(filled), if role == Role::Muted { Role::Muted } else { Role::Accent }),
        ])
    };
    let shown = |path: &PathBuf| shortened(path, home, part.saturating_sub(2));
    let mut lines = vec![row("in use", breakdown.used(), Role::Text), Line::default()];
    lines.extend(breakdown.parts.iter().map(|part| row(&part.label(shown), part.tokens, Role::Text)));
    lines.push(row("free", breakdown.free(), Role::Muted));
    let window = breakdown.context.window;
    let about = format!("context window: {window} tokens; sizes of parts are estimates");
    lines.extend([Line::default(), Line::new(about, Role::Muted)]);
    lines
}

/// A page of plain lines.
pub(super) fn text_lines(lines: Vec<String>) -> Vec<Line> {
    lines.iter().map(|line| Line::new(sanitize(line, ControlChars::Visible), Role::Text)).collect()
}

/// The page of `/mcp`.
pub(super) fn tool_servers(servers: &[ToolServerStatus]) -> Vec<Line> {
    let server = |server: &ToolServerStatus| {
        let role = |at: usize| if at == 0 { Role::Accent } else { Role::Text };
        let lines = server.lines().into_iter().enumerate();
        lines
            .map(|(at, line)| Line::new(sanitize(&line, ControlChars::Visible), role(at)))
            .chain([Line::default()])
            .collect::<Vec<_>>()
    };
    if servers.is_empty() {
        return vec![Line::new("no MCP servers; `tiller mcp add NAME -- COMMAND` adds one", Role::Muted)];
    }
    servers.iter().flat_map(server).collect()
}
