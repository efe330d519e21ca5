//! The compaction machine with its job and its callers.

use std::collections::HashMap;

use tiller_core::event::CompactionResult;
use tokio::task::AbortHandle;

use crate::compaction::CompactionOptions;
use crate::compaction::machine::{CallerId, CompactionMachine};
use crate::handle::{Reply, SessionSwitched};

/// The compaction machine, its job, and the callers that wait for it.
pub(super) struct SummaryState {
    pub(super) machine: CompactionMachine,
    pub(super) job: Option<AbortHandle>,
    pub(super) callers: HashMap<CallerId, SummaryReply>,
    pub(super) last_caller: u64,
}

/// The reply to a caller.
pub(super) enum SummaryReply {
    Compaction(Reply<CompactionResult>),
    Switch(Reply<SessionSwitched>),
}

impl SummaryState {
    pub(super) fn new(options: CompactionOptions) -> Self {
        let machine = CompactionMachine::new(options);
        Self { machine, job: None, callers: HashMap::new(), last_caller: 0 }
    }

    pub(super) fn add_caller(&mut self, reply: SummaryReply) -> CallerId {
        self.last_caller += 1;
        let caller = CallerId(self.last_caller);
        self.callers.insert(caller, reply);
        caller
    }
}
