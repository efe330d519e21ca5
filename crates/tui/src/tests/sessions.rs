//! Session lists: search, rename, trash, restore, open.

use crossterm::event::KeyCode;
use tiller_core::event::SessionChange;
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_engine::SessionSwitched;
use tiller_render::{Line, Role};
use tiller_session::{SearchHit, SessionScope, SessionSummary, Snippet};

use super::harness::{Harness, SIZES, START};
use crate::app::{Action, ListAction, ListResult, Msg, Navigate, SessionsResult, TaskResult};
use crate::picker::{PickerChoice, SessionExcerpt, SessionQueryId, StatusText, hits, sessions};
use crate::session_search::SearchRequest;

fn summary(number: i64, name: Option<&str>, prompt: &str, cwd: &str) -> SessionSummary {
    SessionSummary {
        path: format!("/s/{number}.jsonl").into(),
        id: format!("01JD6X9QWERTY00000{number:08}").as_str().into(),
        cwd: cwd.into(),
        name: name.map(str::to_owned),
        first_prompt: Some(prompt.into()),
        entries: 12,
        messages: 10,
        tokens: Tokens(5_000),
        cost: Usd(0.1),
        modified: UnixMs(START - number * 7_200_000),
        last_activity: UnixMs(START),
        model: None,
        remote: None,
        parent_session: None,
        bytes: 1_000,
    }
}

fn summaries() -> Vec<SessionSummary> {
    let long = "the parser test fails on windows line endings, find out why and then fix whatever it is";
    vec![
        summary(0, Some("fix-crlf"), long, "/home/ada/code/conf"),
        summary(1, None, long, "/home/ada/code/a-project-with-quite-a-long-name"),
        summary(30, None, "write\n the\u{1b}[31m release notes", "/srv"),
    ]
}

fn hit(session: SessionSummary, pieces: &[(&str, bool)]) -> SearchHit {
    let snippet = pieces.iter().map(|(text, matched)| Snippet { text: (*text).into(), matched: *matched });
    SearchHit { entry: "e1".into(), timestamp: session.modified, session, snippet: snippet.collect() }
}

/// The search request of the search with this number.
fn ask_in(look: u64, scope: SessionScope, words: &str) -> Action {
    Action::SearchSessions(SearchRequest { look: SessionQueryId(look), scope, words: words.into() })
}

/// The search request of the first search.
fn ask(scope: SessionScope, words: &str) -> Action {
    ask_in(1, scope, words)
}

impl Harness {
    fn browsed(&mut self, scope: SessionScope, what: SessionsResult) {
        self.browsed_in(1, scope, what);
    }

    fn browsed_in(&mut self, look: u64, scope: SessionScope, what: SessionsResult) {
        self.input(Msg::TaskResult(TaskResult::List(ListResult::Sessions {
            look: SessionQueryId(look),
            scope,
            what,
        })));
    }

    fn know_sessions(&mut self, scope: SessionScope) {
        let items = sessions(&summaries(), scope, UnixMs(self.now));
        self.browsed(scope, SessionsResult::Sessions(items));
    }
}

#[test]
fn sessions_list_with_hits_below() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        stage.type_text("/resume");
        assert_eq!(stage.key(KeyCode::Enter)[1..], [ask(SessionScope::ThisDirectory, "")]);
        stage.know_sessions(SessionScope::ThisDirectory);
        assert_eq!(stage.key(KeyCode::Tab), [ask(SessionScope::Everywhere, "")]);
        stage.know_sessions(SessionScope::Everywhere);
        stage.browsed(SessionScope::Everywhere, SessionsResult::Indexing(Some((1_204, 10_000))));
        for (words, key) in [("w", 'w'), ("wi", 'i'), ("win", 'n')] {
            assert_eq!(stage.key(KeyCode::Char(key))[0], ask(SessionScope::Everywhere, words));
        }
        let found = [
            hit(
                summary(9, Some("elsewhere"), "", "/srv"),
                &[("…open the ", false), ("window", true), (" again", false)],
            ),
            hit(summaries().remove(0), &[("shown already", true)]),
        ];
        let items = hits(&found, UnixMs(stage.now));
        stage.browsed(SessionScope::Everywhere, SessionsResult::Hits { words: "win".into(), items });
        insta::assert_snapshot!(format!("sessions_{width}x{height}"), stage.screen());
        assert_eq!(
            stage.key(KeyCode::End),
            [Action::List(ListAction::Preview(
                "/s/9.jsonl".into(),
                SessionExcerpt::Around("e1".into(), "window".into())
            ))]
        );
        let lines = vec![Line::new("▌ open the window", Role::User)];
        let of = |name: &str| PickerChoice::Open(format!("/s/{name}.jsonl").into());
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::Preview { of: of("9"), lines })));
        let late = vec![Line::new("of another one", Role::User)];
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::Preview { of: of("0"), lines: late })));
        insta::assert_snapshot!(format!("session_previewed_{width}x{height}"), stage.screen());
        assert_eq!(stage.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/9.jsonl".into()))]);
        assert_eq!(
            stage.key(KeyCode::Esc),
            [Action::EndSessionSearch],
            "until it is there one can stay here"
        );
    }
}

