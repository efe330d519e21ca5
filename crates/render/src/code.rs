//! Code blocks and syntax highlighting.
//!
//! The grammars are loaded once per process, and the patterns of a grammar are compiled when its language
//! first appears. A front end therefore highlights in another process ([`worker`]). Code beyond the limits
//! below is shown in one style.

pub(super) mod backend;
mod cache;
mod grammar;
mod highlighter;
mod language;
mod limits;
pub(super) mod streaming;
mod streaming_lines;
mod worker;

use std::sync::Arc;

use super::sanitize::with_source_marks;
use super::{
    BreakMode, ControlChars, Emphasis, Highlighting, Indent, LayoutOptions, Line, Role, Span, Style,
    sanitize, wrap,
};

pub use backend::{HighlightBackend, HighlightRequest, HighlightResponse, InProcess, TokenSpans};
pub use cache::HighlightCache;
pub use highlighter::Highlighter;
pub(super) use highlighter::plain;
pub use language::Language;
pub use worker::{WORKER_ARGUMENT, request_highlighting, serve_highlighting};

/// Indentation of code blocks.
pub(super) const INDENT: &str = "  ";

/// Maximum size, in bytes, of an answer's code that is highlighted immediately: about 300 lines, or a tenth
/// of a second to lay out the answer.
pub(super) const MAX_SYNC_BYTES: usize = 16 * 1024;

/// The same limit for background highlighting, where a block is highlighted entirely or not at all: a fraction
/// of the cache's capacity, so that one part of an answer never evicts another.
const MAX_BACKGROUND_BYTES: usize = 256 * 1024;

/// Returns the maximum size of an answer's highlighted code, in bytes.
pub(super) const fn max_answer_bytes(highlighting: &Highlighting) -> usize {
    match highlighting {
        Highlighting::Sync => MAX_SYNC_BYTES,
        Highlighting::Background(_) | Highlighting::Off => MAX_BACKGROUND_BYTES,
    }
}

/// Runs a layout. The second value is true if the layout contains code that awaits highlighting: its
/// appearance may change with [`HighlightCache::generation`].
pub fn lay_out_tracking_plain_code<T>(highlighting: &Highlighting, lay_out: impl FnOnce() -> T) -> (T, bool) {
    let count = || match highlighting {
        Highlighting::Background(cache) => cache.unhighlighted(),
        Highlighting::Off | Highlighting::Sync => 0,
    };
    let before = count();
    let laid_out = lay_out();
    (laid_out, count() != before)
}

/// Highlights code; lines are not wrapped.
#[must_use]
pub fn highlight(code: &str, language: Language<'_>, highlighting: &Highlighting) -> Vec<Line> {
    let source = code;
    let code = sanitize(source, ControlChars::Visible);
    let lines: Vec<Line> = match highlighting {
        Highlighting::Background(cache) => cached_lines(cache, &code, language),
        Highlighting::Off => code.lines().map(|line| Line::from(plain(line, plain_role(language)))).collect(),
        Highlighting::Sync => {
            let mut highlighter = Highlighter::new(language);
            code.lines().map(|line| Line::from(highlighter.line(line))).collect()
        }
    };
    with_source(lines, source)
}

/// Marks text that stands for other text in the source.
fn with_source(lines: Vec<Line>, source: &str) -> Vec<Line> {
    let sources = source.split('\n').chain(std::iter::repeat(""));
    let line = |(line, source): (Line, &str)| Line { spans: with_source_marks(line.spans, source), ..line };
    lines.into_iter().zip(sources).map(line).collect()
}

