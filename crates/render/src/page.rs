//! What Markdown, code and diffs are laid out for.

/// Columns beyond which prose is hard to read, and what stands at the end of a line is too far from what it belongs to.
pub const MEASURE: usize = 120;

/// How wide lines may be, and in what manner text becomes lines. A number of columns is a page in the plainest manner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// Columns of a line.
    pub width: usize,
    /// The manner.
    pub manner: Manner,
}

/// In what manner text becomes lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Manner {
    /// What becomes of links.
    pub links: Links,
    /// When the words of code are told apart.
    pub code: Telling,
}

/// What becomes of the address that a link leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// It stands behind the text.
    #[default]
    Spelled,
    /// Whoever shows the lines makes the text a link; its address stands behind it only where the text names another one.
    Live,
}

/// When the words of code are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Telling {
    /// At once.
    #[default]
    Now,
    /// Code stays plain until its words have been told apart beside: see [`code_waits`](super::code_waits).
    Later,
    /// Never: code stays plain.
    Never,
}

impl Page {
    /// The same page, so many columns wide.
    #[must_use]
    pub const fn of_width(self, width: usize) -> Self {
        Self { width, ..self }
    }
}

impl From<usize> for Page {
    fn from(width: usize) -> Self {
        Self { width, manner: Manner::default() }
    }
}
