//! Capture of a command's output: its beginning and end in memory, and a long output as a whole in a file.
//! `output_reader` reads it piece by piece while the command is running.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tiller_core::ansi::{MAX_STYLE_RUNS, OutputBuffer, StyleRun, StyledText};
use tiller_core::unit::thousands;
use tokio::io::AsyncWriteExt as _;

use super::notice::truncation_notice;
use super::truncation::{OutputLimits, TruncationExtent};

/// Maximum bytes of an output file; a command that prints forever must not fill the disk.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Lifetime of output files.
const LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// File name prefix of all output files.
const PREFIX: &str = "output-";

/// Limits of the preview for the user while a command is running: a screenful, because it is sent several
/// times per second.
const LAST_SCREEN_LIMITS: OutputLimits = OutputLimits { max_lines: 40, max_chars: 4_000 };

/// Interval of previews of a command's output.
pub const PREVIEW_INTERVAL: Duration = Duration::from_millis(100);

/// Bytes at the end of an output that a new subscriber gets, as many as a front end keeps.
const SNAPSHOT_BYTES: usize = 100_000;

/// The output of a running command.
#[derive(Debug)]
pub struct OutputCapture {
    /// The name of the output's source, for the notice about a truncation.
    pub(super) source: &'static str,
    pub(super) limits: OutputLimits,
    scratch: PathBuf,
    /// A mutex, because the output is requested on another thread when the command is stopped; never held
    /// across an await.
    state: Arc<Mutex<CaptureState>>,
    file: OutputFile,
    /// True if the file isn't removed, because it is read while the command prints.
    keeps_file: bool,
}

/// The part of the output in memory.
#[derive(Debug)]
pub(super) struct CaptureState {
    /// The output as a terminal would show it; only the end of a long one.
    pub(super) buffer: OutputBuffer,
    /// The beginning of the output.
    head: OutputHead,
    /// The raw output while there is no file; only its end if no file can be written.
    raw: Vec<u8>,
    /// The file with the full output.
    pub(super) file: Option<PathBuf>,
    /// True if the file's path was reported.
    is_file_reported: bool,
}

/// The beginning of the output.
#[derive(Debug)]
struct OutputHead {
    buffer: OutputBuffer,
    /// Number of bytes that still fit.
    room: usize,
}

impl OutputHead {
    fn new(limits: OutputLimits) -> Self {
        // A character has at most four bytes; the same amount again is for styles.
        Self { buffer: OutputBuffer::default(), room: limits.max_chars.saturating_mul(8) }
    }

    fn push(&mut self, chunk: &[u8]) {
        let taken = chunk.len().min(self.room);
        if taken > 0 {
            self.room -= taken;
            self.buffer.push(&chunk[..taken]);
        }
    }

    /// Returns the part within the limits.
    fn part(&self, limits: OutputLimits) -> StyledText {
        first_part(&self.buffer.styled_text(), limits)
    }
}

/// Returns the complete lines within the limits at the beginning of the output, or the beginning of a longer line.
pub(super) fn first_part(printed: &StyledText, limits: OutputLimits) -> StyledText {
    if limits.max_lines == 0 {
        return StyledText::default();
    }
    let end = printed.text.rfind('\n').map_or(0, |at| at + 1);
    let complete = limits.head(&printed.text[..end]);
    let part = if complete.lines == 0 { limits.head(&printed.text) } else { complete };
    printed.prefix_to(part.text.len())
}

/// The file with the full output.
#[derive(Debug)]
enum OutputFile {
    /// No file: the full output is in memory.
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
    /// The text as a terminal shows it, without escape sequences; of a long output, its beginning and end
    /// within the limits.
    pub text: String,
    /// The styles of `text`.
    pub style_runs: Vec<StyleRun>,
    /// A notice about the omitted part and its file, if `text` isn't the full output.
    pub notice: Option<String>,
    /// The file with the full raw output, if `text` isn't the full output.
    pub full_output: Option<PathBuf>,
}

