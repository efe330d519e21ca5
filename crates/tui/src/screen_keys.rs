//! The bindings of the screen that don't belong to one of its parts, and keys with another meaning when
//! pressed twice.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_core::unit::UnixMs;
use tiller_engine::CycleDirection;

use crate::action::{Action, ListAction, SessionEdit, TerminalAction};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::effect::{Effect, OverlayRequest};
use crate::help;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::list_kind::ListKind;
use crate::tree::request::TreePurpose;

/// Maximum milliseconds between two presses of Esc that open the tree.
const TWICE_ESCAPE_MS: u64 = 600;

/// Time after an Esc that stopped a run or closed an overlay, or after its repeat, in which Esc does nothing else, in
/// milliseconds: the user may keep pressing it.
const STOPPING_MS: u64 = 1_000;

/// Maximum milliseconds between two presses of Ctrl+C that quit.
const TWICE_INTERRUPT_MS: u64 = 2_000;

/// A key with another meaning when pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DoubleKey {
    Escape,
    /// Esc that stopped a run or closed an overlay, and its repeats; these never open the tree. The number of agents'
    /// sessions that were open above each other: the end of an agent returns to the session above, whose run the
    /// repeats don't stop.
    Stopping(usize),
    Interrupt,
    /// The key that cleared the editor. A second press has no effect, but the flash about it disappears with
    /// the next key.
    Clear,
}

/// The bindings of the screen.
#[derive(Debug, Default)]
pub(crate) struct ScreenKeys {
    /// The last key, if it has another meaning when pressed again.
    pressed: Option<(DoubleKey, UnixMs)>,
    /// The key before the one that is being handled.
    previous: Option<(DoubleKey, UnixMs)>,
}

