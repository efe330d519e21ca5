//! Which log somebody means: by a part of its id, by words, or because their project was moved.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use tiller_core::id::{SHORTEST_FRAGMENT, SessionId};

use super::{Catalog, IndexProgress, SessionSummary, Standing, log_record, scan};
use crate::error::SessionError;
use crate::manager::SessionScope;

/// The logs that go by a part of an id.
enum Named {
    None,
    One(PathBuf),
    Several(usize),
}

impl Catalog {
    /// The log whose id, or a prefix or suffix of it, this is. Names of files tell the id; only files that are named otherwise
    /// are opened.
    ///
    /// # Errors
    /// When none, or more than one, goes by it.
    pub fn named(&mut self, fragment: &str) -> Result<PathBuf, SessionError> {
        let not_found = |what: String| Err(SessionError::NotFound(what));
        match self.going_by(fragment)? {
            Named::One(path) => Ok(path),
            Named::None if fragment.chars().count() < SHORTEST_FRAGMENT => not_found(format!(
                "`{fragment}` is too short for a part of an id; give {SHORTEST_FRAGMENT} characters or more"
            )),
            Named::None => not_found(format!("no session's id begins or ends with `{fragment}`")),
            Named::Several(count) => Err(ambiguous(fragment, count)),
        }
    }

    /// The logs whose ids go by a fragment; one whose whole id it is goes before all others.
    fn going_by(&mut self, fragment: &str) -> Result<Named, SessionError> {
        let found = scan::files(&self.manager.folders()?);
        let mut named: Vec<(SessionId, PathBuf)> = found
            .files
            .into_iter()
            .filter_map(|file| {
                let id = id_of(&file.path)?;
                id.matches(fragment).then_some((id, file.path))
            })
            .collect();
        let whole = named.iter().position(|(id, _)| id.as_str() == fragment);
        let only = whole.or_else(|| (named.len() == 1).then_some(0));
        Ok(match only {
            Some(at) => Named::One(named.swap_remove(at).1),
            None if named.is_empty() => Named::None,
            None => Named::Several(named.len()),
        })
    }

    /// The sessions of all directories that go by a part of an id, the one written to last first. None where more than `most` do:
    /// then nobody means one of them yet.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn sessions_named(
        &mut self,
        fragment: &str,
        most: usize,
    ) -> Result<Vec<SessionSummary>, SessionError> {
        if fragment.chars().count() < SHORTEST_FRAGMENT || fragment.contains(char::is_whitespace) {
            return Ok(Vec::new());
        }
        let mut files = scan::files(&self.manager.folders()?).files;
        files.retain(|file| id_of(&file.path).is_some_and(|id| id.matches(fragment)));
        if files.len() > most {
            return Ok(Vec::new());
        }
        let summary = |file: scan::File| {
            let digest = self.look_into(&file).ok()?;
            Some(SessionSummary::new(file.path.clone(), &file.stamp, digest))
        };
        Ok(files.into_iter().filter_map(summary).collect())
    }

    /// The log of this directory that words mean best: those of its id or its path, else of its name, else what was said in it.
    ///
    /// Every log of the directory is read for that; `told` hears how far it is.
    ///
    /// # Errors
    /// When the folder can't be read, or the words mean nothing but a part of several ids.
    pub fn best(
        &mut self,
        words: &str,
        told: impl FnMut(IndexProgress),
    ) -> Result<Option<PathBuf>, SessionError> {
        let named = self.going_by(words)?;
        if let Named::One(path) = named {
            return Ok(Some(path));
        }
        // A bare word is no path, whatever files there are where tiller was begun.
        let path = Path::new(words);
        let is_path = words.contains('/') || path.extension().is_some_and(|ending| ending == "jsonl");
        if is_path && path.is_file() {
            return Ok(Some(path.to_owned()));
        }
        self.refresh(SessionScope::ThisDirectory, told)?;
        let wanted = words.trim().to_lowercase();
        let sessions = self.known(SessionScope::ThisDirectory)?;
        let called = |fits: &dyn Fn(&str) -> bool| {
            let named = sessions.iter().find(|session| session.name.as_deref().is_some_and(fits));
            named.map(|session| session.path.clone())
        };
        let by_name = called(&|name| name.to_lowercase() == wanted)
            .or_else(|| called(&|name| name.to_lowercase().contains(&wanted)));
        if by_name.is_some() {
            return Ok(by_name);
        }
        let hits = self.search(words, SessionScope::ThisDirectory, 1)?;
        match (hits.into_iter().next(), named) {
            (Some(hit), _) => Ok(Some(hit.session.path)),
            (None, Named::Several(count)) => Err(ambiguous(words, count)),
            (None, _) => Ok(None),
        }
    }

    /// Sessions whose directory is gone and was called what this one is, or had the same `remote`: the project may have been
    /// moved here. The one written to last comes first.
    ///
    /// Where a log that wasn't known turns out to be of this directory already, it alone is given: the newest such.
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
                Standing::Stale | Standing::Unknown => log_record::header_cwd(&file.path),
            };
            if !cwd.is_some_and(|cwd| is_gone(&cwd)) {
                continue;
            }
            let Ok(digest) = self.look_into(file) else { continue };
            if digest.cwd == self.cwd {
                return Ok(vec![SessionSummary::new(file.path.clone(), &file.stamp, digest)]);
            }
            let has_name = name.is_some() && Path::new(&digest.cwd).file_name() == name.as_deref();
            let has_remote = remote.is_some() && digest.remote.as_deref().map(plain) == remote.map(plain);
            if is_gone(&digest.cwd) && (has_name || has_remote) {
                moved.push(SessionSummary::new(file.path.clone(), &file.stamp, digest));
            }
        }
        Ok(moved)
    }
}

/// The id of the log at a path: its name tells it, or else its first line.
fn id_of(path: &Path) -> Option<SessionId> {
    let id = scan::id_in_name(path).map(str::to_owned);
    id.or_else(|| log_record::header_id(path)).map(SessionId::new)
}

fn ambiguous(fragment: &str, count: usize) -> SessionError {
    SessionError::NotFound(format!("`{fragment}` names {count} sessions; give more of the id"))
}

/// A remote without what may differ between two ways to write the same: `https://host/me/x.git` and `git@host:me/x`.
fn plain(remote: &str) -> String {
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
    fn one_repository_has_one_plain_remote_however_it_is_written() {
        let ways = ["git@host.org:me/X.git", "https://host.org/me/x", "ssh://git@host.org/me/x.git/"];
        assert_eq!(ways.map(plain), ["host.org/me/x"; 3]);
        assert_ne!(plain("https://host.org/you/x"), "host.org/me/x");
        assert_eq!(plain("/srv/git/me@home/x.git"), "/srv/git/me@home/x");
    }
}
