//! The project's files, for `@`: found once in a while, ranked at every key, both elsewhere.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tiller_files::FileId;
use tiller_files::walk::{HiddenFiles, WalkEntryKind, WalkOptions, walk};

use super::{Candidate, OnAccept};
use crate::picker::{FuzzyQuery, MatchMode};
use crate::tool_call::one_line;

/// Files and folders that are looked at; a tree with more is offered in part.
const MOST: usize = 200_000;

/// Files that are offered: more than anybody reads.
const OFFERED: usize = 50;

/// Files and folders by their way from the working directory, those changed last first; folders end in a slash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileList(pub(super) Vec<String>);

#[cfg(test)]
impl From<&[&str]> for FileList {
    fn from(names: &[&str]) -> Self {
        Self(names.iter().map(|&name| name.to_owned()).collect())
    }
}

/// Lists the files beneath a directory, without what git ignores, hidden files and `excluded` folders. Takes a while.
pub(crate) fn list_files(cwd: &Path, excluded: &[PathBuf]) -> FileList {
    let excluded = excluded.iter().filter_map(|folder| folder.metadata().ok());
    let excluded = excluded.map(|metadata| FileId::from(&metadata)).collect();
    let options = WalkOptions { hidden: HiddenFiles::Skipped, excluded, ..WalkOptions::default() };
    let Ok(folder) = File::open(cwd) else { return FileList::default() };
    let mut files: Vec<(SystemTime, String)> = walk(folder, cwd, options)
        .take(MOST)
        .filter_map(|entry| {
            let name = entry.below.to_str()?.to_owned();
            Some((entry.modified, if entry.kind == WalkEntryKind::Folder { name + "/" } else { name }))
        })
        .collect();
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    FileList(files.into_iter().map(|(_, name)| name).collect())
}

/// Words to be looked for among files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranking {
    pub(crate) files: Arc<FileList>,
    pub(crate) words: String,
}

/// The files that fit some words best.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ranked {
    pub(crate) words: String,
    pub(crate) offers: Vec<Candidate>,
}

impl Ranking {
    /// Does it; takes a while where there are many. Behind a folder its contents are offered.
    pub(crate) fn done(self) -> Ranked {
        let names = &self.files.0;
        let best = match self.words.ends_with('/') && names.contains(&self.words) {
            true => beneath(names, &self.words),
            false => FuzzyQuery::new(&self.words, MatchMode::Paths).rank(names, |name| (name, "")),
        };
        let offers = best.into_iter().take(OFFERED).map(|at| offer(&names[at])).collect();
        Ranked { words: self.words, offers }
    }
}

/// Where the names of what a folder holds stand: its own children first.
fn beneath(names: &[String], folder: &str) -> Vec<usize> {
    let depth = |at: usize| {
        let rest = names[at].strip_prefix(folder).filter(|rest| !rest.is_empty())?;
        Some(rest.trim_end_matches('/').matches('/').count())
    };
    let mut beneath: Vec<(usize, usize)> = (0..names.len()).filter_map(|at| Some((depth(at)?, at))).collect();
    beneath.sort_unstable();
    beneath.into_iter().map(|(_, at)| at).collect()
}

fn offer(name: &str) -> Candidate {
    Candidate { name: one_line(name), insert: named(name), then: OnAccept::GoOn, ..Candidate::default() }
}

/// A path as a message names it. After a folder one goes on typing.
pub(super) fn named(path: &str) -> String {
    let after = if path.ends_with('/') { "" } else { " " };
    match path.contains(char::is_whitespace) {
        true if after.is_empty() => format!("@\"{path}"),
        true => format!("@\"{path}\"{after}"),
        false => format!("@{path}{after}"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_as_git_sees_them_and_ranked() {
        let folder = tempfile::TempDir::new().unwrap();
        for name in ["src/main.rs", "src/my notes.md", "target/main.o", ".hidden"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(folder.path().join(".gitignore"), "target\n").unwrap();
        let mut found = list_files(folder.path(), &[]);
        found.0.sort();
        assert_eq!(found.0, ["src/", "src/main.rs", "src/my notes.md"]);
        let ranked = |words: &str| {
            let ranking = Ranking { files: Arc::new(FileList(found.0.clone())), words: words.into() };
            ranking.done().offers.into_iter().map(|offer| offer.insert).collect::<Vec<_>>()
        };
        assert_eq!(ranked("main"), ["@src/main.rs "]);
        assert_eq!(ranked("notes"), ["@\"src/my notes.md\" "]);
        assert_eq!(ranked("")[0], "@src/");
    }

    #[test]
    fn behind_a_folder_its_contents_are_offered_its_own_children_first() {
        let names = ["my src/deep/in.rs", "my src/", "my src/deep/", "other/my src/a.rs", "my src/main.rs"];
        let files = Arc::new(FileList::from(&names[..]));
        let ranked = |words: &str| {
            let ranking = Ranking { files: Arc::clone(&files), words: words.into() };
            ranking.done().offers.into_iter().map(|offer| offer.name).collect::<Vec<_>>()
        };
        assert_eq!(ranked("my src/"), ["my src/deep/", "my src/main.rs", "my src/deep/in.rs"]);
        assert_eq!(ranked("my src/deep/"), ["my src/deep/in.rs"]);
        assert_eq!(ranked("src/").len(), 5, "it is no folder of that name");
    }
}
