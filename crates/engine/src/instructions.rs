//! Context files: the first of AGENTS.md, CLAUDE.md and AGENT.md in each directory.
//!
//! The caller chooses the directories and their order. An invalid file is reported; if it was valid before,
//! its earlier version is kept. Start with [`load`].

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use tiller_core::os_error::without_code;
use tiller_files::search_path::{self, ResourceOrigin, ResourceProblem, SearchPath};

/// File names, in order of precedence.
pub const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "AGENT.md"];

/// Maximum bytes of one file. The file is part of every request, and 64 KiB are about 16,000 tokens.
pub const MAX_BYTES: usize = 64 * 1024;

/// Maximum bytes of all files together. The last files take precedence; they are nearest to the working
/// directory.
pub(crate) const MAX_TOTAL: usize = 192 * 1024;

/// The instructions of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// Path of the file.
    pub path: PathBuf,
    /// Text of the file, at most [`MAX_BYTES`] of it, with a notice if it was truncated.
    pub text: String,
    /// The origin of the directory.
    pub origin: ResourceOrigin,
}

/// Result of loading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedInstructions {
    /// In the order of the directories.
    pub instructions: Vec<Instructions>,
    /// Files that can't be used, or only in part.
    pub problems: Vec<ResourceProblem>,
}

/// Loads the instructions of directories. An unusable file is reported and the next name tried, unless
/// `earlier` has a valid version of the file. A file that is reached in two ways counts once.
#[must_use]
pub fn load(dirs: &[SearchPath], earlier: &[Instructions]) -> LoadedInstructions {
    let mut loaded = LoadedInstructions::default();
    let mut seen = HashSet::new();
    for dir in dirs {
        for name in NAMES {
            let path = dir.path.join(name);
            match read_file(&path, dir, earlier, &mut loaded.problems) {
                ReadOutcome::Nothing => continue,
                ReadOutcome::Instructions(instructions) => {
                    let real = path.canonicalize().unwrap_or(path);
                    if seen.insert(real) {
                        loaded.instructions.push(instructions);
                    }
                    break;
                }
            }
        }
    }
    truncate_total(&mut loaded);
    loaded
}

enum ReadOutcome {
    Nothing,
    Instructions(Instructions),
}

