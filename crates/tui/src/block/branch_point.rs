//! Branch points: rules in the transcript where other branches continue.

use tiller_core::id::EntryId;
use tiller_render::Line;
use tiller_session::BranchPoints;

use super::lines::unfolding_rule;
use crate::layout::{RenderContext, rule};

/// A point on the path where other branches start, or where another branch was left for this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchPoint {
    pub(crate) side: BranchSide,
    /// Number of other branches, except hidden ones.
    pub(crate) others: usize,
    /// Summary of the abandoned branch, if the model got one.
    pub(crate) summary: Option<String>,
}

/// Position of the rule relative to its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchSide {
    Before,
    After,
}

impl BranchPoint {
    /// Updates the count after branches were hidden or restored.
    pub(crate) fn update_branch_count(&mut self, entry: &EntryId, points: &BranchPoints) {
        let others = match self.side {
            BranchSide::Before => points.before(entry),
            BranchSide::After => points.after(entry),
        };
        self.others = others.unwrap_or(0);
    }

    /// Returns true if the point needs no line, because the other branches are hidden.
    pub(crate) fn is_empty_point(&self) -> bool {
        self.others == 0 && self.summary.is_none()
    }

    /// Returns the point's text without the hint about `/tree`.
    pub(super) fn title(&self) -> String {
        let branches = match self.others {
            0 => String::new(),
            1 => "branch point · 1 other branch".to_owned(),
            others => format!("branch point · {others} other branches"),
        };
        match (&self.summary, branches.is_empty()) {
            (None, _) => branches,
            (Some(_), true) => "summary of the branch you left".to_owned(),
            (Some(_), false) => format!("{branches} · abandoned branch's summary"),
        }
    }

    pub(super) fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        if self.is_empty_point() {
            return Vec::new();
        }
        match &self.summary {
            Some(summary) => unfolding_rule(&self.title(), summary, ctx),
            None => vec![rule(&format!("{} · /tree", self.title()), ctx.width)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, BlockKind};
    use crate::logical_line::LogicalLine;

    fn drawn(others: usize, summary: Option<&str>) -> Block {
        let point = BranchPoint { side: BranchSide::Before, others, summary: summary.map(str::to_owned) };
        let mut block = Block::new(BlockKind::BranchPoint(point));
        block.lay_out(&RenderContext { width: 79, ..RenderContext::default() });
        block
    }

    #[test]
    fn branch_point_rule_strokes_are_margins() {
        let says = |others, summary| LogicalLine::around(&drawn(others, summary), 0).text;
        assert_eq!(says(1, None), " branch point · 1 other branch · /tree ");
        assert_eq!(
            says(12, Some("x")),
            " branch point · 12 other branches · abandoned branch's summary (ctrl+o) "
        );
        assert_eq!(says(0, Some("x")), " summary of the branch you left (ctrl+o) ");
        assert_eq!(drawn(0, None).lines_laid_out().count(), 0);
        assert_eq!(drawn(1, None).line(0).unwrap().width(), 79);
    }
}
