//! Why a command could not be carried out.

use tiller_core::unit::Tokens;
use tiller_provider::ModelError;
use tiller_session::SessionError;

use crate::compaction::CompactionError;

/// Why a command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// A prompt came while the agent was at work, without saying what should become of it.
    #[error("the agent is at work; say whether this steers it or follows up")]
    Busy,
    /// As many messages wait as may.
    #[error("{0} messages are waiting; send more when some are delivered, or clear the queue")]
    QueueFull(usize),
    /// The command needs the agent to be idle.
    #[error("the agent is at work, and this needs it to be at rest")]
    Running,
    /// A command of the user's own is running already.
    #[error("a command is running already; abort it first, or wait for its end")]
    BashRunning,
    /// There is nothing in the session yet.
    #[error("there is nothing in this session yet")]
    Empty,
    /// There is no model to ask.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A message alone is longer than the model's window, by estimate; nothing was sent.
    #[error(
        "the message has about {tokens} tokens, more than {model} reads at once ({window}); put it into a file and \
         name the file: the model reads it in parts"
    )]
    TooLong {
        /// The size of the message.
        tokens: Tokens,
        /// The model's id.
        model: String,
        /// Its window.
        window: Tokens,
    },
    /// The log, or a file of the session's, could not be written; the run stopped.
    #[error("{0}")]
    Store(String),
    /// The log said no.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A prompt begins with `/skill:` and the name of none.
    #[error("there is no skill `{name}`{}", meant(nearest.as_deref()))]
    UnknownSkill {
        /// The name.
        name: String,
        /// The one that may be meant.
        nearest: Option<String>,
    },
    /// The session is the one at hand.
    #[error("this session is open here; go to another one first")]
    InUse,
    /// Nothing like that waits.
    #[error("no {0} waits any more")]
    Gone(&'static str),
    /// A folder can't be added.
    #[error("{path}: {why}")]
    Folder {
        /// The folder, as typed.
        path: String,
        /// Why.
        why: String,
    },
    /// An extension's command failed.
    #[error("{0}")]
    Extension(String),
    /// The context stays as it is, or the branch was not left.
    #[error(transparent)]
    Compaction(#[from] CompactionError),
    /// A summary is being made.
    #[error("a summary is being made, and this needs it to be over")]
    Summarizing,
    /// The session is closed.
    #[error("the session is closed")]
    Closed,
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default()
}
