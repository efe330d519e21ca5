//! `spawn_agents`: runs several agents in parallel and returns their answers in order.

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::counted::counted;
use tiller_core::message::joined_text;
use tiller_core::tool_spec::{Access, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};
use tokio::sync::watch;

use super::delegator::{DelegationRequest, Delegator, check_task};
use super::isolation::Isolation;
use super::task_run::DelegatingCall;
use super::task_states::TaskStates;

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
            _ => arguments.tasks.iter().try_for_each(|task| check_task(&task.task)),
        }
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let Arguments { tasks, on_error, isolation, background } = arguments;
        let agents: Vec<&str> = tasks.iter().map(|task| task.agent.as_str()).collect();
        let specs = match self.0.find_all(&agents).await {
            Ok(specs) => specs,
            Err(error) => return ToolOutput::error(error),
        };
        let states = TaskStates::new(agents);
        let call = progress.call().cloned();
        let request = |(at, TaskArguments { agent, task }), is_background| {
            let call = call.clone().map(|id| DelegatingCall { id, number: at + 1, is_background });
            (at, DelegationRequest { agent, task, resume: None, isolation, call })
        };
        if background {
            let (delegator, count) = (self.0.clone(), tasks.len());
            let requests: Vec<_> = tasks.into_iter().enumerate().map(|task| request(task, true)).collect();
            let started: Vec<DelegationRequest> =
                requests.iter().map(|(_, request)| request.clone()).collect();
            let work = async move {
                run_all(&delegator, requests, on_error, &states, || ()).await;
                joined_text(&states.output().content)
            };
            let started = self.0.run_in_background("The background tasks have ended", &started, work);
            let tasks = counted(count, "task runs", "tasks run");
            let parallel = self.0.limits.parallel;
            return match started.await {
                Ok(()) => ToolOutput::text(format!(
                    "{tasks} in the background, at most {parallel} at a time; you are notified when all have finished."
                )),
                Err(error) => ToolOutput::error(error),
            };
        }
        let stopped = states.clone();
        progress.on_cancel(move || stopped.stopped_output());
        let mut awaited = Vec::new();
        for (task, spec) in tasks.into_iter().enumerate().zip(specs) {
            let (at, request) = request(task, spec.background);
            match spec.background {
                true => states.detach(at, self.0.run_task_in_background(request).await),
                false => awaited.push((at, request)),
            }
        }
        run_all(&self.0, awaited, on_error, &states, || progress.show(states.lines())).await;
        states.output()
    }
}

/// Runs tasks, each with its index in the states; `show` is called when a state has changed.
async fn run_all(
    delegator: &Delegator,
    requests: Vec<(usize, DelegationRequest)>,
    on_error: OnError,
    states: &TaskStates,
    show: impl Fn() + Send + Sync,
) {
    let (stop, stopped) = watch::channel(false);
    let run = |(at, request)| {
        let (mut stopped, show) = (stopped.clone(), &show);
        let stop = async move {
            // The sender lives as long as the tasks.
            let _ = stopped.wait_for(|is_stopped| *is_stopped).await;
        };
        let show = move |progress| {
            states.update(at, progress);
            show();
        };
        async move { (at, delegator.run(request, stop, show).await) }
    };
    // The delegator limits the number of agents that work concurrently.
    let mut running: FuturesUnordered<_> = requests.into_iter().map(run).collect();
    while let Some((at, report)) = running.next().await {
        states.end(at, &report);
        show();
        if report.has_failed() && on_error == OnError::Cancel {
            stop.send_replace(true);
        }
    }
}
