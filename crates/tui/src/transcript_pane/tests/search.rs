//! The search while the transcript grows, and in parts that aren't loaded.

use std::fmt::Write as _;

use super::*;
use crate::transcript_pane::lookup::SearchHits;

impl Harness {
    /// Opens the search bar and types these words.
    fn search(&mut self, words: &str) {
        self.command(KeyCommand::Search);
        self.type_text(words);
    }

    /// Reads the parts that are requested until none is; returns the search jobs.
    fn read_parts(&mut self, mut effects: Vec<Effect>) -> Vec<SearchJob> {
        let mut lookups = Vec::new();
        for _ in 0..5 {
            self.screen();
            effects.extend(self.refresh());
            for effect in std::mem::take(&mut effects) {
                match effect {
                    Effect::Perform(_, Action::Background(BackgroundJob::ReadPart(wanted))) => {
                        let last: usize = wanted.section.last.as_str()[1..].parse().unwrap();
                        let entries = (last + 1 - wanted.section.count..=last).map(log_entry).collect();
                        self.take(TaskResult::PartRead { wanted, entries, ahead: vec![] });
                    }
                    Effect::Perform(_, Action::Background(BackgroundJob::CountBranches(_))) => {}
                    effect => lookups.push(lookup(effect)),
                }
            }
        }
        lookups
    }
}

fn log_entry(at: usize) -> Entry {
    let message = Message::User(UserMessage::text(format!("prompt {at} of the log"), UnixMs(0)));
    Entry {
        id: format!("o{at}").as_str().into(),
        parent: None,
        timestamp: UnixMs(0),
        body: EntryBody::message(Arc::new(message)),
    }
}

#[test]
fn pane_search_fast_typing_finds_same_hit() {
    let harness = || {
        let mut harness = Harness::at(Rect::new(0, 0, 80, 18));
        harness.user("count");
        let call = |id: &str, name: &str, arguments| {
            let (raw_arguments, thought_signature) = (None, None);
            let name = name.into();
            AssistantBlock::ToolCall(ToolCall {
                id: id.into(),
                name,
                arguments,
                raw_arguments,
                thought_signature,
            })
        };
        harness.answer(vec![
            call("c0", "bash", json!({"command": "seq 1 200"})),
            call("c1", "read_file", json!({"path": "src/15.rs"})),
        ]);
        let mut output = String::new();
        (1..=200).for_each(|n| writeln!(output, "{n}").unwrap());
        harness.result("c0", "bash", &output, json!({"exitCode": 0, "timedOut": false}));
        harness.result("c1", "read_file", "1\n10\n", json!({"lines": 2}));
        harness.screen();
        harness.command(KeyCommand::Search);
        harness
    };
    for digits in ["150", "107", "23", "6"] {
        let (mut by_one, mut at_once) = (harness(), harness());
        for letter in digits.chars() {
            by_one.type_text(&letter.to_string());
            by_one.screen();
        }
        at_once.type_text(digits);
        assert_eq!(at_once.cells_with(Modifier::REVERSED), [digits]);
        assert_eq!(at_once.screen(), by_one.screen());
    }
}

#[test]
fn pane_search_includes_new_output() {
    let mut harness = Harness::with_exchanges(3);
    harness.search("lexer");
    assert!(harness.search_line().contains("3 of 3"), "{}", harness.search_line());
    harness.answer(vec![text("Answer **3** of the lexer.")]);
    harness.delta("a lexer that grows");
    assert!(harness.search_line().contains("3 of 5"), "{}", harness.search_line());
}

#[test]
fn pane_search_streaming_hit_stays_when_logged() {
    let mut harness = Harness::with_exchanges(3);
    harness.event(EventKind::AgentStart);
    harness.delta("a lexer that grows");
    harness.screen();
    harness.search("lexer");
    let is_at = |harness: &mut Harness, hits: &str| {
        harness.screen();
        assert!(harness.search_line().contains(hits), "{hits}: {}", harness.search_line());
    };
    is_at(&mut harness, "4 of 4");
    assert_eq!(harness.cells_with(Modifier::REVERSED), ["lexer"]);
    harness.delta(", and another lexer");
    is_at(&mut harness, "4 of 5");
    harness.component.notice(NoticeLevel::Note, "a word of tiller's", None);
    harness.answer(vec![text("a lexer that grows, and another lexer, and a lexer")]);
    is_at(&mut harness, "4 of 6");
    assert_eq!(harness.cells_with(Modifier::REVERSED), ["lexer"]);
    harness.key(KeyCode::Down);
    is_at(&mut harness, "5 of 6");
    harness.delta("a lexer that breaks off");
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Down);
    is_at(&mut harness, "7 of 7");
    let message = Arc::new(Message::Assistant(AssistantMessage::default()));
    harness.event(EventKind::MessageStart { message });
    is_at(&mut harness, "6 of 6");
}

#[test]
fn pane_search_paste_shows_bidi_characters() {
    let mut harness = Harness::new();
    harness.command(KeyCommand::Search);
    harness.with(|pane, cx| pane.handle(&UiEvent::Paste("\u{202e}txt"), cx));
    assert!(harness.search_line().starts_with("/ <U+202E>txt"), "{}", harness.search_line());
}

#[test]
fn pane_search_hit_in_unread_part_is_loaded() {
    let mut harness = Harness::at(Rect::new(0, 0, 80, 18));
    let older: Vec<_> = (0..1_000).map(|at| format!("o{at}").as_str().into()).collect();
    let entries = (1_000..1_010).map(log_entry).collect();
    let former = harness.component.replace(LoadedPath::from_path(&older, entries));
    harness.with(|pane, cx| pane.restore(&InFlight::default(), former, cx));
    harness.read_parts(Vec::new());
    harness.command(KeyCommand::Search);
    let (_, effects) = harness.with(|pane, cx| pane.handle(&UiEvent::Paste("prompt 25"), cx));
    let lookups = harness.read_parts(effects);
    let [lookup] = lookups.as_slice() else { panic!("one look is asked for: {lookups:?}") };
    assert_eq!((lookup.parts.len(), lookup.parts[0].part), (10, 9), "newest first");
    assert!(harness.search_line().contains("searching…"), "{}", harness.search_line());
    let number = lookup.number;
    let found = |harness: &mut Harness, number, part, hits, is_complete| {
        harness.take(TaskResult::SearchHits(SearchHits { number, part, hits, is_complete }));
    };
    found(&mut harness, number, 2, (50..60).map(|at| (at, 1)).collect(), false);
    harness.read_parts(Vec::new());
    let (line, screen) = (harness.search_line(), harness.screen());
    assert!(line.contains("10 of 10…") && screen.contains("prompt 259 of the log"), "{line} {screen}");
    found(&mut harness, number, 0, vec![(25, 1)], true);
    found(&mut harness, number - 1, 5, vec![(1, 1)], true);
    let line = harness.search_line();
    assert!(line.contains("11 of 11"), "what an older look found is dropped: {line}");
    let (_, effects) = harness.key(KeyCode::Down);
    harness.read_parts(effects);
    let (line, screen) = (harness.search_line(), harness.screen());
    assert!(
        line.contains("1 of 11") && screen.contains("▌ prompt 25 of the log"),
        "after the last comes the first: {line} {screen}"
    );
    harness.key(KeyCode::Esc);
    assert!(harness.component.content().follows());
}
