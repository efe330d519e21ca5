//! Capture of a command's output: its end in memory, and the whole output in a file once it is long.

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

/// Maximum size of an output file, in bytes. A command that prints forever must not fill the disk.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Lifetime of output files.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// File name prefix of all output files.
const PREFIX: &str = "output-";

/// Limits of the preview that people see while a command runs: a screenful, as it is sent several times a second.
const GLANCE: OutputLimits = OutputLimits { max_lines: 40, max_chars: 4_000 };

/// Interval of previews of a command's output.
pub const PREVIEW_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes at the end of an output that a new subscriber gets: as many as a front end keeps.
const SNAPSHOT_BYTES: usize = 100_000;

/// The output of a running command.
#[derive(Debug)]
pub struct OutputCapture {
    limits: OutputLimits,
    scratch: PathBuf,
    /// A mutex, because the output is requested on another thread when the command is stopped; it is held across no
    /// await.
    state: Arc<Mutex<CaptureState>>,
    file: OutputFile,
}

/// The part in memory.
#[derive(Debug)]
struct CaptureState {
    /// The output as a terminal would show it; of a long one, the end.
    buffer: OutputBuffer,
    /// The raw output while there is no file; if no file can be written, its end.
    raw: Vec<u8>,
    /// The file with the whole output.
    file: Option<PathBuf>,
    /// True if the file's path was reported.
    is_file_reported: bool,
}

/// The file with the whole output.
#[derive(Debug)]
enum OutputFile {
    /// No file: the whole output is in memory.
    None,
    Open {
        path: PathBuf,
        file: tokio::fs::File,
        bytes: u64,
    },
    Failed(io::Error),
}

/// A complete output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapturedOutput {
    /// Its end as a terminal shows it, within the limits and without escape sequences.
    pub text: String,
    /// The styles of `text`.
    pub strokes: Vec<StyleRun>,
    /// A notice about the omitted part and its file, if `text` is not the whole output.
    pub notice: Option<String>,
    /// The file with the whole raw output, if `text` is not the whole output.
    pub full_output: Option<PathBuf>,
}

impl OutputCapture {
    /// Creates an empty capture. Output over the limits goes to a file in the folder `scratch`, which is created when
    /// needed.
    #[must_use]
    pub fn new(limits: OutputLimits, scratch: impl Into<PathBuf>) -> Self {
        // A character has at most four bytes.
        let buffer = OutputBuffer::with_limit(limits.max_chars.saturating_mul(4).max(SNAPSHOT_BYTES));
        let state = CaptureState { buffer, raw: Vec::new(), file: None, is_file_reported: false };
        Self { limits, scratch: scratch.into(), state: Arc::new(Mutex::new(state)), file: OutputFile::None }
    }

    /// Appends output.
    pub async fn push(&mut self, chunk: &[u8]) {
        let length = self.state().append(chunk);
        // A character has at most four bytes; as much again for styles.
        let max_raw = self.limits.max_chars.saturating_mul(8);
        match &self.file {
            OutputFile::None if length > max_raw => self.create_file().await,
            OutputFile::None => return,
            OutputFile::Open { .. } => self.append(chunk).await,
            OutputFile::Failed(_) => {}
        }
        let mut state = self.state();
        match &self.file {
            OutputFile::Open { .. } => state.raw.clear(),
            OutputFile::None | OutputFile::Failed(_) if state.raw.len() > max_raw.saturating_mul(2) => {
                let over = state.raw.len() - max_raw;
                state.raw.drain(..over);
            }
            OutputFile::None | OutputFile::Failed(_) => {}
        }
    }

