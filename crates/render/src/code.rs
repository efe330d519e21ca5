//! Blocks of code, and which words of it are what.
//!
//! The grammars are read when the words of some code are first told apart in this process, and one grammar's patterns when its language
//! first appears; a front end has that done by another process ([`teller`]). What is beyond the limits below is shown all the same, in one
//! style.

pub(super) mod backend;
mod cache;
mod grammar;
mod limits;
pub(super) mod streaming;
mod worker;

use std::cell::Cell;
use std::sync::{Arc, LazyLock};

use syntect::parsing::{ParseState, ScopeStack, SyntaxReference, SyntaxSet};

use super::sanitize::sourced;
use super::{
    Breaks, ControlChars, Emphasis, Highlighting, Indent, LayoutOptions, Line, Role, Span, Style, sanitize,
    wrap,
};

pub use backend::{HighlightBackend, HighlightRequest, HighlightResponse, InProcess, TokenSpans};
pub use cache::{code_told, code_waits, tell_waiting};
pub use worker::{SERVICE, ask, serve};

/// Columns by which code stands in.
pub(super) const INDENT: &str = "  ";

/// Bytes of a line beyond which it stays plain: data or minified code, of which grammars make little, slowly.
const LONGEST_LINE: usize = 1_000;

/// Bytes of one block beyond which its lines stay plain. A line takes a quarter of a millisecond.
const LARGEST_BLOCK: usize = 64 * 1024;

/// Bytes of code of one answer beyond which its lines stay plain where they are told apart at once: some 300 lines, which is a tenth of a
/// second when the answer is laid out whole.
pub(super) const MOST_OF_AN_ANSWER: usize = 16 * 1024;

/// The same where they are told beside, in bytes of whole blocks: a part of what is kept, so that what an answer shows never makes room
/// for what it shows elsewhere.
const MOST_OF_AN_ANSWER_LATER: usize = 256 * 1024;

/// Bytes of code of one answer whose words are told.
pub(super) const fn most_of_an_answer(telling: Highlighting) -> usize {
    match telling {
        Highlighting::Sync => MOST_OF_AN_ANSWER,
        Highlighting::Background | Highlighting::Off => MOST_OF_AN_ANSWER_LATER,
    }
}

