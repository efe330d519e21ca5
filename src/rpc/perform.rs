//! Carrying commands out: each is a call of the session's handle, and an answer made of what that says.

mod ask;
mod set;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::RpcOptions;
use super::answer::{self, Outcome};
use super::command::{Command, How, QueueCommand, Say, SessionCommand};
use super::data;
use crate::agent::{AgentError, AgentSession, PromptOptions, StreamingBehavior};
use crate::session::chain;

/// Between two looks at whether everything has ended, if no event comes before.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Who carries commands out.
#[derive(Clone)]
pub(super) struct Performer {
    agent: AgentSession,
    options: RpcOptions,
}

/// Why something was not done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
    #[error("{0}")]
    Other(String),
}

impl Refusal {
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
type Done = Result<Option<Value>, Refusal>;

fn told(value: Value) -> Done {
    Ok(Some(value))
}

impl Performer {
    pub(super) fn new(agent: AgentSession, options: RpcOptions) -> Self {
        Self { agent, options }
    }

    pub(super) async fn perform(&self, command: Command) -> Outcome {
        match command {
            Command::Ask(ask) => self.ask(ask).await.map(Some).map_err(|refusal| refusal.text()),
            command => match self.act(command).await {
                Ok(Some(value)) => answer::data(&value),
                Ok(None) => Ok(None),
                Err(refusal) => Err(refusal.text()),
            },
        }
    }

    async fn act(&self, command: Command) -> Done {
        let agent = &self.agent;
        match command {
            Command::Say(say) => self.say(say).await?,
            Command::Hurry => agent.deliver_steering_now().await?,
            Command::Ask(_) => {}
            Command::Set(set) => return self.set(set).await,
            Command::Queue(command) => return self.queue(command).await,
            Command::Session(command) => return self.session(command).await,
            Command::Abort => {
                let items = agent.abort().await?;
                return told(json!({"queue": data::queue(&items)}));
            }
            Command::AbortRetry => agent.abort_retry().await?,
            Command::AbortBash => agent.abort_bash().await?,
            Command::Bash { line, context } => {
                let record = agent.execute_bash(line, context).await?;
                return told(json!(record));
            }
            Command::Truncate => return told(json!(agent.truncate().await?)),
            Command::Compact { instructions } => return told(json!(agent.compact(instructions).await?)),
            Command::AbortCompaction => agent.abort_compaction().await?,
            Command::ResolveCompaction(choice) => agent.resolve_compaction(choice).await?,
            Command::Approve { call, decision } => agent.decide(call, decision).await?,
            Command::Reload => {
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

    async fn say(&self, Say { text, images, how }: Say) -> Result<(), AgentError> {
        let streaming_behavior = match how {
            How::Prompt(behavior) => behavior,
            How::Steer | How::SteerNow => Some(StreamingBehavior::Steer),
            How::FollowUp => Some(StreamingBehavior::FollowUp),
        };
        let options = PromptOptions { streaming_behavior, images, ..PromptOptions::default() };
        match how {
            How::SteerNow => self.agent.steer_now(text, options).await,
            How::Prompt(_) | How::Steer | How::FollowUp => self.agent.prompt(text, options).await,
        }
    }

    async fn queue(&self, command: QueueCommand) -> Done {
        let agent = &self.agent;
        match command {
            QueueCommand::List => told(data::queue(&agent.snapshot().await?.live.queue)),
            QueueCommand::Edit { id, edit } => told(json!(agent.edit_queued(id, edit).await?)),
            QueueCommand::Remove(id) => told(json!(agent.remove_queued(id).await?)),
            QueueCommand::Release(id) => {
                agent.release_queued(id).await?;
                Ok(None)
            }
            QueueCommand::Clear(kind) => told(data::queue(&agent.clear_queue(kind).await?)),
        }
    }

    async fn session(&self, command: SessionCommand) -> Done {
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

    async fn export(&self, output: Option<String>) -> Done {
        let Some(exporter) = self.options.exporter.clone() else {
            return Err(Refusal::Other("there is nothing here to export with".to_owned()));
        };
        // Before anything is waited for: a command that comes next may open another session.
        let reader = self.agent.reader();
        let cwd = self.agent.snapshot().await?.state.cwd;
        let path = beside(move || exporter.export(&reader, &cwd, output.as_deref()).map_err(Refusal::Other));
        told(json!({"path": path.await?}))
    }
}

/// Does what reads or writes much where it holds up nobody.
async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(Refusal::Other(error.to_string())))
}