impl OutputCapture {
    /// Creates an empty capture of the output of `source`. Output that exceeds the limits is stored in a file
    /// in the directory `scratch`, which is created on demand.
    #[must_use]
    pub fn new(source: &'static str, limits: OutputLimits, scratch: impl Into<PathBuf>) -> Self {
        // A character has at most four bytes.
        let buffer = OutputBuffer::with_limit(limits.max_chars.saturating_mul(4).max(SNAPSHOT_BYTES));
        let head = OutputHead::new(limits.split().0);
        let state = CaptureState { buffer, head, raw: Vec::new(), file: None, is_file_reported: false };
        let state = Arc::new(Mutex::new(state));
        Self { source, limits, scratch: scratch.into(), state, file: OutputFile::None, keeps_file: false }
    }

    /// Appends output.
    pub async fn push(&mut self, chunk: &[u8]) {
        let length = self.state().append(chunk);
        // A character has at most four bytes; the same amount again is for styles.
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

    /// Returns a function that returns the output at the moment of its call, for a command that is being
    /// stopped. Output that exceeds the limits is written to a file in this case too.
    pub fn snapshot_fn(&self) -> impl Fn() -> CapturedOutput + Send + use<> {
        let (source, limits) = (self.source, self.limits);
        let (scratch, state) = (self.scratch.clone(), Arc::clone(&self.state));
        move || lock(&state).snapshot(source, limits, &scratch)
    }

    /// Returns the last lines, shown while the command is running.
    #[must_use]
    pub(crate) fn preview_tail(&self) -> StyledText {
        last_screen(&self.state().buffer)
    }

    /// Returns a copy of the terminal buffer, for subscribers that get the later output as text.
    #[must_use]
    pub fn buffer(&self) -> OutputBuffer {
        self.state().buffer.continuation(SNAPSHOT_BYTES)
    }

    /// Keeps the full output in a file, regardless of its length.
    pub(super) async fn keep_file(&mut self) {
        self.keeps_file = true;
        if matches!(self.file, OutputFile::None) {
            self.create_file().await;
        }
        self.state().is_file_reported = true;
    }

    /// Returns the part in memory, for readers.
    pub(super) fn shared_state(&self) -> Arc<Mutex<CaptureState>> {
        Arc::clone(&self.state)
    }

    /// Ends the capture and returns the output.
    pub async fn finish(mut self) -> CapturedOutput {
        let (StyledText { text, style_runs }, cut) = self.state().fit(self.limits);
        let Some(cut) = cut else {
            self.remove_file();
            return CapturedOutput { text, style_runs, ..CapturedOutput::default() };
        };
        if matches!(self.file, OutputFile::None) {
            self.create_file().await;
        }
        let (notice, full_output) = self.end_file().await;
        let notice = Some(cut.notice(self.source, &notice));
        CapturedOutput { text, style_runs, notice, full_output }
    }

    /// Removes the file if it isn't needed: `text` contains the full output (a progress bar prints much and
    /// shows little), or the path was never reported.
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
        let mut written = file.write_all(chunk).await;
        if self.keeps_file && written.is_ok() {
            written = file.flush().await;
        }
        if let Err(error) = written {
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
                Ok(()) => (format!("full output in {}", path.display()), Some(path)),
                Err(error) => (format!("the full output could not be saved: {error}"), None),
            },
            OutputFile::Failed(error) => (format!("the full output could not be saved: {error}"), None),
            OutputFile::None => ("the rest was not kept".into(), None),
        }
    }
}

/// A stopped command is dropped without [`OutputCapture::finish`]; its partial output may have reported the
/// file.
impl Drop for OutputCapture {
    fn drop(&mut self) {
        if !self.state().is_file_reported {
            self.remove_file();
        }
    }
}

impl CaptureState {
    /// Appends output; returns the number of raw bytes in memory.
    fn append(&mut self, chunk: &[u8]) -> usize {
        self.buffer.push(chunk);
        self.head.push(chunk);
        self.raw.extend_from_slice(chunk);
        self.raw.len()
    }