#[test]
fn sessions_rename_trash_and_restore() {
    let scope = SessionScope::ThisDirectory;
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        stage.type_text("/resume");
        stage.key(KeyCode::Enter);
        stage.know_sessions(scope);
        stage.control('r');
        assert_eq!(stage.key(KeyCode::Enter), [], "it is called so already");
        assert!(stage.screen().contains("name unchanged"));
        stage.control('r');
        stage.control('u');
        insta::assert_snapshot!(format!("session_unnamed_{width}x{height}"), stage.screen());
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::List(ListAction::NameSession("/s/0.jsonl".into(), String::new()))]
        );
        stage.control('r');
        assert!(stage.screen().contains("name ❯ fix-crlf"), "{}", stage.screen());
        stage.control('u');
        stage.type_text("better name");
        insta::assert_snapshot!(format!("session_named_{width}x{height}"), stage.screen());
        let named = Action::List(ListAction::NameSession("/s/0.jsonl".into(), "better name".into()));
        assert_eq!(stage.key(KeyCode::Enter), [named]);
        assert_eq!(stage.control('z'), [], "nothing went to the trash yet");
        assert_eq!(stage.control('x'), [Action::List(ListAction::TrashSession("/s/0.jsonl".into()))]);
        stage.actions.clear();
        let word = StatusText::note("moved to the trash");
        let trashed = Some("/s/0.jsonl".into());
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::SessionsChanged { word, trashed })));
        assert_eq!(stage.actions, [Action::EndSessionSearch, ask_in(2, scope, "")]);
        assert!(stage.screen().contains("moved to the trash; restore with ctrl+z"));
        let ids: Vec<_> = summaries().into_iter().skip(1).collect();
        let without = SessionsResult::Sessions(sessions(&ids, scope, UnixMs(stage.now)));
        stage.browsed_in(2, scope, without);
        stage.key(KeyCode::Down);
        assert_eq!(stage.control('z'), [Action::List(ListAction::RestoreSession("/s/0.jsonl".into()))]);
        let word = StatusText::note("restored");
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::SessionsChanged { word, trashed: None })));
        stage.browsed_in(
            3,
            scope,
            SessionsResult::Sessions(sessions(&summaries(), scope, UnixMs(stage.now))),
        );
        stage.actions.clear();
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::Navigate(Navigate::Open("/s/0.jsonl".into()))],
            "it is chosen"
        );
        assert_eq!(stage.control('z'), []);
    }
}

#[test]
fn sessions_failed_rename_reopens_prompt() {
    let scope = SessionScope::ThisDirectory;
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        stage.type_text("/resume");
        stage.key(KeyCode::Enter);
        stage.know_sessions(scope);
        stage.control('r');
        stage.control('u');
        stage.type_text("better name");
        stage.key(KeyCode::Enter);
        let file = "/home/ada/.local/share/tiller/sessions/--home-ada-code-conf--/2026-11-22T08-00-00_01JD6X9Q.jsonl";
        let why =
            StatusText::error(format!("session file {file}: another process writes to it (process 4711)"));
        let name = "better name".to_owned();
        let path = "/s/0.jsonl".into();
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::RenameFailed { path, name, why })));
        insta::assert_snapshot!(format!("session_not_named_{width}x{height}"), stage.screen());
        let again = Action::List(ListAction::NameSession("/s/0.jsonl".into(), "better name".into()));
        assert_eq!(stage.key(KeyCode::Enter), [again]);
        stage.key(KeyCode::Down);
        let why = StatusText::error(format!("{}because of this", "it failed ".repeat(60)));
        let name = "better name".to_owned();
        let path = "/s/0.jsonl".into();
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::RenameFailed { path, name, why })));
        let screen = stage.screen();
        let rows = screen.lines().filter(|line| line.contains("it failed"));
        assert_eq!(rows.count(), 3, "{screen}");
        assert!(screen.contains("because of this"), "{screen}");
        assert!(screen.contains('…') && !screen.contains("name ❯"), "who went on is left alone: {screen}");
    }
}

