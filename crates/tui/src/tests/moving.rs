//! Movement in the transcript: keys, mouse, search.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;
use serde_json::json;
use tiller_core::ansi::OutputBuffer;
use tiller_core::event::{EventKind, SessionChange};
use tiller_core::id::EntryId;
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, UserMessage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{BashContext, BranchSummary, ContextUse, InFlight, RunningBash, SessionState, Snapshot};
use tiller_session::{Entry, EntryBody};

use super::harness::{Harness, SIZES, START, at_work, call, state, steered, text};
use crate::app::{Action, BackgroundJob, LoadedSession, Msg, Navigate, TaskResult, TerminalAction};
use crate::block::NoticeLevel;
use crate::frame_pacer::Dirty;
use crate::search::{Lookup, SearchHits};
use crate::transcript::LoadedPath;
use crate::view::view;

impl Harness {
    fn mouse(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) -> Vec<Action> {
        self.actions.clear();
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.input(Msg::Mouse(event));
        std::mem::take(&mut self.actions)
    }

    fn click(&mut self, place: (u16, u16)) -> Vec<Action> {
        self.mouse(MouseEventKind::Down(MouseButton::Left), place);
        self.mouse(MouseEventKind::Up(MouseButton::Left), place)
    }

    fn drag(&mut self, from: (u16, u16), to: (u16, u16)) -> Vec<Action> {
        self.mouse(MouseEventKind::Down(MouseButton::Left), from);
        self.mouse(MouseEventKind::Drag(MouseButton::Left), to);
        self.mouse(MouseEventKind::Up(MouseButton::Left), to)
    }

    fn alt(&mut self, c: char) {
        self.press(KeyCode::Char(c), KeyModifiers::ALT);
    }

    /// The first row with this text in it.
    fn row(&mut self, text: &str) -> u16 {
        let screen = self.screen();
        let at = screen.lines().position(|line| line.contains(text));
        u16::try_from(at.unwrap_or_else(|| panic!("no `{text}`:\n{screen}"))).unwrap()
    }

    /// The text of the cells that look like this.
    fn looking(&mut self, modifier: Modifier) -> Vec<String> {
        let mut terminal = Terminal::new(TestBackend::new(self.app.ui.size.0, self.app.ui.size.1)).unwrap();
        let areas = self.app.prepare();
        terminal.draw(|frame| view(&self.app, &areas, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| -> String {
            let cells = (0..buffer.area.width).map(|x| &buffer[(x, y)]);
            cells.filter(|cell| cell.modifier.contains(modifier)).map(ratatui::buffer::Cell::symbol).collect()
        };
        (0..buffer.area.height).map(row).filter(|row| !row.is_empty()).collect()
    }

    fn search(&mut self, words: &str) {
        self.control('f');
        self.type_text(words);
    }
}

fn copied(actions: &[Action]) -> Option<(&str, &str)> {
    match actions {
        [Action::Terminal(TerminalAction::Copy(copied))] => Some((&copied.text, &copied.what)),
        _ => None,
    }
}

/// Prompts and answers, so many of each.
fn talked(stage: &mut Harness, count: usize) {
    for at in 0..count {
        stage.user(&format!("prompt {at}"));
        stage.answer(vec![text(&format!("Answer **{at}** of the lexer."))]);
    }
}

#[test]
fn wheel_scrolls_three_lines_or_one_row() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 20);
    stage.screen();
    let before = stage.row("prompt 18");
    stage.mouse(MouseEventKind::ScrollUp, (5, 5));
    assert_eq!(stage.row("prompt 18"), before + 3);
    stage.mouse(MouseEventKind::ScrollDown, (5, 5));
    assert_eq!(stage.row("prompt 18"), before);
    for prompt in ["first", "second"] {
        stage.type_text(prompt);
        stage.key(KeyCode::Enter);
    }
    stage.control('r');
    stage.screen();
    stage.mouse(MouseEventKind::ScrollDown, (5, 5));
    assert!(stage.screen().contains("▸ first"), "{}", stage.screen());
}

