//! A command's output while it grows: the end of it in memory, the whole of it in a file once it is long.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tiller_core::ansi::{OutputBuffer, StyleRun, StyledText};
use tiller_core::unit::thousands;
use tokio::io::AsyncWriteExt as _;

use super::truncation::{self, OutputLimits, TruncationExtent};

/// Most bytes that are kept in a file. A command that prints for ever must not fill the disk.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// How long kept files stay.
const KEEP: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Begins the name of every kept file.
const PREFIX: &str = "output-";

/// What people see of the end while a command runs: a screenful, as it is told several times a second.
const GLANCE: OutputLimits = OutputLimits { max_lines: 40, max_chars: 4_000 };

/// Between two looks at what a command has printed.
pub const GLANCE_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes of the end of an output that whoever begins to watch its command is shown: as many as a front end keeps.
const WATCHED: usize = 100_000;

/// Output as it comes.
#[derive(Debug)]
pub struct OutputCapture {
    limits: OutputLimits,
    scratch: PathBuf,
    /// A lock because whoever stops the command asks what there is, on another thread; it is held across no await.
    seen: Arc<Mutex<Seen>>,
    file: Kept,
}

/// What is in memory.
#[derive(Debug)]
struct Seen {
    /// What a terminal would show, of a long text the end.
    paper: OutputBuffer,
    /// The output as it came, as long as there is no file; where there can be none, its end.
    raw: Vec<u8>,
    /// Where the whole is being kept.
    file: Option<PathBuf>,
    /// Whether somebody was told where.
    is_file_named: bool,
}

/// The file that holds the whole output.
#[derive(Debug)]
enum Kept {
    /// Everything is in memory.
    Not,
    In {
        path: PathBuf,
        file: tokio::fs::File,
        bytes: u64,
    },
    Failed(io::Error),
}

/// Output that is complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Its end as a terminal shows it, within the limits and without escape sequences.
    pub text: String,
    /// Where that is coloured.
    pub strokes: Vec<StyleRun>,
    /// What was left out and where it is, when `text` is not the whole.
    pub notice: Option<String>,
    /// The file with the whole output as it came, when `text` is not the whole.
    pub full_output: Option<PathBuf>,
}

impl OutputCapture {
    /// Nothing yet. Output over the limits goes to a file in `scratch`, which is made when needed.
    #[must_use]
    pub fn new(limits: OutputLimits, scratch: impl Into<PathBuf>) -> Self {
        // A character has at most four bytes.
        let paper = OutputBuffer::keeping(limits.max_chars.saturating_mul(4).max(WATCHED));
        let seen = Seen { paper, raw: Vec::new(), file: None, is_file_named: false };
        Self { limits, scratch: scratch.into(), seen: Arc::new(Mutex::new(seen)), file: Kept::Not }
    }

