//! Path completion: the entries of a directory that match the last part of the path.

use std::path::{Path, PathBuf};

use crate::completion::candidate::{Candidate, OnAccept};
use crate::completion::files::mention;
use crate::fuzzy::{FuzzyQuery, MatchMode};
use crate::text::one_line;

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 200;

/// The purpose of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A word of the text, completed with Tab.
    #[default]
    Word,
    Mention,
    /// The target of `/export`: directories, and file names with each format's extension.
    Export,
    /// The source of `/import`.
    Import,
}

/// A request to complete a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathQuery {
    pub(crate) purpose: PathKind,
    /// The text before the cursor; the answer is valid only for this text.
    pub(crate) before: String,
    pub(crate) typed: String,
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// The candidates for a path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathListing {
    pub(crate) purpose: PathKind,
    pub(crate) before: String,
    pub(crate) typed: String,
    pub(crate) candidates: Vec<Candidate>,
}

/// Lists the directory of a path. Hidden names need a typed dot.
pub(crate) fn list_paths_for(query: PathQuery) -> PathListing {
    let PathQuery { purpose, before, typed, cwd, home } = query;
    let (dir, start) = match typed.rsplit_once('/') {
        Some((dir, start)) => (format!("{dir}/"), start.to_owned()),
        None if typed == "~" || typed == "." || typed == ".." => (format!("{typed}/"), String::new()),
        None => (String::new(), typed.clone()),
    };
    let directory = match (dir.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(&dir),
    };
    let mut candidates = entries(&directory, &dir, &start);
    match purpose {
        PathKind::Word => candidates.retain(|candidate| candidate.name.starts_with(&start)),
        PathKind::Mention => {
            candidates = fitting(candidates, &start);
            candidates.iter_mut().for_each(|candidate| candidate.insert = mention(&candidate.insert));
        }
        PathKind::Import => candidates = fitting(candidates, &start),
        PathKind::Export => {
            candidates.retain(|candidate| candidate.name.ends_with('/'));
            candidates = formats(&dir, &start).into_iter().chain(fitting(candidates, &start)).collect();
        }
    }
    candidates.truncate(MAX_CANDIDATES);
    PathListing { purpose, before, typed, candidates }
}

/// Returns the entries of a directory, sorted by name.
fn entries(directory: &Path, dir: &str, start: &str) -> Vec<Candidate> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let shown = names.filter(|name| start.starts_with('.') || !name.starts_with('.'));
    let mut candidates: Vec<Candidate> = shown.map(|name| candidate(dir, &name, directory)).collect();
    candidates.sort_by(|a, b| a.name.cmp(&b.name));
    candidates
}

/// Returns the candidates that match the typed name, best first.
fn fitting(candidates: Vec<Candidate>, start: &str) -> Vec<Candidate> {
    let best = FuzzyQuery::new(start, MatchMode::Paths).rank(&candidates, |candidate| (&candidate.name, ""));
    best.into_iter().map(|at| candidates[at].clone()).collect()
}

/// Returns file names for an export, one for each format's extension.
fn formats(dir: &str, start: &str) -> Vec<Candidate> {
    const FORMATS: [(&str, &str); 3] =
        [("html", "HTML page"), ("md", "Markdown"), ("jsonl", "session log; tiller can open it")];
    let (stem, ending) = match start.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ if start.is_empty() => ("session", ""),
        _ => (start, ""),
    };
    let matching = FORMATS.iter().filter(|(format, _)| format.starts_with(ending));
    let build = |(format, about): &(&str, &str)| Candidate {
        name: one_line(&format!("{stem}.{format}")),
        about: (*about).to_owned(),
        insert: format!("{dir}{stem}.{format}"),
        then: OnAccept::Send,
        ..Candidate::default()
    };
    matching.map(build).collect()
}

fn candidate(dir: &str, name: &str, directory: &Path) -> Candidate {
    let end = if directory.join(name).is_dir() { "/" } else { "" };
    Candidate {
        name: one_line(&format!("{name}{end}")),
        insert: format!("{dir}{name}{end}"),
        then: OnAccept::GoOn,
        ..Candidate::default()
    }
}