/// Renders a code block under its language; `remaining_bytes` is the rest of the answer's highlighting
/// budget.
pub(super) fn code_block(
    code: &str,
    language: &str,
    options: &LayoutOptions,
    remaining_bytes: &mut usize,
) -> Vec<Line> {
    if options.rendering.code == Highlighting::Off {
        return plain_block(code, language, options);
    }
    if let Highlighting::Background(cache) = &options.rendering.code {
        let source = code;
        let code = sanitize(source, ControlChars::Visible);
        let highlighted = if code.len() <= *remaining_bytes {
            cached_lines(cache, &code, Language::Named(language))
        } else {
            let role = plain_role(Language::Named(language));
            code.lines().map(|line| Line::from(plain(line, role))).collect()
        };
        *remaining_bytes = remaining_bytes.saturating_sub(code.len());
        let highlighted = with_source(highlighted, source);
        let lines = highlighted.iter().flat_map(|line| code_line(&line.spans, options.width));
        return label(language).into_iter().chain(lines).collect();
    }
    let mut highlighter = Highlighter::with_limit(Language::Named(language), *remaining_bytes);
    let lines = block_with_label(code, language, |line| highlighter.line(line), options.width);
    *remaining_bytes = highlighter.remaining_bytes();
    lines
}

/// Lays out sanitized code with cached highlighting; code that isn't cached is left plain and queued.
pub(super) fn cached_lines(cache: &HighlightCache, code: &str, language: Language<'_>) -> Vec<Line> {
    let tokens = is_code(language).then(|| cache.look_up(language, code));
    // The last lines of a streaming block may be highlighted later than the others.
    let is_complete = |tokens: &Arc<Vec<TokenSpans>>| tokens.len() >= code.lines().count();
    if tokens.as_ref().is_some_and(|tokens| !tokens.as_ref().is_some_and(is_complete)) {
        cache.count_unhighlighted();
    }
    let line = |(at, line): (usize, &str)| match &tokens {
        Some(tokens) => {
            backend::spans(line, tokens.as_ref().and_then(|tokens| tokens.get(at)).map_or(&[], Vec::as_slice))
        }
        None => plain(line, plain_role(language)),
    };
    code.lines().enumerate().map(|each| Line::from(line(each))).collect()
}

/// Renders a code block without highlighting, for a block that will soon be laid out again.
pub(super) fn plain_block(code: &str, language: &str, options: &LayoutOptions) -> Vec<Line> {
    let role = base_role(Language::Named(language), &options.rendering.code);
    block_with_label(code, language, |line| plain(line, role), options.width)
}

/// Returns true if the language has a name that doesn't mean plain text.
pub(super) fn is_code(language: Language<'_>) -> bool {
    match language {
        Language::Named(name) => grammar::names_code(name),
        Language::OfFile(path) => !path.is_empty(),
    }
}

/// Returns the role of unmarked code in a block.
pub(super) fn base_role(language: Language<'_>, highlighting: &Highlighting) -> Role {
    match highlighting {
        Highlighting::Sync => Highlighter::new(language).base_role(),
        Highlighting::Background(_) | Highlighting::Off => plain_role(language),
    }
}

/// Returns the role of code that isn't highlighted.
fn plain_role(language: Language<'_>) -> Role {
    if is_code(language) { Role::Text } else { Role::Code }
}

fn block_with_label(
    code: &str,
    language: &str,
    mut spans: impl FnMut(&str) -> Vec<Span>,
    width: usize,
) -> Vec<Line> {
    let mut lines: Vec<Line> = label(language).into_iter().collect();
    let sources = code.split('\n');
    let code = sanitize(code, ControlChars::Visible);
    lines.extend(
        code.lines()
            .zip(sources)
            .flat_map(|(line, source)| code_line(&with_source_marks(spans(line), source), width)),
    );
    lines
}

/// Returns the line with a block's language.
pub(super) fn label(language: &str) -> Option<Line> {
    let language = grammar::first_word(language);
    let style = Style::from(Role::Muted).with(Emphasis::ITALIC);
    let name = Span::new(sanitize(language, ControlChars::Visible), style);
    (!language.is_empty()).then(|| Line::from(vec![Span::new(INDENT, Role::Code), name]))
}

/// Wraps a line of sanitized code.
pub(super) fn code_line(spans: &[Span], width: usize) -> Vec<Line> {
    let indent = Indent::all(vec![Span::new(INDENT, Role::Code)]);
    wrap(spans, width, &indent, BreakMode::Anywhere)
}

#[cfg(test)]
mod tests;
