//! The directories below which sessions may work.

use std::io;
use std::path::{Path, PathBuf};

/// The directories below which sessions may work, as real paths.
#[derive(Clone, Debug)]
pub struct WorkspaceRoots(Vec<PathBuf>);

impl WorkspaceRoots {
    /// Resolves the directories.
    ///
    /// # Errors
    /// If one of them can't be resolved.
    pub fn new(dirs: &[PathBuf]) -> io::Result<Self> {
        dirs.iter().map(|dir| dir.canonicalize()).collect::<io::Result<_>>().map(Self)
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
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
