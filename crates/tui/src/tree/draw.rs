//! Layout of the tree: visible rows, preview, search line, key hints.

use ratatui::layout::Rect;
use tiller_core::counted::counted;
use tiller_core::unit::thousands;
use tiller_render::{Emphasis, Line, Role, Span, Style, truncate_to};
use tiller_session::Visibility;
use tiller_session::tree::TreeRow;
use unicode_width::UnicodeWidthStr;

use crate::draw;
use crate::keymap::Keymap;
use crate::keymap::table::KeyCommand;
use crate::layout::{RenderContext, right_aligned, truncate_start};
use crate::match_marks::{occurrences, pieces};
use crate::preview_area::PreviewSplit;
use crate::text::one_line;
use crate::tree::drawn_tree::DrawnTree;
use crate::tree::entry_text::kind_sign;
use crate::tree::request::TreePurpose;
use crate::tree::{PendingNavigation, TreeEffect, TreeView};

/// Width of a row's sign.
const SIGN: usize = 2;

/// Minimum width of a row's text if needed; facts about a branch are dropped before the text is truncated.
const TEXT: usize = 36;

/// Maximum width of a label, and the columns reserved for the rest of the row.
const LABEL: usize = 40;
const MIN_BESIDE_LABEL: usize = 12;

impl TreeView {
    /// Lays out the lines for its area; drawing then only reads.
    pub(super) fn lay_out_lines(&mut self, keymap: &Keymap, ctx: &RenderContext) {
        let (whole, areas) = (self.area, self.areas(self.area));
        self.place.height = usize::from(areas.rows.height);
        self.scroll_to_cursor();
        let row = |at: u16| Rect { y: at, height: u16::from(at < whole.height), ..whole };
        let width = usize::from(whole.width);
        let mut lines = vec![(row(0), self.title(whole.width)), (row(1), self.search_line(width))];
        let typed = 3 + Line::new(self.search.words(), Role::Text).width();
        let mut cursor = (column(typed, whole.width), 1.min(whole.height.saturating_sub(1)));
        let list_width = usize::from(areas.rows.width).saturating_sub(1);
        if self.rows.len() == 0 {
            lines.push((first_row(areas.rows), Line::new(format!("   {}", self.empty_text()), Role::Muted)));
        }
        for offset in 0..areas.rows.height {
            let Some(at) = self.rows.get(self.place.top + usize::from(offset)) else { break };
            let row = self.place.top + usize::from(offset);
            let area = Rect { y: areas.rows.y + offset, height: 1, ..areas.rows };
            let (line, typed) = self.row(row, at, list_width, ctx);
            if let Some(typed) = typed {
                cursor = (column(typed, areas.rows.width), area.y);
            }
            lines.push((area, line));
        }
        if let Some(area) = areas.preview {
            lines.extend(self.preview_lines(area, &areas, keymap, ctx));
        }
        if whole.height >= 8 {
            lines.push((row(whole.height - 1), self.keys(keymap, width)));
        }
        self.drawn = DrawnTree { lines, cursor };
    }

    fn title(&self, width: u16) -> Line {
        let title = match self.purpose {
            TreePurpose::Go => "tree",
            TreePurpose::Fork => "fork from",
        };
        let mut notes = vec![self.filters.filter.name().to_owned()];
        notes.extend((self.filters.hidden == Visibility::Shown).then(|| "with hidden".to_owned()));
        notes.extend((!self.filters.folded.is_empty()).then(|| "folded".to_owned()));
        let total = self.shape.as_ref().map_or(0, |shape| shape.len());
        notes.push(format!("{} of {} entries", thousands(self.rows.len()), thousands(total)));
        draw::title(title, &notes.join(" · "), width)
    }

    fn search_line(&self, width: usize) -> Line {
        let mark = Span::new(" ❯ ", Style::from(Role::Accent).with(Emphasis::BOLD));
        if self.search.words().is_empty() {
            return vec![mark, Span::new("type to search the messages", Role::Muted)].into();
        }
        let query = one_line(self.search.words());
        let state = Span::new(format!("{} ", self.search.state(self.found_hidden())), Role::Muted);
        right_aligned(vec![mark, Span::new(query, Role::Text)], Some(state), width)
    }

