//! Renders text as styled lines: Markdown, diffs, code and command output, wrapped to a width.
//!
//! Styles are roles, never colors, and nothing here depends on a terminal: the TUI and the HTML export share
//! this crate. The output contains no control characters, so no text can move the cursor or hide its content.

mod code;
mod command_output;
mod diff;
mod image;
mod image_row;
mod invisible;
mod line;
mod link;
mod markdown;
mod options;
mod result_note;
mod sanitize;
mod sanitizing_writer;
mod stream;
mod table;
pub mod theme;
mod wrap;

pub use code::{
    HighlightBackend, HighlightCache, HighlightRequest, HighlightResponse, Highlighter, InProcess, Language,
    TokenSpans, WORKER_ARGUMENT, highlight, lay_out_tracking_plain_code, request_highlighting,
    serve_highlighting,
};
pub use command_output::command_output;
pub use diff::{DiffKind, DiffLine, diff, diff_lines};
pub use image::{ImageLimits, render_image};
pub use image_row::{ImageRow, RenderedImage};
pub use line::{CopyAs, Line, Margins, Role, Span, Style, Wrap};
pub use link::{AddressStyle, link_addresses, safe_address};
pub use markdown::{markdown, options as markdown_options};
pub use options::{Highlighting, LayoutOptions, LinkStyle, MAX_PROSE_WIDTH, RenderOptions};
pub use result_note::{final_arguments, result_note};
pub use sanitize::{ControlChars, clipboard_text, sanitize};
pub use sanitizing_writer::SanitizingWriter;
pub use stream::{MarkdownStream, preview};
pub use tiller_core::ansi::{AnsiColor, Emphasis, columns};
pub use wrap::{BreakMode, Indent, truncate_to, wrap};

/// Renders plain text in one style, wrapped at words.
#[must_use]
pub fn plain(text: &str, style: impl Into<Style>, width: usize) -> Vec<Line> {
    let lines = literal(text, style);
    lines.iter().flat_map(|line| wrap(&line.spans, width, &Indent::default(), BreakMode::Words)).collect()
}

/// Renders sanitized text in one style, not wrapped.
#[must_use]
pub fn literal(text: &str, style: impl Into<Style>) -> Vec<Line> {
    let style = style.into();
    text.split_terminator('\n').map(|line| sanitize::expand(line, style, sanitize::TAB).into()).collect()
}

#[cfg(test)]
pub(crate) fn texts(lines: &[Line]) -> Vec<String> {
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}
