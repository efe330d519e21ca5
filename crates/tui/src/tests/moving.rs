//! Movement in the transcript: keys, mouse, search.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Modifier;
use tiller_core::ansi::OutputBuffer;
use tiller_core::event::{EventKind, SessionChange};
use tiller_core::id::EntryId;
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, UserMessage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{BashContext, BranchSummary, ContextUse, InFlight, RunningBash, SessionState, Snapshot};
use tiller_session::{Entry, EntryBody};

use crate::action::{Action, BackgroundJob, TerminalAction};
use crate::frame_pacer::Dirty;
use crate::message::{LoadedSession, Msg, TaskResult};
use crate::navigate::Navigate;
use crate::tests::harness::{Harness, SIZES, START, at_work, state, steered, text};
use crate::transcript::section::LoadedPath;
use crate::view::view;

impl Harness {
    fn alt(&mut self, c: char) {
        self.press(KeyCode::Char(c), KeyModifiers::ALT);
    }

    /// Returns the text of the cells with this modifier.
    fn cells_with(&mut self, modifier: Modifier) -> Vec<String> {
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

    fn search(&mut self, query: &str) {
        self.control('f');
        self.type_text(query);
    }
}

fn copied_text(actions: &[Action]) -> Option<(&str, &str)> {
    match actions {
        [Action::Terminal(TerminalAction::Copy(copied))] => Some((&copied.text, &copied.summary)),
        _ => None,
    }
}

/// Adds `count` prompts and answers.
fn exchange_messages(harness: &mut Harness, count: usize) {
    for at in 0..count {
        harness.user(&format!("prompt {at}"));
        harness.answer(vec![text(&format!("Answer **{at}** of the lexer."))]);
    }
}

#[test]
fn end_key_line_then_transcript() {
    let mut harness = Harness::new(80, 24);
    exchange_messages(&mut harness, 20);
    harness.screen();
    harness.type_text("two words");
    harness.key(KeyCode::Home);
    harness.key(KeyCode::PageUp);
    assert!(harness.screen().contains("↓ more below · end"), "{}", harness.screen());
    harness.key(KeyCode::End);
    assert!(harness.screen().contains("more below"), "the cursor moved");
    harness.key(KeyCode::End);
    assert!(!harness.screen().contains("more below"), "{}", harness.screen());
    assert_eq!(harness.app.composer.editor.text(), "two words");
}

#[test]
fn focus_by_keys_folds_and_copies() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        steered(&mut harness);
        harness.screen();
        harness.alt('k');
        harness.alt('k');
        for _ in 0..3 {
            harness.key(KeyCode::Up);
        }
        assert_eq!(harness.key(KeyCode::Char(' ')), []);
        insta::assert_snapshot!(format!("chosen_{width}x{height}"), harness.screen());
        assert!(harness.screen().contains("│ test case_8 ... ok"), "{}", harness.screen());
        let actions = harness.key(KeyCode::Char('c'));
        assert!(copied_text(&actions).unwrap().0.starts_with("cargo test parse -- --nocapture\ntest case_1"));
        harness.key(KeyCode::Char(' '));
        assert!(!harness.screen().contains("│ test case_8 ... ok"), "{}", harness.screen());
        harness.type_text("x");
        assert_eq!(harness.app.composer.editor.text(), "x", "other keys are for the editor");
        harness.type_text("c");
        assert_eq!(harness.app.composer.editor.text(), "xc", "and all are while something is typed");
    }
}

#[test]
fn search_highlights_and_steps() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        exchange_messages(&mut harness, 30);
        harness.screen();
        let before = harness.screen();
        harness.search("lexer");
        insta::assert_snapshot!(format!("search_{width}x{height}"), harness.screen());
        assert!(harness.screen().contains("30 of 30"), "{}", harness.screen());
        assert_eq!(harness.cells_with(Modifier::REVERSED), ["lexer"]);
        assert!(harness.cells_with(Modifier::UNDERLINED).len() > 3);
        for _ in 0..12 {
            harness.key(KeyCode::Enter);
        }
        assert!(
            harness.screen().contains("18 of 30") && harness.screen().contains("prompt 17"),
            "{}",
            harness.screen()
        );
        harness.key(KeyCode::Down);
        assert!(harness.screen().contains("19 of 30"), "{}", harness.screen());
        harness.key(KeyCode::Esc);
        assert_eq!(harness.screen(), before, "cancel and scroll back");
    }
}

