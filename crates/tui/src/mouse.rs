//! The mouse in the transcript and the editor: the wheel scrolls, a click folds, dragging selects and copies.
//! `list_mouse` handles lists.
//!
//! While tiller captures the mouse, terminals select with Shift.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};
use tiller_core::unit::UnixMs;

use super::compositor::KeyIntent;
use super::transcript::{Direction, Granularity, TextPos};
use super::view::ScreenAreas;
use crate::action::{Action, TerminalAction};
use crate::app::App;

/// Lines per step of the wheel.
pub(super) const WHEEL_LINES: usize = 3;

/// Lines scrolled per tick while a drag is beyond the edge.
const DRAG_LINES: usize = 3;

/// Maximum time between the clicks of a double click, in milliseconds.
const TWICE_MS: u64 = 400;

/// The state of the mouse.
#[derive(Debug, Default)]
pub(super) struct Mouse {
    press: Option<Press>,
}

/// A press of the button in the transcript.
#[derive(Clone, Copy, Debug)]
struct Press {
    /// The position on the screen.
    position: Position,
    /// The position in the transcript.
    text_pos: TextPos,
    since: UnixMs,
    /// Number of successive clicks.
    clicks: usize,
    state: PressState,
}

/// The state of a press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PressState {
    /// Held without motion.
    Still,
    /// Dragged.
    Dragged,
    /// Dragged beyond an edge.
    Beyond(Direction),
    /// Released; `folded` if it folded a block.
    Released { folded: bool },
}

impl Mouse {
    /// Reports whether a drag beyond an edge scrolls with time.
    pub(super) fn wants_ticks(&self) -> bool {
        self.press.is_some_and(|press| matches!(press.state, PressState::Beyond(_)))
    }
}

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) -> Vec<Action> {
        let position = Position { x: event.column, y: event.row };
        match event.kind {
            MouseEventKind::ScrollUp => return self.wheel(position, Direction::Older),
            MouseEventKind::ScrollDown => return self.wheel(position, Direction::Newer),
            MouseEventKind::Down(MouseButton::Left) => {
                let mut actions = self.defer_unread(KeyIntent::Other);
                if let Some(clicked) = self.click_row(position) {
                    self.navigation.mouse.press = None;
                    actions.extend(clicked);
                    return actions;
                }
                self.press(position);
                return actions;
            }
            // A press beneath an overlay ends.
            _ if !self.compositor.is_empty() => self.navigation.mouse.press = None,
            MouseEventKind::Drag(MouseButton::Left) => self.drag(position),
            MouseEventKind::Up(MouseButton::Left) => return self.release(),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn scroll_lines(&mut self, direction: Direction, count: usize) {
        let ctx = self.render_context();
        match direction {
            Direction::Older => self.transcript.scroll_up(count, &ctx),
            Direction::Newer => self.transcript.scroll_down(count, &ctx),
        }
    }

    fn press(&mut self, position: Position) {
        if !self.compositor.is_empty() {
            self.navigation.mouse.press = None;
            return;
        }
        let areas = ScreenAreas::compute(self);
        self.transcript.unselect();
        if areas.transcript.contains(position) {
            return self.press_text(position, areas.transcript);
        }
        self.navigation.mouse.press = None;
        if areas.top_rule.contains(position) {
            self.transcript.follow();
        } else if areas.editor.contains(position) {
            let (row, column) = (position.y - areas.editor.y, position.x.saturating_sub(super::view::MARK));
            self.composer.editor.click(row, column, areas.editor.height);
        }
    }

    fn press_text(&mut self, position: Position, area: Rect) {
        let previous = self.navigation.mouse.press.filter(|before| {
            before.position == position
                && self.now.since_ms(before.since) <= TWICE_MS
                && before.state != PressState::Dragged
        });
        let text_pos = match previous {
            Some(before) => {
                // The first click belongs to this double click, so its fold is undone.
                if before.state == (PressState::Released { folded: true }) {
                    self.fold(before.text_pos.at);
                    self.prepare();
                }
                Some(before.text_pos)
            }
            None => self
                .transcript
                .text_pos_at(usize::from(position.y - area.y), usize::from(position.x - area.x)),
        };
        let Some(text_pos) = text_pos else { return };
        let clicks = previous.map_or(1, |before| before.clicks % 3 + 1);
        match clicks {
            2 => self.transcript.select(text_pos, Granularity::Word),
            3 => self.transcript.select(text_pos, Granularity::Line),
            _ => {}
        }
        let press = Press { position, text_pos, since: self.now, clicks, state: PressState::Still };
        self.navigation.mouse.press = Some(press);
    }

    fn drag(&mut self, position: Position) {
        let Some(press) = self.navigation.mouse.press else { return };
        if matches!(press.state, PressState::Released { .. })
            || (press.state == PressState::Still && press.position == position)
        {
            return;
        }
        if !self.transcript.is_selecting() {
            self.transcript.select(press.text_pos, Granularity::Character);
        }
        let area = ScreenAreas::compute(self).transcript;
        let state = match position.y {
            y if y <= area.y => PressState::Beyond(Direction::Older),
            y if y + 1 >= area.bottom() => PressState::Beyond(Direction::Newer),
            _ => PressState::Dragged,
        };
        self.navigation.mouse.press = Some(Press { position, state, ..press });
        self.select_to(position);
    }

    fn select_to(&mut self, position: Position) {
        let area = ScreenAreas::compute(self).transcript;
        let row = position.y.clamp(area.y, area.bottom().saturating_sub(1).max(area.y)) - area.y;
        if let Some(text_pos) =
            self.transcript.text_pos_at(row.into(), position.x.saturating_sub(area.x).into())
        {
            self.transcript.select_to(text_pos);
        }
    }

    /// Continues scrolling while a drag is beyond an edge.
    pub(super) fn continue_drag(&mut self) {
        let press = self.navigation.mouse.press.filter(|_| self.compositor.is_empty());
        let Some(Press { state: PressState::Beyond(direction), position: place, .. }) = press else { return };
        self.scroll_lines(direction, DRAG_LINES);
        self.prepare();
        self.select_to(place);
        self.dirty = super::frame_pacer::Dirty::ByUser;
    }

    /// Ends a press: copies the selection, or folds after a click.
    fn release(&mut self) -> Vec<Action> {
        let Some(press) = self.navigation.mouse.press else { return Vec::new() };
        let mut state = PressState::Released { folded: false };
        let mut actions = Vec::new();
        if self.transcript.is_selecting() {
            let ctx = self.render_context();
            actions
                .extend(self.transcript.selected_text(&ctx).map(TerminalAction::Copy).map(Action::Terminal));
        } else if press.state == PressState::Still {
            state = PressState::Released { folded: self.click(press.text_pos) };
        }
        self.navigation.mouse.press = Some(Press { state, ..press });
        actions
    }

    /// Toggles the clicked block; of an unfolded one only by its first line, because the others are text to
    /// read.
    fn click(&mut self, text_pos: TextPos) -> bool {
        let folds = self.transcript.folds;
        let is_handle = |block: &super::block::Block| text_pos.line == 0 || !block.is_unfolded(folds);
        self.transcript.block(text_pos.at).is_some_and(is_handle) && self.fold(text_pos.at)
    }
}
