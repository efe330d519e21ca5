//! The model's tools: the [`Tool`] trait and the built-in tools.
//!
//! A tool takes valid arguments and returns a [`ToolOutput`]. A failure that the model can act on (a missing file, an
//! exit code) is an output with `is_error`, never a Rust error. The [policy](crate::policy) decides whether a call may
//! run.
//!
//! `registry` lists the built-in tools, one file each; no other code matches on their names. `typed_tool`
//! derives a tool's schema and validation from its argument struct. [`ToolOutput::details`] holds, per tool:
//!
//! - `edit_file`, `write_file`: `{diff, path, added, removed, seen: {path, sha256}}`
//! - `read_file`: `{lines}` or `{mimeType, bytes}`, with `{seen: {path, sha256}}`
//! - `bash`: `{exitCode, timedOut, fullOutputPath?, strokes?}`; `strokes` has the output's style spans
//! - background jobs: `{jobId, exitCode?, fullOutputPath?, strokes?}`
//! - `grep`: `{matches, files}`
//! - `list_files`, `find_files`: `{files}`

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tiller_core::ansi::StyledText;
use tiller_core::event::Preview;
use tiller_core::id::CallId;
use tiller_core::message::UserBlock;
use tiller_core::tool_spec::ToolSpec;
use tokio::sync::watch;

use crate::process::NetworkAccess;

mod argument_schema;
mod atomic_write;
mod bash;
mod blocking;
mod command_run;
mod diagnostic;
mod diff;
mod edit_file;
mod environment;
mod find_files;
mod git;
mod github;
mod grep;
mod http_client;
mod image;
mod job;
mod job_table;
mod limited_output;
mod list_files;
mod listing;
mod notice;
mod output_capture;
mod output_reader;
mod pattern;
mod read_file;
mod registry;
mod repair;
mod sandboxed_run;
mod schema;
mod seen_files;
mod servers;
mod truncation;
mod typed_tool;
mod update_plan;
mod web_fetch;
mod write_file;

pub use argument_schema::ArgumentSchema;
pub use diagnostic::{ArgumentDiagnostic, DiagnosticKind, describe_malformed};
pub use environment::{BashTimes, ToolEnvironment};
pub use git::{
    LeftoverWorktree, Worktree, WorktreeChanges, WorktreeError, find_leftover_worktrees,
    remove_leftover_worktree,
};
pub use github::{GITHUB_API, GithubRepository, GithubToken};
pub use http_client::{ensure_crypto, with_causes};
pub use job_table::{JobChange, JobEndNote, JobTable};
pub use limited_output::{OutputOptions, limit_output};
pub use output_capture::{CapturedOutput, OutputCapture, PREVIEW_INTERVAL, last_screen, store_text};
pub use registry::{ToolSource, Tools, UnknownTool, built_in_tools};
pub use repair::repair;
pub use sandboxed_run::ProgramReview;
pub use seen_files::{SeenFiles, SeenHashes};
pub use servers::{
    ConnectedServers, PromptFuture, ServedPrompt, ServedResource, ServedTool, ServedToolSummary,
    ServerQuestion, ToolServerState, ToolServerStatus, ToolServers, ToolServersEvent,
};
pub use truncation::{OutputLimits, TruncatedText, TruncationExtent};
pub use typed_tool::{TypedTool, TypedToolAdapter};

/// A function that the model may call. Built-in tools, extensions' tools and an embedder's own tools
/// implement it.
///
/// A [`TypedTool`] declares its arguments as a struct, which defines its schema and checks.
///
/// # Examples
/// ```
/// use std::sync::Arc;
///
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tiller_core::tool_spec::{Access, ToolTraits};
/// use tiller_tools::tool::{ToolOutput, ToolProgress, Tools, TypedTool, TypedToolAdapter};
///
/// struct CountWords;
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Arguments {
///     /// The text to count in.
///     text: String,
/// }
///
/// impl TypedTool for CountWords {
///     type Arguments = Arguments;
///     const NAME: &'static str = "count_words";
///     const TRAITS: ToolTraits = ToolTraits::new(Access::Reads);
///
///     fn description(&self) -> String {
///         "Counts the words in a string.".to_owned()
///     }
///
///     async fn run(&self, Arguments { text }: Arguments, _progress: ToolProgress) -> ToolOutput {
///         ToolOutput::text(text.split_whitespace().count().to_string())
///     }
/// }
///
/// let tools = Tools::default().with(Arc::new(TypedToolAdapter::new(CountWords)));
/// assert!(tools.find("count_words").is_some());
/// ```
pub trait Tool: Send + Sync {
    /// Returns the tool's declaration.
    fn spec(&self) -> &ToolSpec;

    /// Checks arguments without acting on them.
    ///
    /// # Errors
    /// A sentence for the model that names the argument and the expected value.
    fn check(&self, arguments: &Value) -> Result<(), String>;

    /// Prepares for a call while the model is still streaming its arguments, so that it starts sooner. Called
    /// within a tokio runtime; must return immediately. The call may never come.
    fn prepare(&self) {}

    /// Runs the call. Dropping the future stops the call and all its processes; its partial result then
    /// comes from [`ToolProgress::on_cancel`], or else is the last text shown.
    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_>;

    /// Previews a call with arguments that passed [`Tool::check`], for the approval request, without side
    /// effects. The default is `None`, in which case the arguments are shown.
    fn preview(&self, _arguments: &Value) -> Option<PreviewFuture<'_>> {
        None
    }
}

