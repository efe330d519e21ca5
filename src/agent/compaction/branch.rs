//! The summary of a branch that is left, for whoever goes on from an earlier point. Pure.

use serde_json::Value;

use crate::session::Entry;
use crate::session::context::{Projected, project};

use super::cut::is_sent;
use super::{CompactionError, Files, Prompt};

/// A summary that is to be made of a branch.
#[derive(Clone, Debug)]
pub struct BranchPlan {
    messages: Vec<Projected>,
    files: Files,
}

impl BranchPlan {
    /// What there is to say of the entries that are left behind, in their order: those that are on the path to the old leaf
    /// and not on the path to the new one.
    ///
    /// # Errors
    /// [`CompactionError::Nothing`] when nothing was said among them.
    pub fn new(entries: &[Entry]) -> Result<Self, CompactionError> {
        let projection = project(entries);
        if !projection.messages.iter().any(|projected| is_sent(&projected.message)) {
            return Err(CompactionError::Nothing);
        }
        let earlier = projection.compaction.as_ref().and_then(|earlier| earlier.details.as_ref());
        let mut files = earlier.map(Files::from_details).unwrap_or_default();
        files.note_calls(&projection.messages);
        Ok(Self { messages: projection.messages, files })
    }

    /// What is to be asked, and the messages it is about.
    #[must_use]
    pub fn prompt(&self) -> (Prompt, &[Projected]) {
        (Prompt::Branch, &self.messages)
    }

    /// The summary and the details that the answer makes.
    ///
    /// # Errors
    /// [`CompactionError::Empty`] when the answer is.
    pub fn summarized(&self, answer: &str) -> Result<(String, Value), CompactionError> {
        match answer.trim() {
            "" => Err(CompactionError::Empty),
            said => Ok((format!("{said}{}", self.files.listed()), self.files.to_details())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::agent::compaction::cut::tests::entries;
    use crate::session::EntryBody;
    use crate::session::entry::Compaction;
    use crate::unit::Tokens;

    #[test]
    fn what_was_compacted_on_the_branch_is_told_by_its_summary() {
        let mut left = entries("u a u a");
        let compaction = Compaction {
            summary: "S".into(),
            first_kept_entry_id: "e2".into(),
            tokens_before: Tokens(9),
            details: Some(Files { read: vec!["a".into()], modified: vec![] }.to_details()),
            usage: None,
        };
        left.push(Entry { id: "c".into(), body: EntryBody::Compaction(compaction), ..left[0].clone() });
        let plan = BranchPlan::new(&left).unwrap();
        let ids: Vec<&str> = plan.prompt().1.iter().map(|projected| projected.entry.as_str()).collect();
        assert_eq!(ids, ["c", "e2", "e3"]);
        let (summary, details) = plan.summarized(" It failed. ").unwrap();
        assert_eq!(summary, "It failed.\n\n<files-read>\na\n</files-read>");
        assert_eq!(details["readFiles"][0], "a");
    }

    #[test]
    fn of_a_branch_on_which_nothing_was_said_there_is_nothing_to_tell() {
        assert_eq!(BranchPlan::new(&entries("!! e")).unwrap_err(), CompactionError::Nothing);
        let plan = BranchPlan::new(&entries("u a")).unwrap();
        assert_eq!(plan.summarized(" "), Err(CompactionError::Empty));
    }
}