fn log_entry(at: usize) -> Entry {
    let message = Message::User(UserMessage::text(format!("prompt {at} of the log"), UnixMs(START)));
    Entry {
        id: EntryId::new(format!("o{at}")),
        parent: None,
        timestamp: UnixMs(START),
        body: EntryBody::message(Arc::new(message)),
    }
}

/// Loads a session of `count` prompts, of which the last ten are in memory.
fn resume(harness: &mut Harness, count: usize) {
    let older: Vec<EntryId> = (0..count - 10).map(|at| EntryId::new(format!("o{at}"))).collect();
    let entries = (count - 10..count).map(log_entry).collect();
    let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
    harness.report_result(TaskResult::Loaded(Box::new(LoadedSession {
        snapshot,
        newest: LoadedPath::from_path(&older, entries),
    })));
    harness.screen();
}

#[test]
fn session_without_messages_shows_banner() {
    let begins = |used| {
        let mut harness = Harness::new(80, 24);
        let older: Vec<EntryId> = (0..120).map(|at| EntryId::new(format!("o{at}"))).collect();
        let context = ContextUse { used: Tokens(used), window: Tokens(200_000) };
        let snapshot =
            Snapshot { seq: 0, state: SessionState { context, ..state() }, in_progress: InFlight::default() };
        let loaded = LoadedSession { snapshot, newest: LoadedPath::from_path(&older, Vec::new()) };
        harness.report_result(TaskResult::Loaded(Box::new(loaded)));
        harness.screen().contains("tiller 0.1.0")
    };
    assert!(begins(0));
    assert!(!begins(68_000), "what was said is above, and read in a moment");
}

/// Returns the rows above the part that changes during a run.
fn transcript_rows(screen: &str) -> Vec<&str> {
    screen.lines().take(15).collect()
}

#[test]
fn reload_keeps_the_screen() {
    for scrolls in [1, 20] {
        let mut harness = Harness::new(80, 24);
        resume(&mut harness, 300);
        for _ in 0..scrolls {
            harness.key(KeyCode::PageUp);
            harness.screen();
            read_sections(&mut harness);
        }
        let before = harness.screen();
        harness.input(Msg::Lagged);
        resume(&mut harness, 320);
        read_sections(&mut harness);
        assert_eq!(transcript_rows(&harness.screen()), transcript_rows(&before), "{scrolls} pages up");
        harness.input(Msg::Lagged);
        harness.input(Msg::Lagged);
        resume(&mut harness, 320);
        resume(&mut harness, 320);
        read_sections(&mut harness);
        assert_eq!(
            transcript_rows(&harness.screen()),
            transcript_rows(&before),
            "{scrolls} pages up, missed twice"
        );

        harness.event(EventKind::SessionChanged { reason: SessionChange::Leaf, session_id: "s".into() });
        harness.input(Msg::Lagged);
        resume(&mut harness, 320);
        resume(&mut harness, 320);
        assert!(harness.screen().contains("prompt 319 of the log"), "elsewhere: {}", harness.screen());
    }
}

#[test]
fn external_entries_are_one_notice() {
    let mut harness = Harness::new(80, 24);
    resume(&mut harness, 300);
    harness.key(KeyCode::PageUp);
    read_sections(&mut harness);
    let before = harness.screen();
    harness.event(EventKind::SessionChanged { reason: SessionChange::Grown, session_id: "s".into() });
    let message = "another program appended to it (200 entries)".to_owned();
    harness.event(EventKind::Warning { message, hint: None });
    let snapshot = Snapshot { seq: harness.seq, state: state(), in_progress: InFlight::default() };
    let older: Vec<EntryId> = (0..490).map(|at| EntryId::new(format!("o{at}"))).collect();
    let entries = (490..500).map(log_entry).collect();
    harness.report_result(TaskResult::Loaded(Box::new(LoadedSession {
        snapshot,
        newest: LoadedPath::from_path(&older, entries),
    })));
    read_sections(&mut harness);
    assert_eq!(transcript_rows(&harness.screen()), transcript_rows(&before));
    harness.key(KeyCode::End);
    let screen = harness.screen();
    assert_eq!(screen.matches("another program appended to it (200 entries)").count(), 1, "{screen}");
}

