//! Where other branches go on, as a rule across the page.

use tiller_core::id::EntryId;
use tiller_render::Line;
use tiller_session::BranchPoints;

use super::lines::unfolding_rule;
use super::{Block, BlockKind};
use crate::layout::{RenderContext, rule};

/// A place on the path from which other branches go on, or at which one was left for this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BranchPoint {
    pub(crate) side: BranchSide,
    /// Branches beside the one that is shown; those that are hidden don't count.
    pub(crate) others: usize,
    /// What happened on the branch that was left, if the model was told.
    pub(crate) summary: Option<String>,
}

/// Where it stands, seen from the entry it is told of with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BranchSide {
    Before,
    After,
}

impl BranchPoint {
    /// Other branches are hidden than before.
    fn recount(&mut self, entry: &EntryId, points: &BranchPoints) {
        let others = match self.side {
            BranchSide::Before => points.before(entry),
            BranchSide::After => points.after(entry),
        };
        self.others = others.unwrap_or(0);
    }

    /// Whether there is nothing to tell of it: what goes on elsewhere is hidden.
    fn is_silent(&self) -> bool {
        self.others == 0 && self.summary.is_none()
    }

    /// What it says, but for what leads elsewhere.
    pub(super) fn words(&self) -> String {
        let branches = match self.others {
            0 => String::new(),
            1 => "branch point · 1 other branch".to_owned(),
            others => format!("branch point · {others} other branches"),
        };
        match (&self.summary, branches.is_empty()) {
            (None, _) => branches,
            (Some(_), true) => "another branch was left here: summary".to_owned(),
            (Some(_), false) => format!("{branches} · summary of the one left"),
        }
    }

    pub(super) fn lines(&self, ctx: &RenderContext) -> Vec<Line> {
        if self.is_silent() {
            return Vec::new();
        }
        match &self.summary {
            Some(summary) => unfolding_rule(&self.words(), summary, ctx),
            None => vec![rule(&format!("{} · /tree", self.words()), ctx.width)],
        }
    }
}

impl Block {
    /// Whether nothing is said in it but that other branches go on.
    pub(crate) fn is_bare_point(&self) -> bool {
        matches!(&self.kind, BlockKind::BranchPoint(point) if point.summary.is_none())
    }

    /// Other branches are hidden than before.
    pub(crate) fn recount(&mut self, points: &BranchPoints) {
        if let (BlockKind::BranchPoint(point), Some(entry)) = (&mut self.kind, &self.entry) {
            point.recount(entry, points);
            self.touch();
        }
    }

    /// Whether it takes no line at all.
    pub(crate) fn is_silent(&self) -> bool {
        matches!(&self.kind, BlockKind::BranchPoint(point) if point.is_silent())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logical_line::LogicalLine;

    fn drawn(others: usize, summary: Option<&str>) -> Block {
        let point = BranchPoint { side: BranchSide::Before, others, summary: summary.map(str::to_owned) };
        let mut block = Block::new(BlockKind::BranchPoint(point));
        block.measure(&RenderContext { width: 79, ..RenderContext::default() });
        block
    }

    #[test]
    fn the_rule_says_what_else_there_is_and_its_strokes_are_no_part_of_that() {
        let says = |others, summary| LogicalLine::around(&drawn(others, summary), 0).text;
        assert_eq!(says(1, None), " branch point · 1 other branch · /tree ");
        assert_eq!(
            says(12, Some("x")),
            " branch point · 12 other branches · summary of the one left (ctrl+o) "
        );
        assert_eq!(says(0, Some("x")), " another branch was left here: summary (ctrl+o) ");
        assert_eq!(drawn(0, None).drawn().count(), 0);
        assert_eq!(drawn(1, None).line(0).unwrap().width(), 79);
    }
}
