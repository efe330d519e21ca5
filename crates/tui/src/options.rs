//! What the front end is told by whoever starts it; it reads neither environment nor settings itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_engine::CredentialStore;
use tiller_session::Reader;

use super::import::ImportService;
use super::settings_store::SettingsStore;
use super::terminal::{Abilities, MouseUse};
use super::terminal_signals::SignalSupport;
use super::theme::ThemeOptions;
use super::trust::TrustService;

/// What the terminal front end is told by whoever starts it; it reads neither environment nor settings itself.
#[derive(Clone, Debug, Default)]
pub struct TuiOptions {
    /// The directory that is worked in.
    pub cwd: PathBuf,
    /// The user's home, which the footer shows as `~`.
    pub home: Option<PathBuf>,
    /// Folders beside `cwd` that tools may reach, as a person reads them.
    pub folders: Vec<String>,
    /// The command that Ctrl+G edits with, a shell's words: the value of `VISUAL` or `EDITOR`. Default `vi`.
    pub editor: Option<String>,
    /// How it looks.
    pub themes: ThemeOptions,
    /// The terminal, and what can be done with it.
    pub terminal: TerminalOptions,
    /// What is read and kept on disk.
    pub files: TuiFiles,
    /// Who does what the front end can't.
    pub desks: Services,
}

/// The terminal, and what can be done with it.
#[derive(Clone, Debug, Default)]
pub struct TerminalOptions {
    /// What it can do beyond text and colours; see [`Abilities::of`].
    pub abilities: Abilities,
    /// What it can be told beside the screen.
    pub reach: SignalSupport,
    /// Whether the mouse is tiller's while it has the screen. Default: yes.
    pub mouse: MouseUse,
}

/// What the front end reads and keeps on disk.
#[derive(Clone, Debug, Default)]
pub struct TuiFiles {
    /// The folder where unsent drafts are kept for the next time, a file each, by working directory; `None` keeps none. One that
    /// earlier versions kept, in `draft.json` beside it, is taken over.
    pub drafts: Option<PathBuf>,
    /// Where prompts are kept over sessions, one JSON string a line; `None` keeps none.
    pub history: Option<PathBuf>,
    /// The file with other keys than the table's, `keybindings.json`; `None` has none.
    pub keybindings: Option<PathBuf>,
    /// Tiller's own log, which `/logs` shows; `None` when nothing is logged.
    pub log: Option<PathBuf>,
    /// The folder where reports on faults of tiller's own are kept; `None` prints them.
    pub reports: Option<PathBuf>,
    /// Folders whose contents are never offered for `@`: tiller's own.
    pub protected: Vec<PathBuf>,
}

/// Who does what the front end can't; without one of them it says so.
#[derive(Clone, Debug, Default)]
pub struct Services {
    /// What `/export` does.
    pub exporter: Option<Exporter>,
    /// Where `/settings` reads and writes.
    pub settings: Option<SettingsStore>,
    /// What `/login` and `/logout` do.
    pub keys: Option<CredentialStore>,
    /// The action of `/trust`.
    pub trust: Option<TrustService>,
    /// What `/import` does.
    pub importer: Option<ImportService>,
    /// The program that tells words of code apart when its first argument is [`SERVICE`](tiller_render::SERVICE) and nothing else is
    /// given; `None` does so in this process, which then keeps some fifteen megabytes a language.
    pub words: Option<PathBuf>,
}

/// Writes a session to a file; given by whoever starts the front end, because pages are made by another one.
#[derive(Clone)]
pub struct Exporter(Arc<Export>);

/// From a session, the working directory and a file's name as typed, perhaps empty, to the file that was made, or what
/// went wrong and what to do about it.
type Export = dyn Fn(&Reader, &Path, &str) -> Result<PathBuf, (String, Option<String>)> + Send + Sync;

impl Exporter {
    /// Exports by this function.
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
