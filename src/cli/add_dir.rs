//! The flag `--add-dir`: directories outside the working directory that tools may access.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::failure::CliFailure;
use crate::tui::at_home;
use crate::workspace::{FileAccess, describe_dir, parse_dir};

/// A directory's resolved path, and the access that tools have.
pub(super) type AddedDir = (PathBuf, FileAccess);

/// Parses the arguments of `--add-dir`; relative paths start at the working directory.
pub(super) fn dirs(arguments: &[String], cwd: &Path) -> Result<Vec<AddedDir>, CliFailure> {
    arguments.iter().map(|argument| dir(argument, cwd)).collect()
}

fn dir(argument: &str, cwd: &Path) -> Result<AddedDir, CliFailure> {
    // The shell has expanded `~` already.
    parse_dir(argument, cwd, None).map_err(|error| {
        CliFailure::usage(match error.kind() {
            ErrorKind::NotADirectory => anyhow!("--add-dir {argument}: not a directory"),
            _ => anyhow::Error::new(error).context(format!("--add-dir {argument}")),
        })
    })
}

pub(super) fn describe_for_model((path, access): &AddedDir) -> String {
    describe_dir(path, *access)
}

pub(super) fn describe_for_user((path, access): &AddedDir, home: Option<&Path>) -> String {
    let path = at_home(path, home);
    match access {
        FileAccess::Read => format!("{path} (read-only)"),
        FileAccess::Write => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_dir_suffix_ro_is_read_only() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for name in ["docs", "docs:ro"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let arguments = ["docs", "docs:ro", "docs:ro/", "docs:ro:ro"].map(str::to_owned);
        let added = dirs(&arguments, &root).unwrap();
        let docs = root.join("docs");
        let expected = [
            (docs.clone(), FileAccess::Write),
            (docs.clone(), FileAccess::Read),
            (root.join("docs:ro"), FileAccess::Write),
            (root.join("docs:ro"), FileAccess::Read),
        ];
        assert_eq!(added, expected);
        assert_eq!(describe_for_model(&added[1]), format!("{} (read-only)", docs.display()));
        assert_eq!(describe_for_user(&added[1], Some(&root)), "~/docs (read-only)");
        assert_eq!(describe_for_user(&added[0], None), docs.display().to_string());
        for (argument, expected) in [("none", "--add-dir none"), ("docs/none:ro", "--add-dir docs/none:ro")] {
            assert_eq!(dirs(&[argument.to_owned()], &root).unwrap_err().error.to_string(), expected);
        }
        std::fs::write(root.join("file"), "").unwrap();
        let error = dirs(&["file".to_owned()], &root).unwrap_err().error;
        assert_eq!(error.to_string(), "--add-dir file: not a directory");
    }
}
