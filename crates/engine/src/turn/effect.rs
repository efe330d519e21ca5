//! What the machine wants done.

use std::sync::Arc;
use std::time::Duration;

use tiller_core::event::EventKind;
use tiller_core::message::{Message, ToolCall};
use tiller_core::unit::UnixMs;
use tiller_provider::ToolChoice;
use tiller_session::EntryBody;

use super::TurnNumber;

/// What the driver does.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Writes an entry; if that fails, drops what follows and reports [`Input::StoreFailed`](super::Input::StoreFailed).
    Append(EntryBody),
    /// Writes several entries, all or none of them.
    AppendAll(Vec<EntryBody>),
    /// Writes a result for every call that an earlier process left without one.
    Mend,
    /// Syncs the log; what follows waits for it.
    Sync,
    /// Tells that a turn begins, and asks the model.
    Request {
        /// The request's number.
        turn: TurnNumber,
        /// Whether it may call tools.
        tool_choice: ToolChoice,
    },
    /// Waits, and reports [`Input::Awake`](super::Input::Awake).
    Sleep {
        /// The request that failed.
        turn: TurnNumber,
        /// How long.
        delay: Duration,
    },
    /// Makes the context smaller, because it is longer than the model's window; reports
    /// [`Input::Compacted`](super::Input::Compacted) or [`Input::NotCompacted`](super::Input::NotCompacted).
    Compact,
    /// Says what is to become of calls; reports [`Input::Planned`](super::Input::Planned).
    Plan {
        /// The request whose answer made them.
        turn: TurnNumber,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// Runs calls side by side.
    Run {
        /// The request whose answer made them.
        turn: TurnNumber,
        /// The calls.
        calls: Vec<ToolCall>,
    },
    /// Asks whoever is there about a call; the answer comes as [`Input::Decided`](super::Input::Decided).
    Ask {
        /// The call.
        call: ToolCall,
        /// Why.
        reason: String,
        /// What "always" would allow.
        rule: String,
    },
    /// Drops the stream, or the wait for the next one.
    StopStream,
    /// Stops every call at work.
    StopTools,
    /// Stops the making of a summary.
    StopCompaction,
    /// Tells the front ends.
    Emit(EventKind),
}

/// Effects in the making, with the moment they are made at.
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
