//! What is known of the session: what it is, and what it is doing.

use std::sync::Arc;

use crate::agent::turn::Retry;
use crate::agent::{ContextUse, RunningCall, SlashCommand, Summarizing};
use crate::event::{Event, QueueItem};
use crate::id::{CallId, SessionId};
use crate::message::{ModelRef, ThinkingLevel, Usage};
use crate::provider::catalog::Sight;
use crate::tui::approval::Asked;
use crate::tui::question::Late;
use crate::tui::welcome::Welcome;
use crate::unit::{Tokens, UnixMs};

/// What the session is.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct Facts {
    /// Events up to this one are known.
    pub(in crate::tui) seq: u64,
    pub(in crate::tui) gap: Gap,
    pub(in crate::tui) name: Option<String>,
    pub(in crate::tui) model: Option<ModelRef>,
    pub(in crate::tui) thinking: ThinkingLevel,
    /// Whether the model takes images.
    pub(in crate::tui) sight: Sight,
    pub(in crate::tui) context: ContextUse,
    pub(in crate::tui) usage: Usage,
    pub(in crate::tui) approval: String,
    pub(in crate::tui) branch: Option<String>,
    /// The session's id, if it was forked from another one.
    pub(in crate::tui) fork: Option<SessionId>,
    /// Facts for the first screen.
    pub(in crate::tui) welcome: Option<Welcome>,
    /// What the agent does with a `/`: templates, skills.
    pub(in crate::tui) commands: Vec<SlashCommand>,
}

/// Events that came while a snapshot was on its way: it may not know of them yet.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct Gap {
    /// Snapshots that were asked for and have not arrived.
    expected: usize,
    events: Vec<Arc<Event>>,
}

impl Gap {
    /// Whether a snapshot is on its way.
    pub(in crate::tui) fn is_open(&self) -> bool {
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
pub(in crate::tui) enum Errand {
    Export,
    Copy,
}

impl Errand {
    /// What is being done.
    pub(in crate::tui) const fn doing(self) -> &'static str {
        match self {
            Self::Export => "exporting the session…",
            Self::Copy => "copying the session…",
        }
    }
}

/// A call at work.
#[derive(Clone, Debug)]
pub(in crate::tui) struct CallAtWork {
    pub(in crate::tui) id: CallId,
    /// The name of its tool.
    pub(in crate::tui) name: String,
    /// When it began; what it waited for before that doesn't count.
    pub(in crate::tui) since: UnixMs,
}

impl From<&RunningCall> for CallAtWork {
    fn from(call: &RunningCall) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), since: call.since }
    }
}

/// How much there is of an answer that is arriving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tui) struct Arriving {
    /// Output tokens, as the provider counted them last. Most count at the end only, some the first few at the beginning too.
    pub(in crate::tui) counted: Tokens,
    /// Bytes of what came.
    pub(in crate::tui) bytes: u64,
}

impl Arriving {
    /// Output tokens in words, with a `~` where they are a guess; none before anything came.
    pub(in crate::tui) fn words(self) -> Option<String> {
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
pub(in crate::tui) struct Work {
    /// Since when the session is being opened.
    pub(in crate::tui) opening_since: Option<UnixMs>,
    pub(in crate::tui) running_since: Option<UnixMs>,
    pub(in crate::tui) calls: Vec<CallAtWork>,
    /// What is to be asked or read as soon as nobody is typing.
    pub(in crate::tui) unasked: Vec<Late>,
    /// The next try of a request that failed.
    pub(in crate::tui) retry: Option<Retry>,
    /// Since when a command of the user's own is at work.
    pub(in crate::tui) bash_since: Option<UnixMs>,
    /// The summary that is being made.
    pub(in crate::tui) summary: Option<Summarizing>,
    /// What was begun of the kind that may take long, and when.
    pub(in crate::tui) errands: Vec<(Errand, UnixMs)>,
    pub(in crate::tui) queue: Vec<QueueItem>,
    pub(in crate::tui) approvals: Vec<Asked>,
    /// How much there is of the answer that is arriving.
    pub(in crate::tui) output: Arriving,
    /// Whether the last run ended because something failed.
    pub(in crate::tui) failed: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_guessed_by_what_came_until_they_are_counted() {
        let words = |counted, bytes| Arriving { counted: Tokens(counted), bytes }.words();
        assert_eq!(words(0, 0), None);
        assert_eq!(words(0, 480).as_deref(), Some("↓~120"));
        assert_eq!(words(3, 480).as_deref(), Some("↓~120"), "what was counted at the beginning");
        assert_eq!(words(131, 480).as_deref(), Some("↓131"));
        assert_eq!(words(900, 0).as_deref(), Some("↓900"), "thoughts that aren't shown count too");
    }
}