    /// Adds what came next.
    pub async fn push(&mut self, chunk: &[u8]) {
        let length = self.seen().add(chunk);
        // A character has at most four bytes; as much again for colours.
        let enough = self.limits.max_chars.saturating_mul(8);
        match &self.file {
            Kept::Not if length > enough => self.begin_file().await,
            Kept::Not => return,
            Kept::In { .. } => self.append(chunk).await,
            Kept::Failed(_) => {}
        }
        let mut seen = self.seen();
        match &self.file {
            Kept::In { .. } => seen.raw.clear(),
            Kept::Not | Kept::Failed(_) if seen.raw.len() > enough.saturating_mul(2) => {
                let over = seen.raw.len() - enough;
                seen.raw.drain(..over);
            }
            Kept::Not | Kept::Failed(_) => {}
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    /// What says what there is of the output at the moment it is called, for a command that is stopped then and there: what is
    /// over the limits is in a file here too.
    pub fn so_far(&self) -> impl Fn() -> CapturedOutput + Send + use<> {
        let (limits, scratch, seen) = (self.limits, self.scratch.clone(), Arc::clone(&self.seen));
        move || lock(&seen).so_far(limits, &scratch)
    }

    /// The last lines, to show while the command runs.
    #[must_use]
    pub fn glance(&self) -> StyledText {
        glance(&self.seen().paper)
    }

    /// The paper that the command writes on, for those who are told the rest as text.
    #[must_use]
    pub fn watched(&self) -> OutputBuffer {
        self.seen().paper.carried(WATCHED)
    }

    /// The output, now that no more will come.
    pub async fn finish(mut self) -> CapturedOutput {
        let (printed, is_whole) = self.seen().printed();
        let kept = self.limits.tail(&printed.text);
        if kept.extent == TruncationExtent::Whole && is_whole {
            self.forgo_file();
            return CapturedOutput::whole(printed);
        }
        if matches!(self.file, Kept::Not) {
            self.begin_file().await;
        }
        let shown = self.seen().shown(&kept);
        let StyledText { text, strokes } = printed.end_from(printed.text.len() - kept.text.len());
        let (rest, full_output) = self.end_file().await;
        let notice = Some(format!("output cut: {shown} shown; {rest}"));
        CapturedOutput { text, strokes, notice, full_output }
    }

    /// Nobody needs the file of an output of which the text is the whole: a progress bar is long and says little. Nor one that nobody was
    /// told of.
    fn forgo_file(&self) {
        if let Kept::In { path, .. } = &self.file {
            let _ = fs::remove_file(path);
        }
    }

    async fn begin_file(&mut self) {
        self.file = match create(&self.scratch) {
            Ok((file, path)) => Kept::In { path, file: tokio::fs::File::from_std(file), bytes: 0 },
            Err(error) => Kept::Failed(error),
        };
        if let Kept::In { path, .. } = &self.file {
            self.seen().file = Some(path.clone());
        }
        let raw = self.seen().raw.clone();
        self.append(&raw).await;
    }

    async fn append(&mut self, chunk: &[u8]) {
        let Kept::In { file, bytes, .. } = &mut self.file else { return };
        let room = usize::try_from(MAX_FILE - *bytes).unwrap_or(usize::MAX);
        let chunk = &chunk[..chunk.len().min(room)];
        *bytes += chunk.len() as u64;
        if let Err(error) = file.write_all(chunk).await {
            self.file = Kept::Failed(error);
        }
    }

    /// Where the rest is, in words and as a path.
    async fn end_file(&mut self) -> (String, Option<PathBuf>) {
        match std::mem::replace(&mut self.file, Kept::Not) {
            Kept::In { path, mut file, bytes } => match file.flush().await {
                Ok(()) if bytes == MAX_FILE => {
                    (format!("its first 64 MiB are in {}", path.display()), Some(path))
                }
                Ok(()) => (format!("all of it is in {}", path.display()), Some(path)),
                Err(error) => (format!("the rest could not be kept: {error}"), None),
            },
            Kept::Failed(error) => (format!("the rest could not be kept: {error}"), None),
            Kept::Not => ("the rest was not kept".into(), None),
        }
    }
}

/// A command that was stopped has no end that is asked for; what was said of its output may name the file.
impl Drop for OutputCapture {
    fn drop(&mut self) {
        if !self.seen().is_file_named {
            self.forgo_file();
        }
    }
}

impl CapturedOutput {
    fn whole(StyledText { text, strokes }: StyledText) -> Self {
        Self { text, strokes, ..Self::default() }
    }
}

impl Seen {
    /// Adds what came next; answers with how many bytes are kept as they came.
    fn add(&mut self, chunk: &[u8]) -> usize {
        self.paper.push(chunk);
        self.raw.extend_from_slice(chunk);
        self.raw.len()
    }

    /// What a terminal would show, and whether that is all of it.
    fn printed(&self) -> (StyledText, bool) {
        (self.paper.printed(), !self.paper.is_cut())
    }

    /// How much of the output the kept part is, in words.
    fn shown(&self, kept: &truncation::Truncated<'_>) -> String {
        match kept.extent {
            TruncationExtent::PartOfLine => "a part of the last line is".to_owned(),
            TruncationExtent::Lines | TruncationExtent::Whole => {
                let lines = self.paper.lines();
                format!("the last {} of {} lines are", thousands(kept.lines), thousands(lines))
            }
        }
    }

    fn so_far(&mut self, limits: OutputLimits, scratch: &Path) -> CapturedOutput {
        let (printed, is_whole) = self.printed();
        let kept = limits.tail(&printed.text);
        if kept.extent == TruncationExtent::Whole && is_whole {
            return CapturedOutput::whole(printed);
        }
        self.is_file_named = self.file.is_some();
        let path = self.file.clone().map_or_else(|| self.store(scratch), Ok);
        let rest = match &path {
            Ok(path) => format!("what was kept of the rest is in {}", path.display()),
            Err(error) => format!("the rest could not be kept: {error}"),
        };
        let notice = Some(format!("output cut: {} shown; {rest}", self.shown(&kept)));
        let StyledText { text, strokes } = printed.end_from(printed.text.len() - kept.text.len());
        CapturedOutput { text, strokes, notice, full_output: path.ok() }
    }

    fn store(&self, scratch: &Path) -> io::Result<PathBuf> {
        let (mut file, path) = create(scratch)?;
        file.write_all(&self.raw)?;
        Ok(path)
    }
}

/// A screenful of what was printed last.
#[must_use]
pub fn glance(paper: &OutputBuffer) -> StyledText {
    let printed = paper.end_of(GLANCE.max_chars * 4);
    let kept = GLANCE.tail(&printed.text).text.len();
    printed.end_from(printed.text.len() - kept)
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a text to a new file for this user only, in the folder of long outputs.
///
/// # Errors
/// When it can't be written.
pub fn keep_text(scratch: &Path, text: &str) -> io::Result<PathBuf> {
    let (mut file, path) = create(scratch)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Makes a new file for this user only, and clears away old ones.
fn create(scratch: &Path) -> io::Result<(fs::File, PathBuf)> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
    clear(scratch);
    let file = tempfile::Builder::new().prefix(PREFIX).suffix(".txt").tempfile_in(scratch)?;
    Ok(file.keep()?)
}

/// Removes files that were kept long enough; what can't be removed stays.
fn clear(scratch: &Path) {
    let Some(oldest) = SystemTime::now().checked_sub(KEEP) else { return };
    let Ok(entries) = fs::read_dir(scratch) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().as_encoded_bytes().starts_with(PREFIX.as_bytes());
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        if is_ours && modified.is_ok_and(|time| time < oldest) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::ansi::{Emphasis, SgrState};

    use super::*;

    const LIMITS: OutputLimits = OutputLimits { max_lines: 2, max_chars: 10 };

    #[tokio::test]
    async fn short_output_stays_in_memory() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut gathered = OutputCapture::new(LIMITS, folder.path().join("scratch"));
        gathered.push(b"\x1b[1ma\x1b[0m\n").await;
        gathered.push(b"b").await;
        let bold = SgrState { emphasis: Emphasis::BOLD, ..SgrState::default() };
        let strokes = vec![StyleRun { start: 0, length: 1, pen: bold }];
        let expected = CapturedOutput { text: "a\nb".into(), strokes, ..CapturedOutput::default() };
        assert_eq!(gathered.finish().await, expected);
        assert!(!folder.path().join("scratch").exists());
    }

    #[tokio::test]
    async fn what_there_is_of_an_output_can_be_had_before_it_ends() {
        for (count, shown) in [(2, "1\n2\n"), (3, "2\n3\n"), (500, "499\n500\n")] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut gathered = OutputCapture::new(LIMITS, folder.path());
            let so_far = gathered.so_far();
            let whole: String = (1..=count).map(|n| format!("{n}\n")).collect();
            gathered.push(whole.as_bytes()).await;
            if let Kept::In { file, .. } = &mut gathered.file {
                file.flush().await.unwrap();
            }
            let CapturedOutput { text, notice, full_output, .. } = so_far();
            assert_eq!(text, shown);
            let kept = full_output.map(|path| fs::read_to_string(path).unwrap());
            assert_eq!(kept, (count > 2).then_some(whole));
            assert_eq!(notice.is_some(), count > 2, "{notice:?}");
        }
    }

    #[tokio::test]
    async fn of_long_output_the_end_is_shown_and_the_whole_kept() {
        for count in [3, 500] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut gathered = OutputCapture::new(LIMITS, folder.path().join("scratch"));
            let whole: String = (1..=count).map(|n| format!("{n}\n")).collect();
            for line in whole.split_inclusive('\n') {
                gathered.push(line.as_bytes()).await;
            }
            assert_eq!(gathered.glance().text.lines().last(), Some(count.to_string().as_str()));
            let output = gathered.finish().await;
            let path = output.full_output.unwrap();
            assert_eq!(output.text, format!("{}\n{count}\n", count - 1));
            assert_eq!(fs::read_to_string(&path).unwrap(), whole);
            let notice = format!("the last 2 of {count} lines are shown; all of it is in {}", path.display());
            assert_eq!(output.notice.unwrap(), format!("output cut: {notice}"));
        }
    }

