//! Many logs at once: lists of them, what was said in them, and which one is meant.
//!
//! A catalog keeps what it reads in a small database beside the logs' folder; the logs stay the truth, and without the
//! file everything works, only slower. It reads a log from where it ended last time, and the newest logs first. Files are
//! found and dated by `folder`, read by `digest` and `line`, kept by `database`, and searched through `query`.

mod database;
mod digest;
mod folder;
mod line;
mod query;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::thread;

use serde::Serialize;

use self::database::{Database, Extent, Known, is_damage};
use self::digest::{Digest, Look};
use self::folder::{File, Stamp};
use super::error::SessionError;
use super::log::io_error;
use super::manager::{Scope, SessionManager};
use crate::id::{SHORTEST_FRAGMENT, SessionId};
use crate::unit::{Tokens, UnixMs, Usd};

pub use self::query::{Hit, Piece};

/// Logs that are read side by side, and kept in one transaction.
const BATCH: usize = 16;

/// Bytes after which a batch is full.
const BATCH_BYTES: u64 = 32 << 20;

/// Most threads that read logs; more would only wait for the disk.
const READERS: usize = 4;

/// Entries that are looked at for one that is shown: several of a session count once.
const PLACES_FOR_A_SESSION: usize = 8;

/// Many logs.
#[derive(Debug)]
pub struct Catalog {
    manager: SessionManager,
    /// The working directory as a header has it, which is not what the system calls it where the name is no Unicode.
    cwd: String,
    database: Database,
    /// How many times the database failed and was begun anew.
    restarts: usize,
}

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    /// The file.
    pub path: PathBuf,
    /// The session's id.
    pub id: SessionId,
    /// The working directory it belongs to: the last one it was gone on with in.
    pub cwd: String,
    /// Its name, if it got one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The first thing the user said, at most its first thousand characters.
    pub first_prompt: Option<String>,
    /// How many entries it has, on all branches.
    pub entries: usize,
    /// How many of them are messages.
    pub messages: usize,
    /// Tokens of all branches together.
    pub tokens: Tokens,
    /// What they cost.
    pub cost: Usd,
    /// When the file was last written to.
    pub modified: UnixMs,
    /// When the newest entry says it was made.
    pub last_activity: UnixMs,
    /// Who answers, as `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The repository's origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
    /// The log it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    /// Length of the file.
    pub bytes: u64,
}

/// What a look through the logs found.
#[derive(Debug, Default)]
pub struct Listing {
    /// The sessions, the one written to last first.
    pub sessions: Vec<SessionSummary>,
    /// Files that look like logs and can't be read as such, with the reason.
    pub unreadable: Vec<SessionError>,
    /// Whether there are sessions after these.
    pub more: bool,
}

/// A part of a list; the default is all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// How many of the newest to pass over.
    pub offset: usize,
    /// How many to list at most.
    pub limit: Option<usize>,
}

/// Logs that a catalog has still to read.
#[derive(Debug, Default)]
pub struct Backlog {
    /// The newest last.
    todo: Vec<File>,
    files: usize,
    bytes: u64,
}

/// How far the reading of logs is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Logs that are known.
    pub done: usize,
    /// Logs there are.
    pub files: usize,
    /// Bytes of the logs that are known.
    pub bytes_done: u64,
    /// Bytes of all.
    pub bytes: u64,
}

/// The logs there are, and what was known of them at the last look.
struct Survey {
    files: Vec<File>,
    known: HashMap<PathBuf, Known>,
}

/// What is known of a log before it is looked into.
enum Standing<'a> {
    /// Everything.
    Fresh(&'a Known),
    /// It changed since.
    Stale,
    Unknown,
}

impl Survey {
    fn standing(&self, file: &File) -> Standing<'_> {
        match self.known.get(&file.path) {
            Some(known) if known.stamp == file.stamp => Standing::Fresh(known),
            Some(_) => Standing::Stale,
            None => Standing::Unknown,
        }
    }
}

impl Backlog {
    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let left: u64 = self.todo.iter().map(|file| file.stamp.size).sum();
        Progress {
            done: self.files - self.todo.len(),
            files: self.files,
            bytes_done: self.bytes.saturating_sub(left),
            bytes: self.bytes,
        }
    }

    /// Whether all is read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.todo.is_empty()
    }

    /// The next logs to read, the newest of them.
    fn take(&mut self) -> Vec<File> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(file) = self.todo.pop() else { break };
            bytes += file.stamp.size;
            batch.push(file);
        }
        batch
    }
}

