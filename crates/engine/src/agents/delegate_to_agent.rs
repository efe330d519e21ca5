//! `delegate_to_agent`: delegates a task to an agent and returns its final answer.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, ShownArgument, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};

use super::agent_at_work::DELEGATE_TOOL;
use super::delegator::{DelegationRequest, Delegator, check_task};
use super::isolation::Isolation;
use super::task_run::DelegatingCall;
use super::task_states::TaskStates;

pub(super) struct DelegateToAgent(pub Delegator);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the agent.
    agent: String,
    /// The task, with everything that the agent needs to know: it can't see this conversation.
    task: String,
    /// Id of an agent that has worked in this session, to continue its conversation, for example after an interruption.
    /// Default: a new agent.
    #[serde(default)]
    resume: Option<String>,
    /// Return immediately; you are notified when the agent finishes. Default: false.
    #[serde(default)]
    background: bool,
}

impl TypedTool for DelegateToAgent {
    type Arguments = Arguments;
    const NAME: &'static str = DELEGATE_TOOL;
    const TRAITS: ToolTraits = ToolTraits {
        set: Some(ToolSet::Agents),
        shown_argument: ShownArgument::Joined(&["agent", "task"]),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Delegates a task to an agent with its own context and returns its final answer. Use it for work that \
         would fill this conversation, such as broad searches, or that is self-contained. list_agents shows the agents."
            .to_owned()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        check_task(&arguments.task)
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let Arguments { agent, task, resume, background } = arguments;
        let background = background || self.0.runs_in_background(&agent).await;
        let call = progress.call().cloned();
        let call = call.map(|id| DelegatingCall { id, number: 1, is_background: background });
        let task = DelegationRequest { agent, task, resume, isolation: Isolation::None, call };
        if background {
            if let Err(error) = self.0.find_all(&[&task.agent]).await {
                return ToolOutput::error(error);
            }
            return match self.0.run_task_in_background(task).await {
                Ok(text) => ToolOutput::text(text),
                Err(error) => ToolOutput::error(error),
            };
        }
        let states = TaskStates::new([task.agent.as_str()]);
        let stopped = states.clone();
        progress.on_cancel(move || stopped.stopped_output());
        let show = |update| {
            states.update(0, update);
            progress.show(states.lines());
        };
        let report = self.0.run(task, std::future::pending(), show).await;
        let output = match report.outcome {
            Ok(_) => ToolOutput::text(report.text()),
            Err(_) => ToolOutput::error(report.text()),
        };
        ToolOutput { details: Some(serde_json::json!({ "agents": [report.details()] })), ..output }
    }
}
