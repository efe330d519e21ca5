//! Paths that Tab completes: what a directory holds that begins as the last part does.

use std::path::{Path, PathBuf};

use super::files::named;
use super::{Candidate, OnAccept};
use crate::picker::{FuzzyQuery, MatchMode};
use crate::tool_call::one_line;

/// Names that are offered of one directory.
const MOST: usize = 200;

/// What a path is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// It is a word of the text, which Tab completes.
    #[default]
    Word,
    /// A message names it with an `@`.
    Name,
    /// A session is to be written there: folders are offered, and how the file's name may end.
    Export,
    /// Something of it is to be imported.
    Import,
}

/// A path to be completed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PathQuery {
    pub(crate) purpose: PathKind,
    /// The text before the cursor: what comes is for it alone.
    pub(crate) before: String,
    pub(crate) typed: String,
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
}

/// What a path may become.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PathListing {
    pub(crate) purpose: PathKind,
    pub(crate) before: String,
    pub(crate) typed: String,
    pub(crate) offers: Vec<Candidate>,
}

/// Looks into the directory of a path. Hidden names are offered once their dot is typed.
pub(crate) fn list(wanted: PathQuery) -> PathListing {
    let PathQuery { purpose, before, typed, cwd, home } = wanted;
    let (folder, start) = match typed.rsplit_once('/') {
        Some((folder, start)) => (format!("{folder}/"), start.to_owned()),
        None if typed == "~" || typed == "." || typed == ".." => (format!("{typed}/"), String::new()),
        None => (String::new(), typed.clone()),
    };
    let place = match (folder.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(&folder),
    };
    let mut offers = held(&place, &folder, &start);
    match purpose {
        PathKind::Word => offers.retain(|offer| offer.name.starts_with(&start)),
        PathKind::Name => {
            offers = fitting(offers, &start);
            offers.iter_mut().for_each(|offer| offer.insert = named(&offer.insert));
        }
        PathKind::Import => offers = fitting(offers, &start),
        PathKind::Export => {
            offers.retain(|offer| offer.name.ends_with('/'));
            offers = formats(&folder, &start).into_iter().chain(fitting(offers, &start)).collect();
        }
    }
    offers.truncate(MOST);
    PathListing { purpose, before, typed, offers }
}

/// What a directory holds, in the order of names.
fn held(place: &Path, folder: &str, start: &str) -> Vec<Candidate> {
    let entries = std::fs::read_dir(place).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let shown = names.filter(|name| start.starts_with('.') || !name.starts_with('.'));
    let mut offers: Vec<Candidate> = shown.map(|name| offer(folder, &name, place)).collect();
    offers.sort_by(|a, b| a.name.cmp(&b.name));
    offers
}

/// Those that fit what was typed of the name, the best first.
fn fitting(offers: Vec<Candidate>, start: &str) -> Vec<Candidate> {
    let best = FuzzyQuery::new(start, MatchMode::Paths).rank(&offers, |offer| (&offer.name, ""));
    best.into_iter().map(|at| offers[at].clone()).collect()
}

/// How the name of a file to be exported to may end, with what that means.
fn formats(folder: &str, start: &str) -> Vec<Candidate> {
    const FORMATS: [(&str, &str); 3] =
        [("html", "a page for a browser"), ("md", "Markdown"), ("jsonl", "a log that tiller reads again")];
    let (stem, ending) = match start.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ if start.is_empty() => ("session", ""),
        _ => (start, ""),
    };
    let meant = FORMATS.iter().filter(|(format, _)| format.starts_with(ending));
    let offer = |(format, about): &(&str, &str)| Candidate {
        name: one_line(&format!("{stem}.{format}")),
        about: (*about).to_owned(),
        insert: format!("{folder}{stem}.{format}"),
        then: OnAccept::Send,
        ..Candidate::default()
    };
    meant.map(offer).collect()
}