impl SessionSummary {
    fn new(path: PathBuf, stamp: &Stamp, digest: Digest) -> Self {
        Self {
            path,
            id: SessionId::new(digest.id),
            cwd: digest.cwd,
            name: digest.name,
            first_prompt: digest.first_prompt,
            entries: digest.entries,
            messages: digest.messages,
            tokens: digest.tokens,
            cost: digest.cost,
            modified: stamp.modified(),
            last_activity: digest.last_activity,
            model: digest.model,
            remote: digest.remote,
            parent_session: digest.parent_session,
            bytes: stamp.size,
        }
    }

    /// What a list calls it: its name, or what was said first.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().or(self.first_prompt.as_deref())
    }
}

impl Catalog {
    /// Opens what is known of a manager's logs. Where that can't be kept, it is gathered anew in a passing file.
    pub(super) fn open(manager: SessionManager) -> Result<Self, SessionError> {
        let kept = manager.catalog_file().and_then(|path| match Database::open(path) {
            Ok(database) => Some(database),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the catalog of sessions can't be kept");
                None
            }
        });
        let database = kept.map_or_else(Database::passing, Ok).map_err(unusable)?;
        Ok(Self { cwd: manager.cwd().display().to_string(), manager, database, restarts: 0 })
    }

    /// A part of the list of sessions. Only the logs of this part are read, where they aren't known yet.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn page(&mut self, scope: Scope, page: Page) -> Result<Listing, SessionError> {
        let survey = self.survey()?;
        let (mut listing, mut skip) = (Listing::default(), page.offset);
        for file in &survey.files {
            let digest = match self.digest_in(scope, file, &survey) {
                Ok(Some(digest)) => digest,
                Ok(None) => continue,
                Err(error) => {
                    listing.unreadable.push(error);
                    continue;
                }
            };
            if skip > 0 {
                skip -= 1;
            } else if page.limit.is_some_and(|limit| listing.sessions.len() >= limit) {
                listing.more = true;
                break;
            } else {
                listing.sessions.push(SessionSummary::new(file.path.clone(), &file.stamp, digest));
            }
        }
        Ok(listing)
    }

    /// Sessions that are known already, the one written to last first; no log is opened.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn known(&mut self, scope: Scope) -> Result<Vec<SessionSummary>, SessionError> {
        let survey = self.survey()?;
        let mut sessions = Vec::new();
        for file in &survey.files {
            let Some(known) = survey.known.get(&file.path) else { continue };
            if scope == Scope::ThisDirectory && known.cwd != self.cwd {
                continue;
            }
            if let Some((_, digest)) = self.ask(|database| database.digest(&file.path))?
                && digest.problem.is_none()
            {
                sessions.push(SessionSummary::new(file.path.clone(), &file.stamp, digest));
            }
        }
        Ok(sessions)
    }

    /// The log of this working directory that was written to last. Of logs that aren't known at most the header is read.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn most_recent(&mut self) -> Result<Option<PathBuf>, SessionError> {
        let survey = self.survey()?;
        for file in &survey.files {
            let is_ours = match survey.standing(file) {
                Standing::Fresh(known) => known.cwd == self.cwd,
                Standing::Stale => self.look_into(file).is_ok_and(|digest| digest.cwd == self.cwd),
                Standing::Unknown => {
                    self.may_be_here(file) && digest::header_cwd(&file.path).as_ref() == Some(&self.cwd)
                }
            };
            if is_ours {
                return Ok(Some(file.path.clone()));
            }
        }
        Ok(None)
    }

    /// The log whose id, or a prefix or suffix of it, this is. Names of files tell the id; only files that are named otherwise
    /// are opened.
    ///
    /// # Errors
    /// When none, or more than one, goes by it.
    pub fn named(&mut self, fragment: &str) -> Result<PathBuf, SessionError> {
        let files = folder::files(&self.manager.folders()?)?;
        let named: Vec<(SessionId, PathBuf)> = files
            .into_iter()
            .filter_map(|file| {
                let id = folder::id_in_name(&file.path).map(str::to_owned);
                let id = SessionId::new(id.or_else(|| digest::header_id(&file.path))?);
                id.matches(fragment).then_some((id, file.path))
            })
            .collect();
        let not_found = |what: String| Err(SessionError::NotFound(what));
        match named.as_slice() {
            [(_, path)] => Ok(path.clone()),
            [] if fragment.chars().count() < SHORTEST_FRAGMENT => not_found(format!(
                "`{fragment}` is too short for a part of an id; give {SHORTEST_FRAGMENT} characters or more"
            )),
            [] => not_found(format!("no session's id begins or ends with `{fragment}`")),
            several => match several.iter().find(|(id, _)| id.as_str() == fragment) {
                Some((_, path)) => Ok(path.clone()),
                None => {
                    not_found(format!("`{fragment}` names {} sessions; give more of the id", several.len()))
                }
            },
        }
    }

    /// The log of this directory that words mean best: those of its id, else of its name, else what was said in it.
    ///
    /// Every log of the directory is read for that; `told` hears how far it is.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn best(&mut self, words: &str, told: impl FnMut(Progress)) -> Result<Option<PathBuf>, SessionError> {
        match self.manager.find(words) {
            Ok(path) => return Ok(Some(path)),
            Err(SessionError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        self.refresh(Scope::ThisDirectory, told)?;
        let wanted = words.trim().to_lowercase();
        let sessions = self.known(Scope::ThisDirectory)?;
        let called = |fits: &dyn Fn(&str) -> bool| {
            let named = sessions.iter().find(|session| session.name.as_deref().is_some_and(fits));
            named.map(|session| session.path.clone())
        };
        let by_name = called(&|name| name.to_lowercase() == wanted)
            .or_else(|| called(&|name| name.to_lowercase().contains(&wanted)));
        if by_name.is_some() {
            return Ok(by_name);
        }
        let hits = self.search(words, Scope::ThisDirectory, 1)?;
        Ok(hits.into_iter().next().map(|hit| hit.session.path))
    }

    /// The logs that have still to be read before a search finds everything.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn backlog(&mut self, scope: Scope) -> Result<Backlog, SessionError> {
        let survey = self.survey()?;
        let mut backlog = Backlog::default();
        for file in survey.files.iter().rev() {
            let wanted = match survey.standing(file) {
                Standing::Fresh(known) => {
                    if scope == Scope::ThisDirectory && known.cwd != self.cwd {
                        continue;
                    }
                    false
                }
                Standing::Stale => true,
                Standing::Unknown if scope == Scope::Everywhere => true,
                Standing::Unknown => {
                    if !self.may_be_here(file) || digest::header_cwd(&file.path).as_ref() != Some(&self.cwd) {
                        continue;
                    }
                    true
                }
            };
            backlog.files += 1;
            backlog.bytes += file.stamp.size;
            if wanted {
                backlog.todo.push(file.clone());
            }
        }
        Ok(backlog)
    }

    /// Reads some of the logs of a backlog, the newest first, and keeps what they say.
    ///
    /// # Errors
    /// When it can't be kept anywhere.
    pub fn work(&mut self, backlog: &mut Backlog) -> Result<(), SessionError> {
        let mut todo = Vec::new();
        for file in backlog.take() {
            let before = self.ask(|database| database.digest(&file.path))?;
            todo.push((file, before.map(|(_, digest)| digest)));
        }
        let looks = side_by_side(todo);
        self.ask(|database| database.store(&looks))
    }

    /// Reads all logs that aren't known yet; `told` hears how far it is.
    ///
    /// # Errors
    /// As [`Catalog::backlog`] and [`Catalog::work`].
    pub fn refresh(&mut self, scope: Scope, mut told: impl FnMut(Progress)) -> Result<(), SessionError> {
        let mut backlog = self.backlog(scope)?;
        while !backlog.is_empty() {
            told(backlog.progress());
            self.work(&mut backlog)?;
        }
        told(backlog.progress());
        Ok(())
    }

    /// Entries in which all of these words were said, the best first; of equals the newest. The last word may go on. Logs that
    /// have not been read are not found.
    ///
    /// # Errors
    /// When the catalog can't be used.
    pub fn search(&mut self, words: &str, scope: Scope, limit: usize) -> Result<Vec<Hit>, SessionError> {
        let (Some(words), Some(root)) = (query::expression(words), self.manager.root().map(Path::to_owned))
        else {
            return Ok(Vec::new());
        };
        let cwd = (scope == Scope::ThisDirectory).then(|| self.cwd.clone());
        let extent = Extent { root: &root, cwd: cwd.as_deref(), limit };
        let restarts = self.restarts;
        let hits = self.ask(|database| query::hits(database, &words, &extent))?;
        if self.restarts == restarts {
            return Ok(hits);
        }
        // What was asked knew nothing any more.
        self.refresh(scope, |_| ())?;
        self.ask(|database| query::hits(database, &words, &extent))
    }

    /// As [`Catalog::search`], with the best entry of each session only.
    ///
    /// # Errors
    /// As [`Catalog::search`].
    pub fn sessions_saying(
        &mut self,
        words: &str,
        scope: Scope,
        limit: usize,
    ) -> Result<Vec<Hit>, SessionError> {
        let mut hits = self.search(words, scope, limit.saturating_mul(PLACES_FOR_A_SESSION))?;
        let mut seen = HashSet::new();
        hits.retain(|hit| seen.insert(hit.session.path.clone()));
        hits.truncate(limit);
        Ok(hits)
    }

    /// Sessions whose directory is gone and was called what this one is, or had the same `remote`: the project may have been
    /// moved here. The one written to last comes first.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn moved_here(&mut self, remote: Option<&str>) -> Result<Vec<SessionSummary>, SessionError> {
        let survey = self.survey()?;
        let (mut moved, mut gone) = (Vec::new(), HashMap::new());
        let mut is_gone = |cwd: &str| {
            let look = || !cwd.is_empty() && matches!(Path::new(cwd).try_exists(), Ok(false));
            *gone.entry(cwd.to_owned()).or_insert_with(look)
        };
        let name = self.manager.cwd().file_name().map(ToOwned::to_owned);
        for file in &survey.files {
            let cwd = match survey.standing(file) {
                Standing::Fresh(known) => Some(known.cwd.clone()),
                Standing::Stale | Standing::Unknown => digest::header_cwd(&file.path),
            };
            if !cwd.is_some_and(|cwd| is_gone(&cwd)) {
                continue;
            }
            let Ok(digest) = self.look_into(file) else { continue };
            let has_name = name.is_some() && Path::new(&digest.cwd).file_name() == name.as_deref();
            let has_remote = remote.is_some() && digest.remote.as_deref().map(plain) == remote.map(plain);
            if is_gone(&digest.cwd) && (has_name || has_remote) {
                moved.push(SessionSummary::new(file.path.clone(), &file.stamp, digest));
            }
        }
        Ok(moved)
    }

    /// What a log of this scope says; `None` when it is of another.
    fn digest_in(
        &mut self,
        scope: Scope,
        file: &File,
        survey: &Survey,
    ) -> Result<Option<Digest>, SessionError> {
        let may_be_ours = match survey.standing(file) {
            Standing::Fresh(known) => known.cwd == self.cwd || known.cwd.is_empty() && self.may_be_here(file),
            Standing::Stale => true,
            Standing::Unknown => {
                let header = || digest::header_cwd(&file.path);
                self.may_be_here(file) && header().is_none_or(|cwd| cwd == self.cwd)
            }
        };
        if scope == Scope::ThisDirectory && !may_be_ours {
            return Ok(None);
        }
        let digest = match self.look_into(file) {
            Err(_) if scope == Scope::ThisDirectory && !self.may_be_here(file) => return Ok(None),
            digest => digest?,
        };
        Ok((scope == Scope::Everywhere || digest.cwd == self.cwd).then_some(digest))
    }

    /// Whether a log that nothing is known of may be one of this directory, going by where it is.
    fn may_be_here(&self, file: &File) -> bool {
        self.manager.folder().as_deref() == file.path.parent()
    }

    /// What a log says, as it is known or read.
    fn look_into(&mut self, file: &File) -> Result<Digest, SessionError> {
        let before = match self.ask(|database| database.digest(&file.path))? {
            Some((stamp, digest)) if stamp == file.stamp => return session_of(&file.path, digest),
            before => before.map(|(_, digest)| digest),
        };
        let from = before.as_ref().map_or(0, |digest| digest.upto);
        let look = digest::look(&file.path, before).map_err(io_error(&file.path, "be read"))?;
        let digest = look.digest.clone();
        let looks = [(file.path.clone(), file.stamp, from, look)];
        self.ask(|database| database.store(&looks))?;
        session_of(&file.path, digest)
    }

    fn survey(&mut self) -> Result<Survey, SessionError> {
        let Some(root) = self.manager.root().map(Path::to_owned) else {
            return Ok(Survey { files: Vec::new(), known: HashMap::new() });
        };
        let files = folder::files(&self.manager.folders()?)?;
        let mut known: HashMap<PathBuf, Known> =
            self.ask(|database| database.known(&root))?.into_iter().collect();
        let there: HashSet<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let gone: Vec<PathBuf> =
            known.keys().filter(|path| !there.contains(path.as_path())).cloned().collect();
        // A folder that is empty of a sudden is more likely not mounted.
        if !gone.is_empty() && !files.is_empty() {
            self.ask(|database| database.forget(&gone))?;
        }
        known.retain(|path, _| there.contains(path.as_path()));
        Ok(Survey { files, known })
    }

    /// Asks the database. One that is damaged is made anew; one that fails otherwise is left alone from here on.
    fn ask<T>(
        &mut self,
        mut what: impl FnMut(&mut Database) -> rusqlite::Result<T>,
    ) -> Result<T, SessionError> {
        let error = match what(&mut self.database) {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        tracing::warn!(%error, "the catalog of sessions failed; it is gathered anew");
        self.restarts += 1;
        let anew = self.database.path().filter(|_| is_damage(&error)).map(Database::make_anew);
        self.database = anew.and_then(Result::ok).map_or_else(Database::passing, Ok).map_err(unusable)?;
        what(&mut self.database).map_err(unusable)
    }
}

