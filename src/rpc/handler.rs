//! Command handlers: each command is a call of the session's handle, and its response is made of the result.

mod queries;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::RpcOptions;
use super::command::RpcCommand;
use super::params::{ImageParam, SummaryParam};
use super::response::{self, ResponseOutcome};
use super::views;
use crate::agent::compaction::Automatic;
use crate::agent::queue::QueueEdit;
use crate::agent::retry::RetryMode;
use crate::agent::{
    AgentError, AgentSession, Approver, BashContext, BranchSummary, CycleDirection, CycleScope,
    PromptOptions, SessionSwitched, StreamingBehavior,
};
use crate::event::QueueKind;
use crate::id::EntryId;
use crate::message::Image;
use crate::session::{Visibility, chain};

/// Longest wait between two checks whether all work has ended, if no event comes before.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Runs commands on a session.
#[derive(Clone)]
pub(super) struct Handler {
    agent: AgentSession,
    options: RpcOptions,
}

/// The reason that a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandlerError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
    #[error("{0}")]
    Other(String),
}

impl HandlerError {
    /// Returns the text of the response, which names the commands that help.
    fn text(&self) -> String {
        match self {
            Self::Agent(AgentError::Running) => {
                "the agent is running and must be idle for this; `abort` stops it".to_owned()
            }
            Self::Agent(AgentError::Busy) => {
                "the agent is running; set `streamingBehavior` to `steer` or `followUp`".to_owned()
            }
            Self::Agent(AgentError::Summarizing) => {
                "a summary is being generated; `abort` or `abort_compaction` stops it".to_owned()
            }
            Self::Agent(_) | Self::Session(_) | Self::Other(_) => chain(self),
        }
    }
}

/// The data of a response; `None` for a command without any.
type HandlerResult = Result<Option<Value>, HandlerError>;

fn data(value: Value) -> HandlerResult {
    Ok(Some(value))
}

fn images(params: Vec<ImageParam>) -> Vec<Image> {
    params.into_iter().map(|image| image.0).collect()
}

impl Handler {
    pub(super) fn new(agent: AgentSession, options: RpcOptions) -> Self {
        Self { agent, options }
    }

    pub(super) async fn handle(&self, command: RpcCommand) -> ResponseOutcome {
        let command = match self.query(command).await {
            Ok(result) => return result.map(Some).map_err(|error| error.text()),
            Err(command) => command,
        };
        let result = match command {
            RpcCommand::Prompt { .. }
            | RpcCommand::Steer { .. }
            | RpcCommand::FollowUp { .. }
            | RpcCommand::SteerNow { .. } => self.message(command).await,
            RpcCommand::NewSession { .. }
            | RpcCommand::SwitchSession { .. }
            | RpcCommand::Fork { .. }
            | RpcCommand::Clone {}
            | RpcCommand::Navigate { .. } => self.switch(command).await,
            RpcCommand::SetModel { .. }
            | RpcCommand::CycleModel {}
            | RpcCommand::SetThinkingLevel { .. }
            | RpcCommand::CycleThinkingLevel {}
            | RpcCommand::SetSteeringMode { .. }
            | RpcCommand::SetFollowUpMode { .. }
            | RpcCommand::SetAutoCompaction { .. }
            | RpcCommand::SetAutoRetry { .. }
            | RpcCommand::SetApprovals { .. } => self.set(command).await,
            RpcCommand::EditQueued { .. }
            | RpcCommand::RemoveQueued { .. }
            | RpcCommand::ReleaseQueued { .. }
            | RpcCommand::ClearQueue { .. }
            | RpcCommand::SetLabel { .. }
            | RpcCommand::Hide { .. }
            | RpcCommand::SetSessionName { .. } => self.edit(command).await,
            command => self.work(command).await,
        };
        match result {
            Ok(Some(value)) => response::data(&value),
            Ok(None) => Ok(None),
            Err(error) => Err(error.text()),
        }
    }

