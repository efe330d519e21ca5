//! What a session is and does in a few facts, what it adds up to, and how it is set.

use std::sync::Arc;

use tiller_core::event::{QueueItem, RunOutcome};
use tiller_core::id::EntryId;
use tiller_core::message::{Message, StopReason};
use tiller_session::Totals;

use super::command::{Change, SessionCommand};
use super::snapshot::{ContextUse, SessionState};
use super::{AgentError, AgentSession};
use crate::compaction::Automatic;
use crate::context_breakdown::ContextBreakdown;
use crate::queue::DeliveryMode;
use crate::retry::RetryMode;
use crate::turn::SteeringPoint;

/// A session at one moment, without what is in flight: cheap to ask for at any time.
#[derive(Clone, Debug)]
pub struct Status {
    /// What it is: names, model, thinking, context used, approval mode.
    pub state: SessionState,
    /// What goes on.
    pub activity: Activity,
    /// What waits, and how it is delivered.
    pub queue: QueueStatus,
    /// Whether failed requests are tried again.
    pub auto_retry: RetryMode,
    /// Whether the context is compacted by itself.
    pub auto_compaction: Automatic,
    /// The entry that the next one follows.
    pub leaf: Option<EntryId>,
    /// How many messages the model would read, system prompts of other programs aside.
    pub messages: usize,
}

/// What goes on in a session; all three may at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// A run is going on.
    pub is_running: bool,
    /// The context is being made smaller.
    pub is_compacting: bool,
    /// A failed request waits for its next try.
    pub is_retrying: bool,
}

/// What waits in a session, and how it is delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueStatus {
    /// The messages, in the order of delivery within each kind.
    pub items: Vec<QueueItem>,
    /// When steering messages are delivered.
    pub steering_point: SteeringPoint,
    /// How many of them at once.
    pub steering_mode: DeliveryMode,
    /// How many follow-ups at once.
    pub follow_up_mode: DeliveryMode,
}

/// What a session adds up to.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionStats {
    /// The whole log, every branch.
    pub session: Totals,
    /// The current branch.
    pub branch: Totals,
    /// How full the model's window is.
    pub context: ContextUse,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// How.
    pub outcome: RunOutcome,
    /// The messages it added, in order.
    pub messages: Vec<Arc<Message>>,
}

impl AgentSession {
    /// What the session is and whether it works, without what is in flight.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn state(&self) -> Result<Box<Status>, AgentError> {
        self.ask(|reply| SessionCommand::Status { reply }).await
    }

    /// Waits until nothing runs and nothing waits to run, and tells how the last run ended; at once when idle.
    ///
    /// # Errors
    /// [`AgentError::Empty`] when idle and nothing has run yet, [`AgentError::Closed`] when the session is closed meanwhile.
    pub async fn settled(&self) -> Result<Settled, AgentError> {
        self.ask(|reply| SessionCommand::Settled { reply }).await
    }

    /// Counts messages, tokens and money, over the whole session and over the current branch. Reads the log, beside the loop.
    ///
    /// # Errors
    /// When the log can't be read.
    pub async fn stats(&self) -> Result<Box<SessionStats>, AgentError> {
        self.ask(|reply| SessionCommand::Stats { reply }).await
    }

    /// Estimates the parts of the context window that are in use, beside the loop.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn context_breakdown(&self) -> Result<Box<ContextBreakdown>, AgentError> {
        self.ask(|reply| SessionCommand::ContextBreakdown { reply }).await
    }

    /// The messages of the current branch as the model would be given them, and the failed answers and `!!` records that are
    /// left out then; oldest first.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn messages(&self) -> Result<Vec<Arc<Message>>, AgentError> {
        self.ask(|reply| SessionCommand::Messages { reply }).await
    }

    /// The text of the newest answer on the current branch that has any; failed ones are passed over.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn last_answer_text(&self) -> Result<Option<String>, AgentError> {
        let messages = self.messages().await?;
        let text = |message: &Arc<Message>| match &**message {
            Message::Assistant(answer) if answer.stop_reason != StopReason::Error => {
                Some(answer.joined_text()).filter(|text| !text.is_empty())
            }
            _ => None,
        };
        Ok(messages.iter().rev().find_map(text))
    }

    /// Sets when steering messages are delivered, from now on and in every session of this handle.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_steering_point(&self, point: SteeringPoint) -> Result<(), AgentError> {
        self.configure(Change::SteeringPoint(point)).await
    }

    /// Sets how many waiting steering messages are delivered at once.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_steering_mode(&self, mode: DeliveryMode) -> Result<(), AgentError> {
        self.configure(Change::SteeringMode(mode)).await
    }

    /// Sets how many waiting follow-ups are delivered at once.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_follow_up_mode(&self, mode: DeliveryMode) -> Result<(), AgentError> {
        self.configure(Change::FollowUpMode(mode)).await
    }

    /// Sets whether failed requests are tried again, from the next failure on.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_auto_retry(&self, mode: RetryMode) -> Result<(), AgentError> {
        self.configure(Change::Retry(mode)).await
    }

    /// Lets the context be compacted by itself, or only when somebody says so, from now on and in every session of this handle.
    ///
    /// # Errors
    /// When the session is closed.
    pub async fn set_auto_compaction(&self, automatic: Automatic) -> Result<(), AgentError> {
        self.configure(Change::Compaction(automatic)).await
    }

    async fn configure(&self, change: Change) -> Result<(), AgentError> {
        self.ask(|reply| SessionCommand::Configure { change, reply }).await
    }
}
