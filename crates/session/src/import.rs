//! Logs of other programs (Claude Code, Codex, pi) turned into sessions. See docs/import.md.
//!
//! [`Importer::file`] reads one foreign log, works out what it is from what it says, and writes an ordinary session of the
//! directory that it belongs to. The source is never changed. What it becomes is the same every time: ids are derived
//! from the source's own, so a log that was imported before is found again, and only what it has gained is appended. Each
//! format has a module of its own; `sink` makes entries of what they find, `target` brings them into the file.

mod blocks;
mod claude;
mod codex;
mod detect;
mod entry_builder;
mod output;
mod peek;
mod pi;
mod source;
mod warning;

use std::path::{Path, PathBuf};

use serde::Serialize;
use tiller_core::id::{EntryId, SessionId};
use tiller_core::unit::UnixMs;

use super::entry::{EntryBody, Header, HeaderKind, TillerEntry, VERSION};
use super::error::SessionError;
use super::manager::SessionManager;

pub use detect::{FoundLogs, SourceFormat, logs_beneath};
use entry_builder::{Draft, Sink};
pub use peek::{LogPeek, glance};
use source::Source;
pub use warning::ImportWarning;
use warning::ImportWarnings;

/// Imports foreign logs into the folder of a manager.
#[derive(Debug)]
pub struct Importer<'a> {
    /// Whose folder.
    pub manager: &'a SessionManager,
    /// Take only logs of this program.
    pub only: Option<SourceFormat>,
    /// Whether anything is written.
    pub mode: ImportMode,
    /// The present moment, for facts that tiller adds to a session that has been gone on with.
    pub now: UnixMs,
}

/// Whether anything is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Sessions are made and updated.
    Write,
    /// It is only said what would be.
    DryRun,
}

/// What became of one foreign log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Imported {
    /// Which program wrote it, if that could be told.
    pub from: Option<SourceFormat>,
    /// The foreign log.
    pub source: PathBuf,
    /// What happened.
    pub status: ImportStatus,
    /// The session's file.
    pub path: Option<PathBuf>,
    /// The session's id.
    pub id: Option<SessionId>,
    /// How many entries were written by this import.
    pub entries: usize,
    /// What could not be carried over as it was.
    pub notes: Vec<ImportWarning>,
    /// Why it failed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What happened to a foreign log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportStatus {
    /// It became a new session.
    Imported,
    /// Its session got what the log has gained.
    Updated,
    /// Its session has everything already.
    Unchanged,
    /// It holds nothing to import.
    Skipped,
    /// It can't be imported.
    Failed,
}

/// What a source says of itself, before its entries.
#[derive(Clone, Debug)]
struct About {
    origin: SourceFormat,
    /// The session's name in the program that wrote it.
    session: String,
    /// That program's version.
    version: Option<String>,
    cwd: String,
    start: UnixMs,
}

/// Where a conversion ended.
#[derive(Debug, Default)]
struct End {
    /// The entry where the source would go on.
    leaf: Option<EntryId>,
    name: Option<String>,
}

/// A source that was looked at: what it is, and what its own module has to know to convert it.
#[derive(Debug)]
enum Plan {
    Claude(claude::Plan),
    Codex(codex::Plan),
    Pi(pi::Plan),
}

/// What a conversion gets, whatever the format.
struct Work<'a, 'b> {
    source: &'a Source,
    sink: &'a mut Sink<'b>,
    notes: &'a mut ImportWarnings,
    /// What the source's roots follow.
    root: Option<EntryId>,
}

/// A look at a source: a plan, or the reason why there is nothing to import.
enum Look {
    Plan(Plan),
    Nothing(Option<SourceFormat>, &'static str),
}

impl Importer<'_> {
    /// Imports one foreign log. Whatever goes wrong is in the answer.
    #[must_use]
    pub fn file(&self, path: &Path) -> Imported {
        let mut imported = Imported {
            from: None,
            source: path.to_owned(),
            status: ImportStatus::Failed,
            path: None,
            id: None,
            entries: 0,
            notes: Vec::new(),
            reason: None,
        };
        if let Err(error) = self.take(path, &mut imported) {
            imported.status = ImportStatus::Failed;
            imported.reason = Some(with_hint(&error));
        }
        imported
    }