impl Component for ScreenKeys {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        let UiEvent::Key(key) = *event else { return Outcome::Ignored };
        let Some(command) = cx.ui.keymap.command(KeyContext::Main, key) else { return Outcome::Ignored };
        let at_rest = cx.focus.is_editor_empty;
        match command {
            KeyCommand::Stop => self.escape(cx),
            KeyCommand::Clear => self.interrupt(cx),
            // In an empty editor, the key's other meaning, a cursor movement, has no effect.
            KeyCommand::MoveToBackground if at_rest && cx.model.has_movable_call() => {
                cx.push(Action::MoveToBackground);
            }
            KeyCommand::Quit if at_rest && !cx.model.is_working() => cx.push(Effect::quit()),
            // The key does nothing during a run, so that runs aren't stopped by accident.
            KeyCommand::Quit if at_rest => {
                let (stop, quit) = (cx.key_of(KeyCommand::Stop), cx.key_of(KeyCommand::Quit));
                cx.flash(format!("Still running: {stop} stops it, then {quit} quits."));
            }
            KeyCommand::EditQueue => cx.push(Effect::EnterQueue),
            KeyCommand::PickModel => cx.push(Effect::Open(OverlayRequest::list(ListKind::Models))),
            KeyCommand::NextModel => {
                cx.push(Action::Edit(SessionEdit::CycleModel(CycleDirection::Forward)));
            }
            KeyCommand::PreviousModel => cx.push(Action::Edit(SessionEdit::CycleModel(CycleDirection::Back))),
            // In plan mode the key leaves it, as in other programs.
            KeyCommand::NextThinking if cx.model.is_planning() => {
                cx.push(Action::List(ListAction::TogglePlan));
            }
            KeyCommand::NextThinking => {
                cx.push(Action::Edit(SessionEdit::SetThinking(cx.model.next_thinking())));
            }
            KeyCommand::NextApproval => {
                cx.push(Action::List(ListAction::SetApproval(cx.model.next_approval())));
            }
            KeyCommand::Agents if cx.ui.agents.is_empty() => {
                cx.push(Effect::Open(OverlayRequest::list(ListKind::Agents)));
            }
            KeyCommand::Agents => cx.push(Action::Terminal(TerminalAction::LeaveAgent)),
            KeyCommand::Suspend => cx.push(Action::Terminal(TerminalAction::Suspend)),
            KeyCommand::Help if at_rest => {
                let lines = help::page(&cx.ui.keymap, &cx.model.info.commands);
                cx.push(Effect::Open(OverlayRequest::Help { title: "help".to_owned(), lines }));
            }
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Does nothing, because the bindings have no area on the screen.
    fn render(&self, _area: Rect, _buffer: &mut Buffer, _view: &ViewContext<'_>) {}
}

impl ScreenKeys {
    /// Starts handling a key; returns true if the key ends the flash about the first press.
    pub(crate) fn begin_key(&mut self) -> bool {
        self.previous = self.pressed.take();
        matches!(self.previous, Some((DoubleKey::Interrupt | DoubleKey::Clear, _)))
    }

    /// Clears the first press, because text arrived after it.
    pub(crate) fn forget(&mut self) {
        self.pressed = None;
    }

    /// Notes that Esc closed an overlay above this number of agents' sessions.
    pub(crate) fn overlay_left(&mut self, depth: usize, now: UnixMs) {
        self.pressed = Some((DoubleKey::Stopping(depth), now));
    }

    /// Records that the key cleared the draft.
    pub(crate) fn draft_cleared(&mut self, now: UnixMs) {
        self.pressed = Some((DoubleKey::Clear, now));
    }

    fn escape(&mut self, cx: &mut Context<'_>) {
        let is_working = cx.model.is_stoppable();
        let stopping = self.previous.and_then(|(key, at)| match key {
            DoubleKey::Stopping(depth) if cx.now.since_ms(at) <= STOPPING_MS => Some(depth),
            _ => None,
        });
        let depth = stopping.unwrap_or(cx.ui.agents.len());
        if is_working || stopping.is_some() {
            self.pressed = Some((DoubleKey::Stopping(depth), cx.now));
            if is_working && depth == cx.ui.agents.len() {
                cx.push(Action::Abort);
            }
        } else if cx.focus.is_editor_empty && self.is_second(DoubleKey::Escape, TWICE_ESCAPE_MS, cx.now) {
            cx.push(Effect::Open(OverlayRequest::Tree(TreePurpose::Go)));
        } else if cx.focus.is_editor_empty {
            self.pressed = Some((DoubleKey::Escape, cx.now));
        }
    }

    /// Stops the agent; if nothing is running, quits on the second press. The composer first clears a draft.
    fn interrupt(&mut self, cx: &mut Context<'_>) {
        if cx.model.is_stoppable() {
            cx.push(Action::Abort);
        } else if self.is_second(DoubleKey::Interrupt, TWICE_INTERRUPT_MS, cx.now) {
            cx.push(Effect::quit());
        } else {
            cx.flash(format!("Press {} again to quit.", cx.key_of(KeyCommand::Clear)));
            self.pressed = Some((DoubleKey::Interrupt, cx.now));
        }
    }

    fn is_second(&self, key: DoubleKey, within_ms: u64, now: UnixMs) -> bool {
        self.previous.is_some_and(|(before, at)| before == key && now.since_ms(at) <= within_ms)
    }
}

#[cfg(test)]
mod tests {
    use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use tiller_core::id::SessionId;

    use super::*;
    use crate::address::Address;
    use crate::component::testing::Bench;
    use crate::ui_context::ShownAgent;

    fn bench() -> Bench<ScreenKeys> {
        Bench::of(ScreenKeys::default(), Address::Screen)
    }

    /// Presses a key in the same way as the app.
    fn press(bench: &mut Bench<ScreenKeys>, key: KeyEvent) -> Vec<Effect> {
        bench.component.begin_key();
        bench.send(UiEvent::Key(key)).1
    }

    fn control(c: char) -> KeyEvent {
        KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    const ESC: KeyEvent = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);

    #[test]
    fn screen_keys_second_esc_in_time_opens_the_tree() {
        let tree = || vec![Effect::Open(OverlayRequest::Tree(TreePurpose::Go))];
        for (ms, expected) in [(600, tree()), (601, Vec::new())] {
            let mut bench = bench();
            assert_eq!(press(&mut bench, ESC), []);
            bench.now += ms;
            assert_eq!(press(&mut bench, ESC), expected, "after {ms} ms");
        }
        let mut bench = bench();
        press(&mut bench, ESC);
        press(&mut bench, control('z'));
        assert_eq!(press(&mut bench, ESC), [], "another key between");
        bench.focus.is_editor_empty = false;
        press(&mut bench, ESC);
        assert_eq!(press(&mut bench, ESC), [], "not over a draft");
    }

    #[test]
    fn screen_keys_esc_that_stops_opens_nothing() {
        let mut bench = bench();
        bench.model.activity.running_since = Some(UnixMs(0));
        assert_eq!(press(&mut bench, ESC), [Action::Abort.into()]);
        bench.model.activity.running_since = None;
        for _ in 0..3 {
            bench.now += 900;
            assert_eq!(press(&mut bench, ESC), [], "the user keeps pressing it");
        }
        bench.now += 1_001;
        press(&mut bench, ESC);
        assert_eq!(press(&mut bench, ESC), [Effect::Open(OverlayRequest::Tree(TreePurpose::Go))]);
    }

    #[test]
    fn screen_keys_esc_that_closed_an_overlay_opens_nothing() {
        let mut bench = bench();
        bench.component.begin_key();
        bench.component.overlay_left(0, UnixMs(0));
        for _ in 0..2 {
            bench.now += 300;
            assert_eq!(press(&mut bench, ESC), [], "one Esc too many");
        }
        bench.model.activity.running_since = Some(UnixMs(0));
        assert_eq!(press(&mut bench, ESC), [Action::Abort.into()], "it still stops");
    }

    #[test]
    fn screen_keys_esc_that_stops_an_agent_spares_the_main_session() {
        let mut bench = bench();
        bench.model.activity.running_since = Some(UnixMs(0));
        bench.ui.agents.push(ShownAgent { name: "explore".to_owned(), id: SessionId::new("a") });
        assert_eq!(press(&mut bench, ESC), [Action::Abort.into()]);
        bench.ui.agents.clear();
        bench.now += 900;
        assert_eq!(press(&mut bench, ESC), [], "the user keeps pressing it");
        bench.now += 1_001;
        assert_eq!(press(&mut bench, ESC), [Action::Abort.into()]);
    }

    #[test]
    fn screen_keys_second_interrupt_in_time_quits() {
        let asks = [Effect::flash("Press ctrl+c again to quit.")];
        let mut bench = bench();
        assert_eq!(press(&mut bench, control('c')), asks);
        bench.now = 2_001;
        assert_eq!(press(&mut bench, control('c')), asks, "too late");
        assert_eq!(press(&mut bench, control('c')), [Effect::quit()]);
        bench.model.activity.running_since = Some(UnixMs(0));
        assert_eq!(press(&mut bench, control('c')), [Action::Abort.into()]);
    }

    #[test]
    fn screen_keys_quit_only_at_rest() {
        let mut bench = bench();
        assert_eq!(press(&mut bench, control('d')), [Effect::quit()]);
        bench.model.activity.running_since = Some(UnixMs(0));
        assert_eq!(
            press(&mut bench, control('d')),
            [Effect::flash("Still running: esc stops it, then ctrl+d quits.")]
        );
        bench.focus.is_editor_empty = false;
        assert_eq!(bench.send(UiEvent::Key(control('d'))).0, Outcome::Ignored);
        assert_eq!(bench.send(UiEvent::Paste("x")).0, Outcome::Ignored);
    }
}
