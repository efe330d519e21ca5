//! From text to styled lines: Markdown, diffs, code and terminal output, wrapped to a width.
//!
//! Styles are roles, never colours, and nothing here knows a terminal: the TUI and pages made from sessions share it.
//! What comes out holds no control characters, so no text can move a cursor or hide what it says.

mod code;
mod command_output;
mod diff;
mod image;
mod invisible;
mod link;
mod markdown;
mod options;
mod sanitize;
mod sanitizing_writer;
mod stream;
mod table;
pub mod theme;
mod wrap;

use std::sync::Arc;

pub use code::{
    HighlightBackend, HighlightRequest, HighlightResponse, Highlighter, InProcess, Language, SERVICE,
    TokenSpans, ask, code_told, code_waits, highlight, leaves_plain, serve, tell_waiting,
};
pub use command_output::command_output;
pub use diff::{DiffKind, DiffLine, diff, diff_lines};
pub use image::{ImageLimits, ImageRow, RenderedImage, render_image};
pub use link::{LinkSource, linked, safe_address};
pub use markdown::{markdown, options as markdown_options};
pub use options::{Highlighting, LayoutOptions, LinkStyle, MEASURE, RenderOptions};
pub use sanitize::{ControlChars, copied, sanitize};
pub use sanitizing_writer::SanitizingWriter;
pub use stream::{MarkdownStream, glance};
pub use tiller_core::ansi::{AnsiColor, Emphasis, columns};
pub use wrap::{Breaks, Indent, cut_to, wrap};

/// What a piece of text is; a theme says how that looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Role {
    /// Plain text.
    #[default]
    Text,
    /// What may be overlooked.
    Muted,
    /// What should catch the eye.
    Accent,
    /// A heading.
    Heading,
    /// Code, in a line or a block.
    Code,
    /// The text of a link.
    Link,
    /// The bar beside a quote.
    Quote,
    /// A line that was added.
    DiffAdded,
    /// A line that was removed.
    DiffRemoved,
    /// The words by which an added line differs.
    DiffAddedWord,
    /// The words by which a removed line differs.
    DiffRemovedWord,
    /// Something failed.
    Error,
    /// Something succeeded.
    Success,
    /// Something needs attention.
    Warning,
    /// What the user said.
    User,
    /// What the model thought.
    Thinking,
    /// A word of a programming language's own.
    Keyword,
    /// A string in code.
    String,
    /// A comment in code.
    Comment,
    /// A number in code, or another value that stands for itself.
    Constant,
    /// A function's or a macro's name.
    Function,
    /// A type's name, or a module's.
    Type,
    /// A sign between values, or an escape in a string.
    Operator,
    /// The name of a key, a tag or an attribute.
    Name,
}

/// A role with its emphasis, and the colours of a command's own choice that go before the role's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// The role.
    pub role: Role,
    /// The emphasis.
    pub emphasis: Emphasis,
    /// The colour of the text, if a command chose one.
    pub fg: Option<AnsiColor>,
    /// The colour of the ground, if a command chose one.
    pub bg: Option<AnsiColor>,
    /// The role whose ground it stands on, if that is another one: a keyword in an added line.
    pub ground: Option<Role>,
    /// What it stands for; this isn't to be seen.
    pub stands: CopyAs,
}

/// What each grapheme of a piece of text stands for in the text that it was made of, for whoever copies it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyAs {
    /// For itself.
    #[default]
    ForItself,
    /// For another character: the first column of a tab.
    For(char),
    /// For nothing: the other columns of a tab.
    ForNothing,
}

impl Style {
    /// The same with more emphasis.
    #[must_use]
    pub const fn with(self, emphasis: Emphasis) -> Self {
        Self { emphasis: self.emphasis.and(emphasis), ..self }
    }

    /// The same in another role.
    #[must_use]
    pub const fn in_role(self, role: Role) -> Self {
        Self { role, ..self }
    }
}

impl From<Role> for Style {
    fn from(role: Role) -> Self {
        Self { role, ..Self::default() }
    }
}

/// A piece of text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// How it looks.
    pub style: Style,
    /// Where it leads: an address that [`safe_address`] let through.
    pub link: Option<Arc<str>>,
}

impl Span {
    /// A piece of text in a style, leading nowhere.
    pub fn new(text: impl Into<String>, style: impl Into<Style>) -> Self {
        Self { text: text.into(), style: style.into(), link: None }
    }

    /// The same leading somewhere.
    #[must_use]
    pub fn leading_to(self, link: Option<Arc<str>>) -> Self {
        Self { link, ..self }
    }

    /// Columns it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        columns(&self.text)
    }
}

/// One line of the screen or the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its pieces, left to right.
    pub spans: Vec<Span>,
    /// Whether it begins something, or goes on with the line above.
    pub joint: Wrap,
    /// Which of its pieces stand beside its text.
    pub margins: Margins,
    /// The row of a picture that is painted here; such a line has no text.
    pub picture: Option<ImageRow>,
}

/// How a line stands to the one above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// It begins.
    #[default]
    Hard,
    /// The line above was too long and goes on here; at the break so many spaces are not drawn.
    Soft {
        /// The spaces.
        spaces: usize,
    },
}

/// Pieces of a line that are no part of what it says: indents, bars, numbers before it; times behind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margins {
    /// How many of its first pieces.
    pub before: usize,
    /// How many of its last.
    pub behind: usize,
}

impl Line {
    /// A line of one piece.
    pub fn new(text: impl Into<String>, style: impl Into<Style>) -> Self {
        vec![Span::new(text, style)].into()
    }

    /// The pieces that are its text.
    #[must_use]
    pub fn content(&self) -> &[Span] {
        let end = self.spans.len().saturating_sub(self.margins.behind);
        &self.spans[self.margins.before.min(end)..end]
    }

    /// Puts a piece before it that is no part of what it says.
    pub fn set_in(&mut self, margin: Span) {
        self.spans.insert(0, margin);
        self.margins.before += 1;
    }

    /// Columns it takes.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// Its text without styles.
    #[must_use]
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }
}

impl From<Vec<Span>> for Line {
    fn from(spans: Vec<Span>) -> Self {
        Self { spans, ..Self::default() }
    }
}

/// Plain text, wrapped at words; `style` for all of it.
#[must_use]
pub fn plain(text: &str, style: impl Into<Style>, width: usize) -> Vec<Line> {
    let lines = literal(text, style);
    lines.iter().flat_map(|line| wrap(&line.spans, width, &Indent::default(), Breaks::Words)).collect()
}

/// The lines of a text in which nothing is obeyed, not wrapped; `style` for all of it.
#[must_use]
pub fn literal(text: &str, style: impl Into<Style>) -> Vec<Line> {
    let style = style.into();
    text.split_terminator('\n').map(|line| sanitize::spelled(line, style, sanitize::TAB).into()).collect()
}

#[cfg(test)]
pub(crate) fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}
