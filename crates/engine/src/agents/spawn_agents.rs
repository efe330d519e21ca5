//! `spawn_agents`: has several agents work side by side, and returns their answers in order.

use std::sync::{Mutex, PoisonError};

use futures_util::{StreamExt, stream};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_core::tool_spec::{Access, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};

use super::delegator::{Delegator, Task};
use super::report::TaskReport;

/// Most tasks of one call.
const MAX_TASKS: usize = 100;

pub(super) struct SpawnAgents(pub Delegator);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// The tasks. They must not depend on each other.
    tasks: Vec<TaskArguments>,
    /// If one fails: `cancel` stops the others, `collect` lets them finish. Default: cancel.
    #[serde(default)]
    on_error: OnError,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct TaskArguments {
    /// Name of the agent.
    agent: String,
    /// The task, with everything that the agent has to know.
    task: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum OnError {
    #[default]
    Cancel,
    Collect,
}

impl TypedTool for SpawnAgents {
    type Arguments = Arguments;
    const NAME: &'static str = "spawn_agents";
    const TRAITS: ToolTraits = ToolTraits { set: Some(ToolSet::Agents), ..ToolTraits::new(Access::Reads) };

    fn description(&self) -> String {
        format!(
            "Delegates several independent tasks at once, of which {} run side by side, and returns the answers in the \
             order of the tasks. All work in the same folder, so no two of them should change the same files.",
            self.0.limits.parallel
        )
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        match arguments.tasks.len() {
            0 => Err("`tasks` is empty: give at least one task".to_owned()),
            count if count > MAX_TASKS => Err(format!("`tasks` has {count} tasks; the limit is {MAX_TASKS}")),
            _ => Ok(()),
        }
    }

    async fn run(&self, Arguments { tasks, on_error }: Arguments, progress: ToolProgress) -> ToolOutput {
        let lines = Mutex::new(vec![String::new(); tasks.len()]);
        let show = |at: usize, line: String| {
            let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
            lines[at] = line;
            let shown: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
            progress.show(shown.join("\n"));
        };
        let names: Vec<String> = tasks.iter().map(|task| task.agent.clone()).collect();
        let run = |(at, TaskArguments { agent, task })| {
            let (task, call) = (Task { agent, task, resume: None }, progress.call().cloned());
            let show = &show;
            async move { (at, self.0.run(task, call, move |line| show(at, line)).await) }
        };
        let running = stream::iter(tasks.into_iter().enumerate().map(run));
        let mut reports: Vec<Option<TaskReport>> = names.iter().map(|_| None).collect();
        {
            let mut ended = std::pin::pin!(running.buffer_unordered(self.0.limits.parallel.max(1)));
            while let Some((at, report)) = ended.next().await {
                let has_failed = report.outcome.is_err();
                let end = if has_failed { "has failed" } else { "has finished" };
                show(at, format!("{} {end}", report.agent));
                reports[at] = Some(report);
                if has_failed && on_error == OnError::Cancel {
                    break;
                }
            }
        }
        output(&names, &reports)
    }
}

fn output(names: &[String], reports: &[Option<TaskReport>]) -> ToolOutput {
    let section = |(at, (name, report)): (usize, (&String, &Option<TaskReport>))| {
        let text = report.as_ref().map_or_else(
            || format!("agent {name} was stopped, because another one has failed"),
            TaskReport::text,
        );
        format!("## {}. {name}\n\n{text}\n", at + 1)
    };
    let sections: Vec<String> = names.iter().zip(reports).enumerate().map(section).collect();
    let text = sections.join("\n");
    let has_failed =
        reports.iter().any(|report| report.as_ref().is_none_or(|report| report.outcome.is_err()));
    let details: Vec<Value> = reports.iter().flatten().map(TaskReport::details).collect();
    let output = if has_failed { ToolOutput::error(text) } else { ToolOutput::text(text) };
    ToolOutput { details: Some(json!({ "agents": details })), ..output }
}
