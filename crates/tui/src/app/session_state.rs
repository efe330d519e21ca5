//! What is known of the session: what it is, and what it is doing.

use std::sync::Arc;

use tiller_core::event::{Event, QueueItem};
use tiller_core::id::{CallId, SessionId};
use tiller_core::message::{ModelRef, ThinkingLevel, Usage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::turn::AnnouncedRetry;
use tiller_engine::{ContextUse, RunningCall, SlashCommand, Summarizing};
use tiller_provider::catalog::ImageInput;

use crate::approval::PendingApproval;
use crate::dialog::Deferred;
use crate::welcome::Welcome;

/// What the session is.
#[derive(Clone, Debug, Default)]
pub(crate) struct SessionInfo {
    /// Events up to this one are known.
    pub(crate) seq: u64,
    pub(crate) gap: SteeringGap,
    pub(crate) name: Option<String>,
    pub(crate) model: Option<ModelRef>,
    pub(crate) thinking: ThinkingLevel,
    /// Whether the model takes images.
    pub(crate) sight: ImageInput,
    pub(crate) context: ContextUse,
    pub(crate) usage: Usage,
    pub(crate) approval: String,
    pub(crate) branch: Option<String>,
    /// The session's id, if it was forked from another one.
    pub(crate) fork: Option<SessionId>,
    /// Facts for the first screen.
    pub(crate) welcome: Option<Welcome>,
    /// What the agent does with a `/`: templates, skills.
    pub(crate) commands: Vec<SlashCommand>,
}

/// Events that came while a snapshot was on its way: it may not know of them yet.
#[derive(Clone, Debug, Default)]
pub(crate) struct SteeringGap {
    /// Snapshots that were asked for and have not arrived.
    expected: usize,
    events: Vec<Arc<Event>>,
}

impl SteeringGap {
    /// Whether a snapshot is on its way.
    pub(crate) fn is_open(&self) -> bool {
        self.expected > 0
    }

    /// A snapshot was asked for.
    pub(super) fn expect(&mut self) {
        self.expected += 1;
    }

    /// Keeps an event for the snapshot that is on its way; gives it back when none is.
    pub(super) fn keep(&mut self, event: Arc<Event>) -> Option<Arc<Event>> {
        if self.expected == 0 {
            return Some(event);
        }
        self.events.push(event);
        None
    }

    /// A snapshot arrived: what it may not know of. While another one is on its way, that goes on waiting for it too.
    pub(super) fn close(&mut self) -> Vec<Arc<Event>> {
        self.expected = self.expected.saturating_sub(1);
        match self.expected {
            0 => std::mem::take(&mut self.events),
            _ => self.events.clone(),
        }
    }
}

/// Something that was asked for and may take long, beside what the agent does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    Export,
    Copy,
}

impl Job {
    /// What is being done.
    pub(crate) const fn doing(self) -> &'static str {
        match self {
            Self::Export => "exporting the session…",
            Self::Copy => "copying the session…",
        }
    }
}

/// A call at work.
#[derive(Clone, Debug)]
pub(crate) struct CallInProgress {
    pub(crate) id: CallId,
    /// The name of its tool.
    pub(crate) name: String,
    /// When it began; what it waited for before that doesn't count.
    pub(crate) since: UnixMs,
}

impl From<&RunningCall> for CallInProgress {
    fn from(call: &RunningCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), since: call.since }
    }
}

/// How much there is of an answer that is arriving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamingAnswer {
    /// Output tokens, as the provider counted them last. Most count at the end only, some the first few at the beginning too.
    pub(crate) counted: Tokens,
    /// Bytes of what came.
    pub(crate) bytes: u64,
}

impl StreamingAnswer {
    /// Output tokens in words, with a `~` where they are a guess; none before anything came.
    pub(crate) fn words(self) -> Option<String> {
        /// Bytes of a token, about.
        const TOKEN: u64 = 4;
        let guess = Tokens(self.bytes.div_ceil(TOKEN));
        // A count that is far behind what is there was made at the beginning.
        match self.counted.0 * 2 >= guess.0 {
            true if self.counted.0 == 0 => None,
            true => Some(format!("↓{}", self.counted)),
            false => Some(format!("↓~{guess}")),
        }
    }
}

/// What the session is doing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activity {
    /// Since when the session is being opened.
    pub(crate) opening_since: Option<UnixMs>,
    pub(crate) running_since: Option<UnixMs>,
    pub(crate) calls: Vec<CallInProgress>,
    /// What is to be asked or read as soon as nobody is typing.
    pub(crate) unasked: Vec<Deferred>,
    /// The next try of a request that failed.
    pub(crate) retry: Option<AnnouncedRetry>,
    /// Since when a command of the user's own is at work.
    pub(crate) bash_since: Option<UnixMs>,
    /// The summary that is being made.
    pub(crate) summary: Option<Summarizing>,
    /// What was begun of the kind that may take long, and when.
    pub(crate) errands: Vec<(Job, UnixMs)>,
    pub(crate) queue: Vec<QueueItem>,
    pub(crate) approvals: Vec<PendingApproval>,
    /// How much there is of the answer that is arriving.
    pub(crate) output: StreamingAnswer,
    /// Whether the last run ended because something failed.
    pub(crate) failed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_guessed_by_what_came_until_they_are_counted() {
        let words = |counted, bytes| StreamingAnswer { counted: Tokens(counted), bytes }.words();
        assert_eq!(words(0, 0), None);
        assert_eq!(words(0, 480).as_deref(), Some("↓~120"));
        assert_eq!(words(3, 480).as_deref(), Some("↓~120"), "what was counted at the beginning");
        assert_eq!(words(131, 480).as_deref(), Some("↓131"));
        assert_eq!(words(900, 0).as_deref(), Some("↓900"), "thoughts that aren't shown count too");
    }
}
