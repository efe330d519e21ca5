//! The list of agents: running agents, finished agents, and agents that tasks can be delegated to.

use tiller_core::delegated_task::{BackgroundTask, DelegatedTask};
use tiller_core::unit::UnixMs;
use tiller_engine::agents::{AgentDefinition, RunningAgent, TaskRecord};
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::list_kind::ListKind;
use crate::picker::detail_lines::{fact, heading, started};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// The agents; Enter opens an agent's session.
#[derive(Debug)]
pub(super) struct AgentList;

impl ListSource for AgentList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "agents",
            kind: Some(ListKind::Agents),
            has_preview: true,
            accept_hint: "open",
            empty_text: "no agents: agents.enabled is off, or this terminal is attached to another process",
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

/// Returns the running agents.
pub(crate) fn running_items(running: &[RunningAgent], now: UnixMs) -> Vec<PickerItem> {
    let item = |RunningAgent { start, since, activity }: &RunningAgent| {
        let cost = fact("cost", activity.cost.to_string());
        let note = format!("{} · {}", start.short_task(), activity.state(*since, now));
        task_item(start, note, [started(*since), cost])
    };
    running.iter().map(item).collect()
}

/// Returns the background tasks that are waiting to start.
pub(crate) fn waiting_items(waiting: &[BackgroundTask]) -> Vec<PickerItem> {
    let item = |task: &BackgroundTask| {
        let mut detail = vec![heading(&task.name)];
        detail.extend(task.task.lines().map(|line| Line::new(one_line(line), Role::Text)));
        let choice = PickerChoice::Unavailable("The task starts when a running agent has ended.".to_owned());
        PickerItem::new(one_line(&task.name), choice)
            .with_note(format!("waiting · {}", task.short_task()))
            .with_detail(detail)
    };
    waiting.iter().map(item).collect()
}

/// Returns the agents that no longer run, newest first. An agent without an end was interrupted when tiller
/// exited.
pub(crate) fn ended_items(tasks: &[TaskRecord], running: &[RunningAgent]) -> Vec<PickerItem> {
    let item = |TaskRecord { start, since, end }: &TaskRecord| {
        let end = match end {
            Some(end) => end.error.as_deref().unwrap_or("finished"),
            None if running.iter().any(|agent| agent.start.agent_id == start.agent_id) => return None,
            None => "interrupted",
        };
        let task = start.task.lines().next().unwrap_or_default();
        let facts = [started(*since), fact("state", one_line(end))];
        Some(task_item(start, format!("{end} · {task}"), facts))
    };
    tasks.iter().rev().filter_map(item).collect()
}

pub(crate) fn defined_items(defined: &[AgentDefinition]) -> Vec<PickerItem> {
    defined.iter().map(defined_item).collect()
}

fn task_item(start: &DelegatedTask, note: String, facts: [Line; 2]) -> PickerItem {
    let name = format!("{} {}", start.name, start.agent_id.short());
    let mut detail = vec![heading(&name)];
    detail.extend(facts);
    detail.push(Line::default());
    detail.extend(start.task.lines().map(|line| Line::new(one_line(line), Role::Text)));
    let choice = PickerChoice::Agent { id: start.agent_id.clone(), name: start.name.clone() };
    PickerItem::new(one_line(&name), choice).with_note(one_line(&note)).with_detail(detail)
}

fn defined_item(agent: &AgentDefinition) -> PickerItem {
    let mut detail = vec![heading(&agent.name), fact("source", agent.path.display().to_string())];
    detail.extend(agent.model.as_ref().map(|model| fact("model", one_line(model))));
    detail.extend(agent.approval.map(|mode| fact("approval", mode.name().to_owned())));
    detail.push(Line::default());
    detail.extend(agent.instructions.lines().map(|line| Line::new(one_line(line), Role::Text)));
    let reason = "The model starts this agent when you ask for it.".to_owned();
    PickerItem::new(one_line(&agent.name), PickerChoice::Unavailable(reason))
        .with_note(one_line(&agent.description))
        .in_role(Role::Muted)
        .with_detail(detail)
}

#[cfg(test)]
mod tests {
    use tiller_engine::agents::AgentActivity;

    use super::*;

    #[test]
    fn running_items_tell_agents_of_one_name_apart() {
        let running = ["Read a.rs.", "Read b.rs."].map(|task| RunningAgent {
            start: DelegatedTask::new("an-agent".into(), "explore", task),
            since: UnixMs(0),
            activity: AgentActivity::default(),
        });
        let notes: Vec<String> =
            running_items(&running, UnixMs(3_000)).into_iter().map(|item| item.note).collect();
        let state = "0 turns · 0 tokens · 3s";
        assert_eq!(notes, [format!("Read a.rs. · {state}"), format!("Read b.rs. · {state}")]);
    }
}
