//! The handle of an agent session: commands, events, queries.

mod agents;
mod background_jobs;
mod bash;
mod command;
mod compaction;
mod cost_page;
mod error;
mod events;
mod model;
mod model_change;
mod offered_tool;
mod prompt;
mod resources;
mod session;
mod session_status;
pub(super) mod snapshot;
mod status;
mod summary_in_progress;
mod tools;

use tiller_core::event::{Decision, QueueItem, QueueKind};
use tiller_core::id::{CallId, QueueId};
use tiller_session::Reader;
use tokio::sync::broadcast;

use super::approvals::Approver;
use super::attachment::FileToAttach;
use super::queue::QueueEdit;
use super::turn::{AbortCause, QueueHandling};

pub use agents::AgentOverview;
pub use command::{AgentSession, ForkedSession, SessionSwitched};
pub(super) use command::{
    AttachCommand, BackgroundJobCommand, DelegationCommand, DriverCommand, OptionChange, OtherSessionOp,
    PermissionCommand, Reply, SwitchTarget, WeakSession,
};
pub use error::AgentError;
pub use events::{EventStream, Lag};
pub use model_change::{ChosenModel, CycleScope, LockedModel, ProviderChange};
pub use offered_tool::{OfferState, OfferedTool};
pub use prompt::{BashContext, Expansion, LengthCheck, PromptOptions, StreamingBehavior};
pub use session_status::{Activity, QueueStatus, RunReport, SessionStats, Status};
pub use snapshot::{ContextUse, InFlight, RunningBash, RunningCall, SessionState, Snapshot};
pub(super) use status::answer_text;
pub use summary_in_progress::{BranchSummary, SummaryInProgress, SummarySubject};

/// Capacity of the command channel; a person can't type faster than the driver empties it.
pub(super) const COMMANDS: usize = 64;

/// Maximum number of events that a front end may lag behind before it needs a snapshot: a few seconds of a
/// fast stream.
pub(super) const EVENTS: usize = 8_192;

impl AgentSession {
    /// Sends a message to the agent. Starts a run if the agent is idle; during a run, `options` decides whether the
    /// message steers or follows up.
    ///
    /// Returns once the message is accepted, not when it is answered.
    ///
    /// # Errors
    /// [`AgentError::Busy`] if a run is in progress and `options` has no `streaming_behavior`; the log's error if
    /// the message could not be stored.
    pub async fn prompt(&self, text: impl Into<String>, options: PromptOptions) -> Result<(), AgentError> {
        let text = text.into();
        self.send(|reply| DriverCommand::Prompt { text, options, reply }).await
    }

    /// Sends a message that is delivered at the next gap between tool calls, or starts a run if the agent is
    /// idle.
    ///
    /// # Errors
    /// If the message could not be stored.
    pub async fn steer(&self, text: impl Into<String>) -> Result<(), AgentError> {
        self.prompt(
            text,
            PromptOptions { streaming_behavior: Some(StreamingBehavior::Steer), ..PromptOptions::default() },
        )
        .await
    }

    /// Sends a message that is delivered when the agent has finished, or starts a run if the agent is idle.
    ///
    /// # Errors
    /// If the message could not be stored.
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

    /// Stops the current request and calls, stores their partial output, and continues with the waiting
    /// steering messages and this one. Starts a run if the agent is idle. If the run is waiting for a
    /// compaction, the message waits too.
    ///
    /// # Errors
    /// If the message could not be stored.
    pub async fn steer_now(&self, text: impl Into<String>, options: PromptOptions) -> Result<(), AgentError> {
        let text = Some(text.into());
        self.send(|reply| DriverCommand::SteerNow { text, options, reply }).await
    }

    /// Like [`AgentSession::steer_now`], for the steering messages already queued.
    ///
    /// # Errors
    /// If no steering message is queued.
    pub async fn deliver_steering_now(&self) -> Result<(), AgentError> {
        let options = PromptOptions::default();
        self.send(|reply| DriverCommand::SteerNow { text: None, options, reply }).await
    }

