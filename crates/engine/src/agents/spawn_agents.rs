//! `spawn_agents`: runs several agents in parallel and returns their answers in order.

use std::sync::{Mutex, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_core::id::CallId;
use tiller_core::message::joined_text;
use tiller_core::tool_spec::{Access, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};

use super::delegator::{Delegator, Isolation, Task};
use super::report::TaskReport;

/// Maximum number of tasks of one call.
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
    /// `worktree` gives each agent a git worktree and branch of its own, and returns its diff; needed if several change
    /// the same files. Default: none, all work in the working directory.
    #[serde(default)]
    isolation: Isolation,
    /// Return at once; you are told when all have finished. Default: false.
    #[serde(default)]
    background: bool,
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
            "Delegates several independent tasks, at most {} of them in parallel, and returns the answers in the order \
             of the tasks.",
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

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let call = progress.call().cloned();
        if arguments.background {
            let (delegator, count) = (self.0.clone(), arguments.tasks.len());
            self.0.run_in_background("The tasks in the background have ended.", async move {
                joined_text(&run_all(&delegator, arguments, call, |_| {}).await.content)
            });
            return ToolOutput::text(format!(
                "{count} agents run in the background; you are notified when all have finished."
            ));
        }
        run_all(&self.0, arguments, call, |lines| progress.show(lines)).await
    }
}

/// Runs the tasks; `show` gets the lines of the agents at work.
async fn run_all(
    delegator: &Delegator,
    arguments: Arguments,
    call: Option<CallId>,
    show: impl Fn(String) + Send + Sync,
) -> ToolOutput {
    let Arguments { tasks, on_error, isolation, .. } = arguments;
    let lines = Mutex::new(vec![String::new(); tasks.len()]);
    let show = |at: usize, line: String| {
        let mut lines = lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines[at] = line;
        let shown: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !line.is_empty()).collect();
        show(shown.join("\n"));
    };
    let names: Vec<String> = tasks.iter().map(|task| task.agent.clone()).collect();
    let run = |(at, TaskArguments { agent, task })| {
        let task = Task { agent, task, resume: None, isolation };
        let (call, show) = (call.clone(), &show);
        async move { (at, delegator.run(task, call, move |line| show(at, line)).await) }
    };
    // The delegator limits how many work at once.
    let running: FuturesUnordered<_> = tasks.into_iter().enumerate().map(run).collect();
    let mut reports: Vec<Option<TaskReport>> = names.iter().map(|_| None).collect();
    {
        let mut ended = std::pin::pin!(running);
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

fn output(names: &[String], reports: &[Option<TaskReport>]) -> ToolOutput {
    let section = |(at, (name, report)): (usize, (&String, &Option<TaskReport>))| {
        let text = report
            .as_ref()
            .map_or_else(|| format!("agent {name} was stopped because another one failed"), TaskReport::text);
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
