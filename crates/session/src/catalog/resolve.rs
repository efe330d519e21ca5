//! Resolution of sessions by a fragment of the id, by words, or by a moved project.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tiller_core::id::{MIN_FRAGMENT, SessionId};

use super::{Catalog, IndexProgress, RecordState, SessionSummary, log_record, require_session, scan};
use crate::error::{SessionError, too_short};
use crate::manager::SessionScope;

/// Logs whose ids match a fragment, with their ids.
struct LogsById {
    listed: Vec<(SessionId, scan::LogFile)>,
    /// Logs of agents; empty if others match.
    agents: Vec<(SessionId, scan::LogFile)>,
}

/// The number of logs whose ids match a fragment.
enum IdMatches {
    None,
    One(PathBuf),
    Several(usize),
}

impl Catalog {
    /// Finds a log by its id, or by a prefix or suffix of it. The id is part of the file name; only files
    /// with other names are opened. Agent sessions, which lists omit, are found if no other session matches.
    ///
    /// # Errors
    /// If no log, or more than one, matches.
    pub fn find_by_id(&mut self, fragment: &str) -> Result<PathBuf, SessionError> {
        let not_found = |query: String| Err(SessionError::NotFound(query));
        match self.match_id(fragment)? {
            IdMatches::One(path) => Ok(path),
            IdMatches::None if fragment.chars().count() < MIN_FRAGMENT => not_found(too_short(fragment)),
            IdMatches::None => not_found(format!("no session id begins or ends with `{fragment}`")),
            IdMatches::Several(count) => Err(ambiguous(fragment, count)),
        }
    }

    /// Finds the logs whose ids match a fragment; an exact match takes precedence.
    fn match_id(&mut self, fragment: &str) -> Result<IdMatches, SessionError> {
        let LogsById { listed, agents } = self.logs_by_id(fragment)?;
        let mut matches = if listed.is_empty() { agents } else { listed };
        let exact = matches.iter().position(|(id, _)| id.as_str() == fragment);
        let match_index = exact.or_else(|| (matches.len() == 1).then_some(0));
        Ok(match match_index {
            Some(at) => IdMatches::One(matches.swap_remove(at).1.path),
            None if matches.is_empty() => IdMatches::None,
            None => IdMatches::Several(matches.len()),
        })
    }

    /// Finds the logs in all directories whose ids match a fragment.
    fn logs_by_id(&self, fragment: &str) -> Result<LogsById, SessionError> {
        let dirs = self.manager.dirs()?;
        let matches = |dirs: &[PathBuf]| {
            let files = scan::scan_dirs(dirs).files.into_iter();
            let with_id = files.filter_map(|file| Some((log_id(&file.path)?, file)));
            with_id.filter(|(id, _)| id.matches(fragment)).collect::<Vec<_>>()
        };
        let listed = matches(&dirs);
        let agents = if listed.is_empty() { matches(&scan::agents_dirs(dirs)) } else { Vec::new() };
        Ok(LogsById { listed, agents })
    }

    /// Finds the sessions in all directories whose ids match a fragment, most recently written first; agent
    /// sessions if no other session matches. Empty if more than `max_matches` match, because the fragment is
    /// then ambiguous.
    ///
    /// # Errors
    /// If a directory exists but can't be read.
    pub fn sessions_by_id(
        &mut self,
        fragment: &str,
        max_matches: usize,
    ) -> Result<Vec<SessionSummary>, SessionError> {
        if fragment.chars().count() < MIN_FRAGMENT || fragment.contains(char::is_whitespace) {
            return Ok(Vec::new());
        }
        let LogsById { listed, agents } = self.logs_by_id(fragment)?;
        if listed.len() + agents.len() > max_matches {
            return Ok(Vec::new());
        }
        let summary = |file: scan::LogFile, record| SessionSummary::new(file.path, &file.stamp, record);
        let listed = listed.into_iter().filter_map(|(_, file)| Some((self.record(&file).ok()?, file)));
        // Storing its record would make an agent's session appear in searches.
        let read = |file: &scan::LogFile| {
            let scan = log_record::scan_log(&file.path, None).ok()?;
            require_session(&file.path, scan.record).ok()
        };
        let agents = agents.into_iter().filter_map(|(_, file)| Some((read(&file)?, file)));
        Ok(listed.chain(agents).map(|(record, file)| summary(file, record)).collect())
    }