    /// Options of the session.
    async fn set(&self, command: RpcCommand) -> HandlerResult {
        let agent = &self.agent;
        match command {
            RpcCommand::SetModel { provider, model_id } => {
                let chosen = agent.set_model(format!("{provider}/{model_id}")).await?;
                return data(self.model(&chosen).await?);
            }
            RpcCommand::SetThinkingLevel { level } => {
                return data(json!({"level": agent.set_thinking(level).await?}));
            }
            RpcCommand::CycleThinkingLevel {} => {
                let level = agent.cycle_thinking().await?;
                return data(level.map_or(Value::Null, |level| json!({"level": level})));
            }
            RpcCommand::SetSteeringMode { mode } => agent.set_steering_mode(mode.into()).await?,
            RpcCommand::SetFollowUpMode { mode } => agent.set_follow_up_mode(mode.into()).await?,
            RpcCommand::SetAutoCompaction { enabled } => {
                let automatic = if enabled { Automatic::On } else { Automatic::Off };
                agent.set_auto_compaction(automatic).await?;
            }
            RpcCommand::SetAutoRetry { enabled } => {
                agent.set_auto_retry(if enabled { RetryMode::On } else { RetryMode::Off }).await?;
            }
            RpcCommand::SetApprovals { enabled } => {
                agent.set_approver(if enabled { Approver::Present } else { Approver::Absent }).await?;
            }
            _ => return self.cycle_model().await,
        }
        Ok(None)
    }

    /// Changes of the queue and of entries.
    async fn edit(&self, command: RpcCommand) -> HandlerResult {
        let agent = &self.agent;
        match command {
            RpcCommand::EditQueued { queue_id, message, images: new, kind, place } => {
                let edit = QueueEdit { text: message, images: new.map(images), kind, place };
                return data(json!(agent.edit_queued(queue_id, edit).await?));
            }
            RpcCommand::RemoveQueued { queue_id } => {
                return data(json!(agent.remove_queued(queue_id).await?));
            }
            RpcCommand::ReleaseQueued { queue_id } => agent.release_queued(queue_id).await?,
            RpcCommand::ClearQueue { kind } => return data(views::queue(&agent.clear_queue(kind).await?)),
            RpcCommand::SetLabel { entry_id, label } => {
                agent.label(entry_id, label.filter(|label| !label.is_empty())).await?;
            }
            RpcCommand::Hide { entry_id, hidden } => {
                let visibility = if hidden.unwrap_or(true) { Visibility::Hidden } else { Visibility::Shown };
                agent.hide(entry_id, visibility).await?;
            }
            RpcCommand::SetSessionName { name } => agent.rename(name.0.trim().to_owned()).await?,
            _ => {}
        }
        Ok(None)
    }

    /// Everything else: work that is started or stopped.
    async fn work(&self, command: RpcCommand) -> HandlerResult {
        let agent = &self.agent;
        match command {
            RpcCommand::ExportHtml { output_path } => return self.export(output_path).await,
            RpcCommand::Abort {} => {
                return data(json!({"queue": views::queue(&agent.abort().await?)}));
            }
            RpcCommand::AbortRetry {} => agent.abort_retry().await?,
            RpcCommand::AbortBash {} => agent.abort_bash().await?,
            RpcCommand::Bash { command, exclude_from_context } => {
                let context = if exclude_from_context { BashContext::Exclude } else { BashContext::Include };
                return data(json!(agent.execute_bash(command.0, context).await?));
            }
            RpcCommand::Truncate {} => return data(json!(agent.truncate().await?)),
            RpcCommand::Compact { custom_instructions } => {
                return data(json!(agent.compact(custom_instructions).await?));
            }
            RpcCommand::AbortCompaction {} => agent.abort_compaction().await?,
            RpcCommand::ResolveCompaction { choice } => agent.resolve_compaction(choice).await?,
            RpcCommand::Approve { call_id, decision, reason } => {
                agent.decide(call_id, decision.with_reason(reason)).await?;
            }
            RpcCommand::Reload {} => {
                let found = agent.reload().await?;
                return data(json!({
                    "skills": found.skills,
                    "templates": found.templates,
                    "contextFiles": found.context_files,
                    "problems": found.problems,
                }));
            }
            // The outbox acts on `set_deltas`.
            _ => {}
        }
        Ok(None)
    }

