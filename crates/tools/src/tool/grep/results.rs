//! What a search has found so far, as text.

use std::fmt::Write as _;
use std::io;

use grep_searcher::{Searcher, Sink, SinkContext, SinkMatch};

/// Most characters of one line; minified files have no line ends.
const MAX_LINE: usize = 500;

/// Lines found, up to a limit of matches.
#[derive(Debug)]
pub(super) struct Found {
    pub text: String,
    pub matches: usize,
    limit: usize,
    /// Text beyond this is cut anyway.
    max_bytes: usize,
}

impl Found {
    pub(super) fn new(limit: usize, max_chars: usize) -> Self {
        // A character has at most four bytes; what lies beyond is cut off later, and shows that there is more.
        Self { text: String::new(), matches: 0, limit, max_bytes: max_chars.saturating_mul(4) }
    }

    pub(super) fn is_full(&self) -> bool {
        self.matches >= self.limit || self.text.len() > self.max_bytes
    }

    /// Collects the lines of one file.
    pub(super) fn in_file<'a>(&'a mut self, shown: &'a str) -> impl Sink<Error = io::Error> + 'a {
        InFile { found: self, shown, is_first: true }
    }
}

struct InFile<'a> {
    found: &'a mut Found,
    shown: &'a str,
    is_first: bool,
}

impl InFile<'_> {
    /// `path:12:text`, and `path-12-text` for context, as grep writes it.
    fn push(&mut self, mark: char, number: Option<u64>, line: &[u8], searcher: &Searcher) {
        let has_context = searcher.before_context() + searcher.after_context() > 0;
        if std::mem::take(&mut self.is_first) && has_context && !self.found.text.is_empty() {
            self.found.text.push_str("--\n");
        }
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        let (line, rest) = match line.char_indices().nth(MAX_LINE) {
            Some((at, _)) => (&line[..at], "… [line cut]"),
            None => (line, ""),
        };
        let number = number.unwrap_or_default();
        writeln!(self.found.text, "{}{mark}{number}{mark}{line}{rest}", self.shown)
            .expect("a String takes every text");
    }
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, searcher: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.found.is_full() {
            return Ok(false);
        }
        self.push(':', found.line_number(), found.bytes(), searcher);
        self.found.matches += 1;
        // The context after the last match is still wanted.
        Ok(!self.found.is_full() || searcher.after_context() > 0)
    }

    fn context(&mut self, searcher: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        self.push('-', context.line_number(), context.bytes(), searcher);
        Ok(true)
    }

    fn context_break(&mut self, _searcher: &Searcher) -> io::Result<bool> {
        if self.found.is_full() {
            return Ok(false);
        }
        self.found.text.push_str("--\n");
        Ok(true)
    }
}
