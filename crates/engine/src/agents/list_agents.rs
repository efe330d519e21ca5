//! `list_agents`: lists the agents that tasks can be delegated to, and the tasks so far.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_core::delegated_task::BackgroundTask;
use tiller_core::tool_spec::{Access, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};

use super::delegator::Delegator;
use super::task_record::TaskRecord;

pub(super) struct ListAgents(pub Delegator);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {}

impl TypedTool for ListAgents {
    type Arguments = Arguments;
    const NAME: &'static str = "list_agents";
    const TRAITS: ToolTraits = ToolTraits { set: Some(ToolSet::Agents), ..ToolTraits::new(Access::Reads) };

    fn description(&self) -> String {
        "Lists the agents that you can delegate tasks to, and the tasks that you have delegated in this session with \
         their ids."
            .to_owned()
    }

    async fn run(&self, Arguments {}: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (agents, tasks, waiting) = match tokio::try_join!(self.0.agents(), self.0.waiting()) {
            Ok(((agents, tasks), waiting)) => (agents, tasks, waiting),
            Err(error) => return ToolOutput::error(error),
        };
        let mut text: String =
            agents.iter().map(|agent| format!("- {}: {}\n", agent.name, agent.description)).collect();
        if agents.is_empty() {
            text.push_str("There are no agents.\n");
        }
        if !(tasks.is_empty() && waiting.is_empty()) {
            text.push_str("\nTasks so far:\n");
            text.extend(tasks.iter().map(task_line));
            text.extend(waiting.iter().map(waiting_line));
        }
        ToolOutput { details: Some(json!({ "agents": agents })), ..ToolOutput::text(text) }
    }
}

fn waiting_line(task: &BackgroundTask) -> String {
    format!("- {} (waiting to start): {}\n", task.name, task.task.lines().next().unwrap_or_default())
}

fn task_line(TaskRecord { start, end, .. }: &TaskRecord) -> String {
    let state = match end {
        None => "running".to_owned(),
        Some(end) => end.error.clone().unwrap_or_else(|| "finished".to_owned()),
    };
    let task = start.task.lines().next().unwrap_or_default();
    format!("- {} {} ({state}): {task}\n", start.agent_id.short(), start.name)
}
