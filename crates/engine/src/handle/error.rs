//! Errors of the handle's commands.

use tiller_core::unit::Tokens;
use tiller_provider::ModelError;
use tiller_session::SessionError;
use tiller_tools::policy::ApprovalMode;

use crate::compaction::CompactionError;

/// The reason a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The prompt arrived during a run and has no `streaming_behavior`.
    #[error("the agent is running; send the message as a steering or follow-up message")]
    Busy,
    /// The queue is full.
    #[error("the queue is full ({0} messages); wait until some are delivered, or clear it")]
    QueueFull(usize),
    /// The command needs an idle agent.
    #[error("can't do that while the agent is running")]
    Running,
    /// The command can't run while agents are working for the session.
    #[error("can't do that while agents are working for this session; stop them first")]
    AgentsAtWork,
    /// A user's shell command is running.
    #[error("a command is already running; wait for it, or abort it")]
    BashRunning,
    /// The session has no entries, or none before the given one; from
    /// [`settled`](super::AgentSession::settled): nothing has run yet through this handle.
    #[error("the session is empty")]
    Empty,
    /// No model is available.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The message by itself is estimated to exceed the context window; nothing was sent.
    #[error(
        "the message has about {tokens} tokens, more than the context window of {model} ({window}); put it in a file \
         and mention the file: the model reads it in parts"
    )]
    TooLong {
        /// Estimated size of the message.
        tokens: Tokens,
        /// The model's id.
        model: String,
        /// The model's window.
        window: Tokens,
    },
    /// The log, or a file of the session, could not be written; the run stopped.
    #[error("{0}")]
    Store(String),
    /// The session manager's error.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A prompt names an unknown skill.
    #[error("unknown skill `{name}`{}", suggestion(nearest.as_deref()))]
    UnknownSkill {
        /// The name as typed.
        name: String,
        /// The skill with the most similar name.
        nearest: Option<String>,
    },
    /// The session is the active one.
    #[error("this session is open; switch to another one first")]
    SessionOpen,
    /// An agent's approval mode would be more permissive than that of the session that started it.
    #[error("an agent can't have a more permissive approval mode than the session that started it (`{}`)", .0.name())]
    LooserThanSession(ApprovalMode),
    /// There is no such item.
    #[error("there is no {0}")]
    NotFound(&'static str),
    /// The answer to a server's question doesn't fit its form.
    #[error("{0}")]
    InvalidAnswer(String),
    /// A directory can't be added.
    #[error("{path}: {reason}")]
    Directory {
        /// The directory, as typed.
        path: String,
        /// The reason.
        reason: String,
    },
    /// Settings rules can't be read or changed.
    #[error("{message}{}", hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default())]
    Rules {
        /// The reason.
        message: String,
        /// The next step, if one is needed.
        hint: Option<String>,
    },
    /// An extension's command failed.
    #[error("{0}")]
    Extension(String),
    /// An extension rejected the prompt, which was not sent.
    #[error("not sent: {0}")]
    PromptRejected(String),
    /// The compaction or branch summary failed.
    #[error(transparent)]
    Compaction(#[from] CompactionError),
    /// A summary is in progress.
    #[error("can't do that while a summary is being generated; wait for it, or abort it")]
    Summarizing,
    /// The process that has the session open refused the command.
    #[error("{message}")]
    Remote {
        /// The reason.
        message: String,
        /// The next step, if one is needed.
        hint: Option<String>,
    },
    /// The command isn't available in a session that another process has open.
    #[error("can't do that while attached: another tiller process has this session open")]
    OpenElsewhere,
    /// The connection to the process that has the session open is lost; it is being restored.
    #[error("not connected to the session; reconnecting")]
    Disconnected,
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

impl AgentError {
    /// Returns the next step for the user, if one is known.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Session(error) => error.hint()?,
            Self::Remote { hint, .. } => return hint.clone(),
            Self::Model(_) => "/model lists the available models",
            Self::UnknownSkill { .. } => "/help lists the skills",
            Self::Running | Self::Summarizing => "stop it first, or wait until it ends",
            Self::AgentsAtWork => "/agents lists them, and /race shows a race",
            Self::LooserThanSession(_) => "change the mode of the session that delegates",
            Self::OpenElsewhere => {
                "do this in the tiller process that has it open, or in one started without --attach"
            }
            Self::TooLong { .. }
            | Self::Busy
            | Self::QueueFull(_)
            | Self::BashRunning
            | Self::Empty
            | Self::Store(_)
            | Self::Extension(_)
            | Self::Directory { .. }
            | Self::Rules { .. }
            | Self::NotFound(_)
            | Self::InvalidAnswer(_)
            | Self::SessionOpen
            | Self::Compaction(_)
            | Self::PromptRejected(_)
            | Self::Disconnected
            | Self::Closed => return None,
        };
        Some(hint.to_owned())
    }
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
}
