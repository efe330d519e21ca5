//! Summary of an abandoned branch, for the conversation that continues from an earlier point. Pure.

use serde_json::Value;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_session::context::{ProjectedMessage, Projection};

use super::retention::is_sent;
use super::{CompactionError, Files, Prompt};

/// The plan of a branch summary.
#[derive(Clone, Debug)]
pub struct BranchPlan {
    messages: Vec<ProjectedMessage>,
    files: Files,
}

impl BranchPlan {
    /// Plans the summary of the abandoned messages; `None` if the branch has none.
    #[must_use]
    pub fn new(abandoned: Projection, tools: &ToolCatalog) -> Option<Self> {
        if !Self::is_useful(&abandoned) {
            return None;
        }
        let earlier = abandoned.compaction.as_ref().and_then(|earlier| earlier.details.as_ref());
        let mut files = earlier.map(Files::from_details).unwrap_or_default();
        files.add_calls(&abandoned.messages, tools);
        Some(Self { messages: abandoned.messages, files })
    }

    /// Returns true if a summary of the abandoned messages would have content.
    #[must_use]
    pub fn is_useful(abandoned: &Projection) -> bool {
        abandoned.messages.iter().any(|projected| is_sent(&projected.message))
    }

    /// Returns the prompt and the messages to summarize.
    #[must_use]
    pub fn prompt(&self) -> (Prompt, &[ProjectedMessage]) {
        (Prompt::Branch, &self.messages)
    }

    /// Builds the summary and its details from the model's answer.
    ///
    /// # Errors
    /// [`CompactionError::Empty`] if the answer is empty.
    pub(crate) fn build_summary(&self, answer: &str) -> Result<(String, Value), CompactionError> {
        match answer.trim() {
            "" => Err(CompactionError::Empty),
            summary => Ok((format!("{summary}{}", self.files.to_text()), self.files.to_details())),
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::Tokens;
    use tiller_session::context::project;
    use tiller_session::entry::Compaction;
    use tiller_session::{Entry, EntryBody};

    use super::*;

    use crate::compaction::retention::tests::entries;

    /// Returns the plan for leaving `u a u a u a` at its second message, after a compaction at the fourth
    /// message that keeps the messages starting with `first_kept`.
    fn plan_from(first_kept: &str) -> BranchPlan {
        let mut path = entries("u a u a u a");
        let compaction = Compaction {
            summary: "S".into(),
            first_kept_entry_id: first_kept.into(),
            tokens_before: Tokens(9),
            details: Some(Files { read: vec!["a".into()], ..Files::default() }.to_details()),
            usage: None,
            made_by: None,
        };
        path.insert(4, Entry { id: "c".into(), body: EntryBody::Compaction(compaction), ..path[0].clone() });
        let path_ids = [&path[0].id.clone(), &path[1].id.clone()];
        BranchPlan::new(project(&path).without(&path_ids.into_iter().collect()), &ToolCatalog::default())
            .unwrap()
    }

    fn ids(plan: &BranchPlan) -> Vec<&str> {
        plan.prompt().1.iter().map(|projected| projected.entry.as_str()).collect()
    }

    #[test]
    fn branch_plan_compacted_branch_includes_the_summary() {
        let plan = plan_from("e3");
        assert_eq!(ids(&plan), ["c", "e3", "e4", "e5"]);
        let (summary, details) = plan.build_summary(" It failed. ").unwrap();
        assert_eq!(summary, "It failed.\n\n<files-read>\na\n</files-read>");
        assert_eq!(details["readFiles"][0], "a");
    }

    #[test]
    fn branch_plan_compaction_of_kept_messages_only_is_left_out() {
        let plan = plan_from("e1");
        assert_eq!(ids(&plan), ["e2", "e3", "e4", "e5"]);
        assert_eq!(plan.build_summary("It failed.").unwrap().0, "It failed.");
    }

    #[test]
    fn branch_plan_empty_branch_has_none() {
        let tools = ToolCatalog::default();
        assert!(BranchPlan::new(project(&entries("!! e")), &tools).is_none());
        let plan = BranchPlan::new(project(&entries("u a")), &tools).unwrap();
        assert_eq!(plan.build_summary(" "), Err(CompactionError::Empty));
    }
}
