//! What others add to a session: hooks into its runs, commands, tools, skills and templates.
//!
//! An [`Extension`] lives in this process; [`process`] makes one of an executable that speaks JSON lines. [`Extensions`] is what
//! a session is given. A hook that fails, panics or takes too long never stops a run: it counts as no opinion, except about a
//! call of a tool, where silence of somebody who was to guard must not count as a yes.

mod argument_schema;
mod call_review;
mod event_forwarder;
mod host;
pub mod process;
mod protocol;
mod remote_tool;
mod transport;

use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tiller_core::event::{Event, EventKind};
use tiller_core::id::SessionId;
use tiller_core::message::{Message, ModelRef, ToolCall, UserBlock};
use tiller_tools::tool::{Tool, ToolOutput};

pub(super) use call_review::{CallOpinion, ReviewedCall};
pub(super) use event_forwarder::EventForwarder;
pub use host::Extensions;
pub(super) use host::{ExtensionHost, Moment};

/// Something that takes part in a session. Every method has a default that does nothing, so an extension is as small as what it
/// is for.
///
/// Hooks are called one extension after the other, in the order the session was given them.
pub trait Extension: Send + Sync + 'static {
    /// Its name, for warnings and lists.
    fn name(&self) -> &str;

    /// The first request of a run is about to be sent. What is changed holds for this one request.
    fn before_agent_start<'a>(&'a self, _opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(ready(Ok(RequestChange::default())))
    }

    /// A request is about to be sent, the first of a run included. What is changed holds for this one request, and for trying
    /// it again.
    fn turn_start<'a>(&'a self, _opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(ready(Ok(RequestChange::default())))
    }

    /// An answer and the results of its calls are complete and in the log. The run goes on meanwhile.
    fn turn_end<'a>(&'a self, _answer: &'a Message, _results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    /// The model calls a tool, with arguments that are sound. An error here, or no answer in time, has the call asked about.
    fn tool_call<'a>(&'a self, _call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(ready(Ok(CallVerdict::Allow)))
    }

    /// A call that ran has come to something, which is not in the log yet.
    fn tool_result<'a>(
        &'a self,
        _call: &'a ToolCall,
        _output: &'a ToolOutput,
    ) -> HookFuture<'a, ResultChange> {
        Box::pin(ready(Ok(ResultChange::default())))
    }

    /// Something happened. Events come in order, after the fact, and beside the run; one that is too slow for them misses some.
    fn session_event<'a>(&'a self, _event: &'a Event) -> HookFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Which events [`Extension::session_event`] gets.
    fn event_detail(&self) -> EventDetail {
        EventDetail::Whole
    }

    /// The user wants everything read anew. An extension that can't work any more gets another chance.
    fn reload(&self) -> HookFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// The session is closed and all of its events were told. Dropped when it takes longer than a second.
    fn close(&self) -> HookFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Slash commands that it answers to.
    fn commands(&self) -> Vec<ExtensionCommand> {
        Vec::new()
    }

    /// Runs one of its commands; `arguments` is the text after the name. The only limit of time is the user's patience.
    fn run_command<'a>(&'a self, name: &'a str, _arguments: &'a str) -> HookFuture<'a, CommandOutcome> {
        Box::pin(ready(Err(HookError::new(format!("it has no command {name}")))))
    }

    /// Tools that it adds. They are judged by the same policy as all others.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Folders of skills that it adds; absolute.
    fn skills(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Folders of templates that it adds; absolute.
    fn prompts(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The work of a hook.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send + 'a>>;

/// Why a hook could not do its work; the user reads it in a warning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HookError {
    /// Why, without a full stop.
    message: String,
}

impl HookError {
    /// An error with these words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// What a request is about to be made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestContext {
    /// The session.
    pub session: SessionId,
    /// Who will be asked.
    pub model: ModelRef,
    /// What the user said last, as the user said it, or as the hooks before this one changed it for this request.
    pub prompt: String,
    /// The system prompt.
    pub system: String,
    /// Names of the tools on offer, in order.
    pub tools: Vec<String>,
}

/// What an extension wants otherwise in a request; `None` leaves things as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestChange {
    /// What the model is to read instead of what the user said last. The log keeps both, and it stays so in later requests.
    pub prompt: Option<String>,
    /// Another system prompt.
    pub system: Option<String>,
    /// The tools to offer: names of the session's tools. Calls of others are refused.
    pub tools: Option<Vec<String>>,
}

/// What an extension thinks of a call. Of several opinions on one call, the policy's among them, the strictest counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CallVerdict {
    /// Nothing against it.
    #[default]
    Allow,
    /// Somebody should say yes first.
    Ask {
        /// Why, for the user.
        reason: String,
    },
    /// It must not run.
    Deny {
        /// Why, for the model.
        reason: String,
    },
    /// It should run with other arguments. They are checked and judged like the model's own.
    Rewrite {
        /// All of the arguments: an object.
        arguments: Value,
    },
}

/// What an extension wants otherwise in a result; `None` leaves things as they are.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultChange {
    /// What the model is to read.
    pub content: Option<Vec<UserBlock>>,
    /// Whether the call counts as failed.
    pub is_error: Option<bool>,
}

/// Which events an extension gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventDetail {
    /// None.
    Nothing,
    /// All but those that show something half-done: pieces of an answer, output of a running call or command.
    #[default]
    Whole,
    /// All.
    Everything,
}

impl EventDetail {
    fn takes(self, event: &EventKind) -> bool {
        let is_piece = matches!(
            event,
            EventKind::MessageUpdate { .. }
                | EventKind::ToolExecutionUpdate { .. }
                | EventKind::BashExecutionUpdate { .. }
        );
        match self {
            Self::Nothing => false,
            Self::Whole => !is_piece,
            Self::Everything => true,
        }
    }
}

/// A slash command of an extension.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionCommand {
    /// What is typed after the slash: letters, digits, `-`, `_` and `:`.
    pub name: String,
    /// What it does, in one line.
    #[serde(default)]
    pub description: String,
    /// What its arguments are, for a person: `[add|list] TEXT`.
    #[serde(default)]
    pub argument_hint: Option<String>,
}

/// What a command came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// This is said to the model in its place.
    Prompt(String),
    /// This is shown to the user, and the model isn't asked.
    Notice(String),
}