    /// Reads files and directories as attachment blocks for [`PromptOptions::attached`], truncated to the
    /// session's output limits. An `Err` names the file and the reason.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn read_attachments(
        &self,
        files: Vec<FileToAttach>,
    ) -> Result<Vec<Result<String, String>>, AgentError> {
        self.send(|reply| DriverCommand::Attach(AttachCommand::Read { files, reply })).await
    }

    /// Writes a long message to a private file that the model's tools may read. Returns a text block with the
    /// file's name and the beginning of the text, for [`PromptOptions::attached`].
    ///
    /// # Errors
    /// [`AgentError::Store`] if it can't be written.
    pub async fn attach_text(&self, text: impl Into<String>) -> Result<String, AgentError> {
        let text = text.into();
        self.send(|reply| DriverCommand::Attach(AttachCommand::Text { text, reply })).await
    }

    /// Cancels the retry of a failed request; the run ends as failed. Does nothing if no retry is pending.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn abort_retry(&self) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::AbortRetry { reply }).await
    }

    /// Stops the run and `!` commands, stores the partial output, and returns the queued messages. Held
    /// messages stay in the queue.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn abort(&self) -> Result<Vec<QueueItem>, AgentError> {
        let (queue, cause) = (QueueHandling::Return, AbortCause::User);
        self.send(|reply| DriverCommand::Abort { queue, cause, reply }).await
    }

    /// Stops the run like [`AgentSession::abort`], but holds the queued messages, for callers that can't take
    /// them.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn interrupt(&self) -> Result<(), AgentError> {
        let (queue, cause) = (QueueHandling::Hold, AbortCause::User);
        self.send(|reply| DriverCommand::Abort { queue, cause, reply }).await.map(|_| ())
    }

    /// Stops the run of an agent whose task ends before its run.
    pub(crate) async fn end_task(&self) -> Result<(), AgentError> {
        let (queue, cause) = (QueueHandling::Return, AbortCause::TaskEnd);
        self.send(|reply| DriverCommand::Abort { queue, cause, reply }).await.map(|_| ())
    }

    /// Changes a queued message: its text, images, kind or position. Returns the changed message.
    ///
    /// # Errors
    /// If it is no longer queued, or the change could not be stored.
    pub async fn edit_queued(&self, id: QueueId, edit: QueueEdit) -> Result<QueueItem, AgentError> {
        self.send(|reply| DriverCommand::EditQueued { id, edit, reply }).await
    }

    /// Holds a queued message, for instance while it is edited: it isn't delivered until it is released.
    /// Holds aren't logged: after a restart the message is queued like any other.
    ///
    /// # Errors
    /// If it is no longer queued.
    pub async fn hold_queued(&self, id: QueueId) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Hold { id, reply }).await
    }

    /// Releases a held message. During a run it is delivered in order; otherwise it starts a run.
    ///
    /// # Errors
    /// If it is no longer queued.
    pub async fn release_queued(&self, id: QueueId) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Release { id, reply }).await
    }

    /// Removes all queued messages of a kind, or all of them, and returns them.
    ///
    /// # Errors
    /// If the removal could not be stored.
    pub async fn clear_queue(&self, kind: Option<QueueKind>) -> Result<Vec<QueueItem>, AgentError> {
        self.send(|reply| DriverCommand::ClearQueue { kind, reply }).await
    }

    /// Removes a queued message.
    ///
    /// # Errors
    /// If it is no longer queued.
    pub async fn remove_queued(&self, id: QueueId) -> Result<QueueItem, AgentError> {
        self.send(|reply| DriverCommand::RemoveQueued { id, reply }).await
    }

    /// Puts a message removed by [`AgentSession::remove_queued`] or [`AgentSession::clear_queue`] back into the
    /// queue. `position` counts from 0; positions past the end append it. The message is held while the agent is
    /// idle. Does nothing if the message is queued.
    ///
    /// # Errors
    /// If that could not be stored.
    pub async fn put_back(&self, item: QueueItem, position: usize) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::PutBack { item, position, reply }).await
    }

    /// Sets whether an approver is present. Without one, calls that need approval are denied, including pending
    /// ones.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_approver(&self, approver: Approver) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::SetApprover { approver, reply }).await
    }

    /// Answers an approval request.
    ///
    /// # Errors
    /// If it is no longer pending.
    pub async fn decide(&self, call: CallId, decision: Decision) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Decide { call, decision, reply }).await
    }

    /// Returns the state that a front end needs when it starts. Take it after subscribing, then skip events up
    /// to its `seq`.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn snapshot(&self) -> Result<Box<Snapshot>, AgentError> {
        self.send(|reply| DriverCommand::Snapshot { reply }).await
    }

    /// Subscribes to new events; the stream is empty if the session is closed.
    #[must_use]
    pub fn subscribe(&self) -> EventStream {
        let events = match self.events.upgrade() {
            Some(events) => events.subscribe(),
            None => broadcast::channel(1).1,
        };
        EventStream { events }
    }

    /// Returns the notices from starting the session, one sentence each, for example about damaged entries.
    #[must_use]
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Returns a reader for the current session's log. Take a new one after `SessionChanged`.
    #[must_use]
    pub fn reader(&self) -> Reader {
        self.reader.borrow().clone()
    }

    /// Stops all jobs, syncs the log and closes it; extensions get a moment to shut down.
    ///
    /// # Errors
    /// If it is closed already.
    pub async fn close(&self) -> Result<(), AgentError> {
        let _ = self.stop_agents().await;
        let closed = self.send(|reply| DriverCommand::Close { reply }).await;
        if let Some(forwarder) = &self.forwarder {
            forwarder.end().await;
        }
        closed
    }
}
