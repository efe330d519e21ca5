//! Import of other programs' logs (Claude Code, Codex, pi). See docs/import.md.
//!
//! [`Importer::file`] reads one foreign log, detects its format from its content, and writes an ordinary
//! session for its working directory. The source is never changed. The result is deterministic: ids are
//! derived from the source's own, so importing a log again finds its session and appends only the new
//! entries. Each format has its own module; `entry_builder` builds entries, `output` writes them to the
//! session's file.

mod blocks;
mod claude;
mod codex;
mod conversion;
mod detect;
mod entry_builder;
mod foreign_tools;
mod output;
mod peek;
mod pi;
mod source;
mod source_info;
mod warning;

use std::path::{Path, PathBuf};

use serde::Serialize;
use tiller_core::id::SessionId;
use tiller_core::unit::UnixMs;

use super::entry::{EntryBody, Header, HeaderKind, TillerEntry, VERSION};
use super::error::SessionError;
use super::manager::SessionManager;

use conversion::{ConversionContext, Inspection};
pub use detect::{FoundLogs, SourceFormat, find_logs};
use entry_builder::{EntryBuilder, EntryDraft};
pub use foreign_tools::foreign_file_tools;
pub use peek::{LogPeek, peek};
use source::SourceLog;
use source_info::SourceInfo;
pub use warning::ImportWarning;
use warning::ImportWarnings;

/// Imports foreign logs into the directory of a manager.
#[derive(Debug)]
pub struct Importer<'a> {
    /// The manager of the target directory.
    pub manager: &'a SessionManager,
    /// Import only logs of this program.
    pub only: Option<SourceFormat>,
    /// Write, or dry run.
    pub mode: ImportMode,
    /// The current time, for entries that tiller adds to a session that the user continued.
    pub now: UnixMs,
}

/// The mode of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportMode {
    /// Sessions are created and updated.
    Write,
    /// Nothing is written; the result is only reported.
    DryRun,
}

/// The result of importing one log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportResult {
    /// The program that wrote it, if detected.
    pub from: Option<SourceFormat>,
    /// The foreign log.
    pub source: PathBuf,
    /// The outcome.
    pub status: ImportStatus,
    /// The session's file.
    pub path: Option<PathBuf>,
    /// The session's id.
    pub id: Option<SessionId>,
    /// Number of entries that this import wrote.
    pub entries: usize,
    /// Data that was dropped or changed.
    pub notes: Vec<ImportWarning>,
    /// The reason if it failed or was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The outcome of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImportStatus {
    /// A new session was created.
    Imported,
    /// New entries were appended to its session.
    Updated,
    /// Its session was already up to date.
    Unchanged,
    /// There is nothing to import.
    Skipped,
    /// The log can't be imported.
    Failed,
}

/// The plan for converting a source, by format.
#[derive(Debug)]
enum ImportPlan {
    Claude(claude::ClaudePlan),
    Codex(codex::CodexPlan),
    Pi(pi::PiPlan),
}

impl Importer<'_> {
    /// Imports one foreign log. Errors are in the result.
    #[must_use]
    pub fn file(&self, path: &Path) -> ImportResult {
        let mut imported = ImportResult {
            from: None,
            source: path.to_owned(),
            status: ImportStatus::Failed,
            path: None,
            id: None,
            entries: 0,
            notes: Vec::new(),
            reason: None,
        };
        if let Err(error) = self.import(path, &mut imported) {
            imported.status = ImportStatus::Failed;
            imported.reason = Some(with_hint(&error));
        }
        imported
    }

    fn import(&self, path: &Path, imported: &mut ImportResult) -> Result<(), SessionError> {
        let source = SourceLog::open(path)?;
        imported.source.clone_from(&source.path);
        let mut notes = ImportWarnings::default();
        let inspection = match detect::detect(&source)? {
            None => Inspection::Skip(None, "the file is empty"),
            Some(origin) if self.only.is_some_and(|only| only != origin) => {
                Inspection::Skip(Some(origin), "log of another program")
            }
            Some(origin) => inspect(origin, &source, &mut notes)?,
        };
        let plan = match inspection {
            Inspection::Skip(origin, reason) => {
                imported.from = origin;
                return skip(imported, reason);
            }
            Inspection::Plan(plan) => plan,
        };
        imported.from = Some(plan.info().origin);
        if self.manager.contains(&source.path) {
            return skip(imported, "already a tiller session");
        }
        let header = header(&plan, &source);
        let target = self.manager.log_path(Path::new(&header.cwd), &header);
        let target = target.ok_or_else(|| {
            SessionError::NotFound(
                "sessions are kept in memory, so there is no directory to import into".into(),
            )
        })?;
        imported.id = Some(header.id.clone());
        let conversion = Conversion { plan: &plan, source: &source, header: &header };
        self.write_session(&conversion, &target, notes, imported)?;
        imported.path = (imported.status != ImportStatus::Skipped).then_some(target);
        Ok(())
    }
}

