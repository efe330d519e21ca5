//! The lists of sessions: hits, threads, renames.

use tiller_core::unit::{Tokens, Usd};
use tiller_render::Role;
use tiller_session::{SearchHit, SessionSummary, Snippet};

use super::lists::{ListBench, perform};
use super::*;
use crate::action::ListAction;
use crate::navigate::Navigate;
use crate::picker::session_query::SearchRequest;
use crate::picker::sessions::{hits, session_items};

/// The sizes of overlays, which leave a row for the footer.
const SIZES: [(u16, u16); 2] = [(80, 23), (120, 39)];

/// 14:02 UTC.
pub(crate) const NOW: i64 = 1_795_269_720_000;

const HERE: SessionScope = SessionScope::ThisDirectory;

pub(crate) fn summary(number: i64, name: Option<&str>, prompt: &str, cwd: &str) -> SessionSummary {
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
        modified: UnixMs(NOW - number * 7_200_000),
        last_activity: UnixMs(NOW),
        model: None,
        remote: None,
        parent_session: None,
        bytes: 1_000,
    }
}

pub(crate) fn summaries() -> Vec<SessionSummary> {
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

fn search(scope: SessionScope, words: &str) -> Effect {
    Action::SearchSessions(SearchRequest { query_id: SessionQueryId(1), scope, words: words.into() }).into()
}

fn opens(path: &str) -> Effect {
    Action::Navigate(Navigate::Open(path.into())).into()
}

/// A list of sessions that looks for these words, without results.
fn browser(size: (u16, u16), words: &str) -> ListBench {
    let mut list = ListBench::new(size, Picker::browser(words, SessionQueryId(1)));
    list.0.now = NOW;
    list
}

impl ListBench {
    fn report(&mut self, scope: SessionScope, result: SessionsResult) {
        let result = ListResult::Sessions { query_id: SessionQueryId(1), scope, result };
        assert!(self.0.take(TaskResult::List(result)).0.is_none());
        self.0.refresh();
    }

    fn load(&mut self, scope: SessionScope, sessions: &[SessionSummary]) {
        self.report(scope, SessionsResult::Sessions(session_items(sessions, scope, UnixMs(NOW))));
    }
}

/// Compares the list at this size with its snapshot, which is named after the screen.
macro_rules! assert_screen {
    ($name:literal, $size:expr, $list:expr) => {{
        let (width, height) = $size;
        insta::assert_snapshot!(format!("{}_{width}x{}", $name, height + 1), $list.screen());
    }};
}

#[test]
fn sessions_list_with_hits_below() {
    let everywhere = SessionScope::Everywhere;
    for size in SIZES {
        let mut list = browser(size, "");
        list.load(HERE, &summaries());
        assert_eq!(list.key(KeyCode::Tab), [search(everywhere, "")]);
        list.load(everywhere, &summaries());
        list.report(everywhere, SessionsResult::Indexing(Some((1_204, 10_000))));
        for (words, key) in [("w", 'w'), ("wi", 'i'), ("win", 'n')] {
            assert_eq!(list.key(KeyCode::Char(key)), [search(everywhere, words)]);
        }
        let words = [("…open the ", false), ("window", true), (" again", false)];
        let found = [
            hit(summary(9, Some("elsewhere"), "", "/srv"), &words),
            hit(summaries().remove(0), &[("shown already", true)]),
        ];
        let items = hits(&found, UnixMs(NOW));
        list.report(everywhere, SessionsResult::Hits { words: "win".into(), items });
        assert_screen!("sessions", size, list);
        list.key(KeyCode::End);
        let excerpt = SessionExcerpt::Around("e1".into(), "window".into());
        let previews = perform(ListAction::Preview("/s/9.jsonl".into(), excerpt));
        assert_eq!(list.0.refresh(), previews);
        for (number, text) in [("9", "▌ open the window"), ("0", "of another one")] {
            let of = PickerChoice::Open(format!("/s/{number}.jsonl").into());
            let lines = vec![Line::new(text, Role::User)];
            list.0.take(TaskResult::List(ListResult::Preview { of, lines }));
        }
        assert_screen!("session_previewed", size, list);
        assert_eq!(list.key(KeyCode::Enter), [opens("/s/9.jsonl")]);
        let leaves = [Effect::Leave(LeaveScope::Top)];
        assert_eq!(list.key(KeyCode::Esc), leaves, "until it is there one can stay here");
    }
}

#[test]
fn sessions_failed_rename_reopens_prompt() {
    let fails = |list: &mut ListBench, reason: String| {
        let (path, name) = ("/s/0.jsonl".into(), "better name".to_owned());
        let reason = StatusText::error(reason);
        list.0.take(TaskResult::List(ListResult::RenameFailed { path, name, reason }));
    };
    for size in SIZES {
        let mut list = browser(size, "");
        list.load(HERE, &summaries());
        list.control('r');
        list.control('u');
        list.0.type_keys("better name");
        list.key(KeyCode::Enter);
        let file = "/home/ada/.local/share/tiller/sessions/--home-ada-code-conf--/2026-11-22T08-00-00_01JD6X9Q.jsonl";
        fails(&mut list, format!("session file {file}: another process writes to it (process 4711)"));
        assert_screen!("session_not_named", size, list);
        let renames = perform(ListAction::NameSession("/s/0.jsonl".into(), "better name".into()));
        assert_eq!(list.key(KeyCode::Enter), renames);
        list.key(KeyCode::Down);
        fails(&mut list, format!("{}because of this", "it failed ".repeat(60)));
        let screen = list.screen();
        assert_eq!(screen.lines().filter(|line| line.contains("it failed")).count(), 3, "{screen}");
        assert!(screen.contains("because of this"), "{screen}");
        assert!(screen.contains('…') && !screen.contains("name ❯"), "who went on is left alone: {screen}");
    }
}

#[test]
fn sessions_found_by_either_end_of_id() {
    let mut list = browser(SIZES[0], "");
    let mut current = summaries();
    current[1].id = "7QRSTUVWXYZABCDEFGHJK".into();
    list.load(HERE, &current);
    for part in ["7qrs", "7QRSTUVWXY", "zabcdefghjk"] {
        list.control('u');
        list.0.type_keys(part);
        assert_eq!(list.key(KeyCode::Enter), [opens("/s/1.jsonl")], "{part}");
        let open = StatusText::note("this session is already open");
        list.0.take(TaskResult::List(ListResult::Status(open)));
    }
}

#[test]
fn sessions_threads_switch_to_newest() {
    let mut current = summaries();
    current[0].parent_session = Some("/s/30.jsonl".into());
    for size in SIZES {
        let mut list = browser(size, "");
        list.load(HERE, &current);
        assert_screen!("threads", size, list);
        list.control('t');
        let screen = list.screen();
        assert!(screen.contains("   fix-crlf") && !screen.contains("└─"), "{screen}");
    }
}

#[test]
fn sessions_other_query_or_scope_is_dropped() {
    let mut list = browser(SIZES[0], "not there");
    list.load(SessionScope::Everywhere, &summaries());
    assert!(list.screen().contains("loading…"));
    list.load(HERE, &summaries());
    let items = hits(&[hit(summary(9, None, "p", "/srv"), &[("said", true)])], UnixMs(NOW));
    list.report(HERE, SessionsResult::Hits { words: "not".into(), items: items.clone() });
    assert!(list.screen().contains("no match"));
    list.report(HERE, SessionsResult::Hits { words: "not there".into(), items });
    assert!(list.screen().contains("» said"));
    assert_eq!(list.key(KeyCode::Esc), [search(HERE, "")], "all of them again");
    assert_eq!(list.key(KeyCode::Esc), [Effect::Leave(LeaveScope::Top)]);
}

#[test]
fn sessions_selection_follows_session() {
    let mut list = browser(SIZES[0], "");
    list.load(HERE, &summaries()[1..]);
    list.key(KeyCode::Down);
    list.load(HERE, &summaries());
    assert_eq!(list.key(KeyCode::Enter), [opens("/s/30.jsonl")]);
}