/// A future that resolves to a preview.
pub type PreviewFuture<'a> = Pin<Box<dyn Future<Output = Preview> + Send + 'a>>;

/// A future that resolves to the result of a call.
pub type RunFuture<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// A tool call.
#[derive(Clone)]
pub struct ToolInvocation {
    /// Arguments that passed [`Tool::check`].
    pub arguments: Value,
    /// The sink for intermediate output.
    pub progress: ToolProgress,
}

/// The connection of a running tool to its caller. It carries intermediate output, which is shown while the
/// tool runs and kept as the result if it is stopped, and the caller's requests.
#[derive(Clone)]
pub struct ToolProgress {
    show: Arc<dyn Fn(StyledText) + Send + Sync>,
    requests: watch::Sender<CallRequests>,
    call: Option<CallId>,
    network: NetworkAccess,
    /// A mutex, because the result is requested on another thread when the tool is stopped; it is held only briefly.
    partial_result: Arc<Mutex<Option<Box<PartialResult>>>>,
}

/// A function that returns the output so far.
type PartialResult = dyn Fn() -> ToolOutput + Send;

impl ToolProgress {
    /// Creates a progress sink that passes each string to `show`.
    pub fn new(show: impl Fn(StyledText) + Send + Sync + 'static) -> Self {
        let requests = watch::Sender::default();
        let network = NetworkAccess::Denied;
        Self { show: Arc::new(show), requests, call: None, network, partial_result: Arc::default() }
    }

    /// Sets the id of the call.
    #[must_use]
    pub fn of_call(self, call: CallId) -> Self {
        Self { call: Some(call), ..self }
    }

    /// Sets the network access that a rule grants: TCP for a command, or the user's local network for a page.
    #[must_use]
    pub fn with_network(self, network: NetworkAccess) -> Self {
        Self { network, ..self }
    }

    /// Returns the network access that a rule grants.
    #[must_use]
    pub const fn network(&self) -> NetworkAccess {
        self.network
    }

    /// Returns the id of the call, if a model made it.
    #[must_use]
    pub fn call(&self) -> Option<&CallId> {
        self.call.as_ref()
    }

    /// Shows the newest part of the output. Each call replaces the previous text, so some may be dropped; call it a
    /// few times per second at most.
    pub fn show(&self, text: String) {
        self.show_styled(StyledText { text, style_runs: Vec::new() });
    }

    /// Shows the newest part of a command's output, with its colors.
    pub fn show_styled(&self, styled: StyledText) {
        (self.show)(styled);
    }

    /// Sets the function that returns the output so far if the tool is stopped. It is called once, at that
    /// moment, and must be fast.
    pub fn on_cancel(&self, partial_result: impl Fn() -> ToolOutput + Send + 'static) {
        *self.partial_result.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(partial_result));
    }

    /// Returns the output so far, if the tool has set [`ToolProgress::on_cancel`].
    pub fn partial_result(&self) -> Option<ToolOutput> {
        let partial_result = self.partial_result.lock().unwrap_or_else(PoisonError::into_inner);
        partial_result.as_ref().map(|current| current())
    }

    /// Requests that the call return and its command continue as a background job. Only tools that
    /// [declare](tiller_core::tool_spec::ToolTraits::has_jobs) support for jobs do so.
    pub fn move_to_background(&self) {
        self.requests.send_modify(|requests| requests.background = true);
    }

    /// Requests that the call stop waiting, because a user's message is about to be delivered.
    pub fn end_wait(&self) {
        self.requests.send_modify(|requests| requests.end_wait = true);
    }

    /// Waits for [`ToolProgress::move_to_background`].
    pub async fn background_requested(&self) {
        // This handle holds the sender.
        let _ = self.requests.subscribe().wait_for(|requests| requests.background).await;
    }

    /// Waits for [`ToolProgress::end_wait`].
    pub async fn end_wait_requested(&self) {
        let _ = self.requests.subscribe().wait_for(|requests| requests.end_wait).await;
    }
}

/// The caller's requests to a running tool.
#[derive(Clone, Copy, Debug, Default)]
struct CallRequests {
    background: bool,
    end_wait: bool,
}

/// A call's result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// The content for the model, within the output limits.
    pub content: Vec<UserBlock>,
    /// Data only for people and programs: `{"diff": …}`, `{"exitCode": …}`.
    pub details: Option<Value>,
    /// True if the call failed.
    pub is_error: bool,
    /// A warning for the user that the model can't act on, for example that the output was truncated.
    pub warning: Option<String>,
}

impl ToolOutput {
    /// Creates a successful result from text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![UserBlock::Text { text: text.into() }], ..Self::default() }
    }

    /// Creates a failed result with a message for the model.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Adds a notice for the model to the first text.
    pub fn push_notice(&mut self, notice: &str) {
        let mut texts = self.content.iter_mut();
        let text =
            texts.find_map(|block| if let UserBlock::Text { text } = block { Some(text) } else { None });
        text.into_iter().for_each(|text| notice::push_notice(text, notice));
    }

    /// Adds a notice about a truncation, for the model and the user.
    fn push_cut(&mut self, notice: String) {
        self.push_notice(&notice);
        self.push_warning(notice);
    }

    /// Adds a warning for the user. Appends to any existing warning.
    pub fn push_warning(&mut self, warning: String) {
        self.warning =
            Some(self.warning.take().map_or_else(|| warning.clone(), |first| format!("{first}; {warning}")));
    }
}