    /// Returns the number of search hits without a row, because they are hidden.
    fn found_hidden(&self) -> usize {
        match (&self.shape, self.search.found(), self.filters.hidden) {
            (Some(shape), Some(found), Visibility::Hidden) => {
                let both = found.iter().zip(&shape.hiding_ancestors);
                both.filter(|(is_found, with)| **is_found && with.is_some()).count()
            }
            _ => 0,
        }
    }

    fn empty_text(&self) -> &'static str {
        match &self.shape {
            None => "",
            Some(shape) if shape.len() == 0 => "no messages yet",
            Some(_) if self.search.found().is_some() => "no match",
            Some(_) => "no entries of this kind",
        }
    }

    /// Returns a row, and the cursor's column if its label is being edited.
    fn row(&self, at: usize, row: &TreeRow, width: usize, ctx: &RenderContext) -> (Line, Option<usize>) {
        let is_chosen = at == self.place.cursor.row;
        let branch_prefix = self.rows.branch_prefix(at, width / 3);
        let mut left = vec![self.gutter(at, row), Span::new(branch_prefix, Role::Muted)];
        let (sign, text, style) = self.row_text(row, is_chosen);
        left.push(Span::new(format!("{sign:<SIGN$}"), style.in_role(sign_role(row, style.role))));
        let used = left.iter().map(Span::width).sum::<usize>();
        let room = width.saturating_sub(used);
        let (label, typed) = self.label(row.node, LABEL.min(room.saturating_sub(MIN_BESIDE_LABEL)));
        let facts = self.facts(at, row, ctx);
        let label_width = label.as_ref().map_or(0, |label| label.width() + 2);
        let facts = fitting(facts, room.saturating_sub(label_width + 2 + text.width().min(TEXT)));
        let facts_width = facts.as_ref().map_or(0, |facts| facts.width() + 2);
        let text = truncate_to(&text, room.saturating_sub(label_width + facts_width));
        let found = style.with(Emphasis::BOLD.and(Emphasis::UNDERLINE));
        let parts = pieces(&text, &occurrences(&text, self.search.words()));
        let span = |(piece, is_found)| Span::new(piece, if is_found { found } else { style });
        left.extend(parts.into_iter().map(span));
        let mut typed_at = None;
        if let Some(label) = label {
            let before: usize = left.iter().map(Span::width).sum();
            typed_at = typed.map(|typed| before + 2 + typed);
            left.push(Span::new("  ", Role::Text));
            left.push(label);
        }
        (right_aligned(left, facts, width), typed_at)
    }

    fn gutter(&self, at: usize, row: &TreeRow) -> Span {
        let cursor = if at == self.place.cursor.row { "▸" } else { " " };
        let path = match (self.rows.current() == Some(at), row.on_path) {
            (true, _) => "●",
            (false, true) => "•",
            (false, false) => " ",
        };
        Span::new(format!(" {cursor}{path} "), Style::from(Role::Accent).with(Emphasis::BOLD))
    }

    /// The sign, text and style of a row; rows on the current path are emphasized.
    fn row_text(&self, row: &TreeRow, is_chosen: bool) -> (&'static str, String, Style) {
        let loaded = self.texts.get(row.node);
        let sign = loaded.map(|loaded| loaded.sign);
        let sign =
            sign.or_else(|| self.shape.as_ref().map(|shape| kind_sign(shape.node(row.node)))).unwrap_or(" ");
        let text = loaded.map_or_else(|| "…".to_owned(), |loaded| loaded.text.clone());
        let role = match loaded {
            Some(text) if row.on_path => text.role,
            _ => Role::Muted,
        };
        let bold = is_chosen || role == Role::User;
        let style = Style::from(if is_chosen { Role::Accent } else { role });
        (sign, text, style.with(if bold { Emphasis::BOLD } else { Emphasis::NONE }))
    }

    /// Returns an entry's label truncated to `room` columns, and the cursor's column in it while it is being
    /// edited.
    fn label(&self, node: usize, room: usize) -> (Option<Span>, Option<usize>) {
        if let Some(labelling) = self.labelling.as_ref().filter(|labelling| labelling.node == node) {
            let text = truncate_start(labelling.line.text(), room);
            let label = Span::new(format!("[{text} ]"), Style::from(Role::Accent).with(Emphasis::BOLD));
            let typed = label.width().saturating_sub(2);
            return (Some(label), Some(typed));
        }
        let label = self.shape.as_ref().and_then(|shape| shape.marks.label(node));
        let shown = |label: &str| format!("[{}]", truncate_to(&one_line(label), room));
        (label.map(|label| Span::new(shown(label), Role::Warning)), None)
    }

    /// Returns the right-aligned facts of a row: hidden, folded, and the size and age of the branch that
    /// starts there.
    fn facts(&self, at: usize, row: &TreeRow, ctx: &RenderContext) -> Vec<String> {
        let Some(shape) = &self.shape else { return Vec::new() };
        let branch = shape.branch(row.node);
        let mut facts = Vec::new();
        if shape.hiding_ancestors[row.node].is_some() {
            facts.push("hidden".to_owned());
        }
        let is_folded = self.filters.folded.contains(&row.node) && self.search.found().is_none();
        if is_folded {
            let hidden_counts = self.filters.hidden_counts.get(&row.node).copied().unwrap_or(0);
            facts.push(format!("{} folded", thousands(hidden_counts)));
        }
        if self.rows.begins(at) {
            facts.push(branch.newest.age(ctx.now));
            facts.extend((!is_folded).then(|| size(branch.entries)));
            facts.extend(self.texts.model(row.node).map(one_line));
        } else if at == self.place.cursor.row {
            facts.push(shape.node(row.node).timestamp.age(ctx.now));
        }
        facts
    }

    fn preview_lines(
        &mut self,
        area: Rect,
        areas: &PreviewSplit,
        keymap: &Keymap,
        ctx: &RenderContext,
    ) -> Vec<(Rect, Line)> {
        let is_beside = area.x > areas.rows.x;
        let inset = if is_beside { 2 } else { 1 };
        let width = usize::from(area.width.saturating_sub(inset + 1)).max(1);
        let mut lines = vec![self.preview_head(usize::from(area.width), ctx)];
        let height = usize::from(area.height.saturating_sub(2));
        let inner = RenderContext { width, ..ctx.clone() };
        let is_empty = self.rows.len() == 0;
        let (mut body, more) = if is_empty { Default::default() } else { self.preview.lines(height, &inner) };
        body.resize_with(height, Line::default);
        lines.extend(body);
        let enter = keymap.key_of(KeyCommand::Accept);
        let effect = self.chosen().filter(|_| self.rows.len() > 0).map(|node| self.effect(node));
        let effect = effect.map(|effect| truncate_to(&effect.description(&enter), width)).unwrap_or_default();
        let effect = Span::new(effect, Role::Muted);
        let more = (more > 0).then(|| {
            format!(
                "{} · {}",
                counted(more, "more line", "more lines"),
                keymap.key_of(KeyCommand::PreviewDown)
            )
        });
        lines.push(right_aligned(vec![effect], more.map(|more| Span::new(more, Role::Muted)), width));
        let position = |(at, line): (usize, Line)| {
            let inset = if at == 0 { 0 } else { inset.min(area.width) };
            let y = area.y + u16::try_from(at).unwrap_or(u16::MAX);
            (Rect { x: area.x + inset, y, width: area.width - inset, height: 1 }, line)
        };
        lines.into_iter().take(usize::from(area.height)).enumerate().map(position).collect()
    }

    /// Returns a rule with time, model and cost of the entry.
    fn preview_head(&self, width: usize, ctx: &RenderContext) -> Line {
        if self.rows.len() == 0 {
            return Line::new("─".repeat(width), Role::Muted);
        }
        let known = self.shape.as_ref().zip(self.preview.node());
        let time = known.filter(|(shape, node)| *node < shape.len()).map(|(shape, node)| {
            let time = shape.node(node).timestamp;
            format!("{} · {} ago", ctx.clock_time(time), time.age(ctx.now)).replace("now ago", "now")
        });
        let facts: Vec<String> = time.into_iter().chain(self.preview.facts().iter().cloned()).collect();
        let facts_text = truncate_to(&facts.join(" · "), width.saturating_sub(8));
        let used = Span::new(facts_text.as_str(), Role::Muted).width();
        let gap = if facts_text.is_empty() { "──" } else { "" };
        let rule = "─".repeat(width.saturating_sub(used + 5));
        Line::new(format!("── {facts_text}{gap} {rule}").replace("── ──", "─────"), Role::Muted)
    }

    fn keys(&self, keymap: &Keymap, width: usize) -> Line {
        let key = |command| keymap.key_of(command);
        if self.labelling.is_some() {
            let text = format!(
                "{} saves the label, empty removes it · {}",
                key(KeyCommand::Accept),
                key(KeyCommand::Back)
            );
            return Line::new(format!("   {text} cancels"), Role::Muted);
        }
        if matches!(self.going, PendingNavigation::OnceStopped(_)) {
            return Line::new("   stopping…", Role::Accent);
        }
        if let Some(refused) = self.place.refused {
            return Line::new(truncate_to(&format!("   ✗ {refused}"), width), Role::Error);
        }
        let is_folded = self.chosen().is_some_and(|node| self.filters.folded.contains(&node));
        // The preview describes the effect of Accept.
        let accepts = || {
            let effect = self.chosen().map(|node| self.effect(node));
            self.areas(self.area).preview.is_none() && effect != Some(TreeEffect::Stay)
        };
        let can = |command| match command {
            KeyCommand::Accept => accepts(),
            KeyCommand::Hide => !self.is_in_use(),
            _ => true,
        };
        let hints = [
            (KeyCommand::Accept, if self.purpose == TreePurpose::Go { "go there" } else { "fork there" }),
            (KeyCommand::NextFilter, "filter"),
            (KeyCommand::EditLabel, "label"),
            if is_folded { (KeyCommand::Unfold, "expand") } else { (KeyCommand::Fold, "collapse") },
            (KeyCommand::TogglePreview, "preview"),
            (KeyCommand::Hide, "hide"),
            (KeyCommand::ShowHidden, "show hidden"),
            (KeyCommand::ForkHere, "fork"),
            (KeyCommand::FoldOthers, "collapse others"),
        ];
        let back = format!("{} back", key(KeyCommand::Back));
        let mut text = String::new();
        for (command, label) in hints.into_iter().filter(|(command, _)| can(*command)) {
            let hint = format!("{} {label} · ", key(command));
            if 3 + text.chars().count() + hint.chars().count() + back.chars().count() > width {
                break;
            }
            text.push_str(&hint);
        }
        Line::new(format!("   {text}{back}"), Role::Muted)
    }
}

