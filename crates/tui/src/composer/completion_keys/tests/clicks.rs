//! Clicks and the wheel in the candidates.

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use tiller_core::event::Decision;

use super::*;
use crate::component::{Component, UiEvent};
use crate::tree::request::TreePurpose;

impl ComposerBench {
    /// Sends an event of the mouse to the row of this text.
    fn mouse_on(&mut self, kind: MouseEventKind, text: &str) -> Vec<Effect> {
        let area = Rect::new(0, 0, 80, 8);
        self.bench.component.lay_out_completion(area);
        let screen = self.screen();
        let row = screen.lines().position(|line| line.contains(text));
        let row = u16::try_from(row.unwrap_or_else(|| panic!("no {text} on\n{screen}"))).unwrap();
        let event = MouseEvent { kind, column: 6, row, modifiers: KeyModifiers::NONE };
        self.work(|composer, cx| _ = composer.handle(&UiEvent::Mouse(event), cx))
    }

    fn click_on(&mut self, text: &str) -> Vec<Effect> {
        self.mouse_on(MouseEventKind::Down(MouseButton::Left), text)
    }
}

#[test]
fn click_candidate_like_a_list_row() {
    let mut harness = ComposerBench::new();
    harness.type_text("/");
    harness.mouse_on(MouseEventKind::ScrollUp, "▸ /new");
    assert!(harness.screen().contains("▸ /new"), "it ends there: {}", harness.screen());
    harness.mouse_on(MouseEventKind::ScrollDown, "▸ /new");
    assert!(harness.screen().contains("▸ /resume"), "{}", harness.screen());
    assert_eq!(harness.click_on("/name "), []);
    assert_eq!(harness.text(), "/");
    harness.click_on("▸ /name");
    assert_eq!(harness.text(), "/name ", "it wants to be told something");
    harness.control('c');
    harness.type_text("/theme ");
    assert_eq!(harness.click_on("▸ auto"), []);
    let effects = harness.click_on("▸ auto");
    assert!(effects.contains(&Effect::ApplyTheme("auto".into())), "{effects:?}");
    harness.type_text("/fork");
    assert_eq!(harness.click_on("▸ /fork"), []);
    let effects = harness.click_on("▸ /fork");
    let opens = Effect::Open(OverlayRequest::Tree(TreePurpose::Fork));
    assert!(effects.contains(&opens), "{effects:?}");
}

#[test]
fn click_candidate_in_reason_is_sent_as_reason() {
    let mut harness = ComposerBench::new();
    harness.write_reason("/n");
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Up);
    let reason = "the user rejected it: /new".to_owned();
    let denies = Action::Decide("c1".into(), Decision::Deny { reason });
    let effects = harness.click_on("▸ /new");
    assert!(effects.contains(&Effect::Perform(Address::Composer, denies)), "{effects:?}");
}
