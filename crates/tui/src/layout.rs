//! What blocks of the transcript are laid out by: a width, what is unfolded, the time.

use std::sync::Arc;

use jiff::tz::TimeZone;
use tiller_core::unit::UnixMs;
use tiller_render::{ImageLimits, LayoutOptions, Line, MEASURE, Margins, RenderOptions, Role, Span, cut_to};

/// Frames of the sign that something is going on, 100 ms each.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Columns of a page that somebody is to read across: text of the usual measure, in the column of answers. All that is read as a
/// sentence is, and what stands at the end of a line, keeps to it; only what is laid out already, such as code, diffs, tables and what
/// commands print, and rules across the page go further.
pub(super) const READ: usize = MEASURE + 2;

/// What is unfolded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Folds {
    pub(super) output_open: bool,
    pub(super) thinking_open: bool,
}

/// What a block's lines depend on beside the block.
#[derive(Clone, Debug)]
pub(super) struct RenderContext {
    pub(super) width: usize,
    /// How wide a line is that somebody is to read from its beginning to its end.
    pub(super) measure: usize,
    pub(super) folds: Folds,
    pub(super) now: UnixMs,
    pub(super) zone: TimeZone,
    /// The key that unfolds.
    pub(super) unfold: Arc<str>,
    pub(super) manner: RenderOptions,
    /// How often code was told apart so far; see [`tiller_render::code_told`].
    pub(super) code_told: u64,
    /// Room for pictures, where they are painted.
    pub(super) pictures: Option<ImageLimits>,
}

impl Default for RenderContext {
    fn default() -> Self {
        Self {
            width: 80,
            measure: READ,
            folds: Folds::default(),
            now: UnixMs(0),
            zone: TimeZone::UTC,
            unfold: "ctrl+o".into(),
            manner: RenderOptions::default(),
            code_told: 0,
            pictures: None,
        }
    }
}

impl RenderContext {
    /// The same for what stands so many columns further in.
    pub(super) fn indented(&self, columns: usize) -> Self {
        let [width, measure] = [self.width, self.measure].map(|width| width.saturating_sub(columns).max(1));
        Self { width, measure, ..self.clone() }
    }

    /// A line with something at its right end; on a wide page no further away than it has to be.
    pub(super) fn right_aligned(&self, left: impl Into<Line>, right: Option<Span>) -> Line {
        let left = left.into();
        let used = left.width() + right.as_ref().map_or(0, Span::width);
        right_aligned(left, right, self.width.min(self.measure.max(used + 2)))
    }

    /// What text is laid out for.
    pub(super) fn page(&self) -> LayoutOptions {
        LayoutOptions { width: self.width, manner: self.manner }
    }

    /// The sign that something is going on, as it looks now.
    pub(super) fn spinner(&self) -> &'static str {
        spinner(self.now)
    }

    /// A moment as a clock on the wall shows it: `14:02`.
    pub(super) fn clock(&self, moment: UnixMs) -> String {
        if moment == UnixMs(0) {
            return String::new();
        }
        let time = jiff::Timestamp::from_millisecond(moment.0).unwrap_or_default();
        let time = time.to_zoned(self.zone.clone());
        format!("{:02}:{:02}", time.hour(), time.minute())
    }
}

/// The sign that something is going on, at a moment.
pub(super) fn spinner(now: UnixMs) -> &'static str {
    let frame = usize::try_from(now.0.max(0) / 100).unwrap_or(0) % SPINNER.len();
    SPINNER[frame]
}

/// A line with something at its right end, where there is room for it.
pub(super) fn right_aligned(left: impl Into<Line>, right: Option<Span>, width: usize) -> Line {
    let mut line = left.into();
    if let Some(right) = right.filter(|right| !right.text.is_empty()) {
        let used = line.width() + right.width();
        if used < width {
            line.spans.push(Span::new(" ".repeat(width - used), Role::Text));
            line.spans.push(right);
            line.margins.behind += 2;
        }
    }
    line
}

/// A rule across the page with words in its middle.
pub(super) fn rule(words: &str, width: usize) -> Line {
    let words = tiller_render::cut_to(words, width.saturating_sub(8));
    let words = if words.is_empty() { words } else { format!(" {words} ") };
    let free = width.saturating_sub(Span::new(words.clone(), Role::Muted).width());
    let left = free / 2;
    let spans = ["─".repeat(left), words, "─".repeat(free - left)].map(|text| Span::new(text, Role::Muted));
    Line { margins: Margins { before: 1, behind: 1 }, ..Line::from(spans.to_vec()) }
}

/// A wrapped text in no more than so many rows: of one that has more the middle is left out, for the reason of a failure, and what
/// helps, stands at its end.
pub(super) fn within(mut rows: Vec<Line>, most: usize, width: usize) -> Vec<Line> {
    if rows.len() <= most {
        return rows;
    }
    rows.drain(1..=rows.len() - most);
    let used = rows[0].width();
    if let Some(last) = rows[0].spans.last_mut() {
        let room = width.saturating_sub(used - last.width());
        last.text = cut_to(&format!("{} …", last.text), room);
    }
    rows
}

/// The end of a text in so many columns, with a sign that more stood before it.
pub(super) fn cut_front(text: &str, room: usize) -> String {
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
    fn what_stands_at_the_end_of_a_line_stays_near_it_on_a_wide_page() {
        let ends = |width, left: usize| {
            let ctx = RenderContext { width, ..RenderContext::default() };
            let line = ctx
                .right_aligned(Line::new("x".repeat(left), Role::Text), Some(Span::new("0.4s", Role::Muted)));
            line.width()
        };
        assert_eq!([ends(80, 20), ends(120, 20), ends(200, 20)], [80, 120, READ]);
        assert_eq!(ends(200, 150), 156, "a line that is longer has its end behind it");
        assert_eq!(
            RenderContext::default().indented(2).measure,
            MEASURE,
            "all of them end in one column, where text does"
        );
    }
}