    fn state(&self) -> MutexGuard<'_, CaptureState> {
        lock(&self.state)
    }

    /// Returns a function that returns the output at the moment of its call, for a command that is stopped then. Output
    /// over the limits is written to a file in this case too.
    pub fn snapshot_fn(&self) -> impl Fn() -> CapturedOutput + Send + use<> {
        let (limits, scratch, state) = (self.limits, self.scratch.clone(), Arc::clone(&self.state));
        move || lock(&state).snapshot(limits, &scratch)
    }

    /// Returns the last lines, to show while the command runs.
    #[must_use]
    pub(crate) fn preview_tail(&self) -> StyledText {
        glance(&self.state().buffer)
    }

    /// Returns a copy of the terminal buffer, for subscribers that get the rest as text.
    #[must_use]
    pub fn buffer(&self) -> OutputBuffer {
        self.state().buffer.continuation(SNAPSHOT_BYTES)
    }

    /// Ends the capture and returns the output.
    pub async fn finish(mut self) -> CapturedOutput {
        let (printed, is_whole) = self.state().printed();
        let part = self.limits.tail(&printed.text);
        if part.extent == TruncationExtent::Whole && is_whole {
            self.remove_file();
            return CapturedOutput::complete(printed);
        }
        if matches!(self.file, OutputFile::None) {
            self.create_file().await;
        }
        let describe_part = self.state().describe_part(&part);
        let StyledText { text, strokes } = printed.suffix_from(printed.text.len() - part.text.len());
        let (notice, full_output) = self.end_file().await;
        let notice = Some(format!("output cut: {describe_part} shown; {notice}"));
        CapturedOutput { text, strokes, notice, full_output }
    }

    /// Removes the file if it isn't needed: `text` holds the whole output (a progress bar prints much and shows
    /// little), or the path was never reported.
    fn remove_file(&self) {
        if let OutputFile::Open { path, .. } = &self.file {
            let _ = fs::remove_file(path);
        }
    }

    async fn create_file(&mut self) {
        self.file = match create(&self.scratch) {
            Ok((file, path)) => OutputFile::Open { path, file: tokio::fs::File::from_std(file), bytes: 0 },
            Err(error) => OutputFile::Failed(error),
        };
        if let OutputFile::Open { path, .. } = &self.file {
            self.state().file = Some(path.clone());
        }
        let raw = self.state().raw.clone();
        self.append(&raw).await;
    }

    async fn append(&mut self, chunk: &[u8]) {
        let OutputFile::Open { file, bytes, .. } = &mut self.file else { return };
        let room = usize::try_from(MAX_FILE - *bytes).unwrap_or(usize::MAX);
        let chunk = &chunk[..chunk.len().min(room)];
        *bytes += chunk.len() as u64;
        if let Err(error) = file.write_all(chunk).await {
            self.file = OutputFile::Failed(error);
        }
    }

    /// Closes the file; returns a notice about it, and its path.
    async fn end_file(&mut self) -> (String, Option<PathBuf>) {
        match std::mem::replace(&mut self.file, OutputFile::None) {
            OutputFile::Open { path, mut file, bytes } => match file.flush().await {
                Ok(()) if bytes == MAX_FILE => {
                    (format!("its first 64 MiB are in {}", path.display()), Some(path))
                }
                Ok(()) => (format!("all of it is in {}", path.display()), Some(path)),
                Err(error) => (format!("the rest could not be kept: {error}"), None),
            },
            OutputFile::Failed(error) => (format!("the rest could not be kept: {error}"), None),
            OutputFile::None => ("the rest was not kept".into(), None),
        }
    }
}

/// A stopped command is dropped without [`OutputCapture::finish`]; its partial output may have reported the file.
impl Drop for OutputCapture {
    fn drop(&mut self) {
        if !self.state().is_file_reported {
            self.remove_file();
        }
    }
}

impl CapturedOutput {
    fn complete(StyledText { text, strokes }: StyledText) -> Self {
        Self { text, strokes, ..Self::default() }
    }
}

impl CaptureState {
    /// Appends output; returns the number of raw bytes in memory.
    fn append(&mut self, chunk: &[u8]) -> usize {
        self.buffer.push(chunk);
        self.raw.extend_from_slice(chunk);
        self.raw.len()
    }