#[test]
fn end_key_line_then_transcript() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 20);
    stage.screen();
    stage.type_text("two words");
    stage.key(KeyCode::Home);
    stage.key(KeyCode::PageUp);
    assert!(stage.screen().contains("↓ more below · end"), "{}", stage.screen());
    stage.key(KeyCode::End);
    assert!(stage.screen().contains("more below"), "the cursor moved");
    stage.key(KeyCode::End);
    assert!(!stage.screen().contains("more below"), "{}", stage.screen());
    assert_eq!(stage.app.editor.text(), "two words");
}

#[test]
fn click_toggles_one_block() {
    let mut stage = Harness::new(80, 40);
    steered(&mut stage);
    let row = stage.row("more lines (ctrl+o)");
    assert_eq!(stage.click((10, row)), []);
    assert!(stage.screen().contains("│ test case_8 ... ok"), "{}", stage.screen());
    stage.wait(1_000);
    let row = stage.row("✗ bash");
    stage.click((4, row));
    assert!(!stage.screen().contains("│ test case_8 ... ok"), "{}", stage.screen());
    stage.wait(1_000);
    let row = stage.row("You're right");
    stage.click((10, row));
    assert!(!stage.screen().contains("│ test case_8 ... ok"), "there is nothing to fold");
}

#[test]
fn drag_copies_text_without_margins() {
    let mut stage = Harness::new(80, 40);
    steered(&mut stage);
    let row = stage.row("│ test case_1 ... ok");
    stage.mouse(MouseEventKind::Down(MouseButton::Left), (0, row));
    stage.mouse(MouseEventKind::Drag(MouseButton::Left), (13, row + 1));
    assert_eq!(stage.looking(Modifier::REVERSED)[..2], ["test case_1 ... ok", "test cas"]);
    let actions = stage.mouse(MouseEventKind::Up(MouseButton::Left), (13, row + 1));
    assert_eq!(copied(&actions), Some(("test case_1 ... ok\ntest cas", "2 lines")));
    let row = stage.row("▌ wait");
    let actions = stage.drag((70, row), (0, row));
    assert_eq!(copied(&actions).unwrap().0, "wait — the fixture itself has mixed endings");
    stage.click((2, row));
    assert!(!stage.app.transcript.is_selecting(), "a click lets it go");
}

#[test]
fn double_click_word_triple_click_line() {
    let mut stage = Harness::new(80, 40);
    steered(&mut stage);
    let row = stage.row("✗ bash");
    let before = stage.screen();
    stage.click((16, row));
    assert_eq!(copied(&stage.click((16, row))), Some(("cargo", "5 characters")));
    assert_eq!(stage.screen(), before, "what the first click unfolded is folded again");
    stage.wait(100);
    let actions = stage.click((16, row));
    assert!(copied(&actions).unwrap().0.contains("cargo test parse -- --nocapture"), "{actions:?}");
}

#[test]
fn drag_beyond_edge_scrolls() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 40);
    stage.screen();
    let row = stage.row("prompt 39");
    stage.mouse(MouseEventKind::Down(MouseButton::Left), (2, row));
    stage.mouse(MouseEventKind::Drag(MouseButton::Left), (2, 0));
    assert!(stage.app.wants_ticks());
    for _ in 0..20 {
        stage.screen();
        stage.wait(100);
    }
    let actions = stage.mouse(MouseEventKind::Up(MouseButton::Left), (2, 0));
    let (text, what) = copied(&actions).unwrap();
    assert!(text.lines().count() > 50 && text.ends_with("p"), "{text}");
    assert!(what.ends_with("lines"), "{what}");
    assert!(!stage.app.wants_ticks());
}

#[test]
fn click_in_editor_places_cursor() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("hello world");
    stage.screen();
    let row = stage.row("❯ hello");
    stage.click((9, row));
    stage.type_text(",");
    assert_eq!(stage.app.editor.text(), "hello ,world");
}

