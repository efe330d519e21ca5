//! `update_plan`: records the plan of a longer task.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::task_plan::{PlanStep, StepStatus, TaskPlan};
use tiller_core::tool_spec::{Access, ToolSet, ToolTraits};

use super::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

/// Maximum number of steps.
const MAX_STEPS: usize = 50;

#[derive(Debug)]
pub(super) struct UpdatePlan;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// All steps, in order, with their progress; they replace the previous plan.
    steps: Vec<StepArguments>,
}

/// A step.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct StepArguments {
    /// The step, in a few words.
    step: String,
    /// Its progress.
    status: StatusArgument,
}

/// The progress of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum StatusArgument {
    Pending,
    InProgress,
    Done,
}

impl From<StepArguments> for PlanStep {
    fn from(StepArguments { step, status }: StepArguments) -> Self {
        let status = match status {
            StatusArgument::Pending => StepStatus::Pending,
            StatusArgument::InProgress => StepStatus::InProgress,
            StatusArgument::Done => StepStatus::Done,
        };
        Self { step, status }
    }
}

impl From<&ToolEnvironment> for UpdatePlan {
    fn from(_environment: &ToolEnvironment) -> Self {
        Self
    }
}

impl TypedTool for UpdatePlan {
    type Arguments = Arguments;
    const NAME: &'static str = "update_plan";
    const TRAITS: ToolTraits = ToolTraits { set: Some(ToolSet::Plan), ..ToolTraits::new(Access::Reads) };

    fn description(&self) -> String {
        "Shows the user your plan for a task with several steps. Call it once you have a plan, and again whenever a step \
         starts or ends; at most one step may be in progress. A task of one or two steps needs no plan."
            .into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        let is_in_progress = |step: &&StepArguments| step.status == StatusArgument::InProgress;
        if arguments.steps.len() > MAX_STEPS {
            return Err(format!("argument `steps`: at most {MAX_STEPS} steps"));
        }
        if arguments.steps.iter().filter(is_in_progress).count() > 1 {
            return Err("argument `steps`: at most one step may be in progress".into());
        }
        match arguments.steps.iter().position(|step| step.step.trim().is_empty()) {
            Some(index) => Err(format!("argument `steps[{index}].step`: must not be empty")),
            None => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let plan = TaskPlan { steps: arguments.steps.into_iter().map(PlanStep::from).collect() };
        let text = match plan.steps.len() {
            0 => "the plan is now empty".to_owned(),
            count => format!("{} of {count} steps done", plan.done()),
        };
        ToolOutput { details: Some(plan.to_details()), ..ToolOutput::text(text) }
    }
}
