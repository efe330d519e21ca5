use crossterm::event::{KeyCode, KeyEvent};
use tiller_session::SessionScope;

use super::*;
use crate::component::{FocusState, ViewContext};
use crate::compositor::consumed_key::{FocusOwner, KeyIntent};
use crate::dialog::Dialog;
use crate::layout::FoldDefaults;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::session_query::SearchRequest;
use crate::session_model::SessionModel;
use crate::ui_context::UiContext;

struct Harness {
    compositor: Compositor,
    model: SessionModel,
    ui: UiContext,
    is_typing: bool,
    now: i64,
}

impl Harness {
    fn new() -> Self {
        let (model, ui) = (SessionModel::default(), UiContext::example());
        Self { compositor: Compositor::default(), model, ui, is_typing: false, now: 0 }
    }

    fn work(&mut self, work: impl FnOnce(&mut Compositor, &mut Context<'_>)) -> Vec<Effect> {
        let focus = FocusState {
            is_editor_empty: !self.is_typing,
            is_typing: self.is_typing,
            is_covered: !self.compositor.is_empty(),
            ..FocusState::default()
        };
        let (now, folds) = (UnixMs(self.now), FoldDefaults::default());
        let view = ViewContext { model: &self.model, ui: &self.ui, now, focus, folds };
        let mut cx = Context::new(view, Address::Screen);
        work(&mut self.compositor, &mut cx);
        cx.into_effects()
    }

    fn open(&mut self, request: OverlayRequest) -> Vec<Effect> {
        self.work(|overlays, cx| overlays.open(request, cx))
    }

    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.work(|overlays, cx| _ = overlays.handle(&UiEvent::Key(KeyEvent::from(code)), cx))
    }

    /// Reports whether a key is consumed at a time.
    fn is_consumed(&mut self, (now, code): (i64, KeyCode)) -> bool {
        self.now = now;
        let mut is_consumed = false;
        self.work(|overlays, cx| is_consumed = overlays.is_consumed(KeyEvent::from(code), &cx.view()));
        is_consumed
    }

    fn titles(&self) -> Vec<String> {
        let title = |overlay: &Overlay| match overlay {
            Overlay::Picker(picker) => picker.title.clone(),
            Overlay::Pager(page) => page.title.clone(),
            Overlay::Tree(_) => "tree".to_owned(),
            Overlay::Form(_) => "form".to_owned(),
        };
        self.compositor.overlays.iter().map(title).collect()
    }
}

fn dialog() -> Dialog {
    let items = vec![PickerItem::new("keep", PickerChoice::Nothing)];
    Dialog { title: "keep it?".to_owned(), items }
}

fn page(title: &str) -> Pager {
    Pager::new(title, Vec::new())
}

#[test]
fn compositor_opens_loads_and_leaves() {
    let mut harness = Harness::new();
    let load = |kind| Action::List(ListAction::LoadItems(kind));
    let effects = harness.open(OverlayRequest::list(ListKind::Models));
    assert_eq!(effects, [Effect::Perform(Address::Overlay(OverlayId(1)), load(ListKind::Models))]);
    let effects = harness.open(OverlayRequest::Login("openai".into()));
    assert_eq!(effects, [Effect::Perform(Address::Overlay(OverlayId(2)), load(ListKind::Logins))]);
    assert_eq!(harness.titles(), ["models", "log in"]);
    let effects = harness.open(OverlayRequest::Sessions { filter: "not there".into() });
    let (query_id, scope, words) = (SessionQueryId(1), SessionScope::ThisDirectory, "not there".into());
    let searches = Action::SearchSessions(SearchRequest { query_id, scope, words });
    assert_eq!(effects, [Effect::Perform(Address::Overlay(OverlayId(3)), searches)]);
    harness.work(|overlays, cx| overlays.leave(LeaveScope::Top, cx));
    harness.work(|overlays, cx| overlays.leave(LeaveScope::Top, cx));
    assert_eq!(harness.titles(), ["models"]);
    harness.open(OverlayRequest::Tree(crate::tree::request::TreePurpose::Go));
    let effects = harness.work(|overlays, cx| overlays.leave(LeaveScope::All, cx));
    assert_eq!(effects, [TreeView::end_search().into()]);
    assert!(harness.compositor.is_empty());
}

#[test]
fn compositor_keys_go_to_the_overlay_on_top() {
    let mut harness = Harness::new();
    harness.open(OverlayRequest::list(ListKind::Models));
    harness.open(OverlayRequest::Help { title: "help".into(), lines: Vec::new() });
    assert_eq!(harness.key(KeyCode::Esc), [Effect::Leave(LeaveScope::Top)]);
    harness.compositor.close_top();
    harness.key(KeyCode::Char('o'));
    let filter = harness.compositor.top_picker().map(|picker| picker.filter().to_owned());
    assert_eq!(filter.as_deref(), Some("o"));
}

