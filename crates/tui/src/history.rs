//! The prompt history: a file that all tiller processes of a user share, one JSON string per line.
//!
//! Prompts are appended and the file is truncated under the file's lock, so that concurrent processes lose
//! nothing and the file stays small. Best effort: an unreadable file counts as missing, a failed write is
//! only logged.

use std::fs::{self, File, OpenOptions};
use std::future::pending;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tiller_files as files;
use tokio::task::{JoinHandle, spawn_blocking};

/// Maximum number of prompts kept.
const MAX_PROMPTS: usize = 1_000;

/// Number of bytes read from the end of the file: enough for many prompts, or for the newest ones if they are
/// large.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of times that the file is reopened because another process replaced it.
const MAX_REOPENS: usize = 8;

/// A background read of the history.
#[derive(Debug, Default)]
pub(super) struct HistoryReader(Option<JoinHandle<Vec<String>>>);

impl HistoryReader {
    /// Starts reading, if there is a file.
    pub(super) fn start(path: Option<&Path>) -> Self {
        Self(path.map(History::at).map(|history| spawn_blocking(move || history.load())))
    }

    /// Returns the prompts, once. Cancel-safe.
    pub(super) async fn prompts(&mut self) -> Vec<String> {
        let Some(reading) = &mut self.0 else { return pending().await };
        let prompts = reading.await;
        self.0 = None;
        prompts.unwrap_or_default()
    }
}

/// The history file.
#[derive(Clone, Debug)]
pub(super) struct History {
    path: PathBuf,
}

impl History {
    pub(super) fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// The newest prompts, oldest first.
    pub(super) fn load(&self) -> Vec<String> {
        let end = files::open(&self.path).and_then(|mut file| read_end(&mut file));
        let text = end.unwrap_or_default();
        let prompts: Vec<String> = lines(&text).filter_map(|line| serde_json::from_str(line).ok()).collect();
        prompts[prompts.len().saturating_sub(MAX_PROMPTS)..].to_vec()
    }

    /// Appends a prompt. A file with more than twice the maximum is truncated to the maximum.
    pub(super) fn add(&self, prompt: &str) {
        if let Err(error) = self.try_add(prompt) {
            tracing::warn!(path = %self.path.display(), %error, "can't save a prompt in the history");
        }
    }

    fn try_add(&self, prompt: &str) -> io::Result<()> {
        let line = format!("{}\n", serde_json::Value::from(prompt));
        if let Some(dir) = self.path.parent() {
            files::make_private_dir(dir)?;
        }
        let mut file = self.open_locked()?;
        // A torn line is ended, so that only this line is lost.
        let line = if ends_with_newline(&mut file)? { line } else { format!("\n{line}") };
        file.write_all(line.as_bytes())?;
        if file.metadata()?.len() > 2 * MAX_BYTES || has_too_many(&mut file)? {
            self.truncate(&mut file)?;
        }
        Ok(())
    }

    /// Opens and locks the file. On a file system without locks it is used unlocked.
    fn open_locked(&self) -> io::Result<File> {
        let mut file = self.open()?;
        for _ in 0..MAX_REOPENS {
            if let Err(error) = file.lock() {
                tracing::debug!(%error, "the prompt history can't be locked");
                break;
            }
            // The previous lock holder may have replaced the file; a write to the old file would be lost.
            let (opened, current) = (file.metadata()?, fs::metadata(&self.path));
            if current.is_ok_and(|current| (current.dev(), current.ino()) == (opened.dev(), opened.ino())) {
                break;
            }
            file = self.open()?;
        }
        Ok(file)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(&self.path)
    }

