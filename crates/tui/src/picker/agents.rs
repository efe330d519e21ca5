//! The list of agents: those at work, and those that tasks can be delegated to.

use tiller_core::unit::UnixMs;
use tiller_engine::agents::{AgentDefinition, RunningAgent};
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::list_kind::ListKind;
use crate::picker::detail_lines::{fact, heading};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// The agents; Enter opens one that is at work.
#[derive(Debug)]
pub(super) struct AgentList;

impl ListSource for AgentList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "agents",
            kind: Some(ListKind::Agents),
            has_preview: true,
            accept_hint: "open",
            empty_text: "no agents: the setting agents.enabled is off",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Agent { id, name } => {
                ListResponse::close(Action::List(ListAction::OpenAgent { id, name }))
            }
            _ => ListResponse::none(),
        }
    }
}

/// The agents at work, then the definitions.
pub(crate) fn items(running: &[RunningAgent], defined: &[AgentDefinition], now: UnixMs) -> Vec<PickerItem> {
    running.iter().map(|agent| running_item(agent, now)).chain(defined.iter().map(defined_item)).collect()
}

fn running_item(agent: &RunningAgent, now: UnixMs) -> PickerItem {
    let RunningAgent { start, since, activity } = agent;
    let name = format!("{} {}", start.name, start.agent_id.short());
    let mut detail = vec![
        heading(&name),
        fact("since", since.to_iso()),
        fact("cost", activity.cost.to_string()),
        Line::default(),
    ];
    detail.extend(start.task.lines().map(|line| Line::new(one_line(line), Role::Text)));
    let choice = PickerChoice::Agent { id: start.agent_id.clone(), name: start.name.clone() };
    PickerItem::new(one_line(&name), choice)
        .with_note(one_line(&activity.state(*since, now)))
        .with_detail(detail)
}

fn defined_item(agent: &AgentDefinition) -> PickerItem {
    let mut detail = vec![heading(&agent.name), fact("from", agent.path.display().to_string())];
    detail.extend(agent.model.as_ref().map(|model| fact("model", one_line(model))));
    detail.extend(agent.approval.map(|mode| fact("approval", mode.name().to_owned())));
    detail.push(Line::default());
    detail.extend(agent.instructions.lines().map(|line| Line::new(one_line(line), Role::Text)));
    PickerItem::new(one_line(&agent.name), PickerChoice::Nothing)
        .with_note(one_line(&agent.description))
        .in_role(Role::Muted)
        .with_detail(detail)
}
