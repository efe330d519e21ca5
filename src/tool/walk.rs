//! Walking a folder as a developer sees it: what git ignores is left out, links aren't followed.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};

/// Everything beneath a folder, itself left out, in the order of the names. Hidden files are shown, `.git` is not.
pub(super) fn entries(folder: &Path, max_depth: Option<usize>) -> impl Iterator<Item = DirEntry> {
    WalkBuilder::new(folder)
        .hidden(false)
        .require_git(false)
        .max_depth(max_depth)
        .filter_entry(|entry| entry.file_name() != ".git")
        .sort_by_file_name(std::ffi::OsStr::cmp)
        .build()
        // What can't be read is left out, as by ls.
        .filter_map(Result::ok)
        .filter(|entry| entry.depth() > 0)
}

/// Which files are meant: `*.rs` by name at any depth, `src/**/*.rs` by their way from the folder.
#[derive(Clone, Debug)]
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    /// Reads a pattern.
    ///
    /// # Errors
    /// A sentence that names the argument.
    pub(super) fn parse(argument: &str, glob: &str) -> Result<Self, String> {
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        let anywhere = if glob.contains('/') { glob.to_owned() } else { format!("**/{glob}") };
        let built = GlobBuilder::new(anywhere.trim_start_matches('/')).literal_separator(true).build();
        match built {
            Ok(glob) => Ok(Self(glob.compile_matcher())),
            Err(error) => Err(format!("argument `{argument}`: {error}")),
        }
    }

    /// Whether a path is meant, given by its way from the folder.
    pub(super) fn matches(&self, below: &Path) -> bool {
        self.0.is_match(below)
    }
}
