//! Styled lines, the output of every renderer.

use std::sync::Arc;

use tiller_core::ansi::{AnsiColor, Emphasis, columns};

use super::image_row::ImageRow;

/// The meaning of a piece of text; a theme maps it to colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Role {
    /// Plain text.
    #[default]
    Text,
    /// Less important text.
    Muted,
    /// Emphasized text.
    Accent,
    /// A heading.
    Heading,
    /// Inline or block code.
    Code,
    /// A link's text.
    Link,
    /// The bar of a block quote.
    Quote,
    /// An added line.
    DiffAdded,
    /// A removed line.
    DiffRemoved,
    /// The changed words of an added line.
    DiffAddedWord,
    /// The changed words of a removed line.
    DiffRemovedWord,
    /// A failure.
    Error,
    /// A success.
    Success,
    /// A warning.
    Warning,
    /// The user's text.
    User,
    /// The model's thinking.
    Thinking,
    /// A keyword of a programming language.
    Keyword,
    /// A string in code.
    String,
    /// A comment in code.
    Comment,
    /// A number or another constant in code.
    Constant,
    /// A function's or macro's name.
    Function,
    /// A type's or module's name.
    Type,
    /// An operator, or an escape in a string.
    Operator,
    /// The name of a key, a tag or an attribute.
    Name,
}

/// A role with emphasis; colors set by a command's output take precedence over the role's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    /// The role.
    pub role: Role,
    /// The emphasis.
    pub emphasis: Emphasis,
    /// Foreground color set by a command's output.
    pub fg: Option<AnsiColor>,
    /// Background color set by a command's output.
    pub bg: Option<AnsiColor>,
    /// The role whose background is used, if it differs: a keyword in an added line.
    pub background_role: Option<Role>,
    /// The text that is copied instead of the visible one.
    pub copy_as: CopyAs,
}

/// The source text of each grapheme of a span, for copying.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CopyAs {
    /// The grapheme itself.
    #[default]
    Itself,
    /// Another character: for the first column of a tab.
    Char(char),
    /// Nothing: for the other columns of a tab.
    Nothing,
}

impl Style {
    /// Adds emphasis.
    #[must_use]
    pub const fn with(self, emphasis: Emphasis) -> Self {
        Self { emphasis: self.emphasis.and(emphasis), ..self }
    }

    /// Replaces the role.
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

/// Text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// The style.
    pub style: Style,
    /// The link's target, checked by [`safe_address`](super::safe_address).
    pub link: Option<Arc<str>>,
}

impl Span {
    /// Creates a span without a link.
    pub fn new(text: impl Into<String>, style: impl Into<Style>) -> Self {
        Self { text: text.into(), style: style.into(), link: None }
    }

    /// Sets the link's target.
    #[must_use]
    pub(crate) fn with_link(self, link: Option<Arc<str>>) -> Self {
        Self { link, ..self }
    }

    /// The width in columns.
    #[must_use]
    pub fn width(&self) -> usize {
        columns(&self.text)
    }
}

/// A line of the screen or the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The spans, left to right.
    pub spans: Vec<Span>,
    /// The relation to the line above.
    pub wrap: Wrap,
    /// The numbers of spans that aren't part of the content.
    pub margins: Margins,
    /// The row of an image to draw here; such a line has no text.
    pub image: Option<ImageRow>,
}

/// The relation of a line to the one above it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wrap {
    /// Starts after a newline.
    #[default]
    Hard,
    /// Continues the line above, which was too long; `spaces` at the break aren't drawn.
    Soft {
        /// The number of spaces.
        spaces: usize,
    },
}

/// Numbers of spans that aren't part of a line's content: indents, bars and line numbers before it; times
/// after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Margins {
    /// The number of leading spans.
    pub before: usize,
    /// The number of trailing spans.
    pub after: usize,
}

impl Line {
    /// Creates a line of one span.
    pub fn new(text: impl Into<String>, style: impl Into<Style>) -> Self {
        vec![Span::new(text, style)].into()
    }

    /// Returns the spans of the content.
    #[must_use]
    pub fn content(&self) -> &[Span] {
        let end = self.spans.len().saturating_sub(self.margins.after);
        &self.spans[self.margins.before.min(end)..end]
    }

    /// Prepends a span that isn't part of the content.
    pub fn prepend_margin(&mut self, margin: Span) {
        self.spans.insert(0, margin);
        self.margins.before += 1;
    }

    /// The width in columns.
    #[must_use]
    pub fn width(&self) -> usize {
        self.spans.iter().map(Span::width).sum()
    }

    /// The text without styles.
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
