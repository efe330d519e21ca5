//! Incremental reading of an output while its command is running, within the limits.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tiller_core::ansi::StyledText;

use super::output_capture::{
    CaptureState, CapturedOutput, OutputCapture, PrintedSize, first_part, join_ends, lock,
};
use super::truncation::{OutputLimits, TruncationExtent};

/// Bytes at the end of an output that are searched for its last lines.
const LAST_BYTES: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct OutputReader {
    source: &'static str,
    limits: OutputLimits,
    state: Arc<Mutex<CaptureState>>,
    mark: ReadMark,
}

/// The position up to which the output was read. An incomplete line may still be rewritten, for example by a
/// progress bar, and is then read again as a whole.
#[derive(Debug, Default)]
struct ReadMark {
    /// The number of characters before the last line that was read.
    characters: usize,
    /// The part of the last line that was read.
    line: String,
}

impl ReadMark {
    /// Returns the mark at the end of the output after `dropped` characters.
    fn at_end(text: &str, dropped: usize) -> Self {
        let start = text.rfind('\n').map_or(0, |at| at + 1);
        let (before, line) = text.split_at(start);
        Self { characters: dropped + before.chars().count(), line: line.to_owned() }
    }

    /// Returns the byte offset of the unread part of the output after `dropped` characters.
    fn find(&self, text: &str, dropped: usize) -> usize {
        let before = self.characters.saturating_sub(dropped);
        let start = text.char_indices().nth(before).map_or(text.len(), |(at, _)| at);
        let is_continued = self.characters >= dropped && text[start..].starts_with(&self.line);
        if is_continued { start + self.line.len() } else { start }
    }
}

impl OutputReader {
    /// Creates a reader that starts at the beginning of the output.
    pub(super) fn new(capture: &OutputCapture) -> Self {
        let (source, limits, state) = (capture.source, capture.limits, capture.shared_state());
        Self { source, limits, state, mark: ReadMark::default() }
    }

    /// Returns the output since the last call; of a long one, its beginning and end within the limits.
    pub(super) fn read_new(&mut self) -> CapturedOutput {
        let (printed, dropped, file) = {
            let state = lock(&self.state);
            (state.buffer.styled_text(), state.buffer.dropped(), state.file.clone())
        };
        let start = self.mark.find(&printed.text, dropped);
        let missed = dropped.saturating_sub(self.mark.characters);
        self.mark = ReadMark::at_end(&printed.text, dropped);
        self.fit(printed.suffix_from(start), missed, file)
    }

    /// Returns true if there is output that [`OutputReader::read_new`] hasn't returned yet.
    pub(super) fn has_new(&self) -> bool {
        let state = lock(&self.state);
        let text = state.buffer.styled_text().text;
        self.mark.find(&text, state.buffer.dropped()) < text.len()
    }

    /// Fits new output, before which `missed` characters were dropped, into the limits.
    fn fit(&self, new: StyledText, missed: usize, file: Option<PathBuf>) -> CapturedOutput {
        let is_whole = missed == 0 && self.limits.tail(&new.text).extent == TruncationExtent::Whole;
        if is_whole {
            return CapturedOutput {
                text: new.text,
                style_runs: new.style_runs,
                ..CapturedOutput::default()
            };
        }
        let (head_limits, tail_limits) = self.limits.split();
        let head = if missed == 0 { first_part(&new, head_limits) } else { StyledText::default() };
        let characters = missed + new.text.chars().count();
        let total = PrintedSize { characters, lines: new.text.lines().count() };
        let (StyledText { text, style_runs }, cut) = join_ends(head, &new, tail_limits, total);
        let rest = match &file {
            Some(path) => format!("the full output is in {}", path.display()),
            None => "the full output could not be saved".to_owned(),
        };
        let notice = Some(cut.notice(&format!("the new output of {}", self.source), &rest));
        CapturedOutput { text, style_runs, notice, full_output: file }
    }

    /// Returns the file with the full output, if there is one.
    pub(super) fn file(&self) -> Option<PathBuf> {
        lock(&self.state).file.clone()
    }

    /// Returns the last lines within these limits, whether they were read or not.
    pub(super) fn last_lines(&self, limits: OutputLimits) -> String {
        let printed = lock(&self.state).buffer.tail(LAST_BYTES);
        limits.tail(printed.text.trim_end()).text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const LIMITS: OutputLimits = OutputLimits { max_lines: 8, max_chars: 400 };

    async fn capture(dir: &tempfile::TempDir) -> (OutputCapture, OutputReader) {
        let mut capture = OutputCapture::new("bash", LIMITS, dir.path());
        capture.keep_file().await;
        let reader = OutputReader::new(&capture);
        (capture, reader)
    }

    #[tokio::test]
    async fn read_new_returns_each_part_once() {
        let dir = tempfile::TempDir::new().unwrap();
        let (mut capture, mut reader) = capture(&dir).await;
        for (printed, expected) in [
            ("a\nb", "a\nb"),
            ("", ""),
            ("c\n", "c\n"),
            ("10%", "10%"),
            // A rewritten line is new.
            ("\r20%", "20%"),
            ("\rok \nend", "ok\nend"),
        ] {
            capture.push(printed.as_bytes()).await;
            assert_eq!(reader.has_new(), !expected.is_empty(), "{printed:?}");
            assert_eq!(reader.read_new().text, expected, "{printed:?}");
        }
        assert_eq!(reader.last_lines(OutputLimits { max_lines: 2, max_chars: 10 }), "ok\nend");
    }

    #[tokio::test]
    async fn read_new_long_output_is_cut_and_names_the_file() {
        let dir = tempfile::TempDir::new().unwrap();
        let (mut capture, mut reader) = capture(&dir).await;
        capture.push(b"read\n").await;
        reader.read_new();
        for (count, shown) in [(9, "1\n2\n[… 1 line omitted …]\n4\n5\n6\n7\n8\n9\n"), (90_000, "")] {
            let new: String = (1..=count).map(|n| format!("{n}\n")).collect();
            capture.push(new.as_bytes()).await;
            let CapturedOutput { text, notice, full_output, .. } = reader.read_new();
            assert!(text.starts_with(shown) && text.ends_with(&format!("{count}\n")), "{text}");
            let path = full_output.unwrap();
            assert!(fs::read_to_string(&path).unwrap().ends_with(&new));
            let total = tiller_core::unit::thousands(new.chars().count());
            let expected = format!(
                " of {total} characters from the new output of bash; the full output is in {}",
                path.display()
            );
            assert!(notice.unwrap().ends_with(&expected));
        }
    }

    #[tokio::test]
    async fn output_reader_kept_file_is_complete_and_stays() {
        let dir = tempfile::TempDir::new().unwrap();
        let mut capture = OutputCapture::new("bash", LIMITS, dir.path());
        capture.push(b"before\n").await;
        capture.keep_file().await;
        capture.push(b"after\n").await;
        let path = OutputReader::new(&capture).file().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\nafter\n");
        drop(capture);
        assert!(path.exists());
    }
}
