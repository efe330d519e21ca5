//! Output under a tool call or a user's shell command.

use tiller_core::ansi::{StyleRun, StyledText};
use tiller_render::{self as render, AddressStyle, BreakMode, Indent, Line, Role, wrap};

use crate::layout::RenderContext;
use crate::tool_call::truncation_notes;

/// A piece of output.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ToolOutputBlock<'a> {
    /// Command output with its style runs.
    Printed(&'a str, &'a [StyleRun]),
    /// Any other tool result, such as a file or a page. Escape sequences are shown, not interpreted.
    Literal(&'a str),
}

impl<'a> ToolOutputBlock<'a> {
    pub(crate) fn from_styled(printed: &'a StyledText) -> Self {
        Self::Printed(&printed.text, &printed.style_runs)
    }

    pub(super) const fn text(self) -> &'a str {
        match self {
            Self::Printed(text, _) | Self::Literal(text) => text,
        }
    }

    /// The same kind of output with a prefix of the text.
    pub(super) const fn with_text<'b>(self, text: &'b str) -> ToolOutputBlock<'b>
    where
        'a: 'b,
    {
        match self {
            Self::Printed(_, style_runs) => ToolOutputBlock::Printed(text, style_runs),
            Self::Literal(_) => ToolOutputBlock::Literal(text),
        }
    }

    /// The output without trailing blank lines.
    pub(super) fn trimmed(self) -> Self {
        self.with_text(truncation_notes::trimmed(self.text()))
    }

    /// Returns the last `max` lines, limited to about `bytes` bytes.
    pub(super) fn last_lines(self, max: usize, bytes: usize, ctx: &RenderContext) -> Vec<Line> {
        let text = self.text();
        let by_lines = text.rmatch_indices('\n').nth(max.saturating_sub(1)).map_or(0, |(at, _)| at + 1);
        // A character has at most four bytes.
        let by_bytes = text.ceil_char_boundary(text.len().saturating_sub(bytes.saturating_mul(4)));
        let from = by_lines.max(by_bytes);
        match self {
            Self::Printed(..) => ToolOutputBlock::from_styled(&self.printed().suffix_from(from)).lines(ctx),
            Self::Literal(text) => Self::Literal(&text[from..]).lines(ctx),
        }
    }

    /// The lines, wrapped for the width under a call.
    pub(super) fn lines(self, ctx: &RenderContext) -> Vec<Line> {
        let lines = match self.trimmed() {
            output @ ToolOutputBlock::Printed(..) => render::command_output(&output.printed(), Role::Muted),
            ToolOutputBlock::Literal(text) => render::literal(text, Role::Muted),
        };
        let skipped = lines.len().saturating_sub(MAX_LINES);
        let width = ctx.width.saturating_sub(4).max(1);
        let wrapped = |line: Line| {
            let spans = render::link_addresses(line.spans, AddressStyle::AsItIs);
            wrap(&spans, width, &Indent::default(), BreakMode::Anywhere)
        };
        lines.into_iter().skip(skipped).flat_map(wrapped).collect()
    }

    fn printed(self) -> StyledText {
        let style_runs = match self {
            Self::Printed(_, style_runs) => style_runs.to_vec(),
            Self::Literal(_) => Vec::new(),
        };
        StyledText { text: self.text().to_owned(), style_runs }
    }
}

/// Maximum number of output lines; the rest is in the log.
pub(crate) const MAX_LINES: usize = 2_000;
