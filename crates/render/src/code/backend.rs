//! Highlighter backends and their requests.
//!
//! Loaded grammars take about 15 MB per language, which a running process never frees, and hundreds of
//! milliseconds when a language first appears. So a front end highlights in another process
//! ([`serve_highlighting`](super::serve_highlighting)), which exits when idle; [`InProcess`] does the same
//! work in this process.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::highlighter::Highlighter;
use super::language::{Language, LanguageId};
use super::limits::{HighlightedPrefix, MAX_BLOCK_BYTES, truncated};
use crate::{Role, Span};

/// Maximum number of blocks whose state is remembered, in case several blocks stream in parallel.
const MAX_BLOCKS: usize = 8;

/// The tokens of a line: length in bytes, and role. Text after the last token has no role.
pub type TokenSpans = Vec<(u32, Role)>;

/// Lines of code to highlight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HighlightRequest {
    pub(super) language: LanguageId,
    /// The position in a streaming block; `None` for complete code.
    pub(super) stream: Option<StreamPosition>,
    /// The sanitized lines, without newlines.
    pub(super) lines: Vec<String>,
}

impl HighlightRequest {
    /// Creates a request for complete, sanitized code; code beyond the size limit is omitted.
    #[must_use]
    pub fn complete(language: Language<'_>, code: &str) -> Self {
        let language = LanguageId::new(language);
        let mut prefix = HighlightedPrefix::new(&language);
        let lines = code.lines().take_while(|line| prefix.add(line)).map(|line| truncated(line).to_owned());
        Self { lines: lines.collect(), language, stream: None }
    }
}

/// Code that is highlighted in several requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StreamPosition {
    pub(super) number: u64,
    /// The number of lines in earlier requests.
    pub(super) from: usize,
}

/// A request's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HighlightResponse {
    /// The token spans of each line.
    Tokens(Vec<TokenSpans>),
    /// The state of earlier lines is lost: highlight again from the first line.
    StateLost,
    /// Highlighting failed.
    Failed,
}

/// A syntax highlighter.
pub trait HighlightBackend {
    /// Highlights a request; may take half a second when a language first appears.
    fn highlight(&mut self, request: &HighlightRequest) -> HighlightResponse;
}

/// Highlights in this process.
#[derive(Debug, Default)]
pub struct InProcess {
    /// The state of the newest blocks and the number of their highlighted lines; the newest block last.
    streams: VecDeque<(StreamPosition, Highlighter)>,
}

impl HighlightBackend for InProcess {
    fn highlight(&mut self, request: &HighlightRequest) -> HighlightResponse {
        let Some(mut highlighter) = self.resume(request) else { return HighlightResponse::StateLost };
        let response = request.lines.iter().map(|line| token_spans(&highlighter.line(line))).collect();
        if let Some(StreamPosition { number, from }) = request.stream {
            self.streams
                .push_back((StreamPosition { number, from: from + request.lines.len() }, highlighter));
            if self.streams.len() > MAX_BLOCKS {
                self.streams.pop_front();
            }
        }
        HighlightResponse::Tokens(response)
    }
}

impl InProcess {
    /// Returns the highlighter that continues a block; `None` if its state is lost.
    fn resume(&mut self, request: &HighlightRequest) -> Option<Highlighter> {
        let start = || Highlighter::with_limit(request.language.as_language(), MAX_BLOCK_BYTES);
        let Some(requested) = request.stream else { return Some(start()) };
        let at = self.streams.iter().position(|(stream, _)| stream.number == requested.number);
        let state = at.and_then(|at| self.streams.remove(at)).filter(|(stream, _)| *stream == requested);
        match (state, requested.from) {
            (Some((_, highlighter)), _) => Some(highlighter),
            (None, 0) => Some(start()),
            (None, _) => None,
        }
    }
}

fn token_spans(spans: &[Span]) -> TokenSpans {
    let length = |span: &Span| u32::try_from(span.text.len()).unwrap_or(u32::MAX);
    spans.iter().map(|span| (length(span), span.style.role)).collect()
}

/// Splits a line into spans. Token spans for another line split it in the wrong places, but never change its
/// text.
pub(crate) fn spans(line: &str, token_spans: &[(u32, Role)]) -> Vec<Span> {
    let (mut spans, mut rest) = (Vec::with_capacity(token_spans.len()), line);
    for (bytes, role) in token_spans {
        let Some((word, after)) = rest.split_at_checked(*bytes as usize) else { break };
        spans.push(Span::new(word, *role));
        rest = after;
    }
    if !rest.is_empty() {
        spans.push(Span::new(rest, Role::Text));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(lines: &[&str], stream: Option<(u64, usize)>) -> HighlightRequest {
        HighlightRequest {
            language: LanguageId::new(Language::Named("c")),
            stream: stream.map(|(number, from)| StreamPosition { number, from }),
            lines: lines.iter().map(|&line| line.to_owned()).collect(),
        }
    }

    fn first_roles(response: HighlightResponse) -> Vec<Role> {
        let HighlightResponse::Tokens(token_spans) = response else { panic!("{response:?}") };
        token_spans.iter().map(|line| line[0].1).collect()
    }

    #[test]
    fn backend_streamed_code_is_highlighted_like_whole_code() {
        let lines = ["int a; /* one", "two", "three */ int b;", "int c;"];
        let expected = first_roles(InProcess::default().highlight(&request(&lines, None)));
        assert_eq!(expected[1], Role::Comment);
        let (mut backend, mut parts) = (InProcess::default(), Vec::new());
        for (at, line) in lines.iter().enumerate() {
            parts.extend(first_roles(backend.highlight(&request(&[line], Some((7, at))))));
            // Requests for other blocks come in between.
            assert_eq!(
                first_roles(backend.highlight(&request(&["int x;"], Some((8 + at as u64, 0)))))[0],
                expected[3]
            );
            assert_eq!(first_roles(backend.highlight(&request(&["int x;"], None)))[0], expected[3]);
        }
        assert_eq!(parts, expected);
    }

    #[test]
    fn backend_lost_block_starts_from_first_line() {
        let mut backend = InProcess::default();
        assert_eq!(backend.highlight(&request(&["int b;"], Some((1, 1)))), HighlightResponse::StateLost);
        assert!(matches!(
            backend.highlight(&request(&["int a;", "int b;"], Some((1, 0)))),
            HighlightResponse::Tokens(_)
        ));
        assert_eq!(backend.highlight(&request(&["int d;"], Some((1, 3)))), HighlightResponse::StateLost);
        for number in 2..=MAX_BLOCKS as u64 + 2 {
            backend.highlight(&request(&["int a;"], Some((number, 0))));
        }
        assert_eq!(
            backend.highlight(&request(&["int b;"], Some((2, 1)))),
            HighlightResponse::StateLost,
            "the oldest are forgotten"
        );
        assert!(matches!(
            backend.highlight(&request(&["int b;"], Some((3, 1)))),
            HighlightResponse::Tokens(_)
        ));
    }

    #[test]
    fn spans_tokens_of_another_line_keep_text() {
        let text = |spans: Vec<Span>| spans.into_iter().map(|span| span.text).collect::<String>();
        for token_spans in [vec![(1, Role::Name)], vec![(2, Role::Name), (900, Role::Type)], Vec::new()] {
            assert_eq!(text(spans("日本 x", &token_spans)), "日本 x");
        }
    }
}
