//! Methods for background jobs.

use tiller_core::background_job::CommandJob;
use tiller_core::id::JobId;

use super::command::{BackgroundJobCommand, DriverCommand};
use super::{AgentError, AgentSession};

impl AgentSession {
    /// Lists the background jobs of the session, oldest first, including finished ones.
    ///
    /// # Errors
    /// If the session is closed.
    pub async fn background_jobs(&self) -> Result<Vec<CommandJob>, AgentError> {
        self.send(|reply| DriverCommand::BackgroundJob(BackgroundJobCommand::List { reply })).await
    }

    /// Stops a background job and all its processes; returns when it has ended. The model is informed in the
    /// next request.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if no such job is running.
    pub async fn stop_background_job(&self, id: JobId) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::BackgroundJob(BackgroundJobCommand::Stop { id, reply })).await
    }

    /// Moves the running calls whose tools allow it to the background: each call returns immediately, and its
    /// command continues as a job.
    ///
    /// # Errors
    /// [`AgentError::NotFound`] if no such call is running.
    pub async fn move_to_background(&self) -> Result<(), AgentError> {
        self.send(|reply| DriverCommand::BackgroundJob(BackgroundJobCommand::MoveCalls { reply })).await
    }
}
