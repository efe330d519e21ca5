//! Globs that select files of a walk.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

/// A glob: `*.rs` matches by name at any depth, `src/**/*.rs` by path from the directory.
#[derive(Clone, Debug)]
pub(super) struct Pattern(GlobMatcher);

impl Pattern {
    /// Parses a glob.
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

    /// Checks whether a path relative to the directory matches.
    pub(super) fn matches(&self, below: &Path) -> bool {
        self.0.is_match(below)
    }
}
