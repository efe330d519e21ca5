//! The front end's options. Its caller fills them in; the front end reads neither environment nor settings.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_engine::{CredentialStore, RuleStore};
use tiller_session::{LockHolder, Reader};

use crate::import::ImportService;
use crate::settings_store::SettingsStore;
use crate::terminal::capabilities::{MouseUse, TerminalCapabilities};
use crate::terminal_signals::SignalSupport;
use crate::theme::ThemeOptions;
use crate::trust::TrustService;

/// The options of the terminal front end, which doesn't read the environment or settings itself.
#[derive(Clone, Debug, Default)]
pub struct TuiOptions {
    /// The working directory.
    pub cwd: PathBuf,
    /// The user's home directory, shown as `~`.
    pub home: Option<PathBuf>,
    /// Display names of directories outside `cwd` that tools may access.
    pub dirs: Vec<String>,
    /// The external editor as a shell command line: the value of `VISUAL` or `EDITOR`. Default `vi`.
    pub editor: Option<String>,
    /// The themes.
    pub themes: ThemeOptions,
    /// The terminal's capabilities.
    pub terminal: TerminalOptions,
    /// Paths of the front end's files.
    pub files: TuiFiles,
    /// Services implemented by the caller.
    pub services: TuiServices,
    /// The command line that leads back to a session of another process, shown at the exit. Without it, the session is
    /// this process's, and `tiller --session` resumes it.
    pub return_command: Option<String>,
}

/// The terminal's capabilities.
#[derive(Clone, Debug, Default)]
pub struct TerminalOptions {
    /// Capabilities beyond text and colors; see [`TerminalCapabilities::detect`].
    pub abilities: TerminalCapabilities,
    /// The signals that the terminal supports.
    pub signals: SignalSupport,
    /// The use of the mouse while tiller owns the screen. Default: captured.
    pub mouse: MouseUse,
}

/// Paths of the front end's files.
#[derive(Clone, Debug, Default)]
pub struct TuiFiles {
    /// The directory of unsent drafts, one file for each working directory; `None` disables saving.
    pub drafts: Option<PathBuf>,
    /// The prompt history, one JSON string per line; `None` disables saving.
    pub history: Option<PathBuf>,
    /// The user's key bindings, `keybindings.json`; `None` for the defaults.
    pub keybindings: Option<PathBuf>,
    /// tiller's own log, shown by `/logs`; `None` when logging is off.
    pub log: Option<PathBuf>,
    /// The directory of crash reports; `None` prints them.
    pub crash_reports: Option<PathBuf>,
    /// Directories whose files are never completed after `@`, such as tiller's own.
    pub hidden_dirs: Vec<PathBuf>,
}

/// Services implemented by the caller. A command whose service is missing reports that.
#[derive(Clone, Debug, Default)]
pub struct TuiServices {
    /// Implements `/export`.
    pub exporter: Option<Exporter>,
    /// Implements `/settings`.
    pub settings: Option<SettingsStore>,
    /// Implements `/login` and `/logout`.
    pub keys: Option<CredentialStore>,
    /// Saves and removes settings rules.
    pub rules: Option<RuleStore>,
    /// Implements `/trust`.
    pub trust: Option<TrustService>,
    /// Implements `/import`.
    pub importer: Option<ImportService>,
    /// Offers to attach to a session that another process has open.
    pub attaching: Option<AttachCheck>,
    /// The program that highlights code when its only argument is
    /// [`SERVICE`](tiller_render::WORKER_ARGUMENT). With `None`, code is highlighted in this process, at a
    /// cost of about fifteen megabytes per language.
    pub highlighter: Option<PathBuf>,
}

/// Checks that the process that has a session open accepts other front ends.
#[derive(Clone)]
pub struct AttachCheck(Arc<dyn Fn(&LockHolder) -> bool + Send + Sync>);

impl AttachCheck {
    /// Wraps the function that checks. It may read from the disk.
    pub fn new(check: impl Fn(&LockHolder) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    pub(super) fn accepts(&self, holder: &LockHolder) -> bool {
        (self.0)(holder)
    }
}

impl std::fmt::Debug for AttachCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AttachCheck")
    }
}

/// Exports a session to a file. The caller provides it, because the HTML front end renders the page.
#[derive(Clone)]
pub struct Exporter(Arc<Export>);

/// A function that takes a session, the working directory and the file name as typed, which may be empty. It
/// returns the path of the written file, or an error with a hint.
type Export = dyn Fn(&Reader, &Path, &str) -> Result<PathBuf, (String, Option<String>)> + Send + Sync;

impl Exporter {
    /// Wraps the function that exports.
    pub fn new(
        export: impl Fn(&Reader, &Path, &str) -> Result<PathBuf, (String, Option<String>)> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(export))
    }

    pub(super) fn export(
        &self,
        reader: &Reader,
        cwd: &Path,
        file: &str,
    ) -> Result<PathBuf, (String, Option<String>)> {
        (self.0)(reader, cwd, file)
    }
}

impl std::fmt::Debug for Exporter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Exporter")
    }
}
