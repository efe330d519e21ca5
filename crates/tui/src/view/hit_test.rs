//! Hit testing: selectable rows and scrollable lists at a screen position.

use ratatui::layout::{Position, Rect};

use super::super::overlay::Overlay;
use super::ScreenAreas;
use crate::app::App;
use crate::composer::view::max_candidates;
use crate::picker::view::rows;

/// A selectable row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HitRow {
    /// A row of the overlay's list: its visible line, and the number of visible lines.
    Popup { line: usize, height: usize },
    /// A visible completion candidate.
    Offer(usize),
    /// A queued message, by its position in delivery order.
    Waiting(usize),
}

/// The target of the mouse wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScrollTarget {
    Popup,
    Offers,
    Waiting,
    Transcript,
}

impl HitRow {
    /// The row at a position; `None` if there is none.
    pub(crate) fn at(app: &App, position: Position) -> Option<Self> {
        let areas = ScreenAreas::compute(app);
        match app.compositor.top() {
            Some(Overlay::Picker(picker)) => {
                let (width, height) = app.ui.size;
                let area = Rect::new(0, 0, width, height.saturating_sub(areas.footer.height));
                let rows = rows(picker, area, &app.ui);
                let line = line_of(rows, position)?;
                let height = usize::from(rows.height);
                picker.has_line(line, height).then_some(Self::Popup { line, height })
            }
            Some(Overlay::Tree(tree)) => {
                let rows = tree.rows_area(app.ui.size);
                let (line, height) = (line_of(rows, position)?, usize::from(rows.height));
                tree.has_line(line).then_some(Self::Popup { line, height })
            }
            Some(Overlay::Pager(_) | Overlay::Form(_)) => None,
            None => {
                let has_offer = |line: &usize| {
                    app.composer.completion.has_line(*line, max_candidates(&app.view_context()))
                };
                let offer = line_of(areas.completion, position).filter(has_offer);
                let height = usize::from(areas.queue.height);
                let waiting = || {
                    let line = line_of(areas.queue, position)?;
                    app.queue.message_at(height, line, &app.view_context())
                };
                offer.map(Self::Offer).or_else(|| waiting().map(Self::Waiting))
            }
        }
    }
}

impl ScrollTarget {
    /// The wheel's target at a position. The queue scrolls only while it has the keys.
    pub(crate) fn at(app: &App, position: Position) -> Self {
        let areas = ScreenAreas::compute(app);
        if !app.compositor.is_empty() {
            Self::Popup
        } else if areas.completion.contains(position) {
            Self::Offers
        } else if app.queue.has_keys() && areas.queue.contains(position) {
            Self::Waiting
        } else {
            Self::Transcript
        }
    }
}

/// The line of an area at a position.
fn line_of(area: Rect, position: Position) -> Option<usize> {
    area.contains(position).then(|| usize::from(position.y - area.y))
}
