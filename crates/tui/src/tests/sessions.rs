//! Session lists: search, rename, trash, restore, open.

use std::sync::Arc;

use crossterm::event::KeyCode;
use tiller_core::event::SessionChange;
use tiller_core::unit::UnixMs;
use tiller_engine::{SessionState, SessionSwitched};
use tiller_render::{Line, Role};
use tiller_session::SessionScope;

use crate::action::{Action, ListAction};
use crate::address::Address;
use crate::completion::files::FileList;
use crate::effect::{Effect, OverlayRequest};
use crate::message::{CompletionResult, ListResult, Msg, SessionsResult, TaskResult};
use crate::navigate::Navigate;
use crate::picker::item::PickerChoice;
use crate::picker::line_prompt::StatusText;
use crate::picker::session_query::{SearchRequest, SessionQueryId};
use crate::picker::sessions::session_items;
use crate::picker::tests::sessions::summaries;
use crate::tests::harness::{Harness, START, state};

/// Returns the search request with this number.
fn search_request_of(query_id: u64, scope: SessionScope, words: &str) -> Action {
    Action::SearchSessions(SearchRequest { query_id: SessionQueryId(query_id), scope, words: words.into() })
}

impl Harness {
    fn sessions_result(&mut self, scope: SessionScope, result: SessionsResult) {
        self.sessions_result_of(1, scope, result);
    }

    fn sessions_result_of(&mut self, query_id: u64, scope: SessionScope, result: SessionsResult) {
        self.report_result(TaskResult::List(ListResult::Sessions {
            query_id: SessionQueryId(query_id),
            scope,
            result,
        }));
    }

    fn load_sessions(&mut self, scope: SessionScope) {
        let items = session_items(&summaries(), scope, UnixMs(self.now));
        self.sessions_result(scope, SessionsResult::Sessions(items));
    }
}

#[test]
fn sessions_rename_trash_and_restore() {
    let scope = SessionScope::ThisDirectory;
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        harness.type_text("/resume");
        harness.key(KeyCode::Enter);
        harness.load_sessions(scope);
        harness.control('r');
        assert_eq!(harness.key(KeyCode::Enter), [], "it is called so already");
        assert!(harness.screen().contains("name unchanged"));
        harness.control('r');
        harness.control('u');
        insta::assert_snapshot!(format!("session_unnamed_{width}x{height}"), harness.screen());
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::List(ListAction::NameSession("/s/0.jsonl".into(), String::new()))]
        );
        harness.control('r');
        assert!(harness.screen().contains("name ❯ fix-crlf"), "{}", harness.screen());
        harness.control('u');
        harness.type_text("better name");
        insta::assert_snapshot!(format!("session_named_{width}x{height}"), harness.screen());
        let named = Action::List(ListAction::NameSession("/s/0.jsonl".into(), "better name".into()));
        assert_eq!(harness.key(KeyCode::Enter), [named]);
        assert_eq!(harness.control('z'), [], "nothing went to the trash yet");
        assert_eq!(harness.control('x'), [Action::List(ListAction::TrashSession("/s/0.jsonl".into()))]);
        harness.actions.clear();
        let word = StatusText::note("moved to the trash");
        let trashed = Some("/s/0.jsonl".into());
        harness.report_result(TaskResult::List(ListResult::SessionsChanged { word, trashed }));
        assert_eq!(harness.actions, [Action::EndSessionSearch, search_request_of(2, scope, "")]);
        assert!(harness.screen().contains("moved to the trash; restore with ctrl+z"));
        let ids: Vec<_> = summaries().into_iter().skip(1).collect();
        let without = SessionsResult::Sessions(session_items(&ids, scope, UnixMs(harness.now)));
        harness.sessions_result_of(2, scope, without);
        harness.key(KeyCode::Down);
        assert_eq!(harness.control('z'), [Action::List(ListAction::RestoreSession("/s/0.jsonl".into()))]);
        let word = StatusText::note("restored");
        harness.report_result(TaskResult::List(ListResult::SessionsChanged { word, trashed: None }));
        harness.sessions_result_of(
            3,
            scope,
            SessionsResult::Sessions(session_items(&summaries(), scope, UnixMs(harness.now))),
        );
        harness.actions.clear();
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::Navigate(Navigate::Open("/s/0.jsonl".into()))],
            "it is chosen"
        );
        assert_eq!(harness.control('z'), []);
    }
}

#[test]
fn sessions_rename_updates_preview() {
    let scope = SessionScope::ThisDirectory;
    let mut harness = Harness::new(120, 40);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    harness.load_sessions(scope);
    let lines = vec![Line::new("what was said last", Role::Text)];
    let of = PickerChoice::Open("/s/0.jsonl".into());
    harness.report_result(TaskResult::List(ListResult::Preview { of, lines }));
    assert!(harness.screen().contains("│ fix-crlf"), "{}", harness.screen());
    let word = StatusText::note("renamed to better");
    harness.report_result(TaskResult::List(ListResult::SessionsChanged { word, trashed: None }));
    let mut renamed = summaries();
    renamed[0].name = Some("better".into());
    harness.sessions_result_of(
        2,
        scope,
        SessionsResult::Sessions(session_items(&renamed, scope, UnixMs(harness.now))),
    );
    let screen = harness.screen();
    assert!(screen.contains("│ better") && !screen.contains("│ fix-crlf"), "{screen}");
    assert!(screen.contains("│ what was said last"), "{screen}");
}