#[test]
fn sessions_rename_updates_preview() {
    let scope = SessionScope::ThisDirectory;
    let mut stage = Harness::new(120, 40);
    stage.app.browse("");
    stage.know_sessions(scope);
    let lines = vec![Line::new("what was said last", Role::Text)];
    let of = PickerChoice::Open("/s/0.jsonl".into());
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::Preview { of, lines })));
    assert!(stage.screen().contains("│ fix-crlf"), "{}", stage.screen());
    let word = StatusText::note("renamed to better");
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::SessionsChanged { word, trashed: None })));
    let mut renamed = summaries();
    renamed[0].name = Some("better".into());
    stage.browsed_in(2, scope, SessionsResult::Sessions(sessions(&renamed, scope, UnixMs(stage.now))));
    let screen = stage.screen();
    assert!(screen.contains("│ better") && !screen.contains("│ fix-crlf"), "{screen}");
    assert!(screen.contains("│ what was said last"), "{screen}");
}

#[test]
fn sessions_restore_after_failure() {
    let mut stage = Harness::new(80, 24);
    stage.app.browse("");
    for name in ["/s/0.jsonl", "/s/1.jsonl"] {
        let word = StatusText::note("moved to the trash");
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::SessionsChanged {
            word,
            trashed: Some(name.into()),
        })));
    }
    let restore = |name: &str| Action::List(ListAction::RestoreSession(name.into()));
    assert_eq!(stage.control('z'), [restore("/s/1.jsonl")]);
    let why = StatusText::error("can't be taken back");
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::RestoreFailed {
        path: "/s/1.jsonl".into(),
        why,
    })));
    assert!(stage.screen().contains("can't be taken back"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    stage.app.browse("");
    stage.input(Msg::Tick);
    assert!(stage.screen().contains("undo"), "{}", stage.screen());
    assert_eq!(stage.control('z'), [restore("/s/0.jsonl")], "the one that failed doesn't stand in its way");
    stage.app.reject_action(restore("/s/0.jsonl"));
    assert_eq!(
        [stage.control('z'), stage.control('z')].concat(),
        [restore("/s/1.jsonl"), restore("/s/0.jsonl")]
    );
    assert_eq!(stage.control('z'), []);
}

#[test]
fn sessions_stale_search_is_dropped() {
    let mut stage = Harness::new(80, 24);
    stage.app.browse("");
    stage.know_sessions(SessionScope::ThisDirectory);
    let trashed = Some("/s/0.jsonl".into());
    stage.input(Msg::TaskResult(TaskResult::List(ListResult::SessionsChanged {
        word: StatusText::note("moved"),
        trashed,
    })));
    let without = |stage: &Harness| {
        SessionsResult::Sessions(sessions(&summaries()[1..], SessionScope::ThisDirectory, UnixMs(stage.now)))
    };
    stage.browsed_in(2, SessionScope::ThisDirectory, without(&stage));
    stage.know_sessions(SessionScope::ThisDirectory);
    assert!(!stage.screen().contains("fix-crlf · "), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    stage.app.browse("");
    stage.browsed_in(2, SessionScope::ThisDirectory, without(&stage));
    assert!(stage.screen().contains("loading…"), "that list was closed: {}", stage.screen());
}

#[test]
fn sessions_found_by_either_end_of_id() {
    let mut stage = Harness::new(80, 24);
    stage.app.browse("");
    let mut known = summaries();
    known[1].id = "7QRSTUVWXYZABCDEFGHJK".into();
    let items = sessions(&known, SessionScope::ThisDirectory, UnixMs(stage.now));
    stage.browsed(SessionScope::ThisDirectory, SessionsResult::Sessions(items));
    for part in ["7qrs", "7QRSTUVWXY", "zabcdefghjk"] {
        stage.control('u');
        stage.type_text(part);
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::Navigate(Navigate::Open(known[1].path.clone()))],
            "{part}"
        );
        stage.input(Msg::TaskResult(TaskResult::List(ListResult::Status(StatusText::note(
            "this session is already open",
        )))));
    }
}

#[test]
fn sessions_threads_switch_to_newest() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/resume");
    stage.key(KeyCode::Enter);
    let scope = SessionScope::ThisDirectory;
    let mut known = summaries();
    known[0].parent_session = Some("/s/30.jsonl".into());
    stage.browsed(scope, SessionsResult::Sessions(sessions(&known, scope, UnixMs(stage.now))));
    for (width, height) in SIZES {
        stage.resize(width, height);
        insta::assert_snapshot!(format!("threads_{width}x{height}"), stage.screen());
    }
    stage.control('t');
    let screen = stage.screen();
    assert!(screen.contains("   fix-crlf") && !screen.contains("└─"), "{screen}");
}