fn unusable(error: rusqlite::Error) -> SessionError {
    SessionError::Catalog(Box::new(error))
}

fn session_of(path: &Path, digest: Digest) -> Result<Digest, SessionError> {
    match digest.problem {
        Some(what) => Err(SessionError::Header { path: path.to_owned(), what }),
        None => Ok(digest),
    }
}

/// Looks into logs on several threads; one that can't be read is left out.
fn side_by_side(todo: Vec<(File, Option<Digest>)>) -> Vec<(PathBuf, Stamp, u64, Look)> {
    let readers = thread::available_parallelism().map_or(1, usize::from).min(READERS);
    let share = todo.len().div_ceil(readers).max(1);
    let mut todo = todo.into_iter();
    let shares = std::iter::from_fn(|| {
        let share: Vec<_> = todo.by_ref().take(share).collect();
        (!share.is_empty()).then_some(share)
    });
    thread::scope(|scope| {
        let tasks: Vec<_> = shares
            .map(|share| scope.spawn(|| share.into_iter().filter_map(look).collect::<Vec<_>>()))
            .collect();
        tasks.into_iter().flat_map(|task| task.join().unwrap_or_default()).collect()
    })
}

fn look((file, before): (File, Option<Digest>)) -> Option<(PathBuf, Stamp, u64, Look)> {
    let from = before.as_ref().map_or(0, |digest| digest.upto);
    match digest::look(&file.path, before) {
        Ok(look) => Some((file.path, file.stamp, from, look)),
        Err(error) => {
            tracing::warn!(path = %file.path.display(), %error, "the session can't be read");
            None
        }
    }
}

