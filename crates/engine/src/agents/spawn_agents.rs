//! `spawn_agents`: runs several agents in parallel and returns their answers in order.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_core::id::CallId;
use tiller_core::message::joined_text;
use tiller_core::tool_spec::{Access, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};
use tokio::sync::watch;

use super::delegator::{DelegationRequest, Delegator};
use super::isolation::Isolation;
use super::report::TaskReport;
use super::task_run::DelegatingCall;
use super::task_states::{TaskStates, sections};

/// Maximum number of tasks in one call.
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
    /// `worktree` gives each agent its own git worktree and branch, and returns its diff; needed if several change
    /// the same files. Default: none, all work in the working directory.
    #[serde(default)]
    isolation: Isolation,
    /// Return immediately; you are notified when all have finished. Default: false.
    #[serde(default)]
    background: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct TaskArguments {
    /// Name of the agent.
    agent: String,
    /// The task, with everything that the agent needs to know.
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
        let agents: Vec<&str> = arguments.tasks.iter().map(|task| task.agent.as_str()).collect();
        if let Err(error) = self.0.check_all(&agents).await {
            return ToolOutput::error(error);
        }
        let states = TaskStates::new(agents);
        let call = progress.call().cloned();
        if arguments.background {
            let (delegator, count) = (self.0.clone(), arguments.tasks.len());
            let started = self.0.run_in_background("The background tasks have ended.", async move {
                joined_text(&run_all(&delegator, arguments, call, &states, || ()).await.content)
            });
            return match started.await {
                Ok(()) => ToolOutput::text(format!(
                    "{count} agents are running in the background; you are notified when all have finished."
                )),
                Err(error) => ToolOutput::error(error),
            };
        }
        let stopped = states.clone();
        progress.on_cancel(move || stopped.stopped_output());
        run_all(&self.0, arguments, call, &states, || progress.show(states.lines())).await
    }
}

/// Runs the tasks. Calls `show` whenever a state has changed.
async fn run_all(
    delegator: &Delegator,
    arguments: Arguments,
    call: Option<CallId>,
    states: &TaskStates,
    show: impl Fn() + Send + Sync,
) -> ToolOutput {
    let Arguments { tasks, on_error, isolation, background } = arguments;
    let (stop, stopped) = watch::channel(false);
    let count = tasks.len();
    let run = |(at, TaskArguments { agent, task })| {
        let call = call.clone().map(|id| DelegatingCall { id, number: at + 1, is_background: background });
        let task = DelegationRequest { agent, task, resume: None, isolation, call };
        let (mut stopped, show) = (stopped.clone(), &show);
        let stop = async move {
            // The sender lives as long as the tasks.
            let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
        };
        let show = move |progress| {
            states.update(at, progress);
            show();
        };
        async move { (at, delegator.run(task, stop, show).await) }
    };
    // The delegator limits the number of agents that work concurrently.
    let mut running: FuturesUnordered<_> = tasks.into_iter().enumerate().map(run).collect();
    let mut reports: Vec<Option<TaskReport>> = std::iter::repeat_with(|| None).take(count).collect();
    while let Some((at, report)) = running.next().await {
        states.end(at, &report);
        show();
        if report.outcome.is_err() && on_error == OnError::Cancel {
            stop.send_replace(true);
        }
        reports[at] = Some(report);
    }
    output(&reports.into_iter().flatten().collect::<Vec<_>>())
}

fn output(reports: &[TaskReport]) -> ToolOutput {
    let text = sections(reports.iter().map(|report| (report.agent.as_str(), report.text())));
    let has_failed = reports.iter().any(|report| report.outcome.is_err());
    let details: Vec<Value> = reports.iter().map(TaskReport::details).collect();
    let output = if has_failed { ToolOutput::error(text) } else { ToolOutput::text(text) };
    ToolOutput { details: Some(json!({ "agents": details })), ..output }
}
