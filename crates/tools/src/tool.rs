//! What a model may do: the [`Tool`] trait and the built-in tools.
//!
//! A tool gets checked arguments and answers with a [`ToolOutput`]; what the model can act on (a missing file, an exit
//! code) is an output with `is_error`, never a Rust error. Whether a call may run at all is the policy's business.
//!
//! `registry` gathers the built-in tools, one file each; `typed` gives each its schema and checks from one struct of
//! arguments. What front ends find in `details`: `{diff, path, added, removed}` of `edit_file` and `write_file`,
//! `{exitCode, timedOut, fullOutputPath?, strokes?}` of `bash`, `{lines}` or `{mimeType, bytes}` of `read_file`, `{matches}` of
//! `grep`, `{files}` of `list_files`.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use tiller_core::ansi::StyledText;
use tiller_core::event::Preview;
use tiller_core::message::{ToolSpec, UserBlock};

mod atomic_write;
mod bash;
mod blocking;
mod diff;
mod edit_file;
mod grep;
mod image;
mod list_files;
mod output_capture;
mod pattern;
mod read_file;
mod registry;
mod schema;
mod truncation;
mod typed_tool;
mod write_file;

pub use bash::BashTimes;
pub use output_capture::{CapturedOutput, GLANCE_INTERVAL, OutputCapture, glance, keep_text};
pub use registry::{ToolEnvironment, ToolSource, Tools, UnknownTool};
pub use truncation::{OutputLimits, Truncated, TruncationExtent};
pub use typed_tool::{TypedTool, TypedToolAdapter};

/// Something a model may call. Built-in tools, MCP tools and an embedder's own implement it.
pub trait Tool: Send + Sync {
    /// What the model and the policy are told of it.
    fn spec(&self) -> &ToolSpec;

    /// Checks arguments without acting on them.
    ///
    /// # Errors
    /// A sentence for the model that names the argument and what is expected of it.
    fn check(&self, arguments: &Value) -> Result<(), String>;

    /// Starts what makes a call quicker: the model has named the tool and still writes the arguments. Called within a tokio
    /// runtime; must return at once. The call may never come.
    fn prepare(&self) {}

    /// Does the work. Dropping the future stops it, with every process it started; what there was of its result until then is
    /// what it gave to [`Progress::if_stopped`], or else what it showed last.
    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_>;

    /// What a call with arguments that passed [`Tool::check`] would do, for whoever is asked about it; it changes nothing.
    /// `None`, unless a tool knows better: the arguments say it all.
    fn preview(&self, _arguments: &Value) -> Option<PreviewFuture<'_>> {
        None
    }
}

/// A look at what a call would do.
pub type PreviewFuture<'a> = Pin<Box<dyn Future<Output = Preview> + Send + 'a>>;

/// The work of one call.
pub type RunFuture<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// One call of a tool.
#[derive(Clone)]
pub struct ToolInvocation {
    /// Arguments that passed [`Tool::check`].
    pub arguments: Value,
    /// Where to show what there is so far.
    pub progress: ToolProgress,
}

/// Where a tool at work leaves what there is so far: to be shown, and to be kept if it is stopped.
#[derive(Clone)]
pub struct ToolProgress {
    show: Arc<dyn Fn(StyledText) + Send + Sync>,
    /// A lock because whoever stops the tool asks, on another thread, and nobody holds it for longer than a look.
    remains: Arc<Mutex<Option<Box<Remains>>>>,
}

/// Says what a tool has at the moment.
type Remains = dyn Fn() -> ToolOutput + Send;

impl ToolProgress {
    /// Shows texts in this way.
    pub fn new(show: impl Fn(StyledText) + Send + Sync + 'static) -> Self {
        Self { show: Arc::new(show), remains: Arc::default() }
    }

    /// Shows the newest part of the output. Each text replaces the one before, so none has to arrive; call it a few times a
    /// second at most.
    pub fn show(&self, text: String) {
        self.show_printed(StyledText { text, strokes: Vec::new() });
    }

    /// The same of what a command prints, which is coloured.
    pub fn show_printed(&self, printed: StyledText) {
        (self.show)(printed);
    }

    /// Names what says what there is of the output, should the tool be stopped: asked at that moment, once, and to be quick.
    pub fn if_stopped(&self, remains: impl Fn() -> ToolOutput + Send + 'static) {
        *self.remains.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(remains));
    }

    /// What there is of the output now, where the tool says so.
    pub fn remains(&self) -> Option<ToolOutput> {
        let remains = self.remains.lock().unwrap_or_else(PoisonError::into_inner);
        remains.as_ref().map(|remains| remains())
    }
}

/// What a call came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model reads, within the output limits.
    pub content: Vec<UserBlock>,
    /// What only people and programs read: `{"diff": …}`, `{"exitCode": …}`.
    pub details: Option<Value>,
    /// Whether the call failed.
    pub is_error: bool,
    /// What the user should know although the model can't act on it: that output was cut.
    pub warning: Option<String>,
}

impl ToolOutput {
    /// A success that is only text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![UserBlock::Text { text: text.into() }], ..Self::default() }
    }

    /// A failure that the model should read.
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }
}
