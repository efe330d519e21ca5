//! The directories below which sessions may work.

use std::io;
use std::path::{Component, Path, PathBuf};

/// The directories below which sessions may work, as real paths.
#[derive(Clone, Debug)]
pub struct WorkspaceRoots(Vec<PathBuf>);

/// A root that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("can't use {dir} as a root")]
pub struct RootError {
    /// The directory.
    pub dir: String,
    /// The reason.
    pub source: io::Error,
}

impl WorkspaceRoots {
    /// Resolves the directories.
    ///
    /// # Errors
    /// If one of them can't be resolved, or isn't a directory.
    pub fn new(dirs: &[PathBuf]) -> Result<Self, RootError> {
        let resolve = |dir: &PathBuf| {
            let real = dir.canonicalize()?;
            if real.is_dir() { Ok(real) } else { Err(io::ErrorKind::NotADirectory.into()) }
        };
        let named = |dir: &PathBuf| {
            resolve(dir).map_err(|source| RootError { dir: dir.display().to_string(), source })
        };
        dirs.iter().map(named).collect::<Result<_, _>>().map(Self)
    }

    /// The real paths of the directories, for display.
    pub(crate) fn paths(&self) -> Vec<String> {
        self.0.iter().map(|root| root.display().to_string()).collect()
    }

    /// Returns the real path of a directory below a root. A relative path, and a directory that doesn't exist or lies
    /// elsewhere, have none: a client can't distinguish them.
    pub(crate) fn resolve(&self, dir: &Path) -> Option<PathBuf> {
        let real = dir.is_absolute().then(|| dir.canonicalize().ok()).flatten()?;
        (self.0.iter().any(|root| real.starts_with(root)) && real.is_dir()).then_some(real)
    }

    /// Returns true for a directory below a root, also if it no longer exists.
    pub(crate) fn contains(&self, dir: &Path) -> bool {
        if self.resolve(dir).is_some() {
            return true;
        }
        let exists = |dir: &&Path| dir.symlink_metadata().is_ok();
        let has_dots = dir.components().any(|part| part == Component::ParentDir);
        let above = dir.ancestors().find(exists).filter(|above| *above != dir && !has_dots);
        above.is_some_and(|above| self.resolve(above).is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_contain_removed_dirs_below_them() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        std::fs::create_dir(base.join("root")).unwrap();
        std::os::unix::fs::symlink(&base, base.join("root/link")).unwrap();
        let roots = WorkspaceRoots::new(&[base.join("root")]).unwrap();
        assert!(roots.contains(&base.join("root/gone/sub")));
        for outside in ["gone", "root/link/gone", "root/link", "root/gone/../../gone"] {
            assert!(!roots.contains(&base.join(outside)), "{outside}");
        }
    }

    #[test]
    fn roots_links_and_dots_lead_to_the_real_path() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (inside, outside) = (base.join("root/inside"), base.join("outside"));
        std::fs::create_dir_all(&inside).unwrap();
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(base.join("root/file"), "").unwrap();
        std::os::unix::fs::symlink(&outside, base.join("root/link")).unwrap();
        std::os::unix::fs::symlink(&inside, base.join("alias")).unwrap();
        let roots = WorkspaceRoots::new(&[base.join("root")]).unwrap();
        assert_eq!(roots.resolve(&base.join("root")), Some(base.join("root")));
        assert_eq!(roots.resolve(&base.join("alias")), Some(inside.clone()));
        assert_eq!(roots.resolve(&base.join("root/link/../inside")), None);
        for refused in ["root/link", "root/../outside", "outside", "root/none", "root/file", "rootless"] {
            assert_eq!(roots.resolve(&base.join(refused)), None, "{refused}");
        }
        assert_eq!(roots.resolve(Path::new("root")), None);
    }

    #[test]
    fn roots_error_names_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        let (missing, file) = (dir.path().join("missing"), dir.path().join("file"));
        std::fs::write(&file, "").unwrap();
        for root in [missing, file] {
            let error = WorkspaceRoots::new(&[dir.path().to_owned(), root.clone()]).unwrap_err();
            assert_eq!(error.to_string(), format!("can't use {} as a root", root.display()));
        }
    }
}
