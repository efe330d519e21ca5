//! Expansion of shell patterns to the files that exist right before a command runs.

use std::path::{Path, PathBuf};

use tiller_core::protected_path::name_may_match;

/// Maximum number of paths for one pattern.
const MAX_PATHS: usize = 1_000;

/// Lists the paths that a shell may insert for a pattern with `*` and `?`, relative to a directory. `None` if
/// there are too many, if a path could be taken for an option, or if a name isn't UTF-8.
pub(super) fn expand(root: &Path, pattern: &str) -> Option<Vec<String>> {
    let mut paths = vec![PathBuf::from(if pattern.starts_with('/') { "/" } else { "" })];
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        let mut next = Vec::new();
        for path in paths {
            if name.contains(['*', '?']) {
                next.extend(list_matches(&root.join(&path), name)?.into_iter().map(|name| path.join(name)));
            } else {
                next.push(path.join(name));
            }
            if next.len() > MAX_PATHS {
                return None;
            }
        }
        paths = next;
    }
    paths.retain(|path| root.join(path).symlink_metadata().is_ok());
    let paths: Option<Vec<String>> =
        paths.into_iter().map(|path| path.into_os_string().into_string().ok()).collect();
    paths.filter(|paths| !paths.iter().any(|path| path.starts_with('-')))
}

fn list_matches(dir: &Path, pattern: &str) -> Option<Vec<String>> {
    let names = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let matching = names.filter(|name| name_may_match(pattern.as_bytes(), name.as_encoded_bytes()));
    matching.map(|name| name.into_string().ok()).take(MAX_PATHS + 1).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn expand_lists_what_a_shell_inserts() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        for name in ["x.rs", "y.rs", ".z.rs", "a/x.rs", "a/b/x.rs"] {
            fs::write(root.join(name), "").unwrap();
        }
        let expand = |pattern: &str| {
            let mut paths = expand(root, pattern)?;
            paths.sort();
            Some(paths.join(" "))
        };
        for (pattern, expected) in [
            ("*.rs", "x.rs y.rs"),
            ("?.rs", "x.rs y.rs"),
            ("*/*.rs", "a/x.rs"),
            ("a/*/x.rs", "a/b/x.rs"),
            ("a/*", "a/b a/x.rs"),
            ("*.md", ""),
            ("none/*", ""),
        ] {
            assert_eq!(expand(pattern).as_deref(), Some(expected), "{pattern}");
        }
        let absolute = format!("{}/*.rs", root.display());
        assert_eq!(expand(&absolute), Some(format!("{0}/x.rs {0}/y.rs", root.display())));
        fs::write(root.join("--pre=x.rs"), "").unwrap();
        assert_eq!(expand("*.rs"), None);
    }
}
