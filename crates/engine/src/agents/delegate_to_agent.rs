//! `delegate_to_agent`: delegates a task to an agent and returns its final answer.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, ShownArgument, ToolSet, ToolTraits};
use tiller_tools::tool::{ToolOutput, ToolProgress, TypedTool};

use super::delegator::{Delegator, Isolation, Task};

pub(super) struct DelegateToAgent(pub Delegator);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Name of the agent.
    agent: String,
    /// The task, with everything that the agent has to know: it sees nothing of this conversation.
    task: String,
    /// Id of an agent that has worked in this session, to continue its conversation, for example after an interruption.
    /// Default: a fresh agent.
    #[serde(default)]
    resume: Option<String>,
    /// Return at once; you are notified when the agent finishes. Default: false.
    #[serde(default)]
    background: bool,
}

impl TypedTool for DelegateToAgent {
    type Arguments = Arguments;
    const NAME: &'static str = "delegate_to_agent";
    const TRAITS: ToolTraits = ToolTraits {
        set: Some(ToolSet::Agents),
        shown_argument: ShownArgument::Joined(&["agent", "task"]),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Delegates a task to an agent with a context of its own and returns its final answer. Use it for work that \
         would fill this conversation, such as wide searches, or that is self-contained. list_agents shows the agents."
            .to_owned()
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let Arguments { agent, task, resume, background } = arguments;
        let (task, call) =
            (Task { agent, task, resume, isolation: Isolation::None }, progress.call().cloned());
        if background {
            let (delegator, name) = (self.0.clone(), task.agent.clone());
            self.0.run_in_background("A task in the background has ended.", async move {
                delegator.run(task, call, |_| {}).await.text()
            });
            return ToolOutput::text(format!(
                "{name} runs in the background; you are notified when it finishes."
            ));
        }
        let report = self.0.run(task, call, |line| progress.show(line)).await;
        let output = match report.outcome {
            Ok(_) => ToolOutput::text(report.text()),
            Err(_) => ToolOutput::error(report.text()),
        };
        ToolOutput { details: Some(serde_json::json!({ "agents": [report.details()] })), ..output }
    }
}
