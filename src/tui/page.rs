//! A text to read over the transcript: wrapped once for a width, and scrolled by the rows that this makes.

use crate::render::{Breaks, Indent, Line, Role, Span, wrap};

/// A text to read.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    lines: Vec<Line>,
    laid: Laid,
    /// The row on top.
    top: usize,
}

/// A text as it was laid out.
#[derive(Debug, Default)]
struct Laid {
    width: usize,
    height: usize,
    rows: Vec<Line>,
}

impl Page {
    pub(super) fn new(title: &str, lines: Vec<Line>) -> Self {
        Self { title: title.to_owned(), lines, laid: Laid::default(), top: 0 }
    }

    /// Lays it out in so many columns, of which so many rows are to be seen.
    pub(super) fn lay_out(&mut self, width: usize, height: usize) {
        if self.laid.width != width {
            self.laid.rows = self.lines.iter().flat_map(|line| hung(line, width)).collect();
        }
        (self.laid.width, self.laid.height) = (width, height);
        self.step(0);
    }

    /// Scrolls by `rows`, stopping at the ends.
    pub(super) fn step(&mut self, rows: isize) {
        let last = self.laid.rows.len().saturating_sub(self.laid.height);
        self.top = self.top.saturating_add_signed(rows).min(last);
    }

    /// The rows from the one on top on.
    pub(super) fn rows(&self) -> &[Line] {
        self.laid.rows.get(self.top..).unwrap_or_default()
    }

    /// Whether some of it is off the screen.
    pub(super) fn is_long(&self) -> bool {
        self.laid.rows.len() > self.laid.height
    }
}

/// A line of two columns, its second one wrapped beneath itself where there is room for that.
fn hung(line: &Line, width: usize) -> Vec<Line> {
    let column = match line.spans.as_slice() {
        [first, _] if first.width() * 2 <= width => first.width(),
        _ => 2,
    };
    let rest = vec![Span::new(" ".repeat(column.min(width / 2)), Role::Text)];
    wrap(&line.spans, width, &Indent { first: Vec::new(), rest }, Breaks::Words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top(page: &Page) -> String {
        page.rows().first().map(|line| line.text().trim().to_owned()).unwrap_or_default()
    }

    #[test]
    fn a_page_is_scrolled_by_the_rows_that_are_seen_and_from_its_end_back_at_once() {
        let mut page = Page::new("a page", (0..30).map(|n| Line::new(format!("{n}"), Role::Text)).collect());
        page.lay_out(20, 10);
        page.step(isize::MAX / 2);
        assert_eq!(top(&page), "20");
        page.step(-1);
        assert_eq!(top(&page), "19");
    }

    #[test]
    fn of_a_single_line_that_is_longer_than_the_screen_the_end_can_be_read() {
        let words: Vec<String> = (0..100).map(|n| format!("word{n:02}")).collect();
        let mut page = Page::new("a page", vec![Line::new(words.join(" "), Role::Text)]);
        page.lay_out(10, 10);
        assert!(page.is_long());
        page.step(isize::MAX / 2);
        assert_eq!(top(&page), "word90");
        page.lay_out(1_000, 10);
        assert_eq!(top(&page), words.join(" "));
    }
}