    /// Returns the shown part of the output, with the cut unless that is everything: as many first lines as
    /// fit into a quarter of the limits, and the last lines.
    fn fit(&self, limits: OutputLimits) -> (StyledText, Option<OutputCut>) {
        let printed = self.buffer.styled_text();
        if !self.buffer.is_cut() && limits.tail(&printed.text).extent == TruncationExtent::Whole {
            return (printed, None);
        }
        let (head_limits, tail_limits) = limits.split();
        let head = self.head.part(head_limits);
        let total = PrintedSize {
            characters: self.buffer.dropped() + printed.text.chars().count(),
            lines: self.buffer.lines(),
        };
        let (shown, cut) = join_ends(head, &printed, tail_limits, total);
        (shown, Some(cut))
    }

    fn snapshot(&mut self, source: &str, limits: OutputLimits, scratch: &Path) -> CapturedOutput {
        let (StyledText { text, style_runs }, cut) = self.fit(limits);
        let Some(cut) = cut else { return CapturedOutput { text, style_runs, ..CapturedOutput::default() } };
        self.is_file_reported = self.file.is_some();
        let path = self.file.clone().map_or_else(|| self.store(scratch), Ok);
        let kept = match &path {
            Ok(path) => format!("the rest, as far as it was saved, is in {}", path.display()),
            Err(error) => format!("the full output could not be saved: {error}"),
        };
        CapturedOutput { text, style_runs, notice: Some(cut.notice(source, &kept)), full_output: path.ok() }
    }

    fn store(&self, scratch: &Path) -> io::Result<PathBuf> {
        let (mut file, path) = create(scratch)?;
        file.write_all(&self.raw)?;
        Ok(path)
    }
}

/// The size of an output, including omitted parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct PrintedSize {
    pub(super) characters: usize,
    pub(super) lines: usize,
}

/// The extent of a cut, in characters.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputCut {
    shown: usize,
    total: usize,
}

impl OutputCut {
    /// Returns the notice about the output of `source`; `rest` describes how to read the rest.
    pub(super) fn notice(self, source: &str, rest: &str) -> String {
        truncation_notice(self.shown, Some(self.total), source, rest)
    }
}

/// Joins the first lines of an output with the last ones of `printed`.
pub(super) fn join_ends(
    head: StyledText,
    printed: &StyledText,
    tail_limits: OutputLimits,
    total: PrintedSize,
) -> (StyledText, OutputCut) {
    let mut shown = head;
    let tail = tail_limits.tail(&printed.text);
    let cut =
        OutputCut { shown: shown.text.chars().count() + tail.text.chars().count(), total: total.characters };
    let has_part = !shown.text.ends_with('\n') || tail.extent == TruncationExtent::PartOfLine;
    if !shown.text.is_empty() && has_part {
        let missing = cut.total.saturating_sub(cut.shown);
        let characters = if missing == 1 { "character" } else { "characters" };
        let end = if shown.text.ends_with('\n') { "" } else { "\n" };
        shown.text.push_str(&format!("{end}[… {} {characters} omitted …]\n", thousands(missing)));
    } else if !shown.text.is_empty() {
        let missing = total.lines.saturating_sub(shown.text.lines().count() + tail.lines);
        let lines = if missing == 1 { "line" } else { "lines" };
        shown.text.push_str(&format!("[… {} {lines} omitted …]\n", thousands(missing)));
    }
    shown.append(&printed.suffix_from(printed.text.len() - tail.text.len()));
    shown.style_runs.drain(..shown.style_runs.len().saturating_sub(MAX_STYLE_RUNS));
    (shown, cut)
}

/// Returns the last screenful of an output.
#[must_use]
pub fn last_screen(buffer: &OutputBuffer) -> StyledText {
    let printed = buffer.tail(LAST_SCREEN_LIMITS.max_chars * 4);
    let part = LAST_SCREEN_LIMITS.tail(&printed.text).text.len();
    printed.suffix_from(printed.text.len() - part)
}

