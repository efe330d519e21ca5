//! The terminal front end.
//!
//! [`run`] owns the terminal from its first byte to its last. Inside, everything is decided by pure code: an
//! input and a moment go into `App::update`, actions come out as data; `view` draws the state. One loop performs the actions and
//! asks the agent; nothing else waits. Transcript blocks come from the log, so what is on the screen can be had
//! again at any time. Start with `app`, then `keys`, `feed` and `transcript`.

mod agent_events;
mod app;
mod approval;
mod attach;
mod block;
mod clipboard;
mod completion;
mod crash_report;
mod dialog;
mod draft;
mod editor;
mod event_loop;
mod executor;
mod files;
mod frame_pacer;
mod help;
mod history;
mod import;
mod input;
mod keymap;
mod keys;
mod layout;
mod list_data;
mod list_mouse;
mod log_blocks;
mod logical_line;
mod login;
mod logs;
mod long_message;
mod mouse;
mod navigation;
mod offscreen;
mod options;
mod overlay;
mod pager;
mod path_display;
mod picker;
mod queue;
mod receipt;
mod recovery;
mod search;
mod search_term;
mod seen_rows;
mod session_search;
mod settings_store;
mod slash_command;
mod terminal;
mod terminal_signals;
mod theme;
mod tool_call;
mod transcript;
mod tree;
mod trust;
mod view;
mod welcome;

#[cfg(test)]
mod tests;

use tiller_core::id::SessionId;
use tiller_engine::AgentSession;

pub use import::{ForeignLog, ForeignLogs, ImportService};
pub use offscreen::OffScreen;
pub use options::{Exporter, Services, TerminalOptions, TuiFiles, TuiOptions};
pub use path_display::at_home;
pub use settings_store::{ReadSettings, SaveEffect, SettingProblem, SettingsStore};
pub use terminal::{Abilities, Images, Italics, MouseUse};
pub use terminal_signals::{Alert, SignalSettings, SignalSupport};
pub use theme::{ThemeOptions, ThemeQuery};
pub use trust::{TrustService, UntrustedProject};

/// A session that is open, and what is known only now that it is.
#[derive(Clone)]
pub struct OpenedSession {
    /// The session.
    pub agent: AgentSession,
    /// Where keys of providers come from, as far as that is known.
    pub keys: Vec<ProviderKey>,
    /// A prompt to send at once.
    pub prompt: Option<FirstPrompt>,
    /// A text to paste into the editor.
    pub paste: Option<String>,
    /// Whether a session is picked first; the prompt then waits in the editor.
    pub pick: bool,
    /// What an empty session shows: the first line stands out. How to connect a model belongs here.
    /// The name of a row of the keys in braces is shown as its key: `{send} sends`.
    pub banner: Vec<String>,
    /// What the user should know before anything else, one sentence each.
    pub notices: Vec<String>,
}

/// The source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderKey {
    /// The provider's name.
    pub provider: String,
    /// In a few words: `key from auth.json`.
    pub source: String,
}

/// A prompt that was given with the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstPrompt {
    /// What is sent.
    pub text: String,
    /// Blocks of text that go to the model with it: the files that it names.
    pub attached: String,
    /// What was typed for it, which is what the prompt history keeps.
    pub typed: String,
}

/// How the front end ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuiExit {
    /// The session it ended in; `None` when the user left before one was open.
    pub session: Option<SessionId>,
    /// Why it ended.
    pub reason: ExitReason,
}

/// Why the front end ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// The user left.
    Quit,
    /// A signal asked for it: SIGTERM or SIGINT.
    Signal,
    /// The terminal went away; nothing was printed.
    HungUp,
    /// The agent's session closed.
    Closed,
}

/// Why the front end could not run; `E` is what the opening of the session may fail with.
#[derive(Debug, thiserror::Error)]
pub enum TuiError<E: std::fmt::Debug> {
    /// The terminal can't be set up.
    #[error("the terminal can't be used")]
    Terminal(#[source] std::io::Error),
    /// There is no session to show.
    #[error("the session can't be opened")]
    Open(E),
}

/// The names of the commands that the front end has itself, without the slash.
pub fn command_names() -> impl Iterator<Item = &'static str> {
    slash_command::TABLE.iter().map(|command| command.name)
}

/// Takes the terminal over at once, and runs until the user leaves; then closes the session and says on the normal screen how to come
/// back. The session is opened meanwhile: what is typed before it is there waits for it.
///
/// `open` is polled between keys and frames, so whatever takes time in it belongs on another thread.
///
/// # Errors
/// When the terminal can't be set up, or the session can't be opened; the terminal is then as it was before.
pub async fn run<E: std::fmt::Debug>(
    options: TuiOptions,
    open: impl Future<Output = Result<OpenedSession, E>>,
) -> Result<TuiExit, TuiError<E>> {
    event_loop::run(options, open).await
}
