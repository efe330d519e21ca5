//! Branch switching with a summary by the model.

use tiller_core::event::EventKind;
use tiller_core::id::EntryId;
use tiller_session::{BranchSummaryText, NavigationTarget};

use super::Driver;
use super::commands::send_reply;
use super::compaction_state::{PendingSwitch, Purpose, SummaryCost};
use crate::compaction::{BranchPlan, CompactionError, SummaryRequest};
use crate::handle::{AgentError, Reply, SessionSwitched};

/// The target, the text for the editor, and the plan of the branch summary.
type SwitchPlan = (Option<EntryId>, Option<String>, Option<BranchPlan>);

impl Driver {
    /// Summarizes the branch that is left, then moves to the entry. Moves at once if the branch has nothing to
    /// summarize.
    pub(super) fn leave_branch(
        &mut self,
        entry: EntryId,
        instructions: Option<String>,
        reply: Reply<SessionSwitched>,
    ) {
        let planned = self.ensure_idle().and_then(|()| self.plan_switch(entry));
        match planned {
            Err(error) => send_reply(reply, Err(error)),
            Ok((to, editor, None)) => send_reply(reply, self.move_to(to.as_ref(), editor, None)),
            Ok((to, editor, Some(plan))) => {
                // Only one summary is made at a time, and a summary of the context that is left would be useless.
                self.stop_summary();
                let cost = SummaryCost::zero(self.active.model.reference());
                let instructions = instructions.filter(|words| !words.trim().is_empty());
                self.bus.emit(EventKind::BranchSummaryStart);
                let (prompt, messages) = plan.prompt();
                let requests = vec![SummaryRequest { prompt, messages: messages.to_vec(), unloaded: 0 }];
                let switch = PendingSwitch { to, editor, plan, cost, reply };
                self.make_summary(requests, instructions, Purpose::Branch(Box::new(switch)));
            }
        }
    }

    fn plan_switch(&self, entry: EntryId) -> Result<SwitchPlan, AgentError> {
        let reader = self.active.reader();
        let NavigationTarget { entry: to, text: editor } = reader.navigation_target(&entry)?;
        let leaf = reader.leaf();
        let abandoned =
            leaf.map(|leaf| reader.abandoned_by(&leaf, to.as_ref())).transpose()?.unwrap_or_default();
        Ok((to, editor, BranchPlan::new(abandoned, &self.services.tool_catalog)))
    }

    /// Moves the leaf once the summary is made, or reports its failure.
    pub(super) fn finish_branch_summary(
        &mut self,
        switch: PendingSwitch,
        answers: Result<Vec<String>, CompactionError>,
    ) {
        let summed = answers.and_then(|answers| switch.plan.build_summary(&answers.concat()));
        let (summary, details) = match summed {
            Ok(summed) => summed,
            Err(error) => return self.fail_branch_summary(switch, error),
        };
        let made_by = Some(switch.cost.model.clone().into());
        let summed =
            BranchSummaryText { summary, details: Some(details), usage: switch.cost.nonzero(), made_by };
        let switched = self.move_to(switch.to.as_ref(), switch.editor, Some(summed));
        let error_message = switched.as_ref().err().map(ToString::to_string);
        self.bus.emit(EventKind::BranchSummaryEnd { aborted: false, error_message });
        send_reply(switch.reply, switched);
    }

    /// Reports a failure; the leaf stays where it is.
    pub(super) fn fail_branch_summary(&mut self, switch: PendingSwitch, error: CompactionError) {
        self.record_cost(&switch.cost, "branch_summary");
        let aborted = error == CompactionError::Stopped;
        let error_message = (!aborted).then(|| error.to_string());
        self.bus.emit(EventKind::BranchSummaryEnd { aborted, error_message });
        send_reply(switch.reply, Err(error.into()));
    }
}