    /// Returns the output as a terminal would show it, and true if that is all of it.
    fn printed(&self) -> (StyledText, bool) {
        (self.buffer.styled_text(), !self.buffer.is_cut())
    }

    /// Describes the part of the output that `kept` holds.
    fn describe_part(&self, part: &truncation::Truncated<'_>) -> String {
        match part.extent {
            TruncationExtent::PartOfLine => "a part of the last line is".to_owned(),
            TruncationExtent::Lines | TruncationExtent::Whole => {
                let lines = self.buffer.lines();
                format!("the last {} of {} lines are", thousands(part.lines), thousands(lines))
            }
        }
    }

    fn snapshot(&mut self, limits: OutputLimits, scratch: &Path) -> CapturedOutput {
        let (printed, is_whole) = self.printed();
        let part = limits.tail(&printed.text);
        if part.extent == TruncationExtent::Whole && is_whole {
            return CapturedOutput::complete(printed);
        }
        self.is_file_reported = self.file.is_some();
        let path = self.file.clone().map_or_else(|| self.store(scratch), Ok);
        let notice = match &path {
            Ok(path) => format!("what was kept of the rest is in {}", path.display()),
            Err(error) => format!("the rest could not be kept: {error}"),
        };
        let notice = Some(format!("output cut: {} shown; {notice}", self.describe_part(&part)));
        let StyledText { text, strokes } = printed.suffix_from(printed.text.len() - part.text.len());
        CapturedOutput { text, strokes, notice, full_output: path.ok() }
    }

    fn store(&self, scratch: &Path) -> io::Result<PathBuf> {
        let (mut file, path) = create(scratch)?;
        file.write_all(&self.raw)?;
        Ok(path)
    }
}

/// Returns the last screenful of an output.
#[must_use]
pub fn glance(buffer: &OutputBuffer) -> StyledText {
    let printed = buffer.tail(GLANCE.max_chars * 4);
    let part = GLANCE.tail(&printed.text).text.len();
    printed.suffix_from(printed.text.len() - part)
}

fn lock(state: &Mutex<CaptureState>) -> MutexGuard<'_, CaptureState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a text to a new file, readable by this user only, in the folder of long outputs.
///
/// # Errors
/// When it can't be written.
pub fn store_text(scratch: &Path, text: &str) -> io::Result<PathBuf> {
    let (mut file, path) = create(scratch)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Creates a new file, readable by this user only, and deletes expired ones.
fn create(scratch: &Path) -> io::Result<(fs::File, PathBuf)> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(scratch)?;
    clear(scratch);
    let file = tempfile::Builder::new().prefix(PREFIX).suffix(".txt").tempfile_in(scratch)?;
    Ok(file.keep()?)
}