#[test]
fn focus_by_keys_folds_and_copies() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        steered(&mut stage);
        stage.screen();
        stage.alt('k');
        stage.alt('k');
        for _ in 0..3 {
            stage.key(KeyCode::Up);
        }
        assert_eq!(stage.key(KeyCode::Char(' ')), []);
        insta::assert_snapshot!(format!("chosen_{width}x{height}"), stage.screen());
        assert!(stage.screen().contains("│ test case_8 ... ok"), "{}", stage.screen());
        let actions = stage.key(KeyCode::Char('c'));
        assert!(copied(&actions).unwrap().0.starts_with("cargo test parse -- --nocapture\ntest case_1"));
        stage.key(KeyCode::Char(' '));
        assert!(!stage.screen().contains("│ test case_8 ... ok"), "{}", stage.screen());
        stage.type_text("x");
        assert_eq!(stage.app.editor.text(), "x", "other keys are for the editor");
        stage.type_text("c");
        assert_eq!(stage.app.editor.text(), "xc", "and all are while something is typed");
    }
}

#[test]
fn search_highlights_and_steps() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        talked(&mut stage, 30);
        stage.screen();
        let before = stage.screen();
        stage.search("lexer");
        insta::assert_snapshot!(format!("search_{width}x{height}"), stage.screen());
        assert!(stage.screen().contains("30 of 30"), "{}", stage.screen());
        assert_eq!(stage.looking(Modifier::REVERSED), ["lexer"]);
        assert!(stage.looking(Modifier::UNDERLINED).len() > 3);
        for _ in 0..12 {
            stage.key(KeyCode::Enter);
        }
        assert!(
            stage.screen().contains("18 of 30") && stage.screen().contains("prompt 17"),
            "{}",
            stage.screen()
        );
        stage.key(KeyCode::Down);
        assert!(stage.screen().contains("19 of 30"), "{}", stage.screen());
        stage.key(KeyCode::Esc);
        assert_eq!(stage.screen(), before, "cancel and scroll back");
    }
}

#[test]
fn search_stay_focuses_block() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 30);
    stage.screen();
    stage.search("Answer 3 ");
    assert!(stage.screen().contains("no match"), "the text is Markdown: {}", stage.screen());
    stage.control('u');
    stage.type_text("prompt 3");
    assert!(stage.screen().contains("1 of 1"), "{}", stage.screen());
    stage.key(KeyCode::Tab);
    let screen = stage.screen();
    assert!(screen.contains("▸ prompt 3") && !screen.contains("1 of 1"), "{screen}");
    assert_eq!(copied(&stage.key(KeyCode::Char('c'))), Some(("prompt 3", "8 characters")));
}

#[test]
fn search_hit_unfolds_temporarily() {
    let mut stage = Harness::new(80, 40);
    steered(&mut stage);
    stage.screen();
    stage.search("case_8");
    assert!(stage.screen().contains("│ test case_8 ... ok") && stage.screen().contains("1 of 1"));
    stage.control('u');
    assert!(!stage.screen().contains("│ test case_8 ... ok"), "{}", stage.screen());
    stage.type_text("case_9");
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("│ test case_8 ... ok"), "{}", stage.screen());
}

#[test]
fn search_fast_typing_finds_same_hit() {
    let stage = || {
        let mut stage = Harness::new(80, 24);
        stage.user("count");
        let read = call("c1", "read_file", json!({"path": "src/15.rs"}));
        stage.answer(vec![call("c0", "bash", json!({"command": "seq 1 200"})), read]);
        stage.start("c0", "bash");
        let output: String = (1..=200).map(|n| format!("{n}\n")).collect();
        stage.result(("c0", "bash"), &output, json!({"exitCode": 0, "timedOut": false}), false);
        stage.start("c1", "read_file");
        stage.result(("c1", "read_file"), "1\n10\n", json!({"lines": 2}), false);
        stage.screen();
        stage.control('f');
        stage
    };
    for words in ["150", "107", "23", "6"] {
        let (mut by_one, mut at_once) = (stage(), stage());
        for letter in words.chars() {
            by_one.type_text(&letter.to_string());
            by_one.screen();
        }
        at_once.input(Msg::Text(words.into()));
        assert_eq!(at_once.looking(Modifier::REVERSED), [words]);
        assert_eq!(at_once.screen(), by_one.screen());
    }
}

