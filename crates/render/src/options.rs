//! Options for the layout of Markdown, code and diffs.

use super::HighlightCache;

/// Maximum width of prose, in columns, for readability. Right-aligned text on such lines is limited to it
/// too.
pub const MAX_PROSE_WIDTH: usize = 120;

/// The width of lines, and the rendering options. A number of columns converts to it, with default options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LayoutOptions {
    /// Columns of a line.
    pub width: usize,
    /// The rendering options.
    pub rendering: RenderOptions,
}

/// Rendering options.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// The rendering of links.
    pub links: LinkStyle,
    /// The highlighting of code.
    pub code: Highlighting,
}

/// The rendering of a link's address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkStyle {
    /// Written after the text.
    #[default]
    Written,
    /// The text becomes a terminal link; the address is also written if the text shows a different one.
    Live,
}

/// The way code is highlighted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Highlighting {
    /// Immediately.
    #[default]
    Sync,
    /// Later: code is plain until the cache's queue has been processed, see [`HighlightCache::run_queued`].
    Background(HighlightCache),
    /// Never.
    Off,
}

impl LayoutOptions {
    /// Returns the same options with another width.
    #[must_use]
    pub fn with_width(&self, width: usize) -> Self {
        Self { width, ..self.clone() }
    }
}

impl From<usize> for LayoutOptions {
    fn from(width: usize) -> Self {
        Self { width, rendering: RenderOptions::default() }
    }
}