#[test]
fn sessions_restore_after_failure() {
    let mut harness = Harness::new(80, 24);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    for name in ["/s/0.jsonl", "/s/1.jsonl"] {
        let word = StatusText::note("moved to the trash");
        harness.report_result(TaskResult::List(ListResult::SessionsChanged {
            word,
            trashed: Some(name.into()),
        }));
    }
    let restore = |name: &str| Action::List(ListAction::RestoreSession(name.into()));
    assert_eq!(harness.control('z'), [restore("/s/1.jsonl")]);
    let error = StatusText::error("can't be taken back");
    harness.report_result(TaskResult::List(ListResult::RestoreFailed {
        path: "/s/1.jsonl".into(),
        reason: error,
    }));
    assert!(harness.screen().contains("can't be taken back"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    harness.input(Msg::Tick);
    assert!(harness.screen().contains("undo"), "{}", harness.screen());
    assert_eq!(harness.control('z'), [restore("/s/0.jsonl")], "the one that failed doesn't stand in its way");
    harness.reject(Address::Screen, restore("/s/0.jsonl"));
    assert_eq!(
        [harness.control('z'), harness.control('z')].concat(),
        [restore("/s/1.jsonl"), restore("/s/0.jsonl")]
    );
    assert_eq!(harness.control('z'), []);
}

#[test]
fn sessions_stale_search_is_dropped() {
    let mut harness = Harness::new(80, 24);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    harness.load_sessions(SessionScope::ThisDirectory);
    let trashed = Some("/s/0.jsonl".into());
    harness.report_result(TaskResult::List(ListResult::SessionsChanged {
        word: StatusText::note("moved"),
        trashed,
    }));
    let without = |harness: &Harness| {
        SessionsResult::Sessions(session_items(
            &summaries()[1..],
            SessionScope::ThisDirectory,
            UnixMs(harness.now),
        ))
    };
    harness.sessions_result_of(2, SessionScope::ThisDirectory, without(&harness));
    harness.load_sessions(SessionScope::ThisDirectory);
    assert!(!harness.screen().contains("fix-crlf · "), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    harness.sessions_result_of(2, SessionScope::ThisDirectory, without(&harness));
    assert!(harness.screen().contains("loading…"), "that list was closed: {}", harness.screen());
}

#[test]
fn sessions_typing_while_opening_is_kept() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/resume");
    harness.key(KeyCode::Enter);
    harness.load_sessions(SessionScope::ThisDirectory);
    harness.type_text("fix");
    assert_eq!(harness.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/0.jsonl".into()))]);
    harness.type_text("and go on");
    let moved = SessionSwitched { change: SessionChange::Open, session: "s".into(), editor: None };
    harness.report_result(TaskResult::SessionSwitched(moved));
    assert_eq!(harness.app.composer.editor.text(), "and go on");
}

#[test]
fn sessions_typing_survives_failed_open() {
    for left in [None, Some(KeyCode::Esc)] {
        let mut harness = Harness::new(80, 24);
        harness.type_text("/resume");
        harness.key(KeyCode::Enter);
        harness.load_sessions(SessionScope::ThisDirectory);
        harness.key(KeyCode::Enter);
        assert_eq!(harness.key(KeyCode::Enter), [], "it is being opened already");
        harness.type_text("and then");
        match left {
            None => {
                let (result, hint, text) = ("it is damaged".to_owned(), None, None);
                harness.report_result(TaskResult::Failed { message: result, hint, text });
            }
            Some(key) => _ = harness.key(key),
        }
        assert_eq!(harness.app.composer.editor.text(), "and then");
    }
}

#[test]
fn start_typing_before_list_stays_in_editor() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("fix");
    assert_eq!(harness.app.offer_sessions(UnixMs(harness.now)), [], "somebody is typing");
    assert!(harness.screen().contains("Clear the prompt to see your sessions."));
    harness.type_text(" it");
    assert_eq!(harness.app.composer.editor.text(), "fix it");
    harness.actions.clear();
    harness.control('c');
    assert!(harness.screen().contains("── sessions"), "{}", harness.screen());
    harness.wait(399);
    harness.key(KeyCode::Char('x'));
    assert!(!harness.screen().contains("── sessions"), "it was on its way to the editor");
    assert_eq!(harness.app.composer.editor.text(), "x");
    let looks = harness.key(KeyCode::Backspace);
    assert_eq!(
        looks[..2],
        [Action::EndSessionSearch, search_request_of(2, SessionScope::ThisDirectory, "")],
        "it is looked through anew"
    );
    harness.wait(400);
    harness.key(KeyCode::Char('y'));
    let screen = harness.screen();
    assert!(screen.contains("── sessions") && screen.contains(" ❯ y"), "{screen}");
}

#[test]
fn start_early_enter_opens_nothing() {
    let mut harness = Harness::new(80, 24);
    harness.app.offer_sessions(UnixMs(harness.now));
    let all = session_items(&summaries(), SessionScope::ThisDirectory, UnixMs(START));
    harness.sessions_result(SessionScope::ThisDirectory, SessionsResult::Sessions(all));
    harness.wait(300);
    assert!(!harness.key(KeyCode::Enter).iter().any(|action| matches!(action, Action::Navigate(_))));
    assert!(harness.screen().contains("── sessions"), "{}", harness.screen());
}

#[test]
fn completion_other_directory_lists_files_again() {
    let mut harness = Harness::new(80, 24);
    let files = Arc::new(FileList::from(&["src/main.rs"][..]));
    harness.type_text("@");
    harness.report(TaskResult::Completion(CompletionResult::Files(files)));
    harness.control('u');
    let elsewhere = SessionState { cwd: "/srv".into(), ..state() };
    harness.report(TaskResult::State(Box::new(elsewhere)));
    assert_eq!(harness.key(KeyCode::Char('@')), [Action::List(ListAction::WalkFiles("/srv".into()))]);
}