    /// Finds the best match for a query: by id or path, else by name, else by text in this directory's
    /// sessions.
    ///
    /// Reads every log of the directory; `on_progress` is called during the scan.
    ///
    /// # Errors
    /// If the directory can't be read, or the query matches only several ids.
    pub fn best_match(
        &mut self,
        query: &str,
        on_progress: impl FnMut(IndexProgress),
    ) -> Result<Option<PathBuf>, SessionError> {
        let matches = self.match_id(query)?;
        if let IdMatches::One(path) = matches {
            return Ok(Some(path));
        }
        // A bare word is not a path, even if a file of that name exists.
        let path = Path::new(query);
        let is_path = query.contains('/') || path.extension().is_some_and(|extension| extension == "jsonl");
        if is_path && path.is_file() {
            return Ok(Some(path.to_owned()));
        }
        self.refresh(SessionScope::ThisDirectory, on_progress)?;
        let lowercase = query.trim().to_lowercase();
        let sessions = self.indexed_sessions(SessionScope::ThisDirectory)?;
        let find_name = |is_name_match: &dyn Fn(&str) -> bool| {
            let matches = sessions.iter().find(|session| session.name.as_deref().is_some_and(is_name_match));
            matches.map(|session| session.path.clone())
        };
        let by_name = find_name(&|name| name.to_lowercase() == lowercase)
            .or_else(|| find_name(&|name| name.to_lowercase().contains(&lowercase)));
        if by_name.is_some() {
            return Ok(by_name);
        }
        let hits = self.search(query, SessionScope::ThisDirectory, 1)?;
        match (hits.into_iter().next(), matches) {
            (Some(hit), _) => Ok(Some(hit.session.path)),
            (None, IdMatches::Several(count)) => Err(ambiguous(query, count)),
            (None, _) => Ok(None),
        }
    }

    /// Finds the sessions whose directory no longer exists and had this one's name or the same `remote`: the
    /// project may have been moved here. Most recently written first.
    ///
    /// If logs without a record turn out to belong to this directory already, only the newest of them is
    /// returned.
    ///
    /// # Errors
    /// If a directory exists but can't be read.
    pub fn moved_projects(&mut self, remote: Option<&str>) -> Result<Vec<SessionSummary>, SessionError> {
        let scan = self.scan()?;
        let (mut moved_projects, mut checked) = (Vec::new(), HashMap::new());
        let mut is_gone = |cwd: &str| {
            let is_missing = || !cwd.is_empty() && matches!(Path::new(cwd).try_exists(), Ok(false));
            *checked.entry(cwd.to_owned()).or_insert_with(is_missing)
        };
        let name = self.manager.cwd().file_name().map(ToOwned::to_owned);
        for file in &scan.files {
            let cwd = match scan.record_state(file) {
                RecordState::Fresh(known) => Some(known.cwd.clone()),
                RecordState::Stale | RecordState::Unknown => log_record::header_cwd(&file.path),
            };
            if !cwd.is_some_and(|cwd| is_gone(&cwd)) {
                continue;
            }
            let Ok(record) = self.record(file) else { continue };
            if record.cwd == self.cwd {
                return Ok(vec![SessionSummary::new(file.path.clone(), &file.stamp, record)]);
            }
            let has_name = name.is_some() && Path::new(&record.cwd).file_name() == name.as_deref();
            let has_remote = remote.is_some()
                && record.remote.as_deref().map(normalize_remote) == remote.map(normalize_remote);
            if is_gone(&record.cwd) && (has_name || has_remote) {
                moved_projects.push(SessionSummary::new(file.path.clone(), &file.stamp, record));
            }
        }
        Ok(moved_projects)
    }
}

/// Returns the id of the log at a path, from its name or else its header.
fn log_id(path: &Path) -> Option<SessionId> {
    let id = scan::id_from_name(path).map(str::to_owned);
    id.or_else(|| log_record::header_id(path)).map(SessionId::new)
}

fn ambiguous(fragment: &str, count: usize) -> SessionError {
    SessionError::NotFound(format!("`{fragment}` matches {count} sessions; give more of the id"))
}

/// Normalizes a remote, so that all spellings of it are equal: `https://host/me/x.git` and `git@host:me/x`.
fn normalize_remote(remote: &str) -> String {
    let rest = remote.split_once("://").map_or(remote, |(_, rest)| rest);
    let rest =
        rest.split_once('@').map_or(rest, |(user, rest)| if user.contains('/') { remote } else { rest });
    let rest = rest.trim_end_matches('/');
    rest.strip_suffix(".git").unwrap_or(rest).replacen(':', "/", 1).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_remote_url_forms_are_equal() {
        let forms = ["git@host.org:me/X.git", "https://host.org/me/x", "ssh://git@host.org/me/x.git/"];
        assert_eq!(forms.map(normalize_remote), ["host.org/me/x"; 3]);
        assert_ne!(normalize_remote("https://host.org/you/x"), "host.org/me/x");
        assert_eq!(normalize_remote("/srv/git/me@home/x.git"), "/srv/git/me@home/x");
    }
}