    async fn message(&self, command: RpcCommand) -> HandlerResult {
        let behavior = |kind| match kind {
            QueueKind::Steer => StreamingBehavior::Steer,
            QueueKind::FollowUp => StreamingBehavior::FollowUp,
        };
        let (message, image_params, kind) = match command {
            RpcCommand::Prompt { message, images, streaming_behavior } => {
                (message, images, streaming_behavior)
            }
            RpcCommand::Steer { message, images } => (message, images, Some(QueueKind::Steer)),
            RpcCommand::FollowUp { message, images } => (message, images, Some(QueueKind::FollowUp)),
            RpcCommand::SteerNow { message: Some(message), images: params } => {
                let options = PromptOptions {
                    streaming_behavior: Some(StreamingBehavior::Steer),
                    images: images(params),
                    ..PromptOptions::default()
                };
                self.agent.steer_now(message, options).await?;
                return Ok(None);
            }
            _ => {
                self.agent.deliver_steering_now().await?;
                return Ok(None);
            }
        };
        let options = PromptOptions {
            streaming_behavior: kind.map(behavior),
            images: images(image_params),
            ..PromptOptions::default()
        };
        self.agent.prompt(message, options).await?;
        Ok(None)
    }

    async fn switch(&self, command: RpcCommand) -> HandlerResult {
        let agent = &self.agent;
        let switched = match command {
            RpcCommand::NewSession { parent_session: Some(parent) } => {
                agent.new_session_after(parent).await?
            }
            RpcCommand::SwitchSession { session_path } => agent.open_session(session_path).await?,
            RpcCommand::Fork { entry_id } => agent.fork(entry_id).await?,
            RpcCommand::Clone {} => agent.clone_session().await?,
            RpcCommand::Navigate { entry_id, summary, instructions } => {
                self.navigate(entry_id, summary, instructions).await?
            }
            _ => agent.new_session().await?,
        };
        data(json!({
            "cancelled": false,
            "text": switched.editor.unwrap_or_default(),
            "sessionId": switched.session,
        }))
    }

    async fn navigate(
        &self,
        entry: EntryId,
        summary: Option<SummaryParam>,
        instructions: Option<String>,
    ) -> Result<SessionSwitched, AgentError> {
        let summary = match summary {
            None | Some(SummaryParam::Generate(false)) => BranchSummary::None,
            Some(SummaryParam::Generate(true)) => BranchSummary::Made { instructions },
            Some(SummaryParam::Text(text)) => BranchSummary::Text(text),
        };
        self.agent.navigate(entry, summary).await
    }

    async fn cycle_model(&self) -> HandlerResult {
        let Some(chosen) = self.agent.cycle_model(CycleDirection::Forward).await? else {
            return data(Value::Null);
        };
        data(json!({
            "model": self.model(&chosen.model).await?,
            "thinkingLevel": chosen.thinking,
            "isScoped": chosen.scope == CycleScope::Listed,
        }))
    }

    /// Stops running work and waits for its end. Queued messages stay in the session's log, held.
    pub(super) async fn stop_work(&self) -> Result<(), AgentError> {
        let mut events = self.agent.subscribe();
        let mut interrupted = false;
        loop {
            let live = self.agent.snapshot().await?.in_progress;
            if live.running_since.is_none() && live.bash.is_none() && live.summary.is_none() {
                return Ok(());
            }
            if !std::mem::replace(&mut interrupted, true) {
                self.agent.interrupt().await?;
            }
            // Every end has an event, except that of a summary without listeners.
            let _ = timeout(CHECK_INTERVAL, events.next()).await;
        }
    }

    async fn export(&self, output: Option<String>) -> HandlerResult {
        let Some(exporter) = self.options.exporter.clone() else {
            return Err(HandlerError::Other("export is not available here".to_owned()));
        };
        // Taken before anything is awaited: the next command may open another session.
        let reader = self.agent.reader();
        let cwd = self.agent.snapshot().await?.state.cwd;
        let path =
            blocking(move || exporter.export(&reader, &cwd, output.as_deref()).map_err(HandlerError::Other));
        data(json!({"path": path.await?}))
    }
}

/// Runs work that reads or writes much on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(HandlerError::Other(error.to_string())))
}
