//! Carrying commands out: each is a call of the session's handle, and an answer made of what that says.

mod ask;
mod set;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::RpcOptions;
use super::command::{Delivery, PromptCommand, QueueCommand, RpcCommand, SessionCommand};
use super::response::{self, ResponseOutcome};
use super::views;
use crate::agent::{AgentError, AgentSession, PromptOptions, StreamingBehavior};
use crate::session::chain;

/// Between two looks at whether everything has ended, if no event comes before.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Who carries commands out.
#[derive(Clone)]
pub(super) struct Handler {
    agent: AgentSession,
    options: RpcOptions,
}

/// Why something was not done.
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
    /// What the client is told.
    fn text(&self) -> String {
        match self {
            Self::Agent(AgentError::Running) => {
                "the agent is at work, and this needs it to be at rest; `abort` stops it".to_owned()
            }
            Self::Agent(AgentError::Busy) => {
                "the agent is at work; `streamingBehavior` says whether this steers it or follows up"
                    .to_owned()
            }
            Self::Agent(AgentError::Summarizing) => {
                "a summary is being made; `abort` or `abort_compaction` stops it".to_owned()
            }
            Self::Agent(_) | Self::Session(_) | Self::Other(_) => chain(self),
        }
    }
}

/// What a command came to, before it is a line.
type HandlerResult = Result<Option<Value>, HandlerError>;

fn told(value: Value) -> HandlerResult {
    Ok(Some(value))
}

impl Handler {
    pub(super) fn new(agent: AgentSession, options: RpcOptions) -> Self {
        Self { agent, options }
    }

    pub(super) async fn perform(&self, command: RpcCommand) -> ResponseOutcome {
        match command {
            RpcCommand::Ask(ask) => self.ask(ask).await.map(Some).map_err(|refusal| refusal.text()),
            command => match self.act(command).await {
                Ok(Some(value)) => response::data(&value),
                Ok(None) => Ok(None),
                Err(refusal) => Err(refusal.text()),
            },
        }
    }

    async fn act(&self, command: RpcCommand) -> HandlerResult {
        let agent = &self.agent;
        match command {
            RpcCommand::Say(say) => self.say(say).await?,
            RpcCommand::Hurry => agent.deliver_steering_now().await?,
            RpcCommand::Ask(_) => {}
            RpcCommand::Set(set) => return self.set(set).await,
            RpcCommand::Queue(command) => return self.queue(command).await,
            RpcCommand::Session(command) => return self.session(command).await,
            RpcCommand::Abort => {
                let items = agent.abort().await?;
                return told(json!({"queue": views::queue(&items)}));
            }
            RpcCommand::AbortRetry => agent.abort_retry().await?,
            RpcCommand::AbortBash => agent.abort_bash().await?,
            RpcCommand::Bash { line, context } => {
                let record = agent.execute_bash(line, context).await?;
                return told(json!(record));
            }
            RpcCommand::Truncate => return told(json!(agent.truncate().await?)),
            RpcCommand::Compact { instructions } => return told(json!(agent.compact(instructions).await?)),
            RpcCommand::AbortCompaction => agent.abort_compaction().await?,
            RpcCommand::ResolveCompaction(choice) => agent.resolve_compaction(choice).await?,
            RpcCommand::Approve { call, decision } => agent.decide(call, decision).await?,
            RpcCommand::Reload => {
                let found = agent.reload().await?;
                return told(json!({
                    "skills": found.skills,
                    "templates": found.templates,
                    "contextFiles": found.context_files,
                    "problems": found.problems,
                }));
            }
        }
        Ok(None)
    }

    async fn say(&self, PromptCommand { text, images, how }: PromptCommand) -> Result<(), AgentError> {
        let streaming_behavior = match how {
            Delivery::Prompt(behavior) => behavior,
            Delivery::Steer | Delivery::SteerNow => Some(StreamingBehavior::Steer),
            Delivery::FollowUp => Some(StreamingBehavior::FollowUp),
        };
        let options = PromptOptions { streaming_behavior, images, ..PromptOptions::default() };
        match how {
            Delivery::SteerNow => self.agent.steer_now(text, options).await,
            Delivery::Prompt(_) | Delivery::Steer | Delivery::FollowUp => {
                self.agent.prompt(text, options).await
            }
        }
    }

    async fn queue(&self, command: QueueCommand) -> HandlerResult {
        let agent = &self.agent;
        match command {
            QueueCommand::List => told(views::queue(&agent.snapshot().await?.live.queue)),
            QueueCommand::Edit { id, edit } => told(json!(agent.edit_queued(id, edit).await?)),
            QueueCommand::Remove(id) => told(json!(agent.remove_queued(id).await?)),
            QueueCommand::Release(id) => {
                agent.release_queued(id).await?;
                Ok(None)
            }
            QueueCommand::Clear(kind) => told(views::queue(&agent.clear_queue(kind).await?)),
        }
    }

    async fn session(&self, command: SessionCommand) -> HandlerResult {
        let agent = &self.agent;
        let moved = match command {
            SessionCommand::New { parent: None } => agent.new_session().await?,
            SessionCommand::New { parent: Some(parent) } => agent.new_session_after(parent).await?,
            SessionCommand::Switch(path) => agent.open_session(path).await?,
            SessionCommand::Fork(entry) => agent.fork(entry).await?,
            SessionCommand::Clone => agent.clone_session().await?,
            SessionCommand::Navigate { entry, summary } => agent.navigate(entry, summary).await?,
            SessionCommand::Label { entry, label } => {
                agent.label(entry, label).await?;
                return Ok(None);
            }
            SessionCommand::Hide { entry, visibility } => {
                agent.hide(entry, visibility).await?;
                return Ok(None);
            }
            SessionCommand::Name(name) => {
                agent.rename(name).await?;
                return Ok(None);
            }
            SessionCommand::ExportHtml { output } => return self.export(output).await,
        };
        told(
            json!({"cancelled": false, "text": moved.editor.unwrap_or_default(), "sessionId": moved.session}),
        )
    }

    /// Stops what runs, and waits until that is over; messages that waited stay in the session's log, held.
    pub(super) async fn come_to_rest(&self) -> Result<(), AgentError> {
        let mut events = self.agent.subscribe();
        let mut is_told = false;
        loop {
            let live = self.agent.snapshot().await?.live;
            if live.running_since.is_none() && live.bash.is_none() && live.summary.is_none() {
                return Ok(());
            }
            if !std::mem::replace(&mut is_told, true) {
                self.agent.interrupt().await?;
            }
            // Each end is told by an event; a summary that nobody was told of has none.
            let _ = timeout(LOOK_AGAIN, events.next()).await;
        }
    }

    async fn export(&self, output: Option<String>) -> HandlerResult {
        let Some(exporter) = self.options.exporter.clone() else {
            return Err(HandlerError::Other("there is nothing here to export with".to_owned()));
        };
        // Before anything is waited for: a command that comes next may open another session.
        let reader = self.agent.reader();
        let cwd = self.agent.snapshot().await?.state.cwd;
        let path =
            beside(move || exporter.export(&reader, &cwd, output.as_deref()).map_err(HandlerError::Other));
        told(json!({"path": path.await?}))
    }
}

/// Does what reads or writes much where it holds up nobody.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(HandlerError::Other(error.to_string())))
}
