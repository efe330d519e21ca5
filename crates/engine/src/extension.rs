//! Extensions of a session: hooks into its runs, commands, tools, skills and templates.
//!
//! An [`Extension`] runs in this process. [`process`] creates one from an executable that speaks JSON lines,
//! and [`command_hook`] one from the commands in settings files. A session takes a set of them as
//! [`Extensions`].
//!
//! A hook that fails, panics or times out never stops a run: it counts as having no opinion. The exception is
//! the review of a tool call, where a failing guard must not count as consent.

mod call_review;
pub mod command_hook;
mod event_forwarder;
mod host;
pub mod process;
mod protocol;
mod remote_tool;
mod session_hooks;
mod shared_process;
mod transport;

use std::future::ready;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tiller_core::event::{Event, EventKind};
use tiller_core::id::SessionId;
use tiller_core::message::{Message, ModelRef, ToolCall, UserBlock};
use tiller_tools::tool::{Tool, ToolOutput};

pub(super) use call_review::{CallOpinion, ReviewedCall};
pub(super) use event_forwarder::EventForwarder;
pub use host::Extensions;
pub(super) use host::{ExtensionHost, RequestPosition};

/// A participant in a session. Every method has a default that does nothing, so an extension implements only the
/// methods it needs.
///
/// Hooks run one extension after the other, in the order in which the extensions were added to the session.
pub trait Extension: Send + Sync + 'static {
    /// Returns the extension's name, for warnings and lists.
    fn name(&self) -> &str;

    /// Returns the extension's name in messages.
    fn label(&self) -> String {
        format!("extension {}", self.name())
    }

    /// Returns the time limit of the extension's hooks, if it differs from the session's limit.
    fn hook_timeout(&self) -> Option<Duration> {
        None
    }

    /// Runs after a session is opened; the first prompt waits for it. Returns text that is added to that
    /// prompt.
    fn session_start<'a>(&'a self, _opening: &'a SessionOpening) -> HookFuture<'a, Option<String>> {
        Box::pin(ready(Ok(None)))
    }

    /// Reviews a user's prompt before it is queued or sent.
    fn prompt_submit<'a>(&'a self, _prompt: &'a str) -> HookFuture<'a, PromptVerdict> {
        Box::pin(ready(Ok(PromptVerdict::default())))
    }

    /// Runs before the first request of a run. Changes apply to this request only.
    fn before_agent_start<'a>(&'a self, _opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(ready(Ok(RequestChange::default())))
    }

    /// Runs before each request, including the first of a run. Changes apply to this request and its retries
    /// only.
    fn turn_start<'a>(&'a self, _opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(ready(Ok(RequestChange::default())))
    }

    /// Runs when an answer and the results of its calls are complete and in the log. The run doesn't wait for
    /// it.
    fn turn_end<'a>(&'a self, _answer: &'a Message, _results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Reviews a tool call with valid arguments. After an error or a timeout the call needs approval.
    fn tool_call<'a>(&'a self, _call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(ready(Ok(CallVerdict::Allow)))
    }

    /// Runs when a call has its result, before the result is logged.
    fn tool_result<'a>(
        &'a self,
        _call: &'a ToolCall,
        _output: &'a ToolOutput,
    ) -> HookFuture<'a, ResultChange> {
        Box::pin(ready(Ok(ResultChange::default())))
    }

    /// Runs when a run is about to end; the verdict may continue it.
    fn run_end(&self, _end: RunEnd) -> HookFuture<'_, RunEndVerdict> {
        Box::pin(ready(Ok(RunEndVerdict::default())))
    }

    /// Receives an event. Events arrive in order and don't delay the run; an extension that is too slow
    /// misses some.
    fn session_event<'a>(&'a self, _event: &'a Event) -> HookFuture<'a, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Returns the set of events that [`Extension::session_event`] receives.
    fn event_detail(&self) -> EventDetail {
        EventDetail::Whole
    }

    /// Reloads the extension on the user's request. An extension that has stopped may restart.
    fn reload(&self) -> HookFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Shuts down after the session is closed and all its events are delivered. The future is dropped after a
    /// second.
    fn close(&self) -> HookFuture<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    /// Returns the extension's slash commands.
    fn commands(&self) -> Vec<ExtensionCommand> {
        Vec::new()
    }

    /// Runs a command of the extension; `arguments` is the text after the name. There is no timeout; the user
    /// can abort the command.
    fn run_command<'a>(&'a self, name: &'a str, _arguments: &'a str) -> HookFuture<'a, CommandOutcome> {
        Box::pin(ready(Err(HookError::new(format!("unknown command {name}")))))
    }

    /// Returns the extension's tools. The session's policy applies to them, too.
    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        Vec::new()
    }

    /// Returns the absolute paths of the extension's skill directories.
    fn skills(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Returns the absolute paths of the extension's template directories.
    fn prompts(&self) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// The future that a hook returns.
pub type HookFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, HookError>> + Send + 'a>>;

/// The error of a hook, shown to the user as a warning.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct HookError {
    /// The message, without a trailing period.
    message: String,
    /// True if the user has already seen a warning.
    is_shown: bool,
}