pub(super) fn lock(state: &Mutex<CaptureState>) -> MutexGuard<'_, CaptureState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a string to a new file in the directory of long outputs, readable only by this user.
///
/// # Errors
/// If the file can't be written.
pub fn store_text(scratch: &Path, text: &str) -> io::Result<PathBuf> {
    let (mut file, path) = create(scratch)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Creates a new file, readable only by this user, and deletes expired ones.
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
        let dir = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new("bash", LIMITS, dir.path().join("scratch"));
        capture.push(b"\x1b[1ma\x1b[0m\n").await;
        capture.push(b"b").await;
        let bold = SgrState { emphasis: Emphasis::BOLD, ..SgrState::default() };
        let style_runs = vec![StyleRun { start: 0, length: 1, style: bold }];
        let expected = CapturedOutput { text: "a\nb".into(), style_runs, ..CapturedOutput::default() };
        assert_eq!(capture.finish().await, expected);
        assert!(!dir.path().join("scratch").exists());
    }

    #[tokio::test]
    async fn capture_output_is_available_before_its_end() {
        for (count, expected) in [(2, "1\n2\n"), (3, "2\n3\n"), (500, "499\n500\n")] {
            let dir = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new("bash", LIMITS, dir.path());
            let snapshot = capture.snapshot_fn();
            let whole: String = (1..=count).map(|n| format!("{n}\n")).collect();
            capture.push(whole.as_bytes()).await;
            if let OutputFile::Open { file, .. } = &mut capture.file {
                file.flush().await.unwrap();
            }
            let CapturedOutput { text, notice, full_output, .. } = snapshot();
            assert_eq!(text, expected);
            let part = full_output.map(|path| fs::read_to_string(path).unwrap());
            assert_eq!(part, (count > 2).then_some(whole));
            assert_eq!(notice.is_some(), count > 2, "{notice:?}");
        }
    }

    #[tokio::test]
    async fn capture_long_output_shows_end_and_keeps_whole() {
        for count in [3, 500] {
            let dir = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new("bash", LIMITS, dir.path().join("scratch"));
            let whole: String = (1..=count).map(|n| format!("{n}\n")).collect();
            for line in whole.split_inclusive('\n') {
                capture.push(line.as_bytes()).await;
            }
            assert_eq!(capture.preview_tail().text.lines().last(), Some(count.to_string().as_str()));
            let output = capture.finish().await;
            let path = output.full_output.unwrap();
            assert_eq!(output.text, format!("{}\n{count}\n", count - 1));
            assert_eq!(fs::read_to_string(&path).unwrap(), whole);
            let (shown, total) = (output.text.chars().count(), thousands(whole.chars().count()));
            let notice = format!("showing {shown} of {total} characters from bash; full output in");
            assert_eq!(output.notice.unwrap(), format!("OUTPUT TRUNCATED: {notice} {}", path.display()));
        }
    }

    #[tokio::test]
    async fn capture_long_output_shows_both_ends_with_styles() {
        let limits = OutputLimits { max_lines: 8, max_chars: 400 };
        for count in [9, 20_000] {
            let dir = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new("bash", limits, dir.path());
            for n in 1..=count {
                capture.push(format!("\x1b[31m{n}\x1b[m\n").as_bytes()).await;
            }
            let CapturedOutput { text, style_runs, .. } = capture.finish().await;
            let end: String = (count - 5..=count).map(|n| format!("{n}\n")).collect();
            let missing = if count == 9 { "1 line".to_owned() } else { "19,992 lines".to_owned() };
            assert_eq!(text, format!("1\n2\n[… {missing} omitted …]\n{end}"));
            let styled: Vec<String> = style_runs
                .iter()
                .map(|run| text.chars().skip(run.start).take(run.length).collect())
                .collect();
            let numbers: Vec<String> =
                [1, 2].into_iter().chain(count - 5..=count).map(|n| n.to_string()).collect();
            assert_eq!(styled, numbers);
        }
    }

    #[tokio::test]
    async fn capture_long_line_shows_both_ends() {
        let limits = OutputLimits { max_lines: 8, max_chars: 40 };
        let long = "x".repeat(5_000);
        for (printed, expected) in [
            (format!("HEAD{}TAIL", "x".repeat(33)), "HEADxxxxxx\n[… 1 character omitted …]\n"),
            (format!("HEAD{long}TAIL"), "HEADxxxxxx\n[… 4,968 characters omitted …]\n"),
            (format!("HEAD{long}\n{long}TAIL\n"), "HEADxxxxxx\n[… 9,970 characters omitted …]\n"),
            (format!("HEAD\n{long}TAIL"), "HEAD\n[… 4,974 characters omitted …]\n"),
        ] {
            let dir = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new("bash", limits, dir.path());
            capture.push(printed.as_bytes()).await;
            let text = capture.finish().await.text;
            assert!(text.starts_with(expected) && text.trim_end().ends_with("xxTAIL"), "{text}");
        }
    }

    #[tokio::test]
    async fn capture_progress_bar_is_only_its_last_state() {
        let dir = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new("bash", LIMITS, dir.path());
        capture.push(b"begin\n").await;
        for percent in 0..=100 {
            capture.push(format!("\x1b[32m{percent}%\x1b[0m\r").as_bytes()).await;
        }
        assert_eq!(capture.preview_tail().text, "begin\n100%");
        let output = capture.finish().await;
        assert_eq!((output.text.as_str(), output.notice), ("begin\n100%", None));
        assert_eq!(
            output.style_runs.iter().map(|style_run| (style_run.start, style_run.length)).collect::<Vec<_>>(),
            [(6, 4)]
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "no file is left");
    }

    #[tokio::test]
    async fn capture_stopped_command_keeps_reported_file() {
        let bar: String = (0..=100).map(|percent| format!("\r{percent}%")).collect();
        for (printed, is_named) in [(bar.as_str(), false), (&*"line\n".repeat(40), true)] {
            let dir = tempfile::TempDir::new().unwrap();
            let mut capture = OutputCapture::new("bash", LIMITS, dir.path());
            let snapshot = capture.snapshot_fn();
            capture.push(printed.as_bytes()).await;
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
            assert_eq!(snapshot().full_output.is_some(), is_named);
            drop(capture);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), usize::from(is_named));
        }
    }

    #[tokio::test]
    async fn capture_cut_output_has_styles_of_shown_part() {
        let dir = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new("bash", LIMITS, dir.path());
        capture.push(b"\x1b[31m1\n2\n3\x1b[m\n").await;
        let output = capture.finish().await;
        assert_eq!(output.text, "2\n3\n");
        assert_eq!(output.style_runs.iter().map(|style_run| style_run.start).collect::<Vec<_>>(), [0, 2]);
    }

    #[tokio::test]
    async fn capture_unwritable_output_is_still_shown() {
        let mut capture = OutputCapture::new("bash", LIMITS, "/dev/null/no");
        capture.push(b"1\n2\n3\n").await;
        let output = capture.finish().await;
        assert_eq!((output.text.as_str(), output.full_output), ("2\n3\n", None));
        assert!(output.notice.unwrap().contains("could not be saved: Not a directory"));
    }

    #[test]
    fn clear_expired_files_are_deleted_and_others_kept() {
        let dir = tempfile::TempDir::new().unwrap();
        let old = SystemTime::now() - LIFETIME - Duration::from_secs(1);
        for name in ["output-a.txt", "other"] {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(old).unwrap();
        }
        let (_, path) = create(dir.path()).unwrap();
        assert!(path.exists() && dir.path().join("other").exists());
        assert!(!dir.path().join("output-a.txt").exists());
    }
}