/// Returns the common prefix of all candidates.
pub(crate) fn common(candidates: &[Candidate]) -> String {
    let mut common = candidates.first().map(|candidate| candidate.insert.clone()).unwrap_or_default();
    for candidate in candidates {
        let same = common.char_indices().zip(candidate.insert.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, c), _)| at + c.len_utf8());
        common.truncate(end);
    }
    common
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn list_word_completes_directory_entries() {
        let dir = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("src/map")).unwrap();
        for name in ["src/main.rs", "src/map.rs", "src/.hidden"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let listed = |typed: &str, cwd: &Path| {
            let (before, home) = (String::new(), Some(dir.path().to_owned()));
            let purpose = PathKind::Word;
            list_paths_for(PathQuery { purpose, before, typed: typed.into(), cwd: cwd.into(), home })
                .candidates
        };
        let inserts = |offers: &[Candidate]| {
            offers.iter().map(|candidate| candidate.insert.clone()).collect::<Vec<_>>()
        };
        let offers = listed("./src/ma", dir.path());
        assert_eq!(inserts(&offers), ["./src/main.rs", "./src/map.rs", "./src/map/"]);
        assert_eq!(common(&offers), "./src/ma");
        assert_eq!(inserts(&listed("~/src/map.", Path::new("/"))), ["~/src/map.rs"]);
        assert_eq!(inserts(&listed("src/.", dir.path())), ["src/.hidden"]);
        assert_eq!(inserts(&listed("~", Path::new("/"))), ["~/src/"]);
        assert!(listed("nowhere/x", dir.path()).is_empty());
    }

    #[test]
    fn list_export_offers_dirs_and_formats() {
        let dir = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("pages/old")).unwrap();
        fs::write(dir.path().join("notes.md"), "").unwrap();
        let inserts = |typed: &str| {
            let wanted = PathQuery {
                purpose: PathKind::Export,
                typed: typed.into(),
                cwd: dir.path().into(),
                ..PathQuery::default()
            };
            list_paths_for(wanted)
                .candidates
                .into_iter()
                .map(|candidate| candidate.insert)
                .collect::<Vec<_>>()
        };
        assert_eq!(inserts(""), ["session.html", "session.md", "session.jsonl", "pages/"]);
        assert_eq!(inserts("pages/talk"), ["pages/talk.html", "pages/talk.md", "pages/talk.jsonl"]);
        assert_eq!(inserts("talk.j"), ["talk.jsonl"]);
        assert_eq!(inserts("pgs")[3..], ["pages/"], "letters in order find a directory");
    }

    #[test]
    fn list_mention_matches_fuzzily_and_quotes() {
        let dir = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(dir.path().join("my notes")).unwrap();
        fs::write(dir.path().join("lexer.rs"), "").unwrap();
        let inserts = |typed: &str| {
            let (purpose, home) = (PathKind::Mention, Some(dir.path().to_owned()));
            let wanted = PathQuery { purpose, typed: typed.into(), home, ..PathQuery::default() };
            list_paths_for(wanted)
                .candidates
                .into_iter()
                .map(|candidate| candidate.insert)
                .collect::<Vec<_>>()
        };
        assert_eq!(inserts("~/"), ["@~/lexer.rs ", "@\"~/my notes/"]);
        assert_eq!(inserts("~/lx"), ["@~/lexer.rs "]);
        assert_eq!(inserts("~/nowhere/"), [""; 0]);
    }

    #[test]
    fn list_import_matches_fuzzily() {
        let dir = tempfile::TempDir::new().unwrap();
        fs::write(dir.path().join("session-1.jsonl"), "").unwrap();
        let wanted = |typed: &str| PathQuery {
            purpose: PathKind::Import,
            typed: typed.into(),
            cwd: dir.path().into(),
            ..PathQuery::default()
        };
        assert_eq!(list_paths_for(wanted("ss1")).candidates.len(), 1);
        assert_eq!(list_paths_for(wanted("ss2")).candidates.len(), 0);
    }
}
