//! A path outside the workspace that a call names.

use std::path::{Path, PathBuf};

use tiller_tools::policy::{DirAccess, PermissionRule, Policy};
use tiller_tools::workspace::FileAccess;

/// A path outside the workspace, symbolic links resolved, that a call of a built-in tool names.
#[derive(Clone, Debug)]
pub(super) struct OutsidePath {
    pub(super) path: PathBuf,
    pub(super) purpose: FileAccess,
    /// The rule that the approval request offers.
    pub(super) rule: Option<PermissionRule>,
}

impl OutsidePath {
    pub(super) fn reason(&self) -> String {
        let verb = match self.purpose {
            FileAccess::Read => "reads",
            FileAccess::Write => "writes",
        };
        format!("{verb} outside the working directory: {}", self.path.display())
    }

    pub(super) fn new(path: PathBuf, purpose: FileAccess, policy: &Policy) -> Self {
        let rule = Self::find_rule(&path, purpose, policy);
        Self { path, purpose, rule }
    }

    /// Returns the rule offered for the session: the directory, unless it holds secrets or is the file system's root.
    fn find_rule(path: &Path, purpose: FileAccess, policy: &Policy) -> Option<PermissionRule> {
        let dir = if path.is_dir() { Some(path) } else { path.parent() };
        let protected = &policy.protected;
        let is_secret = |dir: &Path| {
            protected.is_secret(dir)
                || protected.holds_credentials(dir)
                || protected.find(dir).is_some()
                || protected.find(path).is_some()
        };
        let dir = dir.filter(|dir| dir.parent().is_some() && !is_secret(dir))?;
        let access = match purpose {
            FileAccess::Read => DirAccess::ReadWhenAsked,
            FileAccess::Write => DirAccess::Write,
        };
        Some(PermissionRule::Directory { dir: dir.to_owned(), access })
    }
}
