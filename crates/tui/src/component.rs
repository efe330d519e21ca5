//! The interface of a part of the screen: events in, effects out.
//!
//! A component owns its state and doesn't depend on other components. It reads the session and the
//! environment from its [`Context`], and requests everything else with [`Effect`]s, which the app applies
//! when the component has returned.

#[cfg(test)]
pub(crate) mod testing;

use std::ops::Deref;

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_core::unit::UnixMs;
use tiller_render::Line;

use crate::action::Action;
use crate::address::Address;
use crate::block::notice_level::NoticeLevel;
use crate::effect::Effect;
use crate::keymap::table::KeyCommand;
use crate::layout::{FoldDefaults, RenderContext, TEXT_WIDTH};
use crate::message::TaskResult;
use crate::session_model::SessionModel;
use crate::ui_context::UiContext;

/// A user event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum UiEvent<'a> {
    Key(KeyEvent),
    /// The rest of several characters that arrived in one read, by fast typing or over a slow connection. If
    /// ignored, the text is handled as keys, one character after the other.
    Text(&'a str),
    Paste(&'a str),
    Mouse(MouseEvent),
}

/// A part of the screen.
pub(crate) trait Component {
    /// Handles an event; an ignored event goes to the next component.
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome;

    /// Follows a change of the session, the environment or the time. Called after every message.
    fn refresh(&mut self, _cx: &mut Context<'_>) {}

    /// Lays the component out for its area; drawing and clicks refer to this layout.
    fn lay_out(&mut self, _area: Rect, _view: &ViewContext<'_>) {}

    /// Draws the last layout.
    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>);

    /// Applies the result of an action that the component requested; returns a result that it can't use.
    fn take(&mut self, result: TaskResult, _cx: &mut Context<'_>) -> Option<TaskResult> {
        Some(result)
    }

    /// Takes back an action that the executor rejected because of load; returns an action that it can't use.
    fn rejected(&mut self, action: Action, _cx: &mut Context<'_>) -> Option<Action> {
        Some(action)
    }

    /// Returns the position of the cursor, if the component has one.
    fn cursor(&self, _area: Rect, _view: &ViewContext<'_>) -> Option<Position> {
        None
    }

    /// Returns the hint for the status line while this component has the keys or waits for an answer.
    fn status_hint(&self, _view: &ViewContext<'_>) -> Option<Line> {
        None
    }
}

/// The result of offering an event to a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The event was handled.
    Consumed,
    /// The event has no meaning for the component.
    Ignored,
}

/// The state that every component may read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ViewContext<'a> {
    pub(crate) model: &'a SessionModel,
    pub(crate) ui: &'a UiContext,
    pub(crate) now: UnixMs,
    pub(crate) focus: FocusState,
    /// The fold settings of the transcript.
    pub(crate) folds: FoldDefaults,
}

/// The state of the keyboard focus.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FocusState {
    /// True if the editor is empty.
    pub(crate) is_editor_empty: bool,
    /// True if the editor's cursor is at the end of a line.
    pub(crate) is_editor_at_line_end: bool,
    /// True if the editor's text is the reason of a denial.
    pub(crate) is_writing_reason: bool,
    /// True if the user is entering text: a message, a search, an edit in the queue, or a reason.
    pub(crate) is_typing: bool,
    /// True if an answer of the approval panel is selected.
    pub(crate) is_choosing_answer: bool,
    /// True if the search bar is open.
    pub(crate) is_searching: bool,
    /// True if the session is new and the user hasn't typed or done anything yet.
    pub(crate) is_start_screen: bool,
    /// True if the queue panel has the keys.
    pub(crate) is_in_queue: bool,
    /// True if an overlay covers the transcript and the panels.
    pub(crate) is_covered: bool,
    /// True if the overlay on top is the page of the first pending call.
    pub(crate) is_on_call_page: bool,
    /// True if a click has just accepted a list's row, so that the next click may have been meant for it,
    /// too.
    pub(crate) is_click_accepted: bool,
}

impl ViewContext<'_> {
    /// Returns the name of a command's key.
    pub(crate) fn key_of(&self, command: KeyCommand) -> String {
        self.ui.keymap.key_of(command)
    }

    /// Returns the context for laying out blocks.
    pub(crate) fn render_context(&self) -> RenderContext {
        RenderContext {
            width: usize::from(self.ui.size.0).saturating_sub(1).max(1),
            measure: TEXT_WIDTH,
            folds: self.folds,
            now: self.now,
            zone: self.ui.zone.clone(),
            unfold_key: self.key_of(KeyCommand::UnfoldOutput).into(),
            options: self.ui.render_options.clone(),
            code_generation: self.ui.highlight_generation(),
            images: self.ui.image_limits(),
        }
    }
}

/// The state that a component reads, and the effects that it requests.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    view: ViewContext<'a>,
    /// The address for the results of the component's actions.
    from: Address,
    effects: Vec<Effect>,
}

impl<'a> Context<'a> {
    /// Returns the state to read.
    pub(crate) fn view(&self) -> ViewContext<'a> {
        self.view
    }

    pub(crate) fn new(view: ViewContext<'a>, from: Address) -> Self {
        Self { view, from, effects: Vec::new() }
    }

    /// Returns the address for results.
    pub(crate) fn address(&self) -> Address {
        self.from
    }

    /// Lets another part work; the results of its actions go to its own address.
    pub(crate) fn for_address<T>(&mut self, from: Address, work: impl FnOnce(&mut Self) -> T) -> T {
        let before = std::mem::replace(&mut self.from, from);
        let result = work(self);
        self.from = before;
        result
    }

    /// Requests an effect. Results of an action go to the address of this context.
    pub(crate) fn push(&mut self, effect: impl Into<Effect>) {
        self.effects.push(match effect.into() {
            Effect::Perform(_, action) => Effect::Perform(self.from, action),
            effect => effect,
        });
    }

    /// Requests an action whose results go to another part.
    pub(crate) fn push_for(&mut self, from: Address, action: Action) {
        self.effects.push(Effect::Perform(from, action));
    }

    /// Shows a message at the bottom of the screen for a while.
    pub(crate) fn flash(&mut self, text: impl Into<String>) {
        self.push(Effect::flash(text));
    }

    /// Adds a note to the transcript.
    pub(crate) fn note(&mut self, text: String, hint: Option<String>) {
        self.push(Effect::Notice { level: NoticeLevel::Note, text, hint });
    }

    /// Returns the requested effects, in order.
    pub(crate) fn into_effects(self) -> Vec<Effect> {
        self.effects
    }
}

impl<'a> Deref for Context<'a> {
    type Target = ViewContext<'a>;

    fn deref(&self) -> &Self::Target {
        &self.view
    }
}
