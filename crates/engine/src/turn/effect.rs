//! Effects of the turn machine.

use std::sync::Arc;
use std::time::Duration;

use tiller_core::event::EventKind;
use tiller_core::message::{Message, ToolCall};
use tiller_core::unit::UnixMs;
use tiller_provider::ToolChoice;
use tiller_session::EntryBody;

use super::input::TurnNumber;
use crate::fallback::FallbackModel;

/// An effect for the driver to perform.
#[derive(Clone, Debug)]
pub(crate) enum Effect {
    /// Appends an entry. If that fails, the driver drops the following effects and reports
    /// [`Input::StoreFailed`](super::Input::StoreFailed).
    Append(EntryBody),
    /// Appends several entries, all or none of them.
    AppendAll(Vec<EntryBody>),
    /// Appends a result for every call that an earlier process left without one.
    RepairDanglingCalls,
    /// Syncs the log; the following effects wait for it.
    Sync,
    /// Emits the start of a turn and sends a request. Notes about ended background jobs are appended before
    /// it.
    Request {
        /// Number of the request.
        turn: TurnNumber,
        /// Tool choice.
        tool_choice: ToolChoice,
    },
    /// Waits, then reports the end of the wait.
    Sleep {
        /// Number of the failed request.
        turn: TurnNumber,
        delay: Duration,
    },
    /// Compacts the context, because it is longer than the model's window; reports
    /// [`Input::Compacted`](super::Input::Compacted) or [`Input::NotCompacted`](super::Input::NotCompacted).
    Compact,
    /// Switches to another model until the run ends.
    SwitchModel {
        to: FallbackModel,
        /// The reason, shown to the user.
        cause: String,
    },
    /// Switches back to the user's model at the end of a run, unless the user has chosen another model.
    RestoreModel,
    /// Decides on calls; reports [`Input::Planned`](super::Input::Planned).
    Plan {
        /// Number of the request whose answer made the calls.
        turn: TurnNumber,
        calls: Vec<ToolCall>,
    },
    /// Runs calls in parallel.
    Run {
        /// Number of the request whose answer made the calls.
        turn: TurnNumber,
        calls: Vec<ToolCall>,
    },
    /// Requests approval of a call; the answer comes as [`Input::Decided`](super::Input::Decided).
    Ask {
        call: ToolCall,
        reason: String,
        /// The session rule that the request offers.
        rule: String,
    },
    /// Starts the review of the run's end, reported as [`Input::EndReviewed`](super::Input::EndReviewed).
    ReviewEnd {
        /// Number of the last request.
        turn: TurnNumber,
        /// True if a review has already continued the run.
        is_continued: bool,
    },
    /// Stops the stream, the wait for a retry, or the review of the run's end.
    StopStream,
    /// Stops all running calls.
    StopTools,
    /// Stops the compaction in progress.
    StopCompaction,
    /// Emits an event.
    Emit(EventKind),
}

/// Collects effects, with the time of the input.
pub(super) struct Effects {
    pub(super) effects: Vec<Effect>,
    pub(super) now: UnixMs,
}

impl Effects {
    pub(super) fn append(&mut self, body: EntryBody) {
        self.effects.push(Effect::Append(body));
    }

    pub(super) fn append_message(&mut self, message: Message) {
        self.append(EntryBody::message(Arc::new(message)));
    }

    pub(super) fn emit(&mut self, event: EventKind) {
        self.effects.push(Effect::Emit(event));
    }
}
