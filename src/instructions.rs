//! What a project tells every agent: the first of AGENTS.md, CLAUDE.md and AGENT.md in a folder.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// File names in the order they are looked for.
pub const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "AGENT.md"];

/// Most bytes that are used of a file. It is part of every request, and 64 KiB are about 16,000 tokens.
pub const MAX_BYTES: usize = 64 * 1024;

/// A project's instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instructions {
    /// The file.
    pub path: PathBuf,
    /// Its text, at most [`MAX_BYTES`] of it and a notice that there was more.
    pub text: String,
}

/// What was found in a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The instructions, if there are any that can be read.
    pub instructions: Option<Instructions>,
    /// Sentences for the user: a file that can't be used, or not as a whole.
    pub warnings: Vec<String>,
}

/// Looks for instructions in a folder. A file that can't be used costs a warning, and the next one is tried.
#[must_use]
pub fn load(folder: &Path) -> Found {
    let mut found = Found::default();
    for name in NAMES {
        let path = folder.join(name);
        let bytes = match read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => {
                found.warnings.push(format!("{}: not used: {error}", path.display()));
                continue;
            }
        };
        match parse(&bytes) {
            Some((text, Extent::Whole)) => {
                found.instructions = Some(Instructions { path, text });
                return found;
            }
            Some((mut text, Extent::Cut)) => {
                found.warnings.push(format!("{}: only the first 64 KiB are used", path.display()));
                text.push_str("\n[the file goes on; only its first 64 KiB are shown here]\n");
                found.instructions = Some(Instructions { path, text });
                return found;
            }
            None => found.warnings.push(format!("{}: not used: not UTF-8 text", path.display())),
        }
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
enum Extent {
    Whole,
    Cut,
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::other("not a file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn parse(bytes: &[u8]) -> Option<(String, Extent)> {
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    if bytes.len() <= MAX_BYTES {
        return Some((std::str::from_utf8(bytes).ok()?.to_owned(), Extent::Whole));
    }
    let text = match std::str::from_utf8(&bytes[..MAX_BYTES]) {
        Ok(text) => text,
        // A character that the cap cut through: everything before it is fine.
        Err(error) if error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?
        }
        Err(_) => return None,
    };
    Some((text.to_owned(), Extent::Cut))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn the_first_name_that_is_there_counts() {
        let folder = TempDir::new().unwrap();
        assert_eq!(load(folder.path()), Found::default());
        fs::write(folder.path().join("AGENT.md"), "c").unwrap();
        fs::write(folder.path().join("CLAUDE.md"), "\u{feff}b").unwrap();
        let found = load(folder.path());
        let expected = Instructions { path: folder.path().join("CLAUDE.md"), text: "b".into() };
        assert_eq!(found, Found { instructions: Some(expected), warnings: vec![] });
    }

    #[test]
    fn a_broken_file_costs_a_warning_and_the_next_one_counts() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("AGENTS.md"), b"\xff\xfe").unwrap();
        fs::create_dir(folder.path().join("CLAUDE.md")).unwrap();
        fs::write(folder.path().join("AGENT.md"), "c").unwrap();
        let found = load(folder.path());
        assert_eq!(found.instructions.unwrap().text, "c");
        let name = |name| folder.path().join(name).display().to_string();
        assert_eq!(
            found.warnings,
            [
                format!("{}: not used: not UTF-8 text", name("AGENTS.md")),
                format!("{}: not used: not a file", name("CLAUDE.md")),
            ]
        );
    }

    #[test]
    fn a_long_file_is_cut_between_characters_and_says_so() {
        let folder = TempDir::new().unwrap();
        fs::write(folder.path().join("AGENTS.md"), format!("x{}", "é".repeat(MAX_BYTES))).unwrap();
        let found = load(folder.path());
        let text = found.instructions.unwrap().text;
        assert!(
            text.starts_with("xéé")
                && text.ends_with("é\n[the file goes on; only its first 64 KiB are shown here]\n")
        );
        assert!(text.len() < MAX_BYTES + 80);
        assert_eq!(found.warnings.len(), 1);
    }
}
