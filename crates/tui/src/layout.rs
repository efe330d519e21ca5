//! The render context of transcript blocks, and helpers for lines.

use std::sync::Arc;

use jiff::tz::TimeZone;
use tiller_core::unit::UnixMs;
use tiller_render::{
    ImageLimits, LayoutOptions, Line, MAX_PROSE_WIDTH, Margins, RenderOptions, Role, Span, truncate_to,
};

use crate::local_zone::LocalZone;

/// Frames of the spinner, 100 ms each.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Minimum screen height for optional blank rows.
pub(super) const MIN_SPACED_HEIGHT: u16 = 16;

/// Maximum width of prose, in the column of answers. It also applies to right-aligned labels; code, diffs,
/// tables, command output and horizontal rules use the whole width.
pub(super) const TEXT_WIDTH: usize = MAX_PROSE_WIDTH + 2;

/// The global fold settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FoldDefaults {
    pub(super) output_open: bool,
    pub(super) thinking_open: bool,
}

/// The data, besides the block itself, that the block's lines depend on.
#[derive(Clone, Debug)]
pub(super) struct RenderContext {
    pub(super) width: usize,
    /// Maximum width of prose.
    pub(super) measure: usize,
    pub(super) folds: FoldDefaults,
    pub(super) now: UnixMs,
    pub(super) zone: LocalZone,
    /// The key that unfolds, for hints.
    pub(super) unfold_key: Arc<str>,
    pub(super) options: RenderOptions,
    /// Generation of highlighted code; see [`HighlightCache::generation`](tiller_render::HighlightCache::generation).
    pub(super) code_generation: u64,
    /// Limits of displayed images; `None` if the terminal can't display images.
    pub(super) images: Option<ImageLimits>,
}

impl Default for RenderContext {
    fn default() -> Self {
        Self {
            width: 80,
            measure: TEXT_WIDTH,
            folds: FoldDefaults::default(),
            now: UnixMs(0),
            zone: TimeZone::UTC.into(),
            unfold_key: "ctrl+o".into(),
            options: RenderOptions::default(),
            code_generation: 0,
            images: None,
        }
    }
}

impl RenderContext {
    /// The context for content indented by `columns`.
    pub(super) fn indented(&self, columns: usize) -> Self {
        let [width, measure] = [self.width, self.measure].map(|width| width.saturating_sub(columns).max(1));
        Self { width, measure, ..self.clone() }
    }

    /// Returns a line with a right-aligned label, within the width of prose on a wide screen.
    pub(super) fn right_aligned(&self, left: impl Into<Line>, right: Option<Span>) -> Line {
        let left = left.into();
        let used = left.width() + right.as_ref().map_or(0, Span::width);
        right_aligned(left, right, self.width.min(self.measure.max(used + 2)))
    }

    pub(super) fn layout_options(&self) -> LayoutOptions {
        LayoutOptions { width: self.width, rendering: self.options.clone() }
    }

    /// The current frame of the spinner.
    pub(super) fn spinner(&self) -> &'static str {
        spinner(self.now)
    }

    /// Formats the local time of day: `14:02`; empty for the epoch.
    pub(super) fn clock_time(&self, time: UnixMs) -> String {
        if time == UnixMs(0) {
            return String::new();
        }
        let time = jiff::Timestamp::from_millisecond(time.0).unwrap_or_default();
        let time = time.to_zoned(self.zone.get().clone());
        format!("{:02}:{:02}", time.hour(), time.minute())
    }
}

/// The spinner's frame at a time.
pub(super) fn spinner(now: UnixMs) -> &'static str {
    let frame = usize::try_from(now.0.max(0) / 100).unwrap_or(0) % SPINNER.len();
    SPINNER[frame]
}

/// Returns a line with a right-aligned label, if there is room for it.
pub(super) fn right_aligned(
    left: impl Into<Line>,
    right: impl IntoIterator<Item = Span>,
    width: usize,
) -> Line {
    let mut line = left.into();
    let right: Vec<Span> = right.into_iter().filter(|span| !span.text.is_empty()).collect();
    if right.is_empty() {
        return line;
    }
    let used = line.width() + right.iter().map(Span::width).sum::<usize>();
    if used < width {
        line.margins.after += 1 + right.len();
        line.spans.push(Span::new(" ".repeat(width - used), Role::Text));
        line.spans.extend(right);
    }
    line
}

/// A horizontal rule with a centered title.
pub(super) fn rule(title: &str, width: usize) -> Line {
    let title = tiller_render::truncate_to(title, width.saturating_sub(8));
    let title = if title.is_empty() { title } else { format!(" {title} ") };
    let free = width.saturating_sub(Span::new(title.clone(), Role::Muted).width());
    let left = free / 2;
    let spans = ["─".repeat(left), title, "─".repeat(free - left)].map(|text| Span::new(text, Role::Muted));
    Line { margins: Margins { before: 1, after: 1 }, ..Line::from(spans.to_vec()) }
}

/// Limits wrapped text to `max` rows by omitting the middle, because the reason of a failure and its hint are
/// at the end.
pub(super) fn limit_rows(mut rows: Vec<Line>, max: usize, width: usize) -> Vec<Line> {
    if rows.len() <= max {
        return rows;
    }
    rows.drain(1..=rows.len() - max);
    let used = rows[0].width();
    if let Some(last) = rows[0].spans.last_mut() {
        let room = width.saturating_sub(used - last.width());
        last.text = truncate_to(&format!("{} …", last.text), room);
    }
    rows
}

/// Returns the end of a text in `room` columns, with an ellipsis for the omitted part.
pub(super) fn truncate_start(text: &str, room: usize) -> String {
    let wide = |text: &str| Span::new(text, Role::Text).width();
    if wide(text) <= room {
        return text.to_owned();
    }
    let from = text.char_indices().map(|(at, _)| at).find(|at| wide(&text[*at..]) < room);
    match from {
        Some(from) => format!("…{}", &text[from..]),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_aligned_stays_near_on_a_wide_screen() {
        let ends = |width, left: usize| {
            let ctx = RenderContext { width, ..RenderContext::default() };
            let line = ctx
                .right_aligned(Line::new("x".repeat(left), Role::Text), Some(Span::new("0.4s", Role::Muted)));
            line.width()
        };
        assert_eq!([ends(80, 20), ends(120, 20), ends(200, 20)], [80, 120, TEXT_WIDTH]);
        assert_eq!(ends(200, 150), 156, "a line that is longer has its end behind it");
        assert_eq!(
            RenderContext::default().indented(2).measure,
            MAX_PROSE_WIDTH,
            "all of them end in one column, where text does"
        );
    }
}
