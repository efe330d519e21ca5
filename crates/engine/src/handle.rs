//! The handle on an agent's session: commands in, events out, queries.

mod bash;
mod command;
mod compaction;
mod error;
mod events;
mod model;
mod prompt;
mod resources;
mod session;
mod snapshot;
mod status;
mod tools;

use std::sync::Arc;

use tiller_core::event::{Decision, Event, QueueItem, QueueKind};
use tiller_core::id::{CallId, QueueId};
use tiller_session::Reader;
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::approvals::Approver;
use super::attachment::FileToAttach;
use super::extension::EventForwarder;
use super::queue::QueueEdit;
use super::turn::QueueFate;

pub(super) use command::{
    AttachCommand, Change, OtherSessionOp, PermissionCommand, Reply, SessionCommand, SwitchTarget,
};
pub use command::{ForkedSession, SessionSwitched};
pub use compaction::{BranchSummary, Summarizing, SummaryOf};
pub use error::AgentError;
pub use events::{EventStream, Lagged};
pub use model::{ChosenModel, CycleScope, LockedModel, ProviderChange};
pub use prompt::{BashContext, Expansion, Length, PromptOptions, StreamingBehavior};
pub use snapshot::{ContextUse, InFlight, RunningBash, RunningCall, SessionState, Snapshot};
pub use status::{Activity, QueueStatus, SessionStats, Settled, Status};
pub use tools::{OfferedTool, ToolStanding};

/// Commands a slow driver may have waiting; a person can't type faster than it empties.
pub(super) const COMMANDS: usize = 64;

/// Events that a front end may lag behind before it has to take a snapshot: a few seconds of a fast stream.
pub(super) const EVENTS: usize = 8_192;

/// A handle on a session with an agent. Clones are the same session; when the last one is gone, the session closes.
#[derive(Clone)]
pub struct AgentSession {
    pub(super) commands: mpsc::Sender<SessionCommand>,
    pub(super) events: broadcast::WeakSender<Arc<Event>>,
    pub(super) reader: watch::Receiver<Reader>,
    pub(super) notices: Arc<[String]>,
    pub(super) listeners: Arc<EventForwarder>,
}

impl AgentSession {
    /// Says something to the agent: begins a run, or steers or follows up if the options say so.
    ///
    /// Returns once it is accepted, not when it is answered.
    ///
    /// # Errors
    /// [`AgentError::Busy`] while it works without a `streaming_behavior`; the log's error when the message could not be kept.
    pub async fn prompt(&self, text: impl Into<String>, options: PromptOptions) -> Result<(), AgentError> {
        let text = text.into();
        self.ask(|reply| SessionCommand::Prompt { text, options, reply }).await
    }