fn skip(imported: &mut ImportResult, reason: &str) -> Result<(), SessionError> {
    imported.status = ImportStatus::Skipped;
    imported.reason = Some(reason.to_owned());
    Ok(())
}

fn inspect(
    origin: SourceFormat,
    source: &SourceLog,
    notes: &mut ImportWarnings,
) -> Result<Inspection<ImportPlan>, SessionError> {
    match origin {
        SourceFormat::Claude => Ok(claude::ClaudePlan::inspect(source, notes)?.map(ImportPlan::Claude)),
        SourceFormat::Codex => Ok(codex::CodexPlan::inspect(source)?.map(ImportPlan::Codex)),
        SourceFormat::Pi => Ok(Inspection::Plan(ImportPlan::Pi(pi::PiPlan::new(source)?))),
    }
}

fn header(plan: &ImportPlan, source: &SourceLog) -> Header {
    let info = plan.info();
    let parent = match plan {
        ImportPlan::Pi(_) => Some(source.path.display().to_string()),
        ImportPlan::Claude(_) | ImportPlan::Codex(_) => None,
    };
    Header {
        kind: HeaderKind::Session,
        version: VERSION,
        id: entry_builder::session_id(info),
        timestamp: info.start.to_iso(),
        cwd: info.cwd.clone(),
        parent_session: parent,
    }
}

impl ImportPlan {
    fn info(&self) -> &SourceInfo {
        match self {
            Self::Claude(plan) => &plan.info,
            Self::Codex(plan) => &plan.info,
            Self::Pi(plan) => &plan.info,
        }
    }
}

/// The conversion of one source to one session.
struct Conversion<'a> {
    plan: &'a ImportPlan,
    source: &'a SourceLog,
    header: &'a Header,
}

impl Conversion<'_> {
    /// Converts the source into entries. The builder counts the messages.
    fn run(&self, builder: &mut EntryBuilder<'_>, notes: &mut ImportWarnings) -> Result<(), SessionError> {
        let info = self.plan.info();
        let root = match self.plan {
            // Lines of a pi log are copied unchanged, including roots.
            ImportPlan::Pi(_) => None,
            ImportPlan::Claude(_) | ImportPlan::Codex(_) => {
                Some(builder.add(EntryDraft::new(None, "origin", info.start, self.import_entry()))?)
            }
        };
        let mut context = ConversionContext { source: self.source, builder, warnings: notes, root };
        let end = match self.plan {
            ImportPlan::Claude(plan) => plan.convert(&mut context)?,
            ImportPlan::Codex(plan) => plan.convert(&mut context)?,
            ImportPlan::Pi(plan) => plan.convert(&mut context)?,
        };
        builder.finish(end, self.import_entry())
    }

    fn import_entry(&self) -> EntryBody {
        let info = self.plan.info();
        EntryBody::from_tiller(&TillerEntry::Import {
            from: info.origin.name().to_owned(),
            path: self.source.path.display().to_string(),
            session: info.session.clone(),
            version: info.version.clone(),
        })
    }
}

/// Formats an error with its causes and its hint, on one line.
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
