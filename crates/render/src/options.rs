//! What Markdown, code and diffs are laid out for.

/// Columns beyond which prose is hard to read, and what stands at the end of a line is too far from what it belongs to.
pub const MEASURE: usize = 120;

/// How wide lines may be, and in what manner text becomes lines. A number of columns is a page in the plainest manner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayoutOptions {
    /// Columns of a line.
    pub width: usize,
    /// The manner.
    pub manner: RenderOptions,
}

/// In what manner text becomes lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// What becomes of links.
    pub links: LinkStyle,
    /// When the words of code are told apart.
    pub code: Highlighting,
}

/// What becomes of the address that a link leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkStyle {
    /// It stands behind the text.
    #[default]
    Spelled,
    /// Whoever shows the lines makes the text a link; its address stands behind it only where the text names another one.
    Live,
}

/// When the words of code are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Highlighting {
    /// At once.
    #[default]
    Sync,
    /// Code stays plain until its words have been told apart beside: see [`code_waits`](super::code_waits).
    Background,
    /// Never: code stays plain.
    Off,
}

impl LayoutOptions {
    /// The same page, so many columns wide.
    #[must_use]
    pub const fn of_width(self, width: usize) -> Self {
        Self { width, ..self }
    }
}

impl From<usize> for LayoutOptions {
    fn from(width: usize) -> Self {
        Self { width, manner: RenderOptions::default() }
    }
}
