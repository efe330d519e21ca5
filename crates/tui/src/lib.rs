//! The terminal front end.
//!
//! [`run`] owns the terminal until it returns. Decisions are pure: `App::update` takes an input and the time
//! and returns actions as data; `view` draws the state. One event loop performs the actions and talks to the
//! agent. Transcript blocks are derived from the log, so the screen can be rebuilt at any time. Start with
//! `app`, then `session_model` and `transcript_pane`.

mod action;
mod address;
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
mod elicitation_form;
mod event_loop;
mod executor;
mod exit;
mod flash;
mod footer;
mod frame_pacer;
mod fuzzy;
mod help;
mod history;
mod import;
mod input;
mod keymap;
mod layout;
mod line_input;
mod list_click;
mod list_cursor;
mod list_data;
mod list_kind;
mod local_zone;
mod log_blocks;
mod logical_line;
mod login;
mod logs;
mod long_message;
mod match_marks;
mod message;
mod navigate;
mod offscreen;
mod opened_session;
mod options;
mod overlay;
mod pager;
mod path_display;
mod pattern_subject;
mod picker;
mod plan_panel;
mod preview_area;
mod queue;
mod queue_panel;
mod receipt;
mod recovery;
mod screen_areas;
mod screen_keys;
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

pub use exit::{ExitReason, TuiError, TuiExit};
pub use import::{ForeignLog, ForeignLogs, ImportService};
pub use keymap::keybinding_problems;
pub use offscreen::OffScreen;
pub use opened_session::{InitialPrompt, OpenedSession, ProviderKey};
pub use options::{AttachCheck, Exporter, TerminalOptions, TuiFiles, TuiOptions, TuiServices};
pub use path_display::at_home;
pub use settings_store::{ProblemScope, ReadSettings, SettingProblem, SettingsStore};
pub use terminal::capabilities::{Images, Italics, MouseUse, TerminalCapabilities};
pub use terminal_signals::{Alert, SignalSettings, SignalSupport};
pub use theme::{ThemeOptions, ThemeQuery};
pub use trust::{TrustService, UntrustedProject};

/// Takes over the terminal immediately and runs until the user quits. Then closes the session and prints the
/// command that resumes it on the normal screen. Input that arrives before the session is open is buffered.
///
/// `open` is polled between keys and frames, so slow work in it belongs on another thread.
///
/// # Errors
/// If the terminal can't be set up, or the session can't be opened; the terminal is then restored.
pub async fn run<E: std::fmt::Debug>(
    options: TuiOptions,
    open: impl Future<Output = Result<OpenedSession, E>>,
) -> Result<TuiExit, TuiError<E>> {
    event_loop::run(options, open).await
}
