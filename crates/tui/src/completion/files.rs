//! The project's files for `@`. They are listed periodically and ranked at every key, both in the background.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use tiller_engine::ServedResource;
use tiller_files::FileId;
use tiller_files::walk::{HiddenFiles, WalkEntryKind, WalkOptions, walk};

use crate::completion::candidate::{Candidate, OnAccept};
use crate::completion::resources;
use crate::fuzzy::{FuzzyQuery, MatchMode};
use crate::text::one_line;

/// Maximum number of listed files and directories; larger trees are listed partially.
const MAX_FILES: usize = 200_000;

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 50;

/// Maximum number of server resources that files leave room for.
const MAX_RESOURCES: usize = 20;

/// Paths of files and directories relative to the working directory, last modified first; directories end
/// with a slash.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileList(pub(super) Vec<String>);

#[cfg(test)]
impl From<&[&str]> for FileList {
    fn from(names: &[&str]) -> Self {
        Self(names.iter().map(|&name| name.to_owned()).collect())
    }
}

/// Lists the files under a directory without ignored files, hidden files and `excluded` directories. Slow;
/// intended for background jobs.
pub(crate) fn list_files(cwd: &Path, excluded: &[PathBuf]) -> FileList {
    let excluded = excluded.iter().filter_map(|dir| dir.metadata().ok());
    let excluded = excluded.map(|metadata| FileId::from(&metadata)).collect();
    let options = WalkOptions { hidden: HiddenFiles::Skipped, excluded, ..WalkOptions::default() };
    let Ok(dir) = File::open(cwd) else { return FileList::default() };
    let mut files: Vec<(SystemTime, String)> = walk(dir, cwd, options)
        .take(MAX_FILES)
        .filter_map(|entry| {
            let name = entry.relative_path.to_str()?.to_owned();
            Some((entry.modified, if entry.kind == WalkEntryKind::Directory { name + "/" } else { name }))
        })
        .collect();
    files.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    FileList(files.into_iter().map(|(_, name)| name).collect())
}

/// A ranking job: a query over the listed files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileRankingJob {
    pub(crate) files: Arc<FileList>,
    /// Resources of servers, offered along with the files.
    pub(crate) resources: Arc<[ServedResource]>,
    pub(crate) query: String,
}

/// The best files for a query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct RankedFiles {
    pub(crate) query: String,
    pub(crate) candidates: Vec<Candidate>,
}

impl FileRankingJob {
    /// Ranks the files; slow for many files. A complete directory name yields the directory's contents.
    pub(crate) fn run(self) -> RankedFiles {
        let names = &self.files.0;
        let candidates = match self.query.ends_with('/') && names.contains(&self.query) {
            true => contents(names, &self.query)
                .into_iter()
                .take(MAX_CANDIDATES)
                .map(|at| candidate(&names[at]))
                .collect(),
            false => self.best(),
        };
        RankedFiles { query: self.query, candidates }
    }
}

impl FileRankingJob {
    /// Returns the best files and resources. An empty query matches everything, and files leave room for some
    /// resources.
    fn best(&self) -> Vec<Candidate> {
        let names = &self.files.0;
        let mentions = resources::mentions(&self.resources);
        let files = names.iter().map(|name| (name.as_str(), ""));
        let served = mentions.iter().map(|(mention, resource)| (mention.as_str(), resource.name.as_str()));
        let items: Vec<(&str, &str)> = files.chain(served).collect();
        let mut best = FuzzyQuery::new(&self.query, MatchMode::Paths).rank(&items, |item| *item);
        if self.query.is_empty() {
            let kept = MAX_CANDIDATES - mentions.len().min(MAX_RESOURCES);
            best.retain(|at| *at < kept || *at >= names.len());
        }
        let candidate = |at: usize| match at.checked_sub(names.len()) {
            None => candidate(&names[at]),
            Some(at) => resources::candidate(&mentions[at].0, mentions[at].1),
        };
        best.into_iter().take(MAX_CANDIDATES).map(candidate).collect()
    }
}