    fn take(&self, path: &Path, imported: &mut Imported) -> Result<(), SessionError> {
        let source = Source::open(path)?;
        imported.source.clone_from(&source.path);
        let mut notes = ImportWarnings::default();
        let look = match detect::detect(&source)? {
            None => Look::Nothing(None, "the file is empty"),
            Some(origin) if self.only.is_some_and(|only| only != origin) => {
                Look::Nothing(Some(origin), "another program's log than the one asked for")
            }
            Some(origin) => look(origin, &source, &mut notes)?,
        };
        let plan = match look {
            Look::Nothing(origin, reason) => {
                imported.from = origin;
                return skip(imported, reason);
            }
            Look::Plan(plan) => plan,
        };
        imported.from = Some(plan.about().origin);
        if self.manager.holds(&source.path) {
            return skip(imported, "it is one of tiller's own sessions already");
        }
        let header = header(&plan, &source);
        let target = self.manager.place(Path::new(&header.cwd), &header);
        let target =
            target.ok_or_else(|| SessionError::NotFound("there is no folder to import into".into()))?;
        imported.id = Some(header.id.clone());
        let conversion = Conversion { plan: &plan, source: &source, header: &header };
        self.bring(&conversion, &target, notes, imported)?;
        imported.path = (imported.status != ImportStatus::Skipped).then_some(target);
        Ok(())
    }
}

fn skip(imported: &mut Imported, reason: &str) -> Result<(), SessionError> {
    imported.status = ImportStatus::Skipped;
    imported.reason = Some(reason.to_owned());
    Ok(())
}

fn look(origin: SourceFormat, source: &Source, notes: &mut ImportWarnings) -> Result<Look, SessionError> {
    match origin {
        SourceFormat::Claude => claude::Plan::make(source, notes),
        SourceFormat::Codex => codex::Plan::make(source),
        SourceFormat::Pi => Ok(Look::Plan(Plan::Pi(pi::Plan::make(source)?))),
    }
}

fn header(plan: &Plan, source: &Source) -> Header {
    let about = plan.about();
    let parent = match plan {
        Plan::Pi(_) => Some(source.path.display().to_string()),
        Plan::Claude(_) | Plan::Codex(_) => None,
    };
    Header {
        kind: HeaderKind::Session,
        version: VERSION,
        id: entry_builder::session_id(about),
        timestamp: about.start.to_iso(),
        cwd: about.cwd.clone(),
        parent_session: parent,
    }
}

impl Plan {
    fn about(&self) -> &About {
        match self {
            Self::Claude(plan) => &plan.about,
            Self::Codex(plan) => &plan.about,
            Self::Pi(plan) => &plan.about,
        }
    }
}

/// One source on its way into one session.
struct Conversion<'a> {
    plan: &'a Plan,
    source: &'a Source,
    header: &'a Header,
}

impl Conversion<'_> {
    /// Puts everything that the source says into the sink, between two facts that say where it is from. Whether the
    /// source says anything at all is the sink's to tell.
    fn run(&self, sink: &mut Sink<'_>, notes: &mut ImportWarnings) -> Result<(), SessionError> {
        let about = self.plan.about();
        let root = match self.plan {
            // The lines of a pi log stay as they are, roots among them.
            Plan::Pi(_) => None,
            Plan::Claude(_) | Plan::Codex(_) => {
                Some(sink.put(Draft::new(None, "origin", about.start, self.fact()))?)
            }
        };
        let mut work = Work { source: self.source, sink, notes, root };
        let end = match self.plan {
            Plan::Claude(plan) => plan.convert(&mut work)?,
            Plan::Codex(plan) => plan.convert(&mut work)?,
            Plan::Pi(plan) => plan.convert(&mut work)?,
        };
        sink.finish(end, self.fact())
    }

    fn fact(&self) -> EntryBody {
        let about = self.plan.about();
        EntryBody::own(&TillerEntry::Import {
            from: about.origin.name().to_owned(),
            path: self.source.path.display().to_string(),
            session: about.session.clone(),
            version: about.version.clone(),
        })
    }
}

/// An error with its cause and its advice, in one line.
#[must_use]
pub fn with_hint(error: &SessionError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    match error.hint() {
        Some(hint) => format!("{text}; {hint}"),
        None => text,
    }
}
