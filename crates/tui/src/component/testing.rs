//! A bench for tests of a single component: sends events and results, and shows the outcome, the effects and
//! the drawn rows. With it, a queued message.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_core::event::{QueueItem, QueueKind};
use tiller_core::unit::UnixMs;

use crate::address::Address;
use crate::component::{Component, Context, FocusState, Outcome, UiEvent, ViewContext};
use crate::effect::Effect;
use crate::layout::FoldDefaults;
use crate::message::TaskResult;
use crate::session_model::SessionModel;
use crate::ui_context::UiContext;

/// A component with everything that it reads, on an area as large as the screen.
pub(crate) struct Bench<C> {
    pub(crate) component: C,
    pub(crate) model: SessionModel,
    pub(crate) ui: UiContext,
    pub(crate) focus: FocusState,
    pub(crate) now: i64,
    pub(crate) area: Rect,
    address: Address,
}

impl<C: Component> Bench<C> {
    /// Puts the component on a screen of 80 by 24 with an empty editor; its actions come from this address.
    pub(crate) fn of(component: C, address: Address) -> Self {
        let ui = UiContext::example();
        let area = Rect::new(0, 0, ui.size.0, ui.size.1);
        let focus = FocusState { is_editor_empty: true, ..FocusState::default() };
        Self { component, model: SessionModel::default(), ui, focus, now: 0, area, address }
    }

    /// Resizes the component's area, and the screen's width.
    pub(crate) fn sized(mut self, width: u16, height: u16) -> Self {
        self.area = Rect::new(0, 0, width, height);
        self.ui.size = (width, self.ui.size.1.max(height));
        self
    }

    pub(crate) fn view(&self) -> ViewContext<'_> {
        let (now, folds) = (UnixMs(self.now), FoldDefaults::default());
        ViewContext { model: &self.model, ui: &self.ui, now, focus: self.focus, folds }
    }

    pub(crate) fn with<T>(&mut self, work: impl FnOnce(&mut C, &mut Context<'_>) -> T) -> (T, Vec<Effect>) {
        let (now, folds) = (UnixMs(self.now), FoldDefaults::default());
        let view = ViewContext { model: &self.model, ui: &self.ui, now, focus: self.focus, folds };
        let mut cx = Context::new(view, self.address);
        let result = work(&mut self.component, &mut cx);
        (result, cx.into_effects())
    }

    /// Runs a function on the component and returns the effects.
    pub(crate) fn work(&mut self, work: impl FnOnce(&mut C, &mut Context<'_>)) -> Vec<Effect> {
        self.with(work).1
    }

    pub(crate) fn send(&mut self, event: UiEvent<'_>) -> (Outcome, Vec<Effect>) {
        self.with(|component, cx| component.handle(&event, cx))
    }

    pub(crate) fn key(&mut self, code: KeyCode) -> (Outcome, Vec<Effect>) {
        self.send(UiEvent::Key(KeyEvent::from(code)))
    }

    pub(crate) fn chord(&mut self, modifiers: KeyModifiers, c: char) -> (Outcome, Vec<Effect>) {
        self.send(UiEvent::Key(KeyEvent::new(KeyCode::Char(c), modifiers)))
    }

    /// Types characters one by one; returns their effects.
    pub(crate) fn type_keys(&mut self, text: &str) -> Vec<Effect> {
        text.chars().flat_map(|c| self.key(KeyCode::Char(c)).1).collect()
    }

    /// Turns the wheel over the first cell.
    pub(crate) fn wheel(&mut self, kind: MouseEventKind) -> (Outcome, Vec<Effect>) {
        self.send(UiEvent::Mouse(MouseEvent { kind, column: 0, row: 0, modifiers: KeyModifiers::NONE }))
    }

    /// Presses the left button.
    pub(crate) fn press_at(&mut self, column: u16, row: u16) -> (Outcome, Vec<Effect>) {
        let kind = MouseEventKind::Down(MouseButton::Left);
        self.send(UiEvent::Mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }))
    }

    pub(crate) fn refresh(&mut self) -> Vec<Effect> {
        self.work(C::refresh)
    }

    pub(crate) fn take(&mut self, result: TaskResult) -> (Option<TaskResult>, Vec<Effect>) {
        self.with(|component, cx| component.take(result, cx))
    }

    /// Lays the component out and draws it.
    pub(crate) fn buffer(&mut self) -> Buffer {
        let area = self.area;
        let mut buffer = Buffer::empty(area);
        self.work(|component, cx| component.lay_out(area, cx));
        self.component.render(area, &mut buffer, &self.view());
        buffer
    }

    /// Returns the drawn rows, without trailing blanks and trailing blank rows.
    pub(crate) fn drawn(&mut self) -> String {
        let (area, buffer) = (self.area, self.buffer());
        let row = |y| (0..area.width).map(|x| buffer[(x, y)].symbol()).collect::<String>();
        let rows: Vec<String> = (0..area.height).map(|y| row(y).trim_end().to_owned()).collect();
        rows.join("\n").trim_end_matches('\n').to_owned()
    }
}

/// A message in the queue, without images.
pub(crate) fn queue_item(id: &str, kind: QueueKind, text: &str) -> QueueItem {
    QueueItem { id: id.into(), kind, text: text.into(), typed: None, images: [].into(), held: false }
}