fn first_row(area: Rect) -> Rect {
    Rect { height: area.height.min(1), ..area }
}

fn column(at: usize, width: u16) -> u16 {
    u16::try_from(at).unwrap_or(u16::MAX).min(width.saturating_sub(1))
}

/// Returns the role of a row's sign. User messages on the current path have the accent color.
fn sign_role(row: &TreeRow, role: Role) -> Role {
    if row.on_path && role == Role::User { Role::Accent } else { role }
}

fn size(entries: u32) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{} entries", thousands(entries as usize)) }
}

/// Joins as many facts as fit, in order.
fn fitting(mut facts: Vec<String>, room: usize) -> Option<Span> {
    while !facts.is_empty() {
        let span = Span::new(facts.join(" · "), Role::Muted);
        if span.width() <= room {
            return Some(span);
        }
        facts.pop();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tree_facts_are_dropped_from_the_end() {
        let facts = || vec!["3h".to_owned(), "12 entries".to_owned(), "opus".to_owned()];
        let shown = |room| fitting(facts(), room).map(|span| span.text);
        assert_eq!(shown(30).as_deref(), Some("3h · 12 entries · opus"));
        assert_eq!(shown(15).as_deref(), Some("3h · 12 entries"));
        assert_eq!(shown(1), None);
    }
}
