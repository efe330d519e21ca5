//! Prompts of earlier times, kept over sessions in a file that all tillers of a user share: one JSON string a line.
//!
//! A prompt is appended under the file's lock, and the file is put in order under it as well: so several tillers lose nothing of each
//! other's, and the file stays small. Nothing here is worth a failure: what can't be read isn't there, what can't be written is lost.

use std::fs::{self, File, OpenOptions};
use std::future::pending;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use tiller_files as files;
use tokio::task::{JoinHandle, spawn_blocking};

/// Prompts that are kept.
const MOST_PROMPTS: usize = 1_000;

/// Bytes at the end of the file that are looked at: prompts are short, and whoever pastes books into them meets the newest still.
const MOST_BYTES: u64 = 1 << 20;

/// Times that the file is opened anew because somebody put another one in its place meanwhile.
const TRIES: usize = 8;

/// Prompts that are being read, beside whatever else goes on.
#[derive(Debug, Default)]
pub(super) struct HistoryReader(Option<JoinHandle<Vec<String>>>);

impl HistoryReader {
    /// Begins to read; without a file there is nothing to read.
    pub(super) fn begin(path: Option<&Path>) -> Self {
        Self(path.map(History::at).map(|history| spawn_blocking(move || history.load())))
    }

    /// What was read, once. It can be given up and asked for again.
    pub(super) async fn done(&mut self) -> Vec<String> {
        let Some(reading) = &mut self.0 else { return pending().await };
        let prompts = reading.await;
        self.0 = None;
        prompts.unwrap_or_default()
    }
}

/// Where the prompts are.
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
        prompts[prompts.len().saturating_sub(MOST_PROMPTS)..].to_vec()
    }

    /// Adds a prompt. A file that holds twice as much as is kept is cut down to that.
    pub(super) fn add(&self, prompt: &str) {
        if let Err(error) = self.try_add(prompt) {
            tracing::warn!(path = %self.path.display(), %error, "a prompt could not be kept for other times");
        }
    }

    fn try_add(&self, prompt: &str) -> io::Result<()> {
        let line = format!("{}\n", serde_json::Value::from(prompt));
        if let Some(folder) = self.path.parent() {
            files::make_private_folder(folder)?;
        }
        let mut file = self.locked()?;
        // A line that was torn off is closed: it costs only itself.
        let line = if ends_a_line(&mut file)? { line } else { format!("\n{line}") };
        file.write_all(line.as_bytes())?;
        if file.metadata()?.len() > 2 * MOST_BYTES || is_long(&mut file)? {
            self.cut_down(&mut file)?;
        }
        Ok(())
    }

    /// The file, locked until it is dropped. Where there are no locks it is used without.
    fn locked(&self) -> io::Result<File> {
        let mut file = self.open()?;
        for _ in 0..TRIES {
            if let Err(error) = file.lock() {
                tracing::debug!(%error, "the prompts of earlier times have no lock");
                break;
            }
            // Whoever had the lock may have put another file in the place of this one: what is written here nobody would read.
            let (here, there) = (file.metadata()?, fs::metadata(&self.path));
            if there.is_ok_and(|there| (there.dev(), there.ino()) == (here.dev(), here.ino())) {
                break;
            }
            file = self.open()?;
        }
        Ok(file)
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).open(&self.path)
    }

    /// Puts a file with the newest prompts only in the place of this one, whose lock is held.
    fn cut_down(&self, file: &mut File) -> io::Result<()> {
        let text = read_end(file)?;
        let kept: Vec<&str> = lines(&text).collect();
        let kept = &kept[kept.len().saturating_sub(MOST_PROMPTS)..];
        let folder = self.path.parent().unwrap_or(Path::new("."));
        let mut new = tempfile::NamedTempFile::new_in(folder)?;
        new.write_all(kept.iter().map(|line| format!("{line}\n")).collect::<String>().as_bytes())?;
        new.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }
}

