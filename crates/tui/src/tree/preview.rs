//! The preview of the entry at the cursor, rendered like the transcript.

use tiller_render::{Line, Span, truncate_to};

use crate::layout::RenderContext;
use crate::tree::request::{LoadedPreview, TreeRequest};

#[derive(Debug)]
pub(super) struct EntryPreview {
    pub(super) is_open: bool,
    /// The first visible line.
    pub(super) top: usize,
    shown: Option<LoadedPreview>,
    /// True if the log has grown since the preview was loaded; a call's result may be new.
    is_stale: bool,
    requested: Option<usize>,
}

impl Default for EntryPreview {
    fn default() -> Self {
        Self { is_open: true, top: 0, shown: None, is_stale: false, requested: None }
    }
}

impl EntryPreview {
    /// Returns an empty preview for another session, with the same visibility.
    pub(super) fn for_other_session(&self) -> Self {
        Self { is_open: self.is_open, ..Self::default() }
    }

    /// Requests an entry, unless it is shown or another request is pending.
    pub(super) fn ask(&mut self, node: usize) -> Option<TreeRequest> {
        let is_shown = self.shown.as_ref().is_some_and(|shown| shown.node == node) && !self.is_stale;
        if self.requested.is_some() || is_shown {
            return None;
        }
        self.is_stale = false;
        self.requested = Some(node);
        Some(TreeRequest::Preview(node))
    }

    /// Marks the preview as stale after the log has grown.
    pub(super) fn outdate(&mut self) {
        self.is_stale = true;
    }

    pub(super) fn take(&mut self, previewed: LoadedPreview) {
        self.requested = None;
        self.shown = Some(previewed);
    }

    pub(super) fn node(&self) -> Option<usize> {
        self.shown.as_ref().map(|shown| shown.node)
    }

    /// Returns the entry's model and cost.
    pub(super) fn facts(&self) -> &[String] {
        self.shown.as_ref().map(|shown| shown.facts.as_slice()).unwrap_or_default()
    }

    /// Returns the visible lines, and the number of lines below; corrects the scroll position at the end.
    pub(super) fn lines(&mut self, height: usize, ctx: &RenderContext) -> (Vec<Line>, usize) {
        let Some(shown) = &mut self.shown else { return (Vec::new(), 0) };
        let mut lines: Vec<Line> = Vec::new();
        for (index, block) in shown.blocks.iter_mut().enumerate() {
            if index > 0 {
                lines.push(Line::default());
            }
            let count = block.lay_out(ctx);
            lines.extend((0..count).filter_map(|at| block.line(at).cloned()));
        }
        self.top = self.top.min(lines.len().saturating_sub(height));
        let below = lines.len().saturating_sub(self.top + height);
        (lines.iter().skip(self.top).take(height).map(|line| fitted(line, ctx.width)).collect(), below)
    }
}

/// Truncates a line to a width, with an ellipsis.
fn fitted(line: &Line, width: usize) -> Line {
    let mut fitted = line.clone();
    if line.width() <= width {
        return fitted;
    }
    let mut room = width;
    let fits = |span: &&Span| {
        // The last column is reserved for the ellipsis.
        let fits = span.width() < room;
        room -= if fits { span.width() } else { 0 };
        fits
    };
    let whole = line.spans.iter().take_while(fits).count();
    fitted.spans.truncate(whole + 1);
    if let Some(last) = fitted.spans.last_mut() {
        last.text = truncate_to(&format!("{} ", last.text), room);
    }
    fitted
}

#[cfg(test)]
mod tests {
    use tiller_render::Role;

    use super::*;

    #[test]
    fn tree_preview_long_line_has_ellipsis() {
        let line: Line =
            ["✓ ", "bash", " make all", " 12s"].map(|text| Span::new(text, Role::Text)).to_vec().into();
        let shown = |width| fitted(&line, width).text();
        assert_eq!(shown(19), "✓ bash make all 12s");
        assert_eq!(shown(18), "✓ bash make all 1…");
        assert_eq!(shown(15), "✓ bash make al…");
        assert_eq!(shown(6), "✓ bas…");
        assert_eq!(shown(1), "…");
    }
}
