//! Status, statistics and run-time options of a session.

use std::sync::Arc;

use tiller_core::message::{Message, StopReason};
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use super::command::{DriverCommand, OptionChange};
use super::session_status::{RunReport, SessionStats, Status};
use super::{AgentError, AgentSession};
use crate::context_breakdown::ContextBreakdown;

/// Returns the text of an answer that didn't fail, if it contains text.
pub(crate) fn answer_text(message: &Message) -> Option<String> {
    match message {
        Message::Assistant(answer) if answer.stop_reason != StopReason::Error => {
            Some(answer.joined_text()).filter(|text| !text.is_empty())
        }
        _ => None,
    }
}

impl AgentSession {
    /// Returns the session's status, without the operations in progress.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn state(&self) -> Result<Box<Status>, AgentError> {
        self.send(|reply| DriverCommand::Status { reply }).await
    }

    /// Waits until the session has settled, and returns how the last run ended. Returns immediately when idle.
    ///
    /// # Errors
    /// [`AgentError::Empty`] if idle and nothing has run yet, [`AgentError::Closed`] if the session is closed
    /// during the wait.
    pub async fn settled(&self) -> Result<RunReport, AgentError> {
        self.send(|reply| DriverCommand::Settled { reply }).await
    }

    /// Counts messages, tokens and cost of the entire session and of the current branch. Reads the entire log on a
    /// blocking thread.
    ///
    /// # Errors
    /// If the log can't be read.
    pub async fn stats(&self) -> Result<Box<SessionStats>, AgentError> {
        self.send(|reply| DriverCommand::Stats { reply }).await
    }

    /// Estimates how much of the context window each part of the context uses, on a blocking thread.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn context_breakdown(&self) -> Result<Box<ContextBreakdown>, AgentError> {
        self.send(|reply| DriverCommand::ContextBreakdown { reply }).await
    }

    /// Returns the messages of the current branch, oldest first: the messages that the model would get, and
    /// the failed answers and `!!` records that requests omit.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn messages(&self) -> Result<Vec<Arc<Message>>, AgentError> {
        self.send(|reply| DriverCommand::Messages { reply }).await
    }

    /// Returns the text of the newest answer with text on the current branch; skips failed answers.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn last_answer_text(&self) -> Result<Option<String>, AgentError> {
        let messages = self.messages().await?;
        Ok(messages.iter().rev().find_map(|message| answer_text(message)))
    }

    /// Sets when steering messages are delivered, now and for sessions opened later through this handle.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_steering_point(&self, point: SteeringPoint) -> Result<(), AgentError> {
        self.configure(OptionChange::SteeringPoint(point)).await
    }

    /// Sets how many steering messages are delivered at once.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_steering_mode(&self, mode: DeliveryMode) -> Result<(), AgentError> {
        self.configure(OptionChange::SteeringMode(mode)).await
    }

    /// Sets how many follow-ups are delivered at once.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_follow_up_mode(&self, mode: DeliveryMode) -> Result<(), AgentError> {
        self.configure(OptionChange::FollowUpMode(mode)).await
    }

    /// Turns retries of failed requests on or off, starting with the next failure.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_auto_retry(&self, mode: Switch) -> Result<(), AgentError> {
        self.configure(OptionChange::Retry(mode)).await
    }

    /// Turns automatic compaction on or off, now and for sessions opened later through this handle.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_auto_compaction(&self, automatic: Switch) -> Result<(), AgentError> {
        self.configure(OptionChange::Compaction(automatic)).await
    }

    /// Turns forwarding of agents' deltas and partial output on or off, including for running agents.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn set_agent_deltas(&self, deltas: Switch) -> Result<(), AgentError> {
        self.configure(OptionChange::AgentDeltas(deltas)).await
    }

    async fn configure(&self, change: OptionChange) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::Configure { change, reply }).await
    }
}