/// Deletes expired files; errors are ignored.
fn clear(scratch: &Path) {
    let Some(oldest) = SystemTime::now().checked_sub(LIFETIME) else { return };
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
    async fn capture_short_output_stays_in_memory() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new(LIMITS, folder.path().join("scratch"));
        capture.push(b"\x1b[1ma\x1b[0m\n").await;
        capture.push(b"b").await;
        let bold = SgrState { emphasis: Emphasis::BOLD, ..SgrState::default() };
        let strokes = vec![StyleRun { start: 0, length: 1, style: bold }];
        let expected = CapturedOutput { text: "a\nb".into(), strokes, ..CapturedOutput::default() };
        assert_eq!(capture.finish().await, expected);
        assert!(!folder.path().join("scratch").exists());
    }

    #[tokio::test]
    async fn capture_output_is_available_before_its_end() {
        for (count, describe_part) in [(2, "1\n2\n"), (3, "2\n3\n"), (500, "499\n500\n")] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new(LIMITS, folder.path());
            let snapshot = capture.snapshot_fn();
            let whole: String = (1..=count).map(|n| format!("{n}\n")).collect();
            capture.push(whole.as_bytes()).await;
            if let OutputFile::Open { file, .. } = &mut capture.file {
                file.flush().await.unwrap();
            }
            let CapturedOutput { text, notice, full_output, .. } = snapshot();
            assert_eq!(text, describe_part);
            let part = full_output.map(|path| fs::read_to_string(path).unwrap());
            assert_eq!(part, (count > 2).then_some(whole));
            assert_eq!(notice.is_some(), count > 2, "{notice:?}");
        }
    }

    #[tokio::test]
    async fn capture_long_output_shows_end_and_keeps_whole() {
        for count in [3, 500] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new(LIMITS, folder.path().join("scratch"));
            let whole: String = (1..=count).map(|n| format!("{n}\n")).collect();
            for line in whole.split_inclusive('\n') {
                capture.push(line.as_bytes()).await;
            }
            assert_eq!(capture.preview_tail().text.lines().last(), Some(count.to_string().as_str()));
            let output = capture.finish().await;
            let path = output.full_output.unwrap();
            assert_eq!(output.text, format!("{}\n{count}\n", count - 1));
            assert_eq!(fs::read_to_string(&path).unwrap(), whole);
            let notice = format!("the last 2 of {count} lines are shown; all of it is in {}", path.display());
            assert_eq!(output.notice.unwrap(), format!("output cut: {notice}"));
        }
    }

    #[tokio::test]
    async fn capture_progress_bar_is_only_its_last_state() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new(LIMITS, folder.path());
        capture.push(b"begin\n").await;
        for percent in 0..=100 {
            capture.push(format!("\x1b[32m{percent}%\x1b[0m\r").as_bytes()).await;
        }
        assert_eq!(capture.preview_tail().text, "begin\n100%");
        let output = capture.finish().await;
        assert_eq!((output.text.as_str(), output.notice), ("begin\n100%", None));
        assert_eq!(
            output.strokes.iter().map(|style_run| (style_run.start, style_run.length)).collect::<Vec<_>>(),
            [(6, 4)]
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "no file is left");
    }

    #[tokio::test]
    async fn capture_stopped_command_keeps_reported_file() {
        let bar: String = (0..=100).map(|percent| format!("\r{percent}%")).collect();
        for (printed, is_named) in [(bar.as_str(), false), (&*"line\n".repeat(40), true)] {
            let folder = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new(LIMITS, folder.path());
            let snapshot = capture.snapshot_fn();
            capture.push(printed.as_bytes()).await;
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            assert_eq!(snapshot().full_output.is_some(), is_named);
            drop(capture);
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), usize::from(is_named));
        }
    }

    #[tokio::test]
    async fn capture_cut_output_has_styles_of_shown_part() {
        let folder = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new(LIMITS, folder.path());
        capture.push(b"\x1b[31m1\n2\n3\x1b[m\n").await;
        let output = capture.finish().await;
        assert_eq!(output.text, "2\n3\n");
        assert_eq!(output.strokes.iter().map(|style_run| style_run.start).collect::<Vec<_>>(), [0, 2]);
    }

    #[tokio::test]
    async fn capture_unwritable_output_is_still_shown() {
        let mut capture = OutputCapture::new(LIMITS, "/dev/null/no");
        capture.push(b"1\n2\n3\n").await;
        let output = capture.finish().await;
        assert_eq!((output.text.as_str(), output.full_output), ("2\n3\n", None));
        assert!(output.notice.unwrap().contains("could not be kept: Not a directory"));
    }

    #[test]
    fn clear_expired_files_are_deleted_and_others_kept() {
        let folder = tempfile::TempDir::new().unwrap();
        let old = SystemTime::now() - LIFETIME - Duration::from_secs(1);
        for name in ["output-a.txt", "other"] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        let (_, path) = create(folder.path()).unwrap();
        assert!(path.exists() && folder.path().join("other").exists());
        assert!(!folder.path().join("output-a.txt").exists());
    }
}