    /// Says something that is delivered at the next gap between tool calls; begins a run when idle.
    ///
    /// # Errors
    /// When the message could not be kept.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.prompt(
            text,
            PromptOptions { streaming_behavior: Some(StreamingBehavior::Steer), ..PromptOptions::default() },
        )
        .await
    }

    /// Says something that is delivered when the agent has finished; begins a run when idle.
    ///
    /// # Errors
    /// When the message could not be kept.
    pub async fn follow_up(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.prompt(
            text,
            PromptOptions {
                streaming_behavior: Some(StreamingBehavior::FollowUp),
                ..PromptOptions::default()
            },
        )
        .await
    }

    /// Stops what is in flight, keeps what was said so far, and goes on with this and with every steering message that waits already;
    /// begins a run when idle. While the context is being made smaller to fit, the message waits for that.
    ///
    /// # Errors
    /// When the message could not be kept.
    pub async fn steer_now(&self, text: impl Into<String>, options: PromptOptions) -> Result<(), AgentError> {
        let text = Some(text.into());
        self.ask(|reply| SessionCommand::SteerNow { text, options, reply }).await
    }

    /// As [`AgentSession::steer_now`], with what steers and waits already.
    ///
    /// # Errors
    /// When no steering message waits.
    pub async fn deliver_steering_now(&self) -> Result<(), AgentError> {
        let options = PromptOptions::default();
        self.ask(|reply| SessionCommand::SteerNow { text: None, options, reply }).await
    }

    /// Reads files and folders as the blocks of text that go with a message, cut to the session's limits on outputs; for
    /// [`PromptOptions::attached`]. An `Err` names the file and says why it can't be attached.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn read_attachments(
        &self,
        files: Vec<FileToAttach>,
    ) -> Result<Vec<Result<String, String>>, AgentError> {
        self.ask(|reply| SessionCommand::Attach(AttachCommand::Read { files, reply })).await
    }

    /// Writes a long message to a private file that the model's tools may read. Returns the block of text that names it and shows
    /// its beginning, for [`PromptOptions::attached`].
    ///
    /// # Errors
    /// [`AgentError::Store`] when it can't be written.
    pub async fn attach_text(&self, text: impl Into<String>) -> Result<String, AgentError> {
        let text = text.into();
        self.ask(|reply| SessionCommand::Attach(AttachCommand::Text { text, reply })).await
    }

    /// Gives up waiting for another try of a failed request; the run ends as failed. Nothing happens if none is waited for.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn abort_retry(&self) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::AbortRetry { reply }).await
    }

    /// Stops what runs, `!` commands too, keeps what was said so far, and hands back the messages that waited. Those that are held
    /// stay.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn abort(&self) -> Result<Vec<QueueItem>, AgentError> {
        self.ask(|reply| SessionCommand::Abort { queue: QueueFate::HandBack, reply }).await
    }

    /// As [`AgentSession::abort`], but what waits goes on waiting, held: for whoever stops without anybody to hand it to.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn interrupt(&self) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Abort { queue: QueueFate::Hold, reply }).await.map(|_| ())
    }

    /// Changes a waiting message: its text, its images, when it is delivered, or how many stand before it. Answers with how it
    /// waits now.
    ///
    /// # Errors
    /// When it no longer waits, or the change could not be kept.
    pub async fn edit_queued(&self, id: QueueId, edit: QueueEdit) -> Result<QueueItem, AgentError> {
        self.ask(|reply| SessionCommand::EditQueued { id, edit, reply }).await
    }

    /// Keeps a waiting message from being delivered until it is released, as while somebody edits it. The log knows nothing of
    /// it: after a restart the message waits as any other does.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn hold_queued(&self, id: QueueId) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Hold { id, reply }).await
    }

    /// Lets a held message go in after all: at its time while the agent works, else now, as the beginning of a run.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn release_queued(&self, id: QueueId) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Release { id, reply }).await
    }

    /// Takes every waiting message of a kind, or all of them, out of the queue; answers with what it took.
    ///
    /// # Errors
    /// When the removal could not be kept.
    pub async fn clear_queue(&self, kind: Option<QueueKind>) -> Result<Vec<QueueItem>, AgentError> {
        self.ask(|reply| SessionCommand::ClearQueue { kind, reply }).await
    }

    /// Takes one waiting message out of its queue.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn remove_queued(&self, id: QueueId) -> Result<QueueItem, AgentError> {
        self.ask(|reply| SessionCommand::RemoveQueued { id, reply }).await
    }

    /// Lets a message wait again that [`AgentSession::remove_queued`] or [`AgentSession::clear_queue`] took out, with so many before
    /// it; more than there are means last. While nothing runs it is held. Nothing happens if it waits.
    ///
    /// # Errors
    /// When that could not be kept.
    pub async fn put_back(&self, item: QueueItem, place: usize) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::PutBack { item, place, reply }).await
    }

    /// Says whether somebody answers questions from now on; without anybody a call that would ask is denied, and so is one that
    /// asks already.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_audience(&self, audience: Approver) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::SetAudience { audience, reply }).await
    }

    /// Answers a call that asks.
    ///
    /// # Errors
    /// When it no longer waits.
    pub async fn decide(&self, call: CallId, decision: Decision) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Decide { call, decision, reply }).await
    }

    /// Everything a front end needs to go on from here: take it after subscribing, then pass over events up to its `seq`.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn snapshot(&self) -> Result<Box<Snapshot>, AgentError> {
        self.ask(|reply| SessionCommand::Snapshot { reply }).await
    }

    /// Events from now on; none when the session is closed.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        let events = match self.events.upgrade() {
            Some(events) => events.subscribe(),
            None => broadcast::channel(1).1,
        };
        EventStream { events }
    }

    /// What the user should know of the session it was started with, a sentence each: damaged entries, a model that
    /// isn't to be had any more.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// A reader of the log of the session as it is now; `SessionChanged` says when to take another.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.borrow().clone()
    }

    /// Stops what runs, syncs the log and lets go of it; extensions have a moment to put their things away.
    ///
    /// # Errors
    /// When it is closed already.
    pub async fn close(&self) -> Result<(), AgentError> {
        let closed = self.ask(|reply| SessionCommand::Close { reply }).await;
        self.listeners.end().await;
        closed
    }

    async fn ask<T>(&self, command: impl FnOnce(Reply<T>) -> SessionCommand) -> Result<T, AgentError> {
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| AgentError::Closed)?;
        answer.await.map_err(|_| AgentError::Closed)?
    }
}