    /// Replaces the locked file with one that has only the newest prompts.
    fn truncate(&self, file: &mut File) -> io::Result<()> {
        let text = read_end(file)?;
        let newest: Vec<&str> = lines(&text).collect();
        let newest = &newest[newest.len().saturating_sub(MAX_PROMPTS)..];
        let dir = self.path.parent().unwrap_or(Path::new("."));
        let mut new = tempfile::NamedTempFile::new_in(dir)?;
        new.write_all(newest.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())?;
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// Reads the end of a file, starting at a complete line.
fn read_end(file: &mut File) -> io::Result<String> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MAX_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may be incomplete.
    let lines = if from == 0 { &text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
    Ok(lines.to_owned())
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// Returns true if the file has more than twice the maximum number of prompts. Short files aren't read.
fn has_too_many(file: &mut File) -> io::Result<bool> {
    /// Minimum length of a line in bytes.
    const SHORTEST: u64 = 4;
    if file.metadata()?.len() <= 2 * SHORTEST * MAX_PROMPTS as u64 {
        return Ok(false);
    }
    Ok(lines(&read_end(file)?).count() > 2 * MAX_PROMPTS)
}

fn ends_with_newline(file: &mut File) -> io::Result<bool> {
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(last == *b"\n")
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn history() -> (tempfile::TempDir, History) {
        let dir = tempfile::tempdir().unwrap();
        let history = History::at(&dir.path().join("state/history.jsonl"));
        (dir, history)
    }

    #[test]
    fn history_multiline_prompts_load_in_order() {
        let (_dir, history) = history();
        assert_eq!(history.load(), [""; 0]);
        history.add("one\ntwo");
        history.add("three");
        assert_eq!(history.load(), ["one\ntwo", "three"]);
    }

    #[test]
    fn history_torn_line_loses_only_itself() {
        let (_dir, history) = history();
        history.add("one");
        let mut file = history.open().unwrap();
        file.write_all(b"\"half a li").unwrap();
        history.add("two");
        assert_eq!(history.load(), ["one", "two"]);
    }

    #[test]
    fn history_is_truncated_beyond_twice_the_maximum() {
        let (_dir, history) = history();
        let prompt = |n: usize| format!("a prompt of some length, number {n}");
        history.add(&prompt(0));
        let many: String = (1..2 * MAX_PROMPTS).map(|n| format!("\"{}\"\n", prompt(n))).collect();
        history.open().unwrap().write_all(many.as_bytes()).unwrap();
        let newest = |from: usize| (from..from + MAX_PROMPTS).map(prompt).collect::<Vec<_>>();
        assert_eq!(history.load(), newest(MAX_PROMPTS));
        history.add(&prompt(2 * MAX_PROMPTS));
        assert_eq!(history.load(), newest(MAX_PROMPTS + 1));
        assert_eq!(fs::read_to_string(&history.path).unwrap().lines().count(), MAX_PROMPTS);
    }

    #[test]
    fn history_of_huge_file_reads_only_the_end() {
        let (_dir, history) = history();
        let long = "x".repeat(400_000);
        (0..5).for_each(|n| history.add(&format!("{n}{long}")));
        let begins = |prompts: Vec<String>| {
            prompts.into_iter().map(|prompt| prompt[..1].to_owned()).collect::<String>()
        };
        assert_eq!(begins(history.load()), "34", "the others are beyond the last megabyte");
        history.add("5");
        assert!(fs::metadata(&history.path).unwrap().len() > MAX_BYTES);
        history.add(&format!("6{long}"));
        assert_eq!(begins(history.load()), "456");
        assert!(fs::metadata(&history.path).unwrap().len() < MAX_BYTES);
    }

    #[test]
    fn history_concurrent_writers_lose_nothing() {
        const WRITERS: usize = 8;
        let (_dir, history) = history();
        // Long enough to be truncated in between.
        let filler: String = (0..2 * MAX_PROMPTS - 20).map(|n| format!("\"an older one {n}\"\n")).collect();
        fs::create_dir_all(history.path.parent().unwrap()).unwrap();
        fs::write(&history.path, filler).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let history = history.clone();
                scope.spawn(move || (0..40).for_each(|n| history.add(&format!("{writer}: {n}"))));
            }
        });
        let prompts = history.load();
        let of =
            |writer: usize| prompts.iter().filter(move |prompt| prompt.starts_with(&format!("{writer}: ")));
        assert_eq!((0..WRITERS).map(|writer| of(writer).count()).collect::<Vec<_>>(), [40; WRITERS]);
        assert!(
            fs::read_to_string(&history.path).unwrap().lines().count() < 2 * MAX_PROMPTS,
            "it was truncated"
        );
    }
}
