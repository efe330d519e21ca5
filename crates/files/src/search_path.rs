//! Search paths of skills, templates and context files, and problems with their files. Files are read through the functions of this crate,
//! and never from outside the folder that bounds their search path.

use std::fmt;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use serde::Serialize;

/// Who a resource is from; of several with one name the first in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceOrigin {
    /// Named when tiller was started.
    Given,
    /// The project's own.
    Project,
    /// The user's own.
    User,
    /// An extension's.
    Extension,
    /// Tiller's.
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

/// A file or folder to look for resources in. It need not exist, unless it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// Absolute.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: ResourceOrigin,
    /// The folder that files have to lie beneath, links followed: for what anybody may have written, the project's root.
    pub bounds: Option<PathBuf>,
}

impl SearchPath {
    /// Whether a file of this place lies within its bounds. One that is missing does.
    #[must_use]
    pub fn holds(&self, file: &Path) -> bool {
        let Some(bounds) = &self.bounds else { return true };
        match (file.canonicalize(), bounds.canonicalize()) {
            (Ok(file), Ok(bounds)) => file.starts_with(bounds),
            _ => true,
        }
    }

    /// The bytes of a file of this place; one more than `most` when there are too many.
    ///
    /// # Errors
    /// When it lies beyond the bounds, can't be read, or isn't a regular file.
    pub fn read(&self, file: &Path, most: usize) -> io::Result<Vec<u8>> {
        let opened = match &self.bounds {
            Some(bounds) => crate::open_within(bounds, file)?,
            None => crate::open(file)?,
        };
        let mut bytes = Vec::new();
        opened.take(most as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Tells one state of a file from another, within a process: see [`Problem::state`].
#[must_use]
pub fn state(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// Something that is wrong with a file, for the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ResourceProblem {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong and what became of it: `not used: not UTF-8 text`.
    pub what: String,
    /// Tells one state of the file from another: a file that was changed and is still wrong is a new problem.
    pub state: u64,
}

impl ResourceProblem {
    /// A problem that doesn't depend on what a file holds.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into(), state: 0 }
    }
}

impl fmt::Display for ResourceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}
