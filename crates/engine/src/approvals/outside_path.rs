//! A path outside the workspace that a call names.

use std::path::{Path, PathBuf};

use tiller_tools::policy::{FolderAccess, PermissionRule, Policy};
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
        let folder = if path.is_dir() { Some(path) } else { path.parent() };
        let protected = &policy.protected;
        let is_secret = |folder: &Path| {
            protected.is_secret(folder)
                || protected.holds_credentials(folder)
                || protected.find(folder).is_some()
                || protected.find(path).is_some()
        };
        let folder = folder.filter(|folder| folder.parent().is_some() && !is_secret(folder))?;
        let access = match purpose {
            FileAccess::Read => FolderAccess::ReadWhenAsked,
            FileAccess::Write => FolderAccess::Write,
        };
        Some(PermissionRule::Folder { folder: folder.to_owned(), access })
    }
}
