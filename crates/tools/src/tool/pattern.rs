//! Globs that choose among the files of a walk.

use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};

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