/// How the language of some code is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language<'a> {
    /// By its name, as after a fence: `rust`, `sh`, `C++`.
    Named(&'a str),
    /// By the name of the file it is in.
    OfFile(&'a str),
}

/// Tells what the words of some code are, line by line, from its first line on.
#[derive(Clone, Debug, Default)]
pub struct Highlighter {
    /// `None` for a language without a grammar, and once a limit is reached.
    reading: Option<Reading>,
    /// Bytes that may still come.
    left: usize,
}

/// Where a grammar is in the middle of some code.
#[derive(Clone, Debug)]
struct Reading {
    state: ParseState,
    scopes: ScopeStack,
    /// For each of the scopes what its text is.
    roles: Vec<Role>,
}

thread_local! {
    /// How many blocks of code were laid out on this thread whose words are still to be told.
    static LEFT_PLAIN: Cell<u64> = const { Cell::new(0) };
}

static GRAMMARS: LazyLock<SyntaxSet> = LazyLock::new(two_face::syntax::extra_newlines);

impl Highlighter {
    /// At the first line of code in this language.
    #[must_use]
    pub fn new(language: Language<'_>) -> Self {
        Self::limited(language, LARGEST_BLOCK)
    }

    /// The same, for at most so many bytes.
    pub(super) fn limited(language: Language<'_>, left: usize) -> Self {
        let state = grammar_of(language).map(ParseState::new);
        let reading = |state| Reading { state, scopes: ScopeStack::new(), roles: vec![Role::Text] };
        Self { reading: state.map(reading), left }
    }

    /// For how many more bytes it would tell words apart.
    pub(super) fn left(&self) -> usize {
        self.left
    }

    /// What unmarked code of it is: of a language that it doesn't know, everything.
    #[must_use]
    pub fn ground(&self) -> Role {
        if self.reading.is_some() { Role::Text } else { Role::Code }
    }

    /// The pieces of the next line, which is clean and has no newline.
    pub fn line(&mut self, line: &str) -> Vec<Span> {
        let Some(reading) = &mut self.reading else { return plain(line, Role::Code) };
        if line.len() > LONGEST_LINE {
            return plain(line, Role::Text);
        }
        // What comes after a line that is left out couldn't be told either.
        self.left = self.left.saturating_sub(line.len() + 1);
        if self.left == 0 {
            return plain(line, Role::Text);
        }
        reading.line(line)
    }
}

/// Lays something out, and says whether it holds code that was laid out plain because its words are told later: then it may look otherwise
/// when [`code_told`] is another number, and else it doesn't.
pub fn leaves_plain<T>(lay_out: impl FnOnce() -> T) -> (T, bool) {
    let before = LEFT_PLAIN.get();
    let laid_out = lay_out();
    (laid_out, LEFT_PLAIN.get() != before)
}

fn plain(line: &str, role: Role) -> Vec<Span> {
    if line.is_empty() { Vec::new() } else { vec![Span::new(line, role)] }
}

fn grammar_of(language: Language<'_>) -> Option<&'static SyntaxReference> {
    match language {
        Language::Named(name) => {
            let token = grammar::token(name)?;
            GRAMMARS.find_syntax_by_token(&token)
        }
        Language::OfFile(path) => {
            let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
            let ending = name.rsplit_once('.').map(|(_, ending)| ending);
            let whole = GRAMMARS.find_syntax_by_extension(name);
            whole.or_else(|| GRAMMARS.find_syntax_by_token(&grammar::token(ending?)?))
        }
    }
}

impl Reading {
    fn line(&mut self, line: &str) -> Vec<Span> {
        let ended = format!("{line}\n");
        // A grammar that fails on a line leaves that line plain and goes on after it.
        let Ok(changes) = self.state.parse_line(&ended, &GRAMMARS) else {
            return plain(line, Role::Text);
        };
        let (mut spans, mut from) = (Vec::new(), 0);
        for (at, change) in changes {
            let at = at.min(line.len());
            push(&mut spans, &line[from..at], self.role());
            from = at;
            let roles = &mut self.roles;
            let applied = self.scopes.apply_with_hook(&change, |change, _| match change {
                syntect::parsing::BasicScopeStackOp::Push(scope) => {
                    let around = roles.last().copied().unwrap_or_default();
                    roles.push(grammar::role(scope, around));
                }
                syntect::parsing::BasicScopeStackOp::Pop => _ = roles.pop(),
            });
            if applied.is_err() {
                break;
            }
        }
        push(&mut spans, &line[from..], self.role());
        spans
    }

    fn role(&self) -> Role {
        self.roles.last().copied().unwrap_or_default()
    }
}

fn push(spans: &mut Vec<Span>, text: &str, role: Role) {
    match spans.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.style.role == role => last.text.push_str(text),
        _ => spans.push(Span::new(text, role)),
    }
}

/// The lines of some code, highlighted and not wrapped.
#[must_use]
pub fn highlight(code: &str, language: Language<'_>, telling: Highlighting) -> Vec<Line> {
    let source = code;
    let code = sanitize(source, ControlChars::Visible);
    let lines: Vec<Line> = match telling {
        Highlighting::Background => told_later(&code, language),
        Highlighting::Off => code.lines().map(|line| Line::from(plain(line, unread(language)))).collect(),
        Highlighting::Sync => {
            let mut highlighter = Highlighter::new(language);
            code.lines().map(|line| Line::from(highlighter.line(line))).collect()
        }
    };
    with_source(lines, source)
}

/// Lines that know what in them stands for something else in their source.
fn with_source(lines: Vec<Line>, source: &str) -> Vec<Line> {
    let sources = source.split('\n').chain(std::iter::repeat(""));
    let line = |(line, source): (Line, &str)| Line { spans: sourced(line.spans, source), ..line };
    lines.into_iter().zip(sources).map(line).collect()
}

/// A block of code with its language above it; the words of `left` bytes of an answer's code may still be told apart.
pub(super) fn code_block(code: &str, language: &str, page: LayoutOptions, left: &mut usize) -> Vec<Line> {
    if page.manner.code == Highlighting::Off {
        return unread_block(code, language, page);
    }
    if page.manner.code == Highlighting::Background {
        let source = code;
        let code = sanitize(source, ControlChars::Visible);
        let told = if code.len() <= *left {
            told_later(&code, Language::Named(language))
        } else {
            let role = unread(Language::Named(language));
            code.lines().map(|line| Line::from(plain(line, role))).collect()
        };
        *left = left.saturating_sub(code.len());
        let told = with_source(told, source);
        let lines = told.iter().flat_map(|line| code_line(&line.spans, page.width));
        return label(language).into_iter().chain(lines).collect();
    }
    let mut highlighter = Highlighter::limited(Language::Named(language), *left);
    let lines = labelled(code, language, |line| highlighter.line(line), page.width);
    *left = highlighter.left();
    lines
}

/// Clean code, highlighted as far as somebody did it already; what isn't is plain and left to be told.
pub(super) fn told_later(code: &str, language: Language<'_>) -> Vec<Line> {
    let words = is_code(language).then(|| cache::told(language, code));
    // The last lines of what has just arrived may be told later than the others.
    let is_told = |words: &Arc<Vec<TokenSpans>>| words.len() >= code.lines().count();
    if words.as_ref().is_some_and(|words| !words.as_ref().is_some_and(is_told)) {
        LEFT_PLAIN.set(LEFT_PLAIN.get() + 1);
    }
    let line = |(at, line): (usize, &str)| match &words {
        Some(words) => {
            backend::spans(line, words.as_ref().and_then(|words| words.get(at)).map_or(&[], Vec::as_slice))
        }
        None => plain(line, unread(language)),
    };
    code.lines().enumerate().map(|each| Line::from(line(each))).collect()
}

/// The same, its words not told apart: for a block that is soon shown anew.
pub(super) fn unread_block(code: &str, language: &str, page: LayoutOptions) -> Vec<Line> {
    let known = match page.manner.code {
        Highlighting::Sync => grammar_of(Language::Named(language)).is_some(),
        Highlighting::Background | Highlighting::Off => is_code(Language::Named(language)),
    };
    let role = if known { Role::Text } else { Role::Code };
    labelled(code, language, |line| plain(line, role), page.width)
}

/// Whether a language is named at all.
pub(super) fn is_code(language: Language<'_>) -> bool {
    match language {
        Language::Named(name) => grammar::names_code(name),
        Language::OfFile(path) => !path.is_empty(),
    }
}

/// What code is whose words nobody tells apart.
pub(super) fn unread(language: Language<'_>) -> Role {
    if is_code(language) { Role::Text } else { Role::Code }
}

fn labelled(code: &str, language: &str, mut spans: impl FnMut(&str) -> Vec<Span>, width: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = label(language).into_iter().collect();
    let sources = code.split('\n');
    let code = sanitize(code, ControlChars::Visible);
    lines.extend(
        code.lines().zip(sources).flat_map(|(line, source)| code_line(&sourced(spans(line), source), width)),
    );
    lines
}

/// The line that names a block's language.
pub(super) fn label(language: &str) -> Option<Line> {
    let language = grammar::first_word(language);
    let style = Style::from(Role::Muted).with(Emphasis::ITALIC);
    let name = Span::new(sanitize(language, ControlChars::Visible), style);
    (!language.is_empty()).then(|| Line::from(vec![Span::new(INDENT, Role::Code), name]))
}

/// One line of code, already clean.
pub(super) fn code_line(spans: &[Span], width: usize) -> Vec<Line> {
    let indent = Indent::all(vec![Span::new(INDENT, Role::Code)]);
    wrap(spans, width, &indent, Breaks::Anywhere)
}

#[cfg(test)]
mod tests;
