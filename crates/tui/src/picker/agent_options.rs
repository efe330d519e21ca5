//! Lists of agent options: thinking level, approval mode, permissions, tools.

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::unit::{Tokens, thousands};
use tiller_engine::{
    ApprovalMode, ConfiguredRule, ConfiguredRules, OfferState, OfferedTool, Permission, RuleSource,
};
use tiller_provider::catalog;
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction, SessionEdit};
use crate::component::ViewContext;
use crate::effect::{Effect, OverlayRequest};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::list_kind::ListKind;
use crate::picker::approval_modes::{mode_about, mode_effects};
use crate::picker::detail_lines::{fact, heading, mark};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// The thinking levels.
#[derive(Debug)]
pub(super) struct ThinkingList;

impl ListSource for ThinkingList {
    fn facts(&self) -> ListFacts {
        ListFacts { title: "thinking", kind: Some(ListKind::Thinking), ..ListFacts::default() }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Thinking(level) => {
                ListResponse::close(Action::Edit(SessionEdit::SetThinking(level)))
            }
            _ => ListResponse::none(),
        }
    }
}

#[derive(Debug)]
pub(super) struct ApprovalModeList;

impl ListSource for ApprovalModeList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "approval",
            kind: Some(ListKind::Approval),
            has_preview: true,
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Approval(mode) => ListResponse::close(Action::List(ListAction::SetApproval(mode))),
            _ => ListResponse::none(),
        }
    }
}

/// The permission rules of the session and of the settings; Enter removes one.
#[derive(Debug)]
pub(super) struct PermissionList;

impl ListSource for PermissionList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "permissions",
            kind: Some(ListKind::Permissions),
            has_preview: true,
            context: Some(KeyContext::Permissions),
            accept_hint: "remove",
            empty_text: "no rules in this session or in the settings",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        remove(choice)
    }

    fn perform(&self, command: KeyCommand, choice: PickerChoice) -> ListResponse {
        if command == KeyCommand::Revoke { remove(choice) } else { ListResponse::none() }
    }
}

/// Removes a rule of the session. A rule of the settings may be older than the session, so its removal needs
/// confirmation.
fn remove(choice: PickerChoice) -> ListResponse {
    match choice {
        PickerChoice::Permission(permission) => {
            ListResponse::stay(Action::List(ListAction::Revoke(permission)))
        }
        PickerChoice::ConfiguredRule(rule) => {
            let title = one_line(&format!("remove {rule}?"));
            let from = format!("remove it from {}", one_line(&rule.source().to_string()));
            let items = vec![
                PickerItem::new("keep it", PickerChoice::Nothing),
                PickerItem::new(from, PickerChoice::RemoveRule(rule)),
            ];
            ListResponse::stay(Effect::Open(OverlayRequest::Question { title, items }))
        }
        _ => ListResponse::none(),
    }
}

/// The question about trusting the project.
#[derive(Debug)]
pub(super) struct TrustQuestion;

impl ListSource for TrustQuestion {
    fn facts(&self) -> ListFacts {
        ListFacts { title: "trust this project?", kind: Some(ListKind::Trust), ..ListFacts::default() }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Trust => ListResponse::close(Action::List(ListAction::Trust)),
            _ => ListResponse::Close(Vec::new()),
        }
    }
}

/// The tools; Enter enables or disables one.
#[derive(Debug)]
pub(super) struct ToolList;

impl ListSource for ToolList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "tools",
            kind: Some(ListKind::Tools),
            has_preview: true,
            accept_hint: "switch on or off",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Tool(name) => ListResponse::stay(Action::List(ListAction::ToggleTool(name))),
            _ => ListResponse::none(),
        }
    }
}

/// The model's thinking levels.
#[derive(Clone, Debug)]
pub(crate) struct Levels {
    pub(crate) supported: Vec<ThinkingLevel>,
    pub(crate) current: ThinkingLevel,
    pub(crate) model: ModelRef,
}

/// A short description of a level.
const fn level_about(level: ThinkingLevel) -> &'static str {
    match level {
        ThinkingLevel::Off => "no thinking: fastest",
        ThinkingLevel::Minimal => "minimal: quick questions",
        ThinkingLevel::Low => "low: simple tasks",
        ThinkingLevel::Medium => "medium: everyday work",
        ThinkingLevel::High => "high: hard bugs, designs",
        ThinkingLevel::Xhigh => "maximum: slow and expensive",
    }
}

