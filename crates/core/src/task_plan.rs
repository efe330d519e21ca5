//! The model's plan for a longer task: steps and their progress.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Key of the plan in the `details` of a tool result or a compaction.
const DETAILS_KEY: &str = "plan";

/// The plan of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskPlan {
    /// The steps, in order.
    pub steps: Vec<PlanStep>,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanStep {
    /// The task of the step.
    pub step: String,
    /// Its progress.
    pub status: StepStatus,
}

/// The progress of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Finished.
    Done,
}

impl TaskPlan {
    /// Returns the plan in the `details` of a result or a compaction.
    #[must_use]
    pub fn from_details(details: &Value) -> Option<Self> {
        Self::deserialize(details.get(DETAILS_KEY)?).ok()
    }

    /// Returns the `details` of a result that holds the plan.
    #[must_use]
    pub fn to_details(&self) -> Value {
        json!({ DETAILS_KEY: self })
    }

    /// Adds the plan to the `details` of a compaction, an object.
    pub fn add_to_details(&self, details: &mut Value) {
        details[DETAILS_KEY] = json!(self);
    }

    /// Returns the number of finished steps.
    #[must_use]
    pub fn done(&self) -> usize {
        self.steps.iter().filter(|step| step.status == StepStatus::Done).count()
    }

    /// Returns true if all steps are done.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.done() == self.steps.len()
    }

    /// Returns the plan as a Markdown task list, for the model.
    #[must_use]
    pub fn to_text(&self) -> String {
        let line = |step: &PlanStep| {
            let (mark, note) = match step.status {
                StepStatus::Pending => (' ', ""),
                StepStatus::InProgress => (' ', " (in progress)"),
                StepStatus::Done => ('x', ""),
            };
            format!("- [{mark}] {}{note}\n", step.step)
        };
        self.steps.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_plan_is_read_back_from_details() {
        let step = |step: &str, status| PlanStep { step: step.into(), status };
        let steps = vec![
            step("read", StepStatus::Done),
            step("write", StepStatus::InProgress),
            step("test", StepStatus::Pending),
        ];
        let plan = TaskPlan { steps };
        let mut details = json!({"readFiles": []});
        plan.add_to_details(&mut details);
        assert_eq!(details["plan"][1], json!({"step": "write", "status": "in_progress"}));
        assert_eq!(TaskPlan::from_details(&details), Some(plan.clone()));
        assert_eq!(TaskPlan::from_details(&json!({"plan": "x"})), None);
        assert_eq!(plan.to_text(), "- [x] read\n- [ ] write (in progress)\n- [ ] test\n");
        assert_eq!((plan.done(), plan.is_finished()), (1, false));
    }
}
