//! The entry under the cursor, drawn as the transcript would draw it.

use tiller_render::{Line, Span, cut_to};

use super::{LoadedPreview, TreeRequest};
use crate::layout::RenderContext;

/// The preview's state.
#[derive(Debug)]
pub(super) struct EntryPreview {
    pub(super) is_open: bool,
    /// The first line on the screen.
    pub(super) top: usize,
    shown: Option<LoadedPreview>,
    /// Whether something was added since that may belong to it: the result of a call.
    is_stale: bool,
    /// The entry that is on its way.
    asked: Option<usize>,
}

impl Default for EntryPreview {
    fn default() -> Self {
        Self { is_open: true, top: 0, shown: None, is_stale: false, asked: None }
    }
}

impl EntryPreview {
    /// Nothing is shown yet, in another session.
    pub(super) fn begun_anew(&self) -> Self {
        Self { is_open: self.is_open, ..Self::default() }
    }

    /// Asks for an entry unless it is shown, or another one is on its way.
    pub(super) fn ask(&mut self, node: usize) -> Option<TreeRequest> {
        let is_shown = self.shown.as_ref().is_some_and(|shown| shown.node == node) && !self.is_stale;
        if self.asked.is_some() || is_shown {
            return None;
        }
        self.is_stale = false;
        self.asked = Some(node);
        Some(TreeRequest::Preview(node))
    }

    /// The log has grown.
    pub(super) fn outdate(&mut self) {
        self.is_stale = true;
    }

    pub(super) fn take(&mut self, previewed: LoadedPreview) {
        self.asked = None;
        self.shown = Some(previewed);
    }

    /// The entry that is shown.
    pub(super) fn node(&self) -> Option<usize> {
        self.shown.as_ref().map(|shown| shown.node)
    }

    /// Who answered, and what it took.
    pub(super) fn facts(&self) -> &[String] {
        self.shown.as_ref().map(|shown| shown.facts.as_slice()).unwrap_or_default()
    }

    /// So many lines of it, and how many there are below; scrolled too far, it stops at the end.
    pub(super) fn lines(&mut self, height: usize, ctx: &RenderContext) -> (Vec<Line>, usize) {
        let Some(shown) = &mut self.shown else { return (Vec::new(), 0) };
        let mut lines: Vec<Line> = Vec::new();
        for (place, block) in shown.blocks.iter_mut().enumerate() {
            if place > 0 {
                lines.push(Line::default());
            }
            let count = block.measure(ctx);
            lines.extend((0..count).filter_map(|at| block.line(at).cloned()));
        }
        self.top = self.top.min(lines.len().saturating_sub(height));
        let below = lines.len().saturating_sub(self.top + height);
        (lines.iter().skip(self.top).take(height).map(|line| fitted(line, ctx.width)).collect(), below)
    }
}

/// A line in so many columns, with a sign where more of it would follow.
fn fitted(line: &Line, width: usize) -> Line {
    let mut fitted = line.clone();
    if line.width() <= width {
        return fitted;
    }
    let mut room = width;
    let fits = |span: &&Span| {
        // The last column is the sign's.
        let fits = span.width() < room;
        room -= if fits { span.width() } else { 0 };
        fits
    };
    let whole = line.spans.iter().take_while(fits).count();
    fitted.spans.truncate(whole + 1);
    if let Some(last) = fitted.spans.last_mut() {
        last.text = cut_to(&format!("{} ", last.text), room);
    }
    fitted
}

#[cfg(test)]
mod tests {
    use tiller_render::Role;

    use super::*;

    #[test]
    fn a_line_that_has_no_room_says_that_it_goes_on() {
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