#[test]
fn search_paste_joins_lines() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 1);
    stage.control('f');
    stage.input(Msg::Paste("line  a\r\nline b\tc\u{1b}\n".into()));
    assert!(stage.screen().contains("/ line  a line b c "), "{}", stage.screen());
}

#[test]
fn search_includes_new_output() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 3);
    stage.screen();
    stage.search("lexer");
    assert!(stage.screen().contains("3 of 3"), "{}", stage.screen());
    talked(&mut stage, 1);
    stage.text(0, "a lexer that grows");
    assert!(stage.screen().contains("3 of 5"), "{}", stage.screen());
    assert_eq!(stage.app.editor.text(), "");
}

#[test]
fn search_streaming_hit_stays_when_logged() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 3);
    stage.event(EventKind::AgentStart);
    stage.text(0, "a lexer that grows");
    stage.screen();
    stage.search("lexer");
    assert!(stage.screen().contains("4 of 4"), "{}", stage.screen());
    assert_eq!(stage.looking(Modifier::REVERSED), ["lexer"]);
    stage.text(0, ", and another lexer");
    assert!(stage.screen().contains("4 of 5"), "{}", stage.screen());
    stage.app.add_notice(NoticeLevel::Note, "a word of tiller's", None);
    stage.answer(vec![text("a lexer that grows, and another lexer, and a lexer")]);
    assert!(stage.screen().contains("4 of 6"), "{}", stage.screen());
    assert_eq!(stage.looking(Modifier::REVERSED), ["lexer"]);
    stage.key(KeyCode::Down);
    assert!(stage.screen().contains("5 of 6"), "{}", stage.screen());
    stage.text(0, "a lexer that breaks off");
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Down);
    assert!(stage.screen().contains("7 of 7"), "{}", stage.screen());
    let message = Arc::new(Message::Assistant(AssistantMessage::default()));
    stage.event(EventKind::MessageStart { message });
    assert!(stage.screen().contains("6 of 6"), "{}", stage.screen());
}

fn logged(at: usize) -> Entry {
    let message = Message::User(UserMessage::text(format!("prompt {at} of the log"), UnixMs(START)));
    Entry {
        id: EntryId::new(format!("o{at}")),
        parent: None,
        timestamp: UnixMs(START),
        body: EntryBody::message(Arc::new(message)),
    }
}

/// A session of which the last ten of so many prompts are read.
fn resumed(stage: &mut Harness, count: usize) {
    let older: Vec<EntryId> = (0..count - 10).map(|at| EntryId::new(format!("o{at}"))).collect();
    let entries = (count - 10..count).map(logged).collect();
    let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
    stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(LoadedSession {
        snapshot,
        newest: LoadedPath::from_path(&older, entries),
    }))));
    stage.screen();
}

#[test]
fn session_without_messages_shows_banner() {
    let begins = |used| {
        let mut stage = Harness::new(80, 24);
        let older: Vec<EntryId> = (0..120).map(|at| EntryId::new(format!("o{at}"))).collect();
        let context = ContextUse { used: Tokens(used), window: Tokens(200_000) };
        let snapshot =
            Snapshot { seq: 0, state: SessionState { context, ..state() }, in_progress: InFlight::default() };
        let loaded = LoadedSession { snapshot, newest: LoadedPath::from_path(&older, Vec::new()) };
        stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(loaded))));
        stage.screen().contains("tiller 0.1.0")
    };
    assert!(begins(0));
    assert!(!begins(68_000), "what was said is above, and read in a moment");
}

