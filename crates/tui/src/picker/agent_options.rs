//! Lists of how the model works: how much it thinks, which calls are asked about, which tools it has.

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::unit::{Tokens, thousands};
use tiller_engine::{ApprovalMode, OfferedTool, Permission, ToolStanding};
use tiller_provider::catalog;
use tiller_render::{Line, Role};

use super::models::{fact, heading, mark};
use super::{PickerChoice, PickerItem};
use crate::tool_call::one_line;

/// How much the model can think, and how much it does.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    /// The levels that the model can do.
    pub(crate) can: Vec<ThinkingLevel>,
    pub(crate) current: ThinkingLevel,
    pub(crate) model: ModelRef,
}

/// What a level is good for, in a few words.
const fn level_about(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "answers at once",
        ThinkingLevel::Minimal => "hardly any: quick errands",
        ThinkingLevel::Low => "a little: clear tasks",
        ThinkingLevel::Medium => "some: everyday work",
        ThinkingLevel::High => "much: hard bugs, designs",
        ThinkingLevel::Xhigh => "as much as it can: slow and dear",
    }
}

/// Every level, with its budget where the provider takes one; those that the model can't do say so.
pub(crate) fn levels(levels: &Levels) -> (Vec<PickerItem>, usize) {
    let item = |level: ThinkingLevel| {
        let is_current = level == levels.current;
        if !levels.can.contains(&level) {
            let cant = format!("{} can't do that", one_line(&levels.model.id));
            let item = PickerItem::new(level.name(), PickerChoice::Cant(cant.clone())).with_lead(mark(false));
            return item.with_note(cant).in_role(Role::Muted);
        }
        let budget = catalog::thinking_budget(&levels.model, level);
        let budget = budget.map(|Tokens(most)| {
            format!(" · at most {} tokens", thousands(usize::try_from(most).unwrap_or(usize::MAX)))
        });
        let item = PickerItem::new(level.name(), PickerChoice::Thinking(level)).with_lead(mark(is_current));
        item.with_note(format!("{}{}", level_about(level), budget.unwrap_or_default()))
    };
    let selected = ThinkingLevel::ALL.iter().position(|level| *level == levels.current).unwrap_or(0);
    (ThinkingLevel::ALL.map(item).to_vec(), selected)
}

/// What a mode does, in a few words.
pub(crate) const fn mode_about(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "commands ask, unless they only look",
        ApprovalMode::Auto => "only dangerous commands ask",
        ApprovalMode::ReadOnly => "nothing that changes anything runs",
    }
}

/// What a mode means for each kind of call.
pub(super) const fn mode_says(mode: ApprovalMode) -> [(&'static str, &'static str); 4] {
    let reading = ("reading", "runs unasked here; elsewhere it asks");
    match mode {
        ApprovalMode::Ask => [
            reading,
            ("editing", "runs unasked here; in .git, startup and credential files it asks"),
            ("commands", "ask, but for those that only read here and those that you allowed"),
            ("dangerous", "ask too, and say why"),
        ],
        ApprovalMode::Auto => [
            reading,
            ("editing", "runs unasked here; in .git, startup and credential files it asks"),
            ("commands", "run unasked"),
            ("dangerous", "ask: sudo, git push, writes outside this folder, reading keys"),
        ],
        ApprovalMode::ReadOnly => [
            ("reading", "runs unasked here; elsewhere it is refused"),
            ("editing", "is refused, and the model is told why"),
            ("commands", "are refused"),
            ("dangerous", "are refused"),
        ],
    }
}

/// What may be asked about, and what is.
pub(crate) fn modes(current: &str) -> (Vec<PickerItem>, usize) {
    // They stand at the right end: as long as each other, they begin in one column.
    let width = ApprovalMode::ALL.map(|mode| mode_about(mode).len()).into_iter().max().unwrap_or_default();
    let item = |mode: ApprovalMode| {
        let mut detail = vec![heading(mode.name()), Line::default()];
        detail.extend(mode_says(mode).map(|(what, says)| fact(what, says)));
        let item = PickerItem::new(mode.name(), PickerChoice::Approval(mode)).with_detail(detail);
        item.with_lead(mark(mode.name() == current)).with_note(format!("{:<width$}", mode_about(mode)))
    };
    let selected = ApprovalMode::ALL.iter().position(|mode| mode.name() == current).unwrap_or(0);
    (ApprovalMode::ALL.map(item).to_vec(), selected)
}

/// The permissions of the session, oldest first.
pub(crate) fn permissions(permissions: &[Permission]) -> Vec<PickerItem> {
    let item = |permission: &Permission| {
        let what = one_line(&permission.to_string());
        let detail = vec![
            heading(&what),
            Line::default(),
            fact("tool", one_line(permission.tool())),
            fact("from", "you, in this session"),
            fact("until", "another session is opened, or you take it back"),
        ];
        let note = format!("{} · this session", one_line(permission.tool()));
        PickerItem::new(what, PickerChoice::Permission(permission.clone()))
            .with_note(note)
            .with_detail(detail)
    };
    permissions.iter().map(item).collect()
}

/// The session's tools: who they are from, whether the model is told of them, and if not, why.
pub(crate) fn tools(tools: &[OfferedTool]) -> Vec<PickerItem> {
    let item = |tool: &OfferedTool| {
        let name = one_line(&tool.spec.name);
        let source = one_line(&tool.source.to_string());
        let (lead, role) = if tool.is_offered() { ("✓ ", Role::Text) } else { ("– ", Role::Muted) };
        let (short, long) = standing(&tool.standing);
        let mut detail =
            vec![heading(&name), fact("from", source.clone()), fact("model", long), Line::default()];
        detail.extend(tool.spec.description.lines().map(|line| Line::new(one_line(line), Role::Text)));
        let item = PickerItem::new(name, PickerChoice::Tool(tool.spec.name.clone())).with_lead(lead);
        item.with_note(format!("{short} · {source}")).in_role(role).with_detail(detail)
    };
    tools.iter().map(item).collect()
}

/// Whether the model is told of a tool, in a few words and in a sentence.
fn standing(standing: &ToolStanding) -> (String, String) {
    match standing {
        ToolStanding::Offered => ("offered".to_owned(), "is told of it".to_owned()),
        ToolStanding::LeftOut(says) => {
            let says = one_line(says);
            (format!("off: {says}"), format!("isn't told of it: {says} leaves it out"))
        }
        ToolStanding::TakenAway => {
            ("off: taken away here".to_owned(), "isn't told of it any more: you took it away here".to_owned())
        }
    }
}