/// The end of a file, as far as it is looked at, from the beginning of a line on.
fn read_end(file: &mut File) -> io::Result<String> {
    let length = file.metadata()?.len();
    let from = length.saturating_sub(MOST_BYTES);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line may have begun before.
    let whole = if from == 0 { &text } else { text.split_once('\n').map_or("", |(_, rest)| rest) };
    Ok(whole.to_owned())
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

/// Whether more than twice the prompts that are kept are in the file. Short files aren't read for that.
fn is_long(file: &mut File) -> io::Result<bool> {
    /// Bytes of the shortest prompt in its line.
    const SHORTEST: u64 = 4;
    if file.metadata()?.len() <= 2 * SHORTEST * MOST_PROMPTS as u64 {
        return Ok(false);
    }
    Ok(lines(&read_end(file)?).count() > 2 * MOST_PROMPTS)
}

fn ends_a_line(file: &mut File) -> io::Result<bool> {
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
        let folder = tempfile::tempdir().unwrap();
        let history = History::at(&folder.path().join("state/history.jsonl"));
        (folder, history)
    }

    #[test]
    fn prompts_of_several_lines_come_back_in_order() {
        let (_folder, history) = history();
        assert_eq!(history.load(), [""; 0]);
        history.add("one\ntwo");
        history.add("three");
        assert_eq!(history.load(), ["one\ntwo", "three"]);
    }

    #[test]
    fn a_torn_line_costs_only_itself() {
        let (_folder, history) = history();
        history.add("one");
        let mut file = history.open().unwrap();
        file.write_all(b"\"half a li").unwrap();
        history.add("two");
        assert_eq!(history.load(), ["one", "two"]);
    }

    #[test]
    fn only_the_newest_are_kept_and_the_file_is_cut_down_when_it_holds_twice_as_many() {
        let (_folder, history) = history();
        let prompt = |n: usize| format!("a prompt of some length, number {n}");
        history.add(&prompt(0));
        let many: String = (1..2 * MOST_PROMPTS).map(|n| format!("\"{}\"\n", prompt(n))).collect();
        history.open().unwrap().write_all(many.as_bytes()).unwrap();
        let newest = |from: usize| (from..from + MOST_PROMPTS).map(prompt).collect::<Vec<_>>();
        assert_eq!(history.load(), newest(MOST_PROMPTS));
        history.add(&prompt(2 * MOST_PROMPTS));
        assert_eq!(history.load(), newest(MOST_PROMPTS + 1));
        assert_eq!(fs::read_to_string(&history.path).unwrap().lines().count(), MOST_PROMPTS);
    }

    #[test]
    fn of_a_huge_file_only_the_end_is_read_and_kept() {
        let (_folder, history) = history();
        let long = "x".repeat(400_000);
        (0..5).for_each(|n| history.add(&format!("{n}{long}")));
        let begins = |prompts: Vec<String>| {
            prompts.into_iter().map(|prompt| prompt[..1].to_owned()).collect::<String>()
        };
        assert_eq!(begins(history.load()), "34", "the others are more than a megabyte away");
        history.add("5");
        assert!(fs::metadata(&history.path).unwrap().len() > MOST_BYTES);
        history.add(&format!("6{long}"));
        assert_eq!(begins(history.load()), "456");
        assert!(fs::metadata(&history.path).unwrap().len() < MOST_BYTES);
    }

    #[test]
    fn tillers_that_write_at_once_lose_nothing_of_each_other() {
        const WRITERS: usize = 8;
        let (_folder, history) = history();
        // Long enough for the file to be cut down in between.
        let filler: String = (0..2 * MOST_PROMPTS - 20).map(|n| format!("\"an older one {n}\"\n")).collect();
        fs::create_dir_all(history.path.parent().unwrap()).unwrap();
        fs::write(&history.path, filler).unwrap();
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let history = history.clone();
                scope.spawn(move || (0..40).for_each(|n| history.add(&format!("{writer}: {n}"))));
            }
        });
        let kept = history.load();
        let of = |writer: usize| kept.iter().filter(move |prompt| prompt.starts_with(&format!("{writer}: ")));
        assert_eq!((0..WRITERS).map(|writer| of(writer).count()).collect::<Vec<_>>(), [40; WRITERS]);
        assert!(
            fs::read_to_string(&history.path).unwrap().lines().count() < 2 * MOST_PROMPTS,
            "it was cut down"
        );
    }
}