/// The rows above what changes with the work.
fn upper(screen: &str) -> Vec<&str> {
    screen.lines().take(15).collect()
}

#[test]
fn reload_keeps_the_screen() {
    for scrolls in [1, 20] {
        let mut stage = Harness::new(80, 24);
        resumed(&mut stage, 300);
        for _ in 0..scrolls {
            stage.key(KeyCode::PageUp);
            stage.screen();
            read(&mut stage);
        }
        let before = stage.screen();
        stage.input(Msg::Lagged);
        resumed(&mut stage, 320);
        read(&mut stage);
        assert_eq!(upper(&stage.screen()), upper(&before), "{scrolls} pages up");
        stage.input(Msg::Lagged);
        stage.input(Msg::Lagged);
        resumed(&mut stage, 320);
        resumed(&mut stage, 320);
        read(&mut stage);
        assert_eq!(upper(&stage.screen()), upper(&before), "{scrolls} pages up, missed twice");

        stage.event(EventKind::SessionChanged { reason: SessionChange::Leaf, session_id: "s".into() });
        stage.input(Msg::Lagged);
        resumed(&mut stage, 320);
        resumed(&mut stage, 320);
        assert!(stage.screen().contains("prompt 319 of the log"), "elsewhere: {}", stage.screen());
    }
}

#[test]
fn external_entries_are_one_notice() {
    let mut stage = Harness::new(80, 24);
    resumed(&mut stage, 300);
    stage.key(KeyCode::PageUp);
    read(&mut stage);
    let before = stage.screen();
    stage.event(EventKind::SessionChanged { reason: SessionChange::Grown, session_id: "s".into() });
    let message = "another program appended to it (200 entries)".to_owned();
    stage.event(EventKind::Warning { message, hint: None });
    let snapshot = Snapshot { seq: stage.seq, state: state(), in_progress: InFlight::default() };
    let older: Vec<EntryId> = (0..490).map(|at| EntryId::new(format!("o{at}"))).collect();
    let entries = (490..500).map(logged).collect();
    stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(LoadedSession {
        snapshot,
        newest: LoadedPath::from_path(&older, entries),
    }))));
    read(&mut stage);
    assert_eq!(upper(&stage.screen()), upper(&before));
    stage.key(KeyCode::End);
    let screen = stage.screen();
    assert_eq!(screen.matches("another program appended to it (200 entries)").count(), 1, "{screen}");
}

#[test]
fn reload_continues_streaming_answer() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    let text: String = (0..60).map(|at| format!("Line {at} of it.\n\n")).collect();
    stage.text(0, &text);
    stage.screen();
    stage.key(KeyCode::PageUp);
    let before = stage.screen();
    assert!(before.contains("Line 45 of it."), "{before}");
    stage.input(Msg::Lagged);
    let partial = AssistantMessage {
        content: vec![AssistantBlock::Text { text: format!("{text}And more.") }],
        ..AssistantMessage::default()
    };
    let live = InFlight { partial: Some(partial), running_since: Some(UnixMs(START)), ..InFlight::default() };
    let snapshot = Snapshot { seq: stage.seq, state: state(), in_progress: live };
    let loaded = LoadedSession { snapshot, newest: LoadedPath::from_path(&[], vec![logged(0)]) };
    stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(loaded))));
    assert_eq!(upper(&stage.screen()), upper(&before));
    stage.key(KeyCode::End);
    assert!(stage.screen().contains("And more."), "{}", stage.screen());
}