fn offer(folder: &str, name: &str, place: &Path) -> Candidate {
    let end = if place.join(name).is_dir() { "/" } else { "" };
    Candidate {
        name: one_line(&format!("{name}{end}")),
        insert: format!("{folder}{name}{end}"),
        then: OnAccept::GoOn,
        ..Candidate::default()
    }
}

/// What all of them begin with.
pub(super) fn common(offers: &[Candidate]) -> String {
    let mut common = offers.first().map(|offer| offer.insert.clone()).unwrap_or_default();
    for offer in offers {
        let same = common.char_indices().zip(offer.insert.chars()).take_while(|((_, a), b)| a == b);
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
    fn a_path_becomes_what_its_directory_holds() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("src/map")).unwrap();
        for name in ["src/main.rs", "src/map.rs", "src/.hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let listed = |typed: &str, cwd: &Path| {
            let (before, home) = (String::new(), Some(folder.path().to_owned()));
            let purpose = PathKind::Word;
            list(PathQuery { purpose, before, typed: typed.into(), cwd: cwd.into(), home }).offers
        };
        let inserts =
            |offers: &[Candidate]| offers.iter().map(|offer| offer.insert.clone()).collect::<Vec<_>>();
        let offers = listed("./src/ma", folder.path());
        assert_eq!(inserts(&offers), ["./src/main.rs", "./src/map.rs", "./src/map/"]);
        assert_eq!(common(&offers), "./src/ma");
        assert_eq!(inserts(&listed("~/src/map.", Path::new("/"))), ["~/src/map.rs"]);
        assert_eq!(inserts(&listed("src/.", folder.path())), ["src/.hidden"]);
        assert_eq!(inserts(&listed("~", Path::new("/"))), ["~/src/"]);
        assert!(listed("nowhere/x", folder.path()).is_empty());
    }

    #[test]
    fn a_session_is_exported_into_a_folder_or_to_a_name_that_says_the_format() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("pages/old")).unwrap();
        fs::write(folder.path().join("notes.md"), "").unwrap();
        let inserts = |typed: &str| {
            let wanted = PathQuery {
                purpose: PathKind::Export,
                typed: typed.into(),
                cwd: folder.path().into(),
                ..PathQuery::default()
            };
            list(wanted).offers.into_iter().map(|offer| offer.insert).collect::<Vec<_>>()
        };
        assert_eq!(inserts(""), ["session.html", "session.md", "session.jsonl", "pages/"]);
        assert_eq!(inserts("pages/talk"), ["pages/talk.html", "pages/talk.md", "pages/talk.jsonl"]);
        assert_eq!(inserts("talk.j"), ["talk.jsonl"]);
        assert_eq!(inserts("pgs")[3..], ["pages/"], "letters in order find a folder");
    }

    #[test]
    fn a_path_that_is_named_is_found_by_letters_in_order_and_quoted_where_it_has_to_be() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("my notes")).unwrap();
        fs::write(folder.path().join("lexer.rs"), "").unwrap();
        let inserts = |typed: &str| {
            let (purpose, home) = (PathKind::Name, Some(folder.path().to_owned()));
            let wanted = PathQuery { purpose, typed: typed.into(), home, ..PathQuery::default() };
            list(wanted).offers.into_iter().map(|offer| offer.insert).collect::<Vec<_>>()
        };
        assert_eq!(inserts("~/"), ["@~/lexer.rs ", "@\"~/my notes/"]);
        assert_eq!(inserts("~/lx"), ["@~/lexer.rs "]);
        assert_eq!(inserts("~/nowhere/"), [""; 0]);
    }

    #[test]
    fn what_is_imported_is_found_by_letters_in_order() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::write(folder.path().join("session-1.jsonl"), "").unwrap();
        let wanted = |typed: &str| PathQuery {
            purpose: PathKind::Import,
            typed: typed.into(),
            cwd: folder.path().into(),
            ..PathQuery::default()
        };
        assert_eq!(list(wanted("ss1")).offers.len(), 1);
        assert_eq!(list(wanted("ss2")).offers.len(), 0);
    }
}