    #[tokio::test]
    async fn of_a_progress_bar_the_last_state_is_the_whole_however_long_it_went_on() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut gathered = OutputCapture::new(LIMITS, folder.path());
        gathered.push(b"begin\n").await;
        for percent in 0..=100 {
            gathered.push(format!("\x1b[32m{percent}%\x1b[0m\r").as_bytes()).await;
        }
        assert_eq!(gathered.glance().text, "begin\n100%");
        let output = gathered.finish().await;
        assert_eq!((output.text.as_str(), output.notice), ("begin\n100%", None));
        assert_eq!(
            output.strokes.iter().map(|stroke| (stroke.start, stroke.length)).collect::<Vec<_>>(),
            [(6, 4)]
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");
    }

    #[tokio::test]
    async fn of_a_command_that_is_stopped_the_file_stays_that_was_named() {
        let bar: String = (0..=100).map(|percent| format!("\r{percent}%")).collect();
        for (printed, is_named) in [(bar.as_str(), false), (&*"line\n".repeat(40), true)] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut gathered = OutputCapture::new(LIMITS, folder.path());
            let so_far = gathered.so_far();
            gathered.push(printed.as_bytes()).await;
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            assert_eq!(so_far().full_output.is_some(), is_named);
            drop(gathered);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(is_named));
        }
    }

    #[tokio::test]
    async fn strokes_of_output_that_is_cut_are_those_of_what_is_shown() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut gathered = OutputCapture::new(LIMITS, folder.path());
        gathered.push(b"\x1b[31m1\n2\n3\x1b[m\n").await;
        let output = gathered.finish().await;
        assert_eq!(output.text, "2\n3\n");
        assert_eq!(output.strokes.iter().map(|stroke| stroke.start).collect::<Vec<_>>(), [0, 2]);
    }

    #[tokio::test]
    async fn output_that_cannot_be_kept_is_still_shown() {
        let mut gathered = OutputCapture::new(LIMITS, "/dev/null/no");
        gathered.push(b"1\n2\n3\n").await;
        let output = gathered.finish().await;
        assert_eq!((output.text.as_str(), output.full_output), ("2\n3\n", None));
        assert!(output.notice.unwrap().contains("could not be kept: Not a directory"));
    }

    #[test]
    fn old_files_are_cleared_away_and_others_left_alone() {
        let folder = tempfile::TempDir::new().unwrap();
        let old = SystemTime::now() - KEEP - Duration::from_secs(1);
        for name in ["output-a.txt", "other"] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        let (_, path) = create(folder.path()).unwrap();
        assert!(path.exists() && folder.path().join("other").exists());
        assert!(!folder.path().join("output-a.txt").exists());
    }
}