/// Returns all levels, with their budgets if the provider takes one; unsupported levels are marked.
pub(crate) fn levels(levels: &Levels) -> (Vec<PickerItem>, usize) {
    let item = |level: ThinkingLevel| {
        let is_current = level == levels.current;
        if !levels.supported.contains(&level) {
            let note = format!("not supported by {}", one_line(&levels.model.id));
            let item =
                PickerItem::new(level.name(), PickerChoice::Unavailable(note.clone())).with_lead(mark(false));
            return item.with_note(note).in_role(Role::Muted);
        }
        let budget = catalog::thinking_budget(&levels.model, level);
        let budget = budget.map(|Tokens(most)| {
            format!(" · up to {} tokens", thousands(usize::try_from(most).unwrap_or(usize::MAX)))
        });
        let item = PickerItem::new(level.name(), PickerChoice::Thinking(level)).with_lead(mark(is_current));
        item.with_note(format!("{}{}", level_about(level), budget.unwrap_or_default()))
    };
    let selected = ThinkingLevel::ALL.iter().position(|level| *level == levels.current).unwrap_or(0);
    (ThinkingLevel::ALL.map(item).to_vec(), selected)
}

/// The approval modes, and the index of the current one.
pub(crate) fn modes(current: &str) -> (Vec<PickerItem>, usize) {
    // Notes are right-aligned; equal lengths make them start in the same column.
    let width = ApprovalMode::ALL.map(|mode| mode_about(mode).len()).into_iter().max().unwrap_or_default();
    let item = |mode: ApprovalMode| {
        let mut detail = vec![heading(mode.name()), Line::default()];
        detail.extend(mode_effects(mode).map(|(kind, effect)| fact(kind, effect)));
        let item = PickerItem::new(mode.name(), PickerChoice::Approval(mode)).with_detail(detail);
        item.with_lead(mark(mode.name() == current)).with_note(format!("{:<width$}", mode_about(mode)))
    };
    let selected = ApprovalMode::ALL.iter().position(|mode| mode.name() == current).unwrap_or(0);
    (ApprovalMode::ALL.map(item).to_vec(), selected)
}

/// The rules of the session, oldest first, then those of the settings.
pub(crate) fn permissions(permissions: &[Permission], configured: &ConfiguredRules) -> Vec<PickerItem> {
    let of_session = |permission: &Permission| {
        let title = one_line(&permission.to_string());
        let detail = vec![
            heading(&title),
            Line::default(),
            fact("tool", one_line(permission.tool())),
            fact("source", "you, in this session"),
            fact("until", "another session is opened, or you revoke it"),
        ];
        let note = format!("{} · this session", one_line(permission.tool()));
        PickerItem::new(title, PickerChoice::Permission(permission.clone()))
            .with_note(note)
            .with_detail(detail)
    };
    permissions.iter().map(of_session).chain(configured.iter().map(configured_item)).collect()
}

fn configured_item(rule: &ConfiguredRule) -> PickerItem {
    let title = one_line(&rule.to_string());
    let whose = match rule.source() {
        RuleSource::User(_) => "your settings",
        RuleSource::Project(_) => "project's settings",
        RuleSource::Program(_) => "this program",
    };
    let detail = vec![
        heading(&title),
        Line::default(),
        fact("tool", one_line(rule.tool())),
        fact("source", one_line(&rule.source().to_string())),
        fact("until", "removed from that file"),
    ];
    PickerItem::new(title, PickerChoice::ConfiguredRule(Box::new(rule.clone())))
        .with_note(whose)
        .with_detail(detail)
}

/// Returns the session's tools with their source, and whether each is offered to the model.
pub(crate) fn tools(tools: &[OfferedTool]) -> Vec<PickerItem> {
    let item = |tool: &OfferedTool| {
        let name = one_line(&tool.spec.name);
        let source = one_line(&tool.source.to_string());
        let (lead, role) = if tool.is_offered() { ("✓ ", Role::Text) } else { ("– ", Role::Muted) };
        let state = state_text(&tool.offer);
        let mut detail = vec![
            heading(&name),
            fact("source", source.clone()),
            fact("state", state.clone()),
            Line::default(),
        ];
        detail.extend(tool.spec.description.lines().map(|line| Line::new(one_line(line), Role::Text)));
        let item = PickerItem::new(name, PickerChoice::Tool(tool.spec.name.clone())).with_lead(lead);
        item.with_note(format!("{state} · {source}")).in_role(role).with_detail(detail)
    };
    tools.iter().map(item).collect()
}

/// Describes the state of a tool.
fn state_text(state: &OfferState) -> String {
    match state {
        OfferState::Offered => "on".to_owned(),
        OfferState::LeftOut(setting) => format!("off: excluded by {}", one_line(setting)),
        OfferState::Removed => "off: turned off with /tools".to_owned(),
    }
}
