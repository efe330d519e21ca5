//! Search paths of skills, templates and context files, and problems with their files. Files are read through
//! this crate's functions, and never from outside the bounds of their search path.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// The origin of a resource. If several resources have the same name, the first origin in this order takes
/// precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceOrigin {
    /// A path given on the command line.
    Given,
    /// The project.
    Project,
    /// The user's configuration.
    User,
    /// An extension.
    Extension,
    /// tiller itself.
    BuiltIn,
}

impl fmt::Display for ResourceOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Project => "project",
            Self::User => "user",
            Self::Extension => "extension",
            Self::BuiltIn => "built-in",
        })
    }
}

/// A file or directory with resources. It need not exist, unless it was named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The absolute path.
    pub path: PathBuf,
    /// The origin of its resources.
    pub origin: ResourceOrigin,
    /// The directory that must contain all files, links followed. For untrusted content, the project's root.
    pub bounds: Option<PathBuf>,
}

impl SearchPath {
    /// Checks whether a file lies within the bounds. A missing file does.
    #[must_use]
    pub fn contains(&self, file: &Path) -> bool {
        let Some(bounds) = &self.bounds else { return true };
        match (file.canonicalize(), bounds.canonicalize()) {
            (Ok(file), Ok(bounds)) => file.starts_with(bounds),
            _ => true,
        }
    }

    /// Reads at most `limit + 1` bytes of a file, so that a longer file can be detected.
    ///
    /// # Errors
    /// If it lies outside the bounds, can't be read, or isn't a regular file.
    pub fn read(&self, file: &Path, limit: usize) -> io::Result<Vec<u8>> {
        let opened = match &self.bounds {
            Some(bounds) => crate::open_within(bounds, file)?,
            None => crate::open(file)?,
        };
        let mut bytes = Vec::new();
        opened.take(limit as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Returns a hash of a file's content that is valid within a process: see [`ResourceProblem::state`].
#[must_use]
pub fn content_hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// A problem with a file, for the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceProblem {
    /// The file or directory.
    pub path: PathBuf,
    /// The problem and its consequence: `ignored: not UTF-8 text`.
    pub message: String,
    /// Hash of the file's content: after a change, a problem that remains is reported again.
    pub state: u64,
}

impl ResourceProblem {
    /// Creates a problem that doesn't depend on the file's content.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into(), state: 0 }
    }
}

impl fmt::Display for ResourceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.message)
    }
}