/// Returns the indexes of the paths in a directory, its direct children first.
fn contents(names: &[String], dir: &str) -> Vec<usize> {
    let depth = |at: usize| {
        let rest = names[at].strip_prefix(dir).filter(|rest| !rest.is_empty())?;
        Some(rest.trim_end_matches('/').matches('/').count())
    };
    let mut contents: Vec<(usize, usize)> =
        (0..names.len()).filter_map(|at| Some((depth(at)?, at))).collect();
    contents.sort_unstable();
    contents.into_iter().map(|(_, at)| at).collect()
}

fn candidate(name: &str) -> Candidate {
    Candidate { name: one_line(name), insert: mention(name), then: OnAccept::GoOn, ..Candidate::default() }
}

/// Formats a path as an `@` mention. A directory gets no trailing space, so that typing can continue.
pub(super) fn mention(path: &str) -> String {
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
    fn list_files_respects_gitignore_and_ranks() {
        let dir = tempfile::TempDir::new().unwrap();
        for name in ["src/main.rs", "src/my notes.md", "target/main.o", ".hidden"] {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(dir.path().join(".gitignore"), "target\n").unwrap();
        let mut found = list_files(dir.path(), &[]);
        found.0.sort();
        assert_eq!(found.0, ["src/", "src/main.rs", "src/my notes.md"]);
        let ranked = |words: &str| {
            let ranking = FileRankingJob {
                files: Arc::new(FileList(found.0.clone())),
                resources: Arc::default(),
                query: words.into(),
            };
            ranking.run().candidates.into_iter().map(|offer| offer.insert).collect::<Vec<_>>()
        };
        assert_eq!(ranked("main"), ["@src/main.rs "]);
        assert_eq!(ranked("notes"), ["@\"src/my notes.md\" "]);
        assert_eq!(ranked("")[0], "@src/");
    }

    #[test]
    fn ranking_offers_resources_beside_files() {
        let resource = |uri: &str, name: &str, is_template| ServedResource {
            server: "docs".into(),
            uri: uri.into(),
            name: name.into(),
            description: "About.".into(),
            is_template,
        };
        let resources: Arc<[ServedResource]> = Arc::new([
            resource("file:///guide.md", "The guide", false),
            resource("db://{table}/rows", "Table", true),
            resource("has space://x", "No", false),
            resource("urn:isbn:1", "No", false),
        ]);
        let names: Vec<String> = (0..60).map(|n| format!("file{n}")).chain(["guide.md".into()]).collect();
        let files = Arc::new(FileList(names));
        let ranked = |query: &str| {
            let ranking = FileRankingJob {
                files: Arc::clone(&files),
                resources: Arc::clone(&resources),
                query: query.into(),
            };
            ranking.run().candidates
        };
        let inserted = |query| ranked(query).into_iter().map(|offer| offer.insert).collect::<Vec<_>>();
        let all = inserted("");
        assert_eq!(
            (all.len(), &all[47..]),
            (50, &["@file47 ", "@docs:file:///guide.md ", "@docs:db://"].map(str::to_owned)[..])
        );
        assert_eq!(inserted("guide"), ["@guide.md ", "@docs:file:///guide.md "]);
        assert_eq!(inserted("docs:"), ["@docs:file:///guide.md ", "@docs:db://"]);
        assert_eq!(inserted("Table"), ["@docs:db://"], "by its name");
        let guide = &ranked("docs:file")[0];
        assert_eq!(
            (guide.name.as_str(), guide.about.as_str()),
            ("docs:file:///guide.md", "The guide: About.")
        );
    }

    #[test]
    fn ranking_dir_lists_direct_children_first() {
        let names = ["my src/deep/in.rs", "my src/", "my src/deep/", "other/my src/a.rs", "my src/main.rs"];
        let files = Arc::new(FileList::from(&names[..]));
        let ranked = |words: &str| {
            let ranking =
                FileRankingJob { files: Arc::clone(&files), resources: Arc::default(), query: words.into() };
            ranking.run().candidates.into_iter().map(|offer| offer.name).collect::<Vec<_>>()
        };
        assert_eq!(ranked("my src/"), ["my src/deep/", "my src/main.rs", "my src/deep/in.rs"]);
        assert_eq!(ranked("my src/deep/"), ["my src/deep/in.rs"]);
        assert_eq!(ranked("src/").len(), 5, "it is no directory of that name");
    }
}
