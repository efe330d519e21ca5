//! Folders beside the working directory that tools may reach: `--add-dir`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};

use super::Failure;
use crate::tui::at_home;
use crate::workspace::Purpose;

/// A folder, without links, and what tools may do there.
pub(super) type Added = (PathBuf, Purpose);

/// What a folder ends with that may only be read.
const READ_ONLY: &str = ":ro";

/// The folders as they were typed, relative ones beginning at the working directory.
pub(super) fn folders(typed: &[String], cwd: &Path) -> Result<Vec<Added>, Failure> {
    typed.iter().map(|typed| folder(typed, cwd)).collect()
}

fn folder(typed: &str, cwd: &Path) -> Result<Added, Failure> {
    // Also where a folder is called so: what looks protected is. That folder is typed with a slash behind it.
    let (path, purpose) =
        typed.strip_suffix(READ_ONLY).map_or((typed, Purpose::Write), |path| (path, Purpose::Read));
    let real = cwd.join(path).canonicalize().with_context(|| format!("--add-dir {typed}"));
    let real = real.map_err(Failure::usage)?;
    if real.is_dir() {
        Ok((real, purpose))
    } else {
        Err(Failure::usage(anyhow!("--add-dir {typed}: not a folder")))
    }
}

/// The folder as the model is told of it.
pub(super) fn told((path, purpose): &Added) -> String {
    match purpose {
        Purpose::Read => format!("{} (to read only)", path.display()),
        Purpose::Write => path.display().to_string(),
    }
}

/// The folder as a person reads it.
pub(super) fn shown((path, purpose): &Added, home: Option<&Path>) -> String {
    let path = at_home(path, home);
    match purpose {
        Purpose::Read => format!("{path} (read only)"),
        Purpose::Write => path,
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
            (docs.clone(), Purpose::Write),
            (docs.clone(), Purpose::Read),
            (root.join("docs:ro"), Purpose::Write),
            (root.join("docs:ro"), Purpose::Read),
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
