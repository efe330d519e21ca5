//! The results of a search, as text.

use std::fmt::Write as _;
use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use schemars::JsonSchema;
use serde::Deserialize;

/// Maximum length of a line in characters; minified files have very long lines.
const MAX_LINE: usize = 500;

/// Approximate maximum size of the text in bytes; the search ends there.
const MAX_TEXT: usize = 8 << 20;

/// The part of the matches that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(super) enum ShownMatches {
    #[default]
    Lines,
    Files,
    Counts,
}

/// Matching lines or files, up to a limit.
#[derive(Debug)]
pub(super) struct SearchResults {
    pub text: String,
    /// The number of matching lines.
    pub matches: usize,
    /// The number of files with matching lines.
    pub files: usize,
    shown: ShownMatches,
    /// Limit of shown lines or files.
    limit: usize,
}

impl SearchResults {
    pub(super) fn new(shown: ShownMatches, limit: usize) -> Self {
        Self { text: String::new(), matches: 0, files: 0, shown, limit }
    }

    pub(super) fn is_full(&self) -> bool {
        let count = if self.shown == ShownMatches::Lines { self.matches } else { self.files };
        count >= self.limit || self.text.len() > MAX_TEXT
    }

    /// Returns the sink for the lines of one file.
    pub(super) fn file_sink<'a>(&'a mut self, display_path: &'a str) -> impl Sink<Error = io::Error> + 'a {
        FileSink { results: self, display_path, matches: 0, is_first: true }
    }
}

struct FileSink<'a> {
    results: &'a mut SearchResults,
    display_path: &'a str,
    /// The number of matching lines in the file.
    matches: usize,
    /// True until the first line of the file is shown.
    is_first: bool,
}

impl FileSink<'_> {
    /// Counts a matching line.
    fn count(&mut self) {
        self.results.matches += 1;
        self.results.files += usize::from(self.matches == 0);
        self.matches += 1;
    }

    /// Writes `path:12:text`, or `path-12-text` for context, in grep's format.
    fn push(&mut self, mark: char, number: Option<u64>, line: &[u8], searcher: &Searcher) {
        let has_context = searcher.before_context() + searcher.after_context() > 0;
        if std::mem::take(&mut self.is_first) && has_context && !self.results.text.is_empty() {
            self.results.text.push_str("--\n");
        }
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let (line, rest) = match line.char_indices().nth(MAX_LINE) {
            Some((at, _)) => (&line[..at], "… [line cut]"),
            None => (line, ""),
        };
        let number = number.unwrap_or_default();
        writeln!(self.results.text, "{}{mark}{number}{mark}{line}{rest}", self.display_path)
            .expect("a String takes every text");
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, matched_line: &SinkMatch<'_>) -> io::Result<bool> {
        match self.results.shown {
            ShownMatches::Lines if self.results.is_full() => Ok(false),
            ShownMatches::Lines => {
                self.push(':', matched_line.line_number(), matched_line.bytes(), searcher);
                self.count();
                // The context after the last match still has to be collected.
                Ok(!self.results.is_full() || searcher.after_context() > 0)
            }
            shown => {
                self.count();
                Ok(shown == ShownMatches::Counts)
            }
        }
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.push('-', context.line_number(), context.bytes(), searcher);
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        if self.results.is_full() {
            return Ok(false);
        }
        self.results.text.push_str("--\n");
        Ok(true)
    }

    fn finish(&mut self, _searcher: &Searcher, _finish: &SinkFinish) -> io::Result<()> {
        let counts = match self.results.shown {
            ShownMatches::Files => String::new(),
            ShownMatches::Counts => format!(":{}", self.matches),
            ShownMatches::Lines => return Ok(()),
        };
        if self.matches > 0 {
            writeln!(self.results.text, "{}{counts}", self.display_path).expect("a String takes every text");
        }
        Ok(())
    }
}
