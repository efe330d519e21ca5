//! The mouse in the transcript: a click folds, dragging selects and copies, the wheel scrolls.
//!
//! While tiller captures the mouse, the terminal's own selection needs Shift.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::action::{Action, TerminalAction};
use crate::block::Block;
use crate::component::{Context, Outcome, ViewContext};
use crate::overlay::scroll::WHEEL_LINES;
use crate::transcript::jump_target::Direction;
use crate::transcript::selection::{Granularity, TextPos};
use crate::transcript_pane::TranscriptPane;
use crate::transcript_pane::press::{Press, PressState};

/// Lines scrolled per tick while a drag is beyond the edge.
const DRAG_LINES: usize = 3;

/// Maximum milliseconds between the clicks of a double click.
const TWICE_MS: u64 = 400;

impl TranscriptPane {
    /// Handles the wheel, and a press, drag or release of the left button; ignores a press outside the
    /// transcript.
    pub(super) fn handle_mouse(&mut self, event: MouseEvent, cx: &mut Context<'_>) -> Outcome {
        let position = Position { x: event.column, y: event.row };
        match event.kind {
            // A press beneath an overlay ends.
            _ if cx.focus.is_covered => self.press = None,
            MouseEventKind::ScrollUp => self.scroll_lines(Direction::Older, WHEEL_LINES, cx),
            MouseEventKind::ScrollDown => self.scroll_lines(Direction::Newer, WHEEL_LINES, cx),
            MouseEventKind::Down(MouseButton::Left) => return self.press(position, cx),
            MouseEventKind::Drag(MouseButton::Left) => self.drag(position),
            MouseEventKind::Up(MouseButton::Left) => self.release(cx),
            _ => {}
        }
        Outcome::Consumed
    }

    /// Ends the press, because another part of the screen captured the button, or its release may have been
    /// missed.
    pub(crate) fn end_press(&mut self) {
        self.press = None;
    }

    /// Returns true while a drag beyond an edge scrolls.
    pub(crate) fn wants_ticks(&self) -> bool {
        self.press.is_some_and(|press| matches!(press.state, PressState::Beyond(_)))
    }

    fn press(&mut self, position: Position, view: &ViewContext<'_>) -> Outcome {
        self.transcript.unselect();
        if self.area.contains(position) {
            self.press_text(position, view);
            return Outcome::Consumed;
        }
        self.press = None;
        Outcome::Ignored
    }

    fn press_text(&mut self, position: Position, view: &ViewContext<'_>) {
        let previous = self.press.filter(|before| {
            before.position == position
                && view.now.since_ms(before.since) <= TWICE_MS
                && before.state != PressState::Dragged
        });
        let text_pos = match previous {
            Some(before) => {
                // The first click belongs to this double click, so its folding is undone.
                if before.state == (PressState::Released { folded: true }) {
                    self.fold(before.text_pos.at, view);
                    self.lay_out_rows(view);
                }
                Some(before.text_pos)
            }
            None => self
                .transcript
                .text_pos_at(usize::from(position.y - self.area.y), usize::from(position.x - self.area.x)),
        };
        let Some(text_pos) = text_pos else { return };
        let clicks = previous.map_or(1, |before| before.clicks % 3 + 1);
        match clicks {
            2 => self.transcript.select(text_pos, Granularity::Word),
            3 => self.transcript.select(text_pos, Granularity::Line),
            _ => {}
        }
        self.press = Some(Press { position, text_pos, since: view.now, clicks, state: PressState::Still });
    }

    fn drag(&mut self, position: Position) {
        let Some(press) = self.press else { return };
        if matches!(press.state, PressState::Released { .. })
            || (press.state == PressState::Still && press.position == position)
        {
            return;
        }
        if !self.transcript.is_selecting() {
            self.transcript.select(press.text_pos, Granularity::Character);
        }
        let state = match position.y {
            y if y <= self.area.y => PressState::Beyond(Direction::Older),
            y if y + 1 >= self.area.bottom() => PressState::Beyond(Direction::Newer),
            _ => PressState::Dragged,
        };
        self.press = Some(Press { position, state, ..press });
        self.select_to(position);
    }

    fn select_to(&mut self, position: Position) {
        let area = self.area;
        let row = position.y.clamp(area.y, area.bottom().saturating_sub(1).max(area.y)) - area.y;
        if let Some(text_pos) =
            self.transcript.text_pos_at(row.into(), position.x.saturating_sub(area.x).into())
        {
            self.transcript.select_to(text_pos);
        }
    }

    /// Continues scrolling while a drag is beyond an edge; returns true if it did.
    pub(crate) fn continue_drag(&mut self, view: &ViewContext<'_>) -> bool {
        let press = self.press.filter(|_| !view.focus.is_covered);
        let Some(Press { state: PressState::Beyond(direction), position, .. }) = press else { return false };
        self.scroll_lines(direction, DRAG_LINES, view);
        self.lay_out_rows(view);
        self.select_to(position);
        true
    }

    /// Ends a press: copies the selection, or folds after a click.
    fn release(&mut self, cx: &mut Context<'_>) {
        let Some(press) = self.press else { return };
        let mut state = PressState::Released { folded: false };
        if self.transcript.is_selecting() {
            let ctx = self.render_context(cx);
            if let Some(text) = self.transcript.selected_text(&ctx) {
                cx.push(Action::Terminal(TerminalAction::Copy(text)));
            }
        } else if press.state == PressState::Still {
            state = PressState::Released { folded: self.click(press.text_pos, cx) };
        }
        self.press = Some(Press { state, ..press });
    }

    /// Toggles the clicked block. An unfolded block is toggled only by its first line, because the other
    /// lines are text.
    fn click(&mut self, text_pos: TextPos, view: &ViewContext<'_>) -> bool {
        let folds = self.transcript.folds;
        let is_handle = |block: &Block| text_pos.line == 0 || !block.is_unfolded(folds);
        self.transcript.block(text_pos.at).is_some_and(is_handle) && self.fold(text_pos.at, view)
    }
}
