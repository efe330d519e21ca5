//! The tasks that a session has delegated so far, from its log.

use tiller_core::delegated_task::{DelegatedTask, DelegatedTaskEnd};
use tiller_session::{EntryBody, Reader};

use super::parent::{END_TYPE, START_TYPE};

/// A task that an earlier call delegated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EarlierTask {
    pub start: DelegatedTask,
    /// `None` if the task has no end, because tiller was stopped.
    pub end: Option<DelegatedTaskEnd>,
}

/// Returns the tasks that the session has delegated, on the current branch.
pub(super) fn earlier_tasks(reader: &Reader) -> Vec<EarlierTask> {
    let mut tasks: Vec<EarlierTask> = Vec::new();
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    for entry in path.iter().filter_map(|id| reader.entry(id).ok()) {
        let EntryBody::Custom { custom_type, data: Some(data) } = &entry.body else { continue };
        if custom_type == START_TYPE
            && let Ok(start) = serde_json::from_value::<DelegatedTask>(data.clone())
        {
            tasks.retain(|task| task.start.agent_id != start.agent_id);
            tasks.push(EarlierTask { start, end: None });
        } else if custom_type == END_TYPE
            && let Ok(end) = serde_json::from_value::<DelegatedTaskEnd>(data.clone())
            && let Some(task) = tasks.iter_mut().find(|task| task.start.agent_id == end.agent_id)
        {
            task.end = Some(end);
        }
    }
    tasks
}

/// Finds the task of an agent by a part of its id.
pub(super) fn find_earlier(reader: &Reader, agent: &str, id: &str) -> Result<EarlierTask, String> {
    let tasks = earlier_tasks(reader);
    let found = tasks.iter().rev().find(|task| task.start.agent_id.matches(id));
    let Some(task) = found else {
        return Err(format!("no agent with the id {id} in this session; list_agents shows the ids"));
    };
    let EarlierTask { start, .. } = task;
    if start.name != agent {
        return Err(format!("the agent with the id {id} is {}, not {agent}", start.name));
    }
    if start.path.is_none() {
        return Err("an in-memory session can't be resumed".to_owned());
    }
    Ok(task.clone())
}
