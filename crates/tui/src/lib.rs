//! The terminal front end.
//!
//! [`run`] owns the terminal until it returns. Decisions are pure: `App::update` takes an
//! input and the time and returns actions as data; `view` draws the state. One event loop performs the
//! actions and talks to the agent. Transcript blocks are derived from the log, so the screen can be rebuilt
//! at any time. Start with `app`, then `session_model` and `transcript_pane`.

mod action;
mod agent_event;
mod app;
mod approval_panel;
mod attach;
mod block;
mod clipboard;
mod clock;
mod completion;
mod component;
mod composer;
mod compositor;
mod crash_report;
mod delivery;
mod denial;
mod dialog;
mod draft;
mod draw;
mod editor;
mod effect;
mod event_loop;
mod executor;
mod flash;
mod footer;
mod frame_pacer;
mod help;
mod history;
mod import;
mod input;
mod keymap;
mod layout;
mod list_data;
mod list_kind;
mod log_blocks;
mod logical_line;
mod login;
mod logs;
mod long_message;
mod message;
mod navigate;
mod offscreen;
mod options;
mod overlay;
mod pager;
mod path_display;
mod picker;
mod queue;
mod queue_panel;
mod receipt;
mod recovery;
mod search_term;
mod session_model;
mod session_search;
mod settings_store;
mod shown_since;
mod status_line;
mod terminal;
mod terminal_signals;
mod text;
mod theme;
mod tool_call;
mod transcript;
mod transcript_pane;
mod tree;
mod trust;
mod ui_context;
mod view;
mod welcome;

#[cfg(test)]
mod tests;

use tiller_core::id::SessionId;
use tiller_engine::AgentSession;

pub use import::{ForeignLog, ForeignLogs, ImportService};
pub use offscreen::OffScreen;
pub use options::{Exporter, TerminalOptions, TuiFiles, TuiOptions, TuiServices};
pub use path_display::at_home;
pub use settings_store::{ProblemScope, ReadSettings, SettingProblem, SettingsStore};
pub use terminal::capabilities::{Abilities, Images, Italics, MouseUse};
pub use terminal_signals::{Alert, SignalSettings, SignalSupport};
pub use theme::{ThemeOptions, ThemeQuery};
pub use trust::{TrustService, UntrustedProject};

/// An open session, with the data that is known only once it is open.
#[derive(Clone)]
pub struct OpenedSession {
    /// The session.
    pub agent: AgentSession,
    /// Sources of the providers' API keys, as far as known.
    pub keys: Vec<ProviderKey>,
    /// A prompt to send at once.
    pub prompt: Option<InitialPrompt>,
    /// A text to paste into the editor.
    pub paste: Option<String>,
    /// Opens the session picker first; the prompt then waits in the editor.
    pub pick: bool,
    /// Lines that an empty session shows; the first is emphasized. Instructions for connecting a model belong
    /// here. A key binding's name in braces is replaced with its key: `{send} sends`.
    pub banner: Vec<String>,
    /// Warnings to show at the start, one sentence each.
    pub notices: Vec<String>,
}

/// The source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderKey {
    /// The provider's name.
    pub provider: String,
    /// A short description: `key from auth.json`.
    pub source: String,
}

/// A prompt from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialPrompt {
    /// The text to send.
    pub text: String,
    /// Text blocks for the model that accompany the prompt: the contents of the files it names.
    pub attached: String,
    /// The prompt as typed, for the prompt history.
    pub typed: String,
}

/// The result of a run of the front end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuiExit {
    /// The session that was open at the end; `None` if the user quit before one was open.
    pub session: Option<SessionId>,
    /// The reason for the end.
    pub reason: ExitReason,
}

/// The reason why the front end ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The user quit.
    Quit,
    /// SIGTERM or SIGINT arrived.
    Signal,
    /// The terminal hung up; nothing was printed.
    HungUp,
    /// The agent's session closed.
    Closed,
}

/// An error that kept the front end from running; `E` is the error of opening the session.
#[derive(Debug, thiserror::Error)]
pub enum TuiError<E: std::fmt::Debug> {
    /// The terminal can't be set up.
    #[error("the terminal can't be used")]
    Terminal(#[source] std::io::Error),
    /// The session can't be opened.
    #[error("the session can't be opened")]
    Open(E),
}

/// Takes over the terminal at once and runs until the user quits; then closes the session and prints on the
/// normal screen how to resume it. Input that arrives before the session is open is buffered.
///
/// `open` is polled between keys and frames, so slow work in it belongs on another thread.
///
/// # Errors
/// When the terminal can't be set up, or the session can't be opened; the terminal is then as it was before.
pub async fn run<E: std::fmt::Debug>(
    options: TuiOptions,
    open: impl Future<Output = Result<OpenedSession, E>>,
) -> Result<TuiExit, TuiError<E>> {
    event_loop::run(options, open).await
}