/// A remote without what may differ between two ways to write the same: `https://host/me/x.git` and `git@host:me/x`.
fn plain(remote: &str) -> String {
    let rest = remote.split_once("://").map_or(remote, |(_, rest)| rest);
    let rest =
        rest.split_once('@').map_or(rest, |(user, rest)| if user.contains('/') { remote } else { rest });
    let rest = rest.trim_end_matches('/');
    rest.strip_suffix(".git").unwrap_or(rest).replacen(':', "/", 1).to_lowercase()
}

/// Every log in these folders.
pub(super) fn files_of(folders: &[PathBuf]) -> Result<Vec<PathBuf>, SessionError> {
    Ok(folder::files(folders)?.into_iter().map(|file| file.path).collect())
}

/// The folders in a folder.
pub(super) fn subfolders(folder: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let entries = folder::entries(folder)?.into_iter();
    Ok(entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_repository_has_one_plain_remote_however_it_is_written() {
        let ways = ["git@host.org:me/X.git", "https://host.org/me/x", "ssh://git@host.org/me/x.git/"];
        assert_eq!(ways.map(plain), ["host.org/me/x"; 3]);
        assert_ne!(plain("https://host.org/you/x"), "host.org/me/x");
        assert_eq!(plain("/srv/git/me@home/x.git"), "/srv/git/me@home/x");
    }
}