#[test]
fn reload_continues_shell_command() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    let (id, before): (EntryId, String) = ("b1".into(), (0..300).map(|at| format!("line {at}\n")).collect());
    let (command, exclude_from_context) = ("fetch".to_owned(), false);
    stage.event(EventKind::BashExecutionStart { id: id.clone(), command, exclude_from_context });
    stage.event(EventKind::BashExecutionUpdate { id: id.clone(), delta: before.clone() });
    stage.input(Msg::Lagged);
    let mut output = OutputBuffer::default();
    output.push(format!("{before}19884 percent").as_bytes());
    let context = BashContext::Include;
    let bash = RunningBash { id: id.clone(), line: "fetch".into(), context, since: UnixMs(START), output };
    let live = InFlight { bash: Some(bash), running_since: Some(UnixMs(START)), ..InFlight::default() };
    let snapshot = Snapshot { seq: stage.seq, state: state(), in_progress: live };
    let loaded = LoadedSession { snapshot, newest: LoadedPath::from_path(&[], vec![logged(0)]) };
    stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(loaded))));
    stage.event(EventKind::BashExecutionUpdate { id, delta: "\r30273 percent".into() });
    let screen = stage.screen();
    assert!(screen.contains("│ 30273 percent\n") && !screen.contains("19884"), "{screen}");
    stage.control('o');
    stage.key(KeyCode::Home);
    assert!(stage.screen().contains("│ line 0\n"), "{}", stage.screen());
}

#[test]
fn burst_of_text_spreads_over_frames() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.text(0, &"Some **words**.\n\n".repeat(20_000));
    stage.text(0, "The end");
    let mut frames = 1;
    stage.app.dirty = Dirty::No;
    while !stage.screen().contains("The end") {
        assert_eq!(stage.app.dirty, Dirty::BySession, "another frame is asked for");
        stage.app.dirty = Dirty::No;
        frames += 1;
    }
    assert!((2..10).contains(&frames), "{frames}");
    stage.app.dirty = Dirty::No;
    stage.screen();
    assert_eq!(stage.app.dirty, Dirty::No, "and then none");
}

/// Reads what is asked for.
fn read(stage: &mut Harness) {
    for action in std::mem::take(&mut stage.actions) {
        if let Action::Background(BackgroundJob::ReadPart(wanted)) = action {
            let last: usize = wanted.section.last.as_str()[1..].parse().unwrap();
            let entries = (last + 1 - wanted.section.count..=last).map(logged).collect();
            stage.input(Msg::TaskResult(TaskResult::PartRead { wanted, entries, ahead: vec![] }));
        }
    }
    stage.screen();
}

#[test]
fn search_hit_in_unread_part_is_loaded() {
    let mut stage = Harness::new(80, 24);
    resumed(&mut stage, 1_010);
    read(&mut stage);
    stage.control('f');
    stage.input(Msg::Paste("prompt 25".into()));
    let lookups: Vec<Lookup> = std::mem::take(&mut stage.actions)
        .into_iter()
        .filter_map(|action| {
            if let Action::Background(BackgroundJob::Search(lookup)) = action { Some(lookup) } else { None }
        })
        .collect();
    let [lookup] = lookups.as_slice() else { panic!("one look is asked for") };
    assert_eq!((lookup.parts.len(), lookup.parts[0].part), (10, 9), "newest first");
    assert!(stage.screen().contains("searching…"), "{}", stage.screen());
    let found = |part, hits, is_last| {
        Msg::TaskResult(TaskResult::SearchHits(SearchHits {
            number: lookup.number,
            part,
            hits,
            is_complete: is_last,
        }))
    };
    stage.input(found(2, (50..60).map(|at| (at, 1)).collect(), false));
    for _ in 0..4 {
        read(&mut stage);
    }
    let screen = stage.screen();
    assert!(screen.contains("10 of 10…") && screen.contains("prompt 259 of the log"), "{screen}");
    stage.input(found(0, vec![(25, 1)], true));
    let old = SearchHits { number: lookup.number - 1, part: 5, hits: vec![(1, 1)], is_complete: true };
    stage.input(Msg::TaskResult(TaskResult::SearchHits(old)));
    assert!(stage.screen().contains("11 of 11"), "what an older look found is dropped: {}", stage.screen());
    stage.actions = stage.key(KeyCode::Down);
    for _ in 0..4 {
        read(&mut stage);
    }
    let screen = stage.screen();
    assert!(
        screen.contains("1 of 11") && screen.contains("▌ prompt 25 of the log"),
        "after the last comes the first: {screen}"
    );
    stage.key(KeyCode::Esc);
    assert!(stage.app.transcript.follows());
}