#[test]
fn compositor_dialog_waits_while_the_user_types() {
    let mut harness = Harness::new();
    harness.is_typing = true;
    harness.work(|overlays, cx| overlays.open_dialog(dialog(), cx));
    harness.work(Compositor::refresh);
    assert!(harness.compositor.is_empty());
    harness.is_typing = false;
    harness.work(Compositor::refresh);
    assert_eq!(harness.titles(), ["keep it?"]);
    harness.work(|overlays, cx| overlays.open_dialog(dialog(), cx));
    assert_eq!(harness.titles().len(), 2, "it follows from a list");
}

#[test]
fn compositor_deferred_overlays_open_one_after_the_other() {
    let mut harness = Harness::new();
    for title in ["cost", "context"] {
        harness.work(|overlays, cx| overlays.defer_page(page(title), cx));
    }
    harness.work(Compositor::refresh);
    assert_eq!(harness.titles(), ["cost"]);
    harness.compositor.close_top();
    harness.work(Compositor::refresh);
    assert_eq!(harness.titles(), ["context"]);
    harness.compositor.close_top();
    harness.work(|overlays, cx| overlays.defer_page(page("log"), cx));
    harness.compositor.drop_deferred();
    harness.work(Compositor::refresh);
    assert!(harness.compositor.is_empty(), "it belongs to another session");
}

#[test]
fn compositor_unread_dialog_is_deferred() {
    let mut harness = Harness::new();
    harness.work(|overlays, cx| overlays.open_dialog(dialog(), cx));
    harness.work(Compositor::refresh);
    harness.now = 399;
    harness.work(|overlays, cx| overlays.defer_unread(KeyIntent::Other, cx));
    assert!(harness.compositor.is_empty(), "no key was meant for it");
    harness.work(Compositor::refresh);
    harness.now += 400;
    harness.work(|overlays, cx| overlays.defer_unread(KeyIntent::Text, cx));
    assert_eq!(harness.titles(), ["keep it?"], "it could be read");
    harness.compositor.close_top();
    harness.work(|overlays, cx| overlays.defer_page(page("cost"), cx));
    harness.work(Compositor::refresh);
    harness.work(|overlays, cx| overlays.defer_unread(KeyIntent::Other, cx));
    assert_eq!(harness.titles(), ["cost"], "a page closes only for text");
    let effects = harness.work(|overlays, cx| overlays.defer_unread(KeyIntent::Text, cx));
    assert!(matches!(&effects[..], [Effect::Flash(flash)] if flash.text.starts_with("cost: ready")));
}

#[test]
fn compositor_key_that_answered_is_consumed_for_a_moment() {
    let mut harness = Harness::new();
    harness.work(|overlays, cx| overlays.open_dialog(dialog(), cx));
    harness.work(Compositor::refresh);
    let enter = KeyEvent::from(KeyCode::Enter);
    let mut owner = None;
    harness.work(|overlays, cx| owner = overlays.focus_owner(cx));
    assert_eq!(owner, Some(FocusOwner::Dialog(1)));
    harness.compositor.close_top();
    harness.work(|overlays, cx| overlays.record_consumed(enter, owner, &cx.view()));
    let at = |ms| (ms, KeyCode::Enter);
    assert_eq!([at(399), at(798)].map(|key| harness.is_consumed(key)), [true; 2], "a repeat starts again");
    assert_eq!([at(1_198), at(1_199)].map(|key| harness.is_consumed(key)), [false; 2], "and is over then");
}

#[test]
fn compositor_digit_after_an_answer_is_not_typed() {
    let digit = KeyCode::Char;
    let answered = |key: KeyCode| {
        let mut harness = Harness::new();
        let owner = Some(FocusOwner::Call("c1".into()));
        harness.work(|overlays, cx| overlays.record_consumed(KeyEvent::from(key), owner, &cx.view()));
        harness
    };
    assert!(answered(digit('1')).is_consumed((1_000, digit('4'))));
    let mut harness = answered(digit('1'));
    assert!(!harness.is_consumed((1_001, digit('1'))), "too late");
    assert!(!answered(digit('1')).is_consumed((500, digit('n'))), "a letter begins a message");
    assert!(!answered(digit('y')).is_consumed((500, digit('1'))), "no digit answered");
    let mut harness = answered(digit('1'));
    harness.is_typing = true;
    assert!(!harness.is_consumed((500, digit('2'))), "part of a message");
}