fn read_file(
    path: &Path,
    search_path: &SearchPath,
    earlier: &[Instructions],
    problems: &mut Vec<ResourceProblem>,
) -> ReadOutcome {
    let origin = search_path.origin;
    let bytes = search_path.read(path, MAX_BYTES);
    let mut add_problem =
        |message: String, state| problems.push(ResourceProblem { path: path.to_owned(), message, state });
    let (reason, state) = match bytes {
        Ok(bytes) => match parse(&bytes) {
            Some((text, FileExtent::Whole)) => {
                return ReadOutcome::Instructions(Instructions { path: path.to_owned(), text, origin });
            }
            Some((mut text, FileExtent::Cut)) => {
                add_problem("only the first 64 KiB are used".to_owned(), 0);
                text.push_str("\n[truncated: only the first 64 KiB are shown]\n");
                return ReadOutcome::Instructions(Instructions { path: path.to_owned(), text, origin });
            }
            None => ("not UTF-8 text".to_owned(), search_path::content_hash(&bytes)),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => return ReadOutcome::Nothing,
        Err(error) => (without_code(&error.to_string()), 0),
    };
    match earlier.iter().find(|instructions| instructions.path == path) {
        Some(before) => {
            add_problem(format!("{reason}; its previous version stays in use"), state);
            ReadOutcome::Instructions(before.clone())
        }
        None => {
            add_problem(format!("ignored: {reason}"), state);
            ReadOutcome::Nothing
        }
    }
}

/// Truncates to the total limit. Shortens the first files first; they are farthest from the working
/// directory.
fn truncate_total(loaded: &mut LoadedInstructions) {
    let mut remaining = MAX_TOTAL;
    let LoadedInstructions { instructions, problems } = loaded;
    instructions.reverse();
    instructions.retain_mut(|instructions| {
        if instructions.text.len() <= remaining {
            remaining -= instructions.text.len();
            return true;
        }
        let end = instructions.text.floor_char_boundary(remaining);
        remaining = 0;
        instructions.text.truncate(end);
        let message = match end {
            0 => "ignored: the limit of 192 KiB for all context files is reached".to_owned(),
            end => format!(
                "only its first {end} bytes are used: the limit of 192 KiB for all context files is reached"
            ),
        };
        problems.push(ResourceProblem::new(&instructions.path, message));
        if end > 0 {
            instructions.text.push_str("\n[truncated: no room for the rest]\n");
        }
        end > 0
    });
    instructions.reverse();
}

#[derive(Debug, PartialEq, Eq)]
enum FileExtent {
    Whole,
    Cut,
}

fn parse(bytes: &[u8]) -> Option<(String, FileExtent)> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if bytes.len() <= MAX_BYTES {
        return Some((std::str::from_utf8(bytes).ok()?.to_owned(), FileExtent::Whole));
    }
    let text = match std::str::from_utf8(&bytes[..MAX_BYTES]) {
        Ok(text) => text,
        // The limit split a character: everything before it is valid.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    Some((text.to_owned(), FileExtent::Cut))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn user_path(dir: &Path) -> SearchPath {
        SearchPath { path: dir.to_owned(), origin: ResourceOrigin::Project, bounds: None }
    }

    fn load_one(dir: &TempDir) -> LoadedInstructions {
        load(&[user_path(dir.path())], &[])
    }

    fn messages(loaded: &LoadedInstructions) -> Vec<String> {
        loaded.problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn load_first_existing_name_counts() {
        let dir = TempDir::new().unwrap();
        assert_eq!(load_one(&dir), LoadedInstructions::default());
        fs::write(dir.path().join("AGENT.md"), "c").unwrap();
        fs::write(dir.path().join("CLAUDE.md"), "\u{feff}b").unwrap();
        let path = dir.path().join("CLAUDE.md");
        let expected = Instructions { path, text: "b".into(), origin: ResourceOrigin::Project };
        assert_eq!(load_one(&dir), LoadedInstructions { instructions: vec![expected], problems: vec![] });
    }

    #[test]
    fn load_keeps_dir_order_and_the_same_file_counts_once() {
        let dir = TempDir::new().unwrap();
        let (outer, inner, other) = (dir.path(), dir.path().join("inner"), dir.path().join("other"));
        fs::create_dir(&inner).unwrap();
        fs::create_dir(&other).unwrap();
        fs::write(outer.join("AGENTS.md"), "outer").unwrap();
        fs::write(inner.join("CLAUDE.md"), "inner").unwrap();
        symlink(outer.join("AGENTS.md"), other.join("AGENTS.md")).unwrap();
        let loaded = load(&[user_path(outer), user_path(&other), user_path(&inner)], &[]);
        let texts: Vec<&str> = loaded.instructions.iter().map(|loaded| loaded.text.as_str()).collect();
        assert_eq!(texts, ["outer", "inner"]);
    }

    #[test]
    fn load_broken_file_is_reported_and_the_next_name_used() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("AGENTS.md"), b"\xff\xfe").unwrap();
        fs::create_dir(dir.path().join("CLAUDE.md")).unwrap();
        fs::write(dir.path().join("AGENT.md"), "c").unwrap();
        let loaded = load_one(&dir);
        assert_eq!(loaded.instructions[0].text, "c");
        let name = |name| dir.path().join(name).display().to_string();
        assert_eq!(
            messages(&loaded),
            [
                format!("{}: ignored: not UTF-8 text", name("AGENTS.md")),
                format!("{}: ignored: is a directory", name("CLAUDE.md")),
            ]
        );
    }

    #[test]
    fn load_broken_file_keeps_its_version_and_deleted_one_is_gone() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("AGENTS.md");
        fs::write(&path, "good").unwrap();
        let first_load = load_one(&dir);
        fs::write(&path, b"\xff").unwrap();
        let broken = load(&[user_path(dir.path())], &first_load.instructions);
        assert_eq!(broken.instructions, first_load.instructions);
        assert!(
            messages(&broken)[0].ends_with("not UTF-8 text; its previous version stays in use"),
            "{broken:?}"
        );
        fs::remove_file(path).unwrap();
        assert_eq!(load(&[user_path(dir.path())], &first_load.instructions), LoadedInstructions::default());
    }

    #[test]
    fn load_long_file_is_cut_between_characters_with_a_notice() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("AGENTS.md"), format!("x{}", "é".repeat(MAX_BYTES))).unwrap();
        let loaded = load_one(&dir);
        let text = &loaded.instructions[0].text;
        assert!(
            text.starts_with("xéé") && text.ends_with("é\n[truncated: only the first 64 KiB are shown]\n")
        );
        assert!(text.len() < MAX_BYTES + 80);
        assert_eq!(loaded.problems.len(), 1);
    }

    #[test]
    fn load_total_limit_keeps_the_nearest_files() {
        let dir = TempDir::new().unwrap();
        let dirs: Vec<SearchPath> = (0..5)
            .map(|at| {
                let inner = dir.path().join(at.to_string());
                fs::create_dir(&inner).unwrap();
                fs::write(inner.join("AGENTS.md"), at.to_string().repeat(50 * 1024)).unwrap();
                user_path(&inner)
            })
            .collect();
        let loaded = load(&dirs, &[]);
        let begins: Vec<&str> = loaded.instructions.iter().map(|loaded| &loaded.text[..1]).collect();
        assert_eq!(begins, ["1", "2", "3", "4"]);
        let total: usize = loaded.instructions.iter().map(|loaded| loaded.text.len()).sum();
        assert!((MAX_TOTAL..MAX_TOTAL + 100).contains(&total), "{total}");
        assert!(loaded.instructions[0].text.ends_with("no room for the rest]\n"));
        assert_eq!(loaded.problems.len(), 2);
    }
}