#[test]
fn keys_jump_between_prompts_and_ends() {
    let mut stage = Harness::new(80, 24);
    talked(&mut stage, 30);
    stage.screen();
    stage.type_text("a draft");
    for _ in 0..3 {
        stage.alt('p');
        stage.screen();
    }
    let top = stage.screen().lines().take(2).collect::<String>();
    stage.alt('n');
    assert_ne!(stage.screen().lines().take(2).collect::<String>(), top);
    stage.alt('p');
    assert_eq!(stage.screen().lines().take(2).collect::<String>(), top);
    assert!(top.contains("▌ prompt"), "{top}");
    stage.press(KeyCode::Home, KeyModifiers::CONTROL);
    assert!(stage.screen().starts_with("▌ prompt 0"), "{}", stage.screen());
    stage.user("something new");
    stage.answer(vec![text("and more")]);
    assert!(stage.screen().contains("↓ 2 new below · end"), "{}", stage.screen());
    stage.press(KeyCode::End, KeyModifiers::CONTROL);
    assert!(stage.screen().contains("and more") && !stage.screen().contains("new below"));
    assert_eq!(stage.app.editor.text(), "a draft");
}

#[test]
fn unanswered_prompt_returns_on_enter() {
    let mut stage = Harness::new(80, 24);
    resumed(&mut stage, 20);
    for (width, height) in SIZES {
        stage.resize(width, height);
        insta::assert_snapshot!(format!("unanswered_{width}x{height}"), stage.screen());
    }
    let back = Action::Navigate(Navigate::ToEntry("o19".into(), BranchSummary::None));
    assert_eq!(stage.key(KeyCode::Enter), [back]);
    stage.answer(vec![text("at last")]);
    assert_eq!(stage.key(KeyCode::Enter), []);
}

#[test]
fn message_time_takes_first_row_only() {
    let mut stage = Harness::new(40, 24);
    stage.user(&"four ".repeat(20));
    let screen = stage.screen();
    let rows: Vec<&str> = screen.lines().filter(|line| line.starts_with("▌ ")).collect();
    let words = |row: &str| row.matches("four").count();
    assert_eq!(rows.iter().map(|row| words(row)).collect::<Vec<_>>(), [6, 7, 7], "{screen}");
    assert!(rows[0].trim_end().ends_with(|c: char| c.is_ascii_digit()), "{screen}");
}

#[test]
fn long_user_message_is_folded() {
    let mut stage = Harness::new(80, 40);
    let long: String = (0..50).map(|n| format!("row {n}\n")).collect();
    stage.user(&long);
    assert!(stage.screen().contains("▌ … 38 more lines (ctrl+o)"), "{}", stage.screen());
    let row = stage.row("row 3");
    stage.click((5, row));
    assert!(stage.screen().contains("▌ row 30"), "{}", stage.screen());
}

#[test]
fn hints_name_the_unfold_key() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.event(EventKind::AgentSettled);
    stage.answer(vec![call("c9", "bash", json!({"command": "seq 30"}))]);
    let output: String = (0..30).map(|n| format!("{n}\n")).collect();
    stage.result(("c9", "bash"), &output, json!({"exitCode": 0}), false);
    let key = stage.app.ui.keymap.key_of(crate::keymap::KeyCommand::UnfoldOutput);
    assert!(stage.screen().contains(&format!("more lines ({key})")), "{}", stage.screen());
}

#[test]
fn completion_hidden_while_searching() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/the");
    assert!(stage.screen().contains("/theme"), "{}", stage.screen());
    stage.control('f');
    assert!(!stage.screen().contains("/theme"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    assert!(stage.screen().contains("/theme"), "{}", stage.screen());
}