#[test]
fn sessions_other_query_or_scope_is_dropped() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/resume not there");
    assert_eq!(stage.key(KeyCode::Enter)[1..], [ask(SessionScope::ThisDirectory, "not there")]);
    stage.know_sessions(SessionScope::Everywhere);
    assert!(stage.screen().contains("loading…"));
    stage.know_sessions(SessionScope::ThisDirectory);
    let items = hits(&[hit(summary(9, None, "p", "/srv"), &[("said", true)])], UnixMs(stage.now));
    stage.browsed(
        SessionScope::ThisDirectory,
        SessionsResult::Hits { words: "not".into(), items: items.clone() },
    );
    assert!(stage.screen().contains("no match"));
    stage.browsed(SessionScope::ThisDirectory, SessionsResult::Hits { words: "not there".into(), items });
    assert!(stage.screen().contains("» said"));
    assert_eq!(stage.key(KeyCode::Esc)[..1], [ask(SessionScope::ThisDirectory, "")], "all of them again");
    assert_eq!(stage.key(KeyCode::Esc), [Action::EndSessionSearch]);
}

#[test]
fn sessions_typing_while_opening_is_kept() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/resume");
    stage.key(KeyCode::Enter);
    stage.know_sessions(SessionScope::ThisDirectory);
    stage.type_text("fix");
    assert_eq!(stage.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/0.jsonl".into()))]);
    stage.type_text("and go on");
    let moved = SessionSwitched { change: SessionChange::Open, session: "s".into(), editor: None };
    stage.input(Msg::TaskResult(TaskResult::SessionSwitched(moved)));
    assert_eq!(stage.app.editor.text(), "and go on");
}

#[test]
fn sessions_typing_survives_failed_open() {
    for left in [None, Some(KeyCode::Esc)] {
        let mut stage = Harness::new(80, 24);
        stage.type_text("/resume");
        stage.key(KeyCode::Enter);
        stage.know_sessions(SessionScope::ThisDirectory);
        stage.key(KeyCode::Enter);
        assert_eq!(stage.key(KeyCode::Enter), [], "it is being opened already");
        stage.type_text("and then");
        match left {
            None => {
                let (what, hint, text) = ("it is damaged".to_owned(), None, None);
                stage.input(Msg::TaskResult(TaskResult::Failed { what, hint, text }));
            }
            Some(key) => _ = stage.key(key),
        }
        assert_eq!(stage.app.editor.text(), "and then");
    }
}

#[test]
fn sessions_selection_follows_session() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/resume");
    stage.key(KeyCode::Enter);
    let scope = SessionScope::ThisDirectory;
    let items = sessions(&summaries(), scope, UnixMs(stage.now));
    stage.browsed(scope, SessionsResult::Sessions(sessions(&summaries()[1..], scope, UnixMs(stage.now))));
    stage.key(KeyCode::Down);
    stage.browsed(scope, SessionsResult::Sessions(items));
    assert_eq!(stage.key(KeyCode::Enter)[0], Action::Navigate(Navigate::Open("/s/30.jsonl".into())));
}

#[test]
fn start_typing_before_list_stays_in_editor() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("fix");
    assert_eq!(stage.app.offer_sessions(UnixMs(stage.now)), [], "somebody is typing");
    assert!(stage.screen().contains("Clear the prompt to see your sessions."));
    stage.type_text(" it");
    assert_eq!(stage.app.editor.text(), "fix it");
    stage.actions.clear();
    stage.control('c');
    assert!(stage.screen().contains("── sessions"), "{}", stage.screen());
    stage.wait(399);
    stage.key(KeyCode::Char('x'));
    assert!(!stage.screen().contains("── sessions"), "it was on its way to the editor");
    assert_eq!(stage.app.editor.text(), "x");
    let looks = stage.key(KeyCode::Backspace);
    assert_eq!(
        looks[..2],
        [Action::EndSessionSearch, ask_in(2, SessionScope::ThisDirectory, "")],
        "it is looked through anew"
    );
    stage.wait(400);
    stage.key(KeyCode::Char('y'));
    let screen = stage.screen();
    assert!(screen.contains("── sessions") && screen.contains(" ❯ y"), "{screen}");
}

#[test]
fn start_early_enter_opens_nothing() {
    let mut stage = Harness::new(80, 24);
    stage.app.offer_sessions(UnixMs(stage.now));
    let all = sessions(&summaries(), SessionScope::ThisDirectory, UnixMs(START));
    stage.browsed(SessionScope::ThisDirectory, SessionsResult::Sessions(all));
    stage.wait(300);
    assert!(!stage.key(KeyCode::Enter).iter().any(|action| matches!(action, Action::Navigate(_))));
    assert!(stage.screen().contains("── sessions"), "{}", stage.screen());
}