#[test]
fn reload_continues_streaming_answer() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    let text: String = (0..60).map(|at| format!("Line {at} of it.\n\n")).collect();
    harness.text(0, &text);
    harness.screen();
    harness.key(KeyCode::PageUp);
    let before = harness.screen();
    assert!(before.contains("Line 45 of it."), "{before}");
    harness.input(Msg::Lagged);
    let partial = AssistantMessage {
        content: vec![AssistantBlock::text(format!("{text}And more."))],
        ..AssistantMessage::default()
    };
    let live = InFlight { partial: Some(partial), running_since: Some(UnixMs(START)), ..InFlight::default() };
    let snapshot = Snapshot { seq: harness.seq, state: state(), in_progress: live };
    let loaded = LoadedSession { snapshot, newest: LoadedPath::from_path(&[], vec![log_entry(0)]) };
    harness.report_result(TaskResult::Loaded(Box::new(loaded)));
    assert_eq!(transcript_rows(&harness.screen()), transcript_rows(&before));
    harness.key(KeyCode::End);
    assert!(harness.screen().contains("And more."), "{}", harness.screen());
}

#[test]
fn reload_continues_shell_command() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    let (id, before): (EntryId, String) = ("b1".into(), (0..300).map(|at| format!("line {at}\n")).collect());
    let (command, exclude_from_context) = ("fetch".to_owned(), false);
    harness.event(EventKind::BashExecutionStart { id: id.clone(), command, exclude_from_context });
    harness.event(EventKind::BashExecutionUpdate { id: id.clone(), delta: before.clone() });
    harness.input(Msg::Lagged);
    let mut output = OutputBuffer::default();
    output.push(format!("{before}19884 percent").as_bytes());
    let context = BashContext::Include;
    let bash = RunningBash { id: id.clone(), line: "fetch".into(), context, since: UnixMs(START), output };
    let live = InFlight { bash: Some(bash), running_since: Some(UnixMs(START)), ..InFlight::default() };
    let snapshot = Snapshot { seq: harness.seq, state: state(), in_progress: live };
    let loaded = LoadedSession { snapshot, newest: LoadedPath::from_path(&[], vec![log_entry(0)]) };
    harness.report_result(TaskResult::Loaded(Box::new(loaded)));
    harness.event(EventKind::BashExecutionUpdate { id, delta: "\r30273 percent".into() });
    let screen = harness.screen();
    assert!(screen.contains("│ 30273 percent\n") && !screen.contains("19884"), "{screen}");
    harness.control('o');
    harness.key(KeyCode::Home);
    assert!(harness.screen().contains("│ line 0\n"), "{}", harness.screen());
}

#[test]
fn burst_of_text_spreads_over_frames() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.text(0, &"Some **words**.\n\n".repeat(20_000));
    harness.text(0, "The end");
    let mut frames = 1;
    harness.app.dirty = Dirty::No;
    while !harness.screen().contains("The end") {
        assert_eq!(harness.app.dirty, Dirty::BySession, "another frame is asked for");
        harness.app.dirty = Dirty::No;
        frames += 1;
    }
    assert!((2..10).contains(&frames), "{frames}");
    harness.app.dirty = Dirty::No;
    harness.screen();
    assert_eq!(harness.app.dirty, Dirty::No, "and then none");
}

/// Reads the requested sections.
fn read_sections(harness: &mut Harness) {
    for action in std::mem::take(&mut harness.actions) {
        if let Action::Background(BackgroundJob::ReadPart(wanted)) = action {
            let last: usize = wanted.section.last.as_str()[1..].parse().unwrap();
            let entries = (last + 1 - wanted.section.count..=last).map(log_entry).collect();
            harness.report_result(TaskResult::PartRead { wanted, entries, ahead: vec![] });
        }
    }
    harness.screen();
}

#[test]
fn unanswered_prompt_returns_on_enter() {
    let mut harness = Harness::new(80, 24);
    resume(&mut harness, 20);
    for (width, height) in SIZES {
        harness.resize(width, height);
        insta::assert_snapshot!(format!("unanswered_{width}x{height}"), harness.screen());
    }
    let back = Action::Navigate(Navigate::ToEntry("o19".into(), BranchSummary::None));
    assert_eq!(harness.key(KeyCode::Enter), [back]);
    harness.answer(vec![text("at last")]);
    assert_eq!(harness.key(KeyCode::Enter), []);
}

#[test]
fn completion_hidden_while_searching() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/the");
    assert!(harness.screen().contains("/theme"), "{}", harness.screen());
    harness.control('f');
    assert!(!harness.screen().contains("/theme"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert!(harness.screen().contains("/theme"), "{}", harness.screen());
}
