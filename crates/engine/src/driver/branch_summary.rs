//! Branch switching with a summary by the model.

use tiller_core::event::EventKind;
use tiller_core::id::EntryId;
use tiller_session::{BranchSummaryText, NavigationTarget};

use super::Driver;
use super::commands::answer;
use super::compaction_state::{Leaving, Purpose, Spent};
use crate::compaction::{BranchPlan, CompactionError, SummaryRequest};
use crate::handle::{AgentError, Reply, SessionSwitched};

/// The target, the text for the editor, and the plan of the branch summary.
type Way = (Option<EntryId>, Option<String>, Option<BranchPlan>);

impl Driver {
    /// Summarizes the branch that is left, then moves to the entry. Moves at once if the branch has nothing to
    /// summarize.
    pub(super) fn leave_branch(
        &mut self,
        entry: EntryId,
        instructions: Option<String>,
        reply: Reply<SessionSwitched>,
    ) {
        let planned = self.at_rest().and_then(|()| self.plan_leaving(entry));
        match planned {
            Err(error) => answer(reply, Err(error)),
            Ok((to, editor, None)) => answer(reply, self.move_to(to.as_ref(), editor, None)),
            Ok((to, editor, Some(plan))) => {
                // Only one summary is made at a time, and a summary of the context that is left would be useless.
                self.stop_summary();
                let cost = Spent::nothing(self.current.model.reference());
                let instructions = instructions.filter(|words| !words.trim().is_empty());
                self.teller.tell(EventKind::BranchSummaryStart);
                let (prompt, messages) = plan.prompt();
                let requests = vec![SummaryRequest { prompt, messages: messages.to_vec(), unloaded: 0 }];
                let leaving = Leaving { to, editor, plan, cost, reply };
                self.make_summary(requests, instructions, Purpose::Branch(Box::new(leaving)));
            }
        }
    }

    fn plan_leaving(&self, entry: EntryId) -> Result<Way, AgentError> {
        let reader = self.current.reader();
        let NavigationTarget { entry: to, text: editor } = reader.landing(&entry)?;
        let leaf = reader.leaf();
        let left = leaf.map(|leaf| reader.left_behind(&leaf, to.as_ref())).transpose()?.unwrap_or_default();
        Ok((to, editor, BranchPlan::new(left)))
    }

    /// Moves the leaf once the summary is made, or reports its failure.
    pub(super) fn branch_summed_up(&mut self, leaving: Leaving, made: Result<Vec<String>, CompactionError>) {
        let summed = made.and_then(|answers| leaving.plan.summarized(&answers.concat()));
        let (summary, details) = match summed {
            Ok(summed) => summed,
            Err(error) => return self.not_left(leaving, error),
        };
        let made_by = Some(leaving.cost.model.clone().into());
        let summed =
            BranchSummaryText { summary, details: Some(details), usage: leaving.cost.if_any(), made_by };
        let moved = self.move_to(leaving.to.as_ref(), leaving.editor, Some(summed));
        let error_message = moved.as_ref().err().map(ToString::to_string);
        self.teller.tell(EventKind::BranchSummaryEnd { aborted: false, error_message });
        answer(leaving.reply, moved);
    }

    /// Reports a failure; the leaf stays where it is.
    pub(super) fn not_left(&mut self, leaving: Leaving, error: CompactionError) {
        self.keep_cost(&leaving.cost, "branch_summary");
        let aborted = error == CompactionError::Stopped;
        let error_message = (!aborted).then(|| error.to_string());
        self.teller.tell(EventKind::BranchSummaryEnd { aborted, error_message });
        answer(leaving.reply, Err(error.into()));
    }
}
