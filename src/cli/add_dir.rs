//! Folders beside the working directory that tools may reach: `--add-dir`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::CliFailure;
use crate::tui::at_home;
use crate::workspace::{FileAccess, describe_folder, parse_folder};

/// A folder, without links, and what tools may do there.
pub(super) type AddedFolder = (PathBuf, FileAccess);

/// The folders as they were typed, relative ones beginning at the working directory.
pub(super) fn folders(typed: &[String], cwd: &Path) -> Result<Vec<AddedFolder>, CliFailure> {
    typed.iter().map(|typed| folder(typed, cwd)).collect()
}

fn folder(typed: &str, cwd: &Path) -> Result<AddedFolder, CliFailure> {
    // `~` was the shell's to expand.
    parse_folder(typed, cwd, None).map_err(|error| {
        CliFailure::usage(match error.kind() {
            ErrorKind::NotADirectory => anyhow!("--add-dir {typed}: not a folder"),
            _ => anyhow::Error::new(error).context(format!("--add-dir {typed}")),
        })
    })
}

/// The folder as the model is told of it.
pub(super) fn told((path, purpose): &AddedFolder) -> String {
    describe_folder(path, *purpose)
}

/// The folder as a person reads it.
pub(super) fn shown((path, purpose): &AddedFolder, home: Option<&Path>) -> String {
    let path = at_home(path, home);
    match purpose {
        FileAccess::Read => format!("{path} (read only)"),
        FileAccess::Write => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_may_be_written_to_unless_it_is_said_to_be_read_only() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        for name in ["docs", "docs:ro"] {
            std::fs::create_dir(root.join(name)).unwrap();
        }
        let typed = ["docs", "docs:ro", "docs:ro/", "docs:ro:ro"].map(str::to_owned);
        let added = folders(&typed, &root).unwrap();
        let docs = root.join("docs");
        let expected = [
            (docs.clone(), FileAccess::Write),
            (docs.clone(), FileAccess::Read),
            (root.join("docs:ro"), FileAccess::Write),
            (root.join("docs:ro"), FileAccess::Read),
        ];
        assert_eq!(added, expected);
        assert_eq!(told(&added[1]), format!("{} (to read only)", docs.display()));
        assert_eq!(shown(&added[1], Some(&root)), "~/docs (read only)");
        assert_eq!(shown(&added[0], None), docs.display().to_string());
        for (typed, expected) in [("none", "--add-dir none"), ("docs/none:ro", "--add-dir docs/none:ro")] {
            assert_eq!(folders(&[typed.to_owned()], &root).unwrap_err().error.to_string(), expected);
        }
        std::fs::write(root.join("file"), "").unwrap();
        let error = folders(&["file".to_owned()], &root).unwrap_err().error;
        assert_eq!(error.to_string(), "--add-dir file: not a folder");
    }
}