impl HookError {
    /// Creates an error with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_shown: false }
    }

    /// Creates an error about which the extension has shown a warning itself.
    fn shown(message: String) -> Self {
        Self { message, is_shown: true }
    }
}

/// An opened session, as extensions get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionOpening {
    /// Id of the session.
    pub session: SessionId,
    /// The session's log, which may not exist yet; `None` if it is only in memory.
    pub log: Option<PathBuf>,
    /// The session's origin.
    pub source: SessionSource,
}

/// The origin of an opened session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSource {
    /// A new session, created when tiller started.
    Startup,
    /// An existing session.
    Resume,
    /// A new session that follows another one in the same process.
    Clear,
    /// A session that was just compacted.
    Compact,
}

impl SessionSource {
    /// Returns the name in the hooks of processes and commands.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
            Self::Compact => "compact",
        }
    }
}

/// An extension's verdict on a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptVerdict {
    /// The prompt may be sent.
    Accept {
        /// Text for the model, after the prompt.
        context: Option<String>,
    },
    /// The prompt must not be sent.
    Reject {
        /// The reason for the user.
        reason: String,
    },
}

impl Default for PromptVerdict {
    fn default() -> Self {
        Self::Accept { context: None }
    }
}

/// A run that is about to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// True if the run was already continued because of [`RunEndVerdict::Continue`]. It isn't continued
    /// again.
    pub is_continued: bool,
}

/// An extension's verdict on the end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunEndVerdict {
    /// The run may end.
    #[default]
    Finish,
    /// The run continues.
    Continue {
        /// The instruction for the model.
        instruction: String,
    },
}

/// Content of a request that is about to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestContext {
    /// Id of the session.
    pub session: SessionId,
    /// The model that gets the request.
    pub model: ModelRef,
    /// The user's newest message as typed, or as changed by earlier hooks for this request.
    pub prompt: String,
    /// The system prompt.
    pub system: String,
    /// Names of the offered tools, in order.
    pub tools: Vec<String>,
}

/// Changes to a request; `None` keeps the current value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestChange {
    /// Replacement for the user's newest message. The log records both, and later requests use the
    /// replacement too.
    pub prompt: Option<String>,
    /// Replacement for the system prompt.
    pub system: Option<String>,
    /// Names of the session's tools to offer. Calls of other tools are refused.
    pub tools: Option<Vec<String>>,
}

/// An extension's verdict on a call. Of all verdicts on a call, including the policy's, the strictest
/// applies.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum CallVerdict {
    /// No objection.
    #[default]
    Allow,
    /// The call needs approval.
    Ask {
        /// The reason for the user.
        reason: String,
    },
    /// The call must not run.
    Deny {
        /// The reason for the model.
        reason: String,
    },
    /// The call should run with other arguments. They are validated and checked against the policy like the model's own
    /// arguments.
    Rewrite {
        /// The complete arguments: an object.
        arguments: Value,
        /// The reason the changed call needs approval; `None` if it doesn't need approval.
        approval: Option<String>,
    },
}

/// Changes to a result; `None` keeps the current value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultChange {
    /// Replacement for the content.
    pub content: Option<Vec<UserBlock>>,
    /// New error flag for the call.
    pub is_error: Option<bool>,
}

/// The set of events that an extension receives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EventDetail {
    /// No events.
    Nothing,
    /// All events except partial ones, such as pieces of an answer, or output of a running call or command.
    #[default]
    Whole,
    /// All events.
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

/// An extension's slash command.
#[derive(Clone, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionCommand {
    /// The name after the slash: letters, digits, `-`, `_` and `:`.
    pub name: String,
    /// One-line description.
    #[serde(default)]
    pub description: String,
    /// Description of its arguments for the user: `[add
    /// list] TEXT`.
    #[serde(default)]
    pub argument_hint: Option<String>,
}

/// Result of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandOutcome {
    /// A prompt that is sent to the model in place of the command.
    Prompt(String),
    /// A message for the user; no request is sent.
    Notice(String),
}
