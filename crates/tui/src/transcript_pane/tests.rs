mod blocks;
mod branches;
mod search;

use std::sync::Arc;

use crossterm::event::{KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Cell;
use ratatui::style::Modifier;
use serde_json::json;
use tiller_core::entry_line::EntryLine;
use tiller_core::event::{AssistantDelta, Event, EventKind};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, StopReason, ToolCall, ToolResultMessage, Usage, UserBlock,
    UserMessage,
};
use tiller_core::unit::UnixMs;
use tiller_engine::InFlight;
use tiller_session::EntryBody;

use tiller_session::Entry;

use super::*;
use crate::action::TerminalAction;
use crate::address::Address;
use crate::agent_event::AgentEvent;
use crate::component::testing::Bench;
use crate::effect::{Effect, FlashText};
use crate::search_term::SearchTerm;
use crate::transcript::section::LoadedPath;
use crate::transcript_pane::lookup::SearchJob;

const AREA: Rect = Rect::new(0, 0, 60, 12);

/// A pane of 12 rows with an empty editor.
type Harness = Bench<TranscriptPane>;

impl Harness {
    fn new() -> Self {
        Self::at(AREA)
    }

    /// Returns a pane of this area.
    fn at(area: Rect) -> Self {
        let mut harness = Self::of(TranscriptPane::default(), Address::Transcript);
        harness.component.set_area(area);
        (harness.area, harness.ui.size) = (area, (area.width, area.height));
        harness.focus.is_editor_at_line_end = true;
        harness
    }

    /// Returns a pane with `count` prompts and answers.
    fn with_exchanges(count: usize) -> Self {
        let mut harness = Self::new();
        for at in 0..count {
            harness.user(&format!("prompt {at}"));
            harness.answer(vec![text(&format!("Answer **{at}** of the lexer."))]);
        }
        harness.screen();
        harness
    }

    /// Returns a pane with a command, whose 14 lines are folded, and an answer.
    fn with_command() -> Self {
        let mut harness = Self::new();
        harness.user("wait");
        let call = ToolCall {
            id: "c1".into(),
            name: "bash".into(),
            arguments: json!({"command": "cargo test"}),
            raw_arguments: None,
            thought_signature: None,
        };
        harness.answer(vec![AssistantBlock::ToolCall(call)]);
        let output: String = (1..=14).map(|n| format!("case_{n} ok\n")).collect();
        harness.result("c1", "bash", &output, json!({"exitCode": 0, "timedOut": false}));
        harness.answer(vec![text("Done.")]);
        harness.screen();
        harness
    }

    fn event(&mut self, kind: EventKind) {
        self.model.info.seq += 1;
        let event = Event { kind, seq: self.model.info.seq, time: UnixMs(self.now) };
        self.component.apply(&AgentEvent::parse(&event, UnixMs(self.now)));
        self.refresh();
    }

    fn entry(&mut self, body: &EntryBody) {
        let entry = EntryLine::new(&serde_json::to_string(body).unwrap());
        let entry_id = format!("e{}", self.model.info.seq).as_str().into();
        self.event(EventKind::EntryAppended { entry_id, entry });
    }

    fn message(&mut self, message: Message) {
        self.entry(&EntryBody::message(Arc::new(message)));
    }

    fn user(&mut self, text: &str) {
        self.message(Message::User(UserMessage::text(text, UnixMs(0))));
    }

    fn answer(&mut self, content: Vec<AssistantBlock>) {
        let stop_reason = StopReason::ToolUse;
        self.message(Message::Assistant(AssistantMessage {
            content,
            stop_reason,
            ..AssistantMessage::default()
        }));
    }

    fn result(&mut self, id: &str, tool: &str, output: &str, details: serde_json::Value) {
        self.message(Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: tool.into(),
            content: vec![UserBlock::Text { text: output.into() }],
            details: Some(details),
            is_error: false,
            timestamp: UnixMs(self.now),
        }));
    }

    fn delta(&mut self, delta: &str) {
        let delta = AssistantDelta::TextDelta { content_index: 0, delta: delta.into() };
        self.event(EventKind::MessageUpdate { usage: Usage::default(), assistant_message_event: delta });
    }

    fn control(&mut self, c: char) -> (Outcome, Vec<Effect>) {
        self.chord(KeyModifiers::CONTROL, c)
    }

    /// Types into the search bar; returns the search jobs.
    fn type_text(&mut self, text: &str) -> Vec<SearchJob> {
        let typed = text.chars().flat_map(|c| self.key(KeyCode::Char(c)).1);
        typed.map(lookup).collect()
    }

    fn command(&mut self, command: KeyCommand) -> (Outcome, Vec<Effect>) {
        self.with(|pane, cx| pane.command(command, cx))
    }

    fn mouse(&mut self, kind: MouseEventKind, (column, row): (u16, u16)) -> (Outcome, Vec<Effect>) {
        let event = MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE };
        self.with(|pane, cx| pane.handle(&UiEvent::Mouse(event), cx))
    }

    fn click(&mut self, position: (u16, u16)) -> (Outcome, Vec<Effect>) {
        self.mouse(MouseEventKind::Down(MouseButton::Left), position);
        self.mouse(MouseEventKind::Up(MouseButton::Left), position)
    }

    fn drag(&mut self, from: (u16, u16), to: (u16, u16)) -> (Outcome, Vec<Effect>) {
        self.mouse(MouseEventKind::Down(MouseButton::Left), from);
        self.mouse(MouseEventKind::Drag(MouseButton::Left), to);
        self.mouse(MouseEventKind::Up(MouseButton::Left), to)
    }

    fn screen(&mut self) -> String {
        self.drawn()
    }

    /// Returns the text of the cells with this modifier.
    fn cells_with(&mut self, modifier: Modifier) -> Vec<String> {
        let buffer = self.buffer();
        let row = |y| -> String {
            let cells = (0..buffer.area.width).map(|x| &buffer[(x, y)]);
            cells.filter(|cell| cell.modifier.contains(modifier)).map(Cell::symbol).collect()
        };
        (0..buffer.area.height).map(row).filter(|row| !row.is_empty()).collect()
    }

    /// Returns the first row that contains this text.
    fn row(&mut self, text: &str) -> u16 {
        let screen = self.screen();
        let at = screen.lines().position(|line| line.contains(text));
        u16::try_from(at.unwrap_or_else(|| panic!("no `{text}`:\n{screen}"))).unwrap()
    }

    fn search_line(&mut self) -> String {
        let line = self.with(|pane, cx| pane.search().map(|search| search.line(cx))).0;
        line.map(|line| line.text().trim().to_owned()).unwrap_or_default()
    }
}

fn text(text: &str) -> AssistantBlock {
    AssistantBlock::text(text)
}

fn lookup(effect: Effect) -> SearchJob {
    match effect {
        Effect::Perform(Address::Transcript, Action::Background(BackgroundJob::Search(lookup))) => lookup,
        effect => panic!("{effect:?}"),
    }
}

fn copied(text: &str, summary: &str) -> (Outcome, Vec<Effect>) {
    let copied = CopiedText { text: text.into(), summary: summary.into() };
    (
        Outcome::Consumed,
        vec![Effect::Perform(Address::Transcript, Action::Terminal(TerminalAction::Copy(copied)))],
    )
}

fn flashed(text: &str) -> (Outcome, Vec<Effect>) {
    (Outcome::Consumed, vec![Effect::Flash(FlashText { text: text.into(), call: None })])
}

const CONSUMED: (Outcome, Vec<Effect>) = (Outcome::Consumed, Vec::new());

const IGNORED: (Outcome, Vec<Effect>) = (Outcome::Ignored, Vec::new());

#[test]
fn pane_search_types_steps_and_cancels() {
    let mut harness = Harness::with_exchanges(12);
    let before = harness.screen();
    assert_eq!(harness.command(KeyCommand::Search), CONSUMED);
    let searched = harness.type_text("lexer");
    let words: Vec<SearchTerm> = searched.into_iter().map(|lookup| lookup.words).collect();
    assert_eq!(words, ["l", "le", "lex", "lexe", "lexer"].map(SearchTerm::new));
    assert_eq!(harness.search_line(), "/ lexer                   12 of 12 · tab stay · esc cancel");
    assert_eq!(harness.cells_with(Modifier::REVERSED), ["lexer"]);
    assert!(harness.cells_with(Modifier::UNDERLINED).len() > 1);
    for _ in 0..8 {
        assert_eq!(harness.key(KeyCode::Enter), CONSUMED);
    }
    assert!(harness.search_line().contains("  4 of 12"), "{}", harness.search_line());
    assert!(harness.screen().contains("Answer 3 of the lexer."), "{}", harness.screen());
    harness.key(KeyCode::Down);
    assert!(harness.search_line().contains("  5 of 12"), "{}", harness.search_line());
    let (outcome, effects) = harness.key(KeyCode::Esc);
    let ended: Vec<SearchJob> = effects.into_iter().map(lookup).collect();
    assert!(outcome == Outcome::Consumed && ended.len() == 1 && ended[0].words.is_empty(), "{ended:?}");
    assert_eq!((harness.screen(), harness.search_line()), (before, String::new()));
}

#[test]
fn pane_search_accepted_focuses_the_hit() {
    let mut harness = Harness::with_exchanges(12);
    harness.command(KeyCommand::Search);
    harness.type_text("Answer 3 ");
    assert!(harness.search_line().contains("  no match"), "the text is Markdown: {}", harness.search_line());
    harness.control('u');
    harness.type_text("prompt 3");
    assert!(harness.search_line().contains("  1 of 1"), "{}", harness.search_line());
    harness.key(KeyCode::Tab);
    assert!(
        harness.screen().contains("▸ prompt 3") && !harness.component.is_searching(),
        "{}",
        harness.screen()
    );
    assert_eq!(harness.key(KeyCode::Char('c')), copied("prompt 3", "8 characters"));
}

#[test]
fn pane_search_unfolds_hit_temporarily() {
    let mut harness = Harness::with_command();
    assert!(!harness.screen().contains("case_7 ok"), "{}", harness.screen());
    harness.command(KeyCommand::Search);
    harness.type_text("case_7");
    assert!(harness.screen().contains("case_7 ok"), "{}", harness.screen());
    harness.control('u');
    assert!(!harness.screen().contains("case_7 ok"), "{}", harness.screen());
}

#[test]
fn pane_search_passes_scrolling_keys_on() {
    let mut harness = Harness::with_exchanges(12);
    harness.command(KeyCommand::Search);
    assert_eq!(harness.key(KeyCode::PageUp), IGNORED);
    assert_eq!(harness.key(KeyCode::Home), CONSUMED, "others mean nothing while it is open");
    harness.key(KeyCode::Backspace);
    assert!(!harness.component.is_searching(), "Backspace in an empty bar closes it");
}

#[test]
fn pane_search_paste_joins_lines() {
    let mut harness = Harness::with_exchanges(1);
    harness.command(KeyCommand::Search);
    harness.with(|pane, cx| pane.handle(&UiEvent::Paste("line  a\r\nline b\tc\u{1b}\n"), cx));
    assert!(harness.search_line().starts_with("/ line  a line b c "), "{}", harness.search_line());
}

#[test]
fn pane_focused_block_folds_and_copies() {
    let mut harness = Harness::with_command();
    assert_eq!(harness.key(KeyCode::Char('c')), IGNORED, "no block is focused");
    harness.command(KeyCommand::ChooseOlder);
    assert_eq!(harness.key(KeyCode::Char(' ')), flashed("Nothing to fold in this block."));
    assert_eq!(harness.key(KeyCode::Up), CONSUMED);
    assert_eq!(harness.key(KeyCode::Char(' ')), CONSUMED);
    insta::assert_snapshot!(harness.screen(), @r"
    ▌ wait

    ▸ ✓ bash       cargo test
        │ case_1 ok
        │ case_2 ok
        │ case_3 ok
        │ case_4 ok
        │ case_5 ok
        │ case_6 ok
        │ case_7 ok
        │ case_8 ok
        │ case_9 ok
    ");
    let hints = harness.with(|pane, cx| pane.status_hint(cx)).0.map(|line| line.text());
    assert_eq!(hints.as_deref(), Some("  ▸ space fold · c copy · up down select · esc leave"));
    let (_, effects) = harness.key(KeyCode::Char('c'));
    let [Effect::Perform(Address::Transcript, Action::Terminal(TerminalAction::Copy(text)))] =
        effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert!(text.text.starts_with("cargo test\ncase_1 ok\ncase_2 ok"), "{}", text.text);
    assert_eq!(harness.key(KeyCode::Char('x')), IGNORED, "others are for the editor");
    assert_eq!(harness.key(KeyCode::Esc), CONSUMED);
    assert_eq!(harness.key(KeyCode::Char('c')), IGNORED, "the focus has ended");
}

#[test]
fn pane_typed_text_suspends_the_focus() {
    let mut harness = Harness::with_exchanges(2);
    harness.command(KeyCommand::ChooseOlder);
    harness.focus.is_editor_empty = false;
    assert_eq!(harness.key(KeyCode::Char('c')), IGNORED);
    let says = "Clear the prompt to select a block: ctrl+c clears it, alt+u restores it.";
    assert_eq!(harness.command(KeyCommand::ChooseOlder), flashed(says));
    harness.focus.is_editor_empty = true;
    harness.with(|pane, cx| pane.unfocus_for("cc", cx));
    assert!(harness.component.content().focus().is_some(), "both letters are bound");
    harness.with(|pane, cx| pane.unfocus_for("can you", cx));
    assert!(harness.component.content().focus().is_none(), "a message");
}

#[test]
fn pane_click_folds_one_block() {
    let mut harness = Harness::with_command();
    let row = harness.row("more lines");
    assert_eq!(harness.click((10, row)), CONSUMED);
    assert!(harness.screen().contains("case_7 ok"), "{}", harness.screen());
    harness.now += 1_000;
    let row = harness.row("case_7 ok");
    harness.click((10, row));
    assert!(harness.screen().contains("case_7 ok"), "its lines are text to read");
    harness.now += 1_000;
    harness.command(KeyCommand::Oldest);
    let row = harness.row("bash");
    harness.click((4, row));
    assert!(!harness.screen().contains("case_7 ok"), "{}", harness.screen());
    harness.now += 1_000;
    let row = harness.row("Done.");
    harness.click((4, row));
    assert!(!harness.screen().contains("case_7 ok"), "there is nothing to fold");
}

#[test]
fn pane_drag_copies_text_without_margins() {
    let mut harness = Harness::with_command();
    let row = harness.row("case_1 ok");
    assert_eq!(harness.drag((0, row), (8, row + 1)), copied("case_1 ok\ncas", "2 lines"));
    assert_eq!(harness.cells_with(Modifier::REVERSED), ["case_1 ok", "cas"]);
    harness.click((2, row));
    assert!(!harness.component.content().is_selecting(), "a click lets it go");
}

#[test]
fn pane_double_click_word_triple_click_line() {
    let mut harness = Harness::with_exchanges(1);
    let row = harness.row("Answer 0");
    harness.click((4, row));
    assert_eq!(harness.click((4, row)), copied("Answer", "6 characters"));
    harness.now += 100;
    assert_eq!(harness.click((4, row)), copied("Answer 0 of the lexer.", "22 characters"));
    harness.now += 1_000;
    assert_eq!(harness.click((4, row)), CONSUMED, "a single one");
}

#[test]
fn pane_drag_beyond_edge_scrolls_with_time() {
    let mut harness = Harness::with_exchanges(30);
    let row = harness.row("prompt 29");
    harness.mouse(MouseEventKind::Down(MouseButton::Left), (2, row));
    harness.mouse(MouseEventKind::Drag(MouseButton::Left), (2, 0));
    assert!(harness.component.wants_ticks());
    for _ in 0..20 {
        assert!(harness.with(|pane, cx| pane.continue_drag(cx)).0);
    }
    harness.focus.is_covered = true;
    assert!(!harness.with(|pane, cx| pane.continue_drag(cx)).0, "not beneath an overlay");
    harness.focus.is_covered = false;
    let (_, effects) = harness.mouse(MouseEventKind::Up(MouseButton::Left), (2, 0));
    let [Effect::Perform(Address::Transcript, Action::Terminal(TerminalAction::Copy(text)))] =
        effects.as_slice()
    else {
        panic!("{effects:?}")
    };
    assert!(text.text.lines().count() > 50 && text.text.ends_with('p'), "{}", text.text);
    assert!(text.summary.ends_with("lines"), "{}", text.summary);
    assert!(!harness.component.wants_ticks());
}

#[test]
fn pane_press_outside_or_covered_is_dropped() {
    let mut harness = Harness::with_exchanges(2);
    let press = MouseEventKind::Down(MouseButton::Left);
    assert_eq!(harness.mouse(press, (2, AREA.height)), IGNORED);
    harness.mouse(press, (4, 0));
    harness.focus.is_covered = true;
    harness.mouse(MouseEventKind::Drag(MouseButton::Left), (8, 0));
    harness.focus.is_covered = false;
    assert_eq!(harness.mouse(MouseEventKind::Drag(MouseButton::Left), (9, 0)), CONSUMED);
    assert!(!harness.component.content().is_selecting(), "the press has ended");
}

#[test]
fn pane_scrolls_by_pages_and_names_what_is_below() {
    let mut harness = Harness::with_exchanges(12);
    let below = |harness: &mut Harness| {
        harness.screen();
        harness.with(|pane, cx| pane.below_label(cx)).0.map(|label| label.text)
    };
    assert_eq!(below(&mut harness), None);
    let bottom = harness.row("Answer 11");
    harness.command(KeyCommand::PageUp);
    assert_eq!(below(&mut harness).as_deref(), Some(" ↓ more below · end "));
    harness.command(KeyCommand::PageDown);
    harness.command(KeyCommand::PageDown);
    assert_eq!((below(&mut harness), harness.row("Answer 11")), (None, bottom));
    harness.command(KeyCommand::Top);
    assert_eq!(harness.row("prompt 0"), 0);
    harness.user("one more");
    assert_eq!(below(&mut harness).as_deref(), Some(" ↓ 1 new below · end "));
    harness.focus.is_editor_at_line_end = false;
    assert_eq!(harness.command(KeyCommand::Bottom), IGNORED, "the key moves in the text");
    harness.focus.is_editor_at_line_end = true;
    assert_eq!(harness.command(KeyCommand::Bottom), CONSUMED);
    assert_eq!(below(&mut harness), None);
}

#[test]
fn pane_streams_then_logs_an_answer() {
    let mut harness = Harness::new();
    harness.user("hello");
    harness.delta("Hi *th");
    assert!(harness.screen().contains("Hi th"), "{}", harness.screen());
    harness.delta("ere*.");
    let streamed = harness.screen();
    assert_eq!(harness.component.content().arrived(), "Hi *there*.".len());
    harness.answer(vec![text("Hi *there*.")]);
    assert_eq!((harness.screen(), harness.component.content().arrived()), (streamed, 0));
}

#[test]
fn pane_shell_command_prints_while_it_runs() {
    let mut harness = Harness::new();
    for (id, excluded) in [("s1", true), ("s2", false)] {
        let command = format!("make {id}");
        let exclude_from_context = excluded;
        harness.event(EventKind::BashExecutionStart { id: id.into(), command, exclude_from_context });
        assert_eq!(harness.component.runs_included_command(), !excluded);
    }
    harness.event(EventKind::BashExecutionUpdate { id: "s2".into(), delta: "built\n".into() });
    let row = harness.row("make s2");
    assert_eq!(harness.row("built"), row + 1, "{}", harness.screen());
}

#[test]
fn pane_unanswered_prompt_is_taken_back_at_rest() {
    let mut harness = Harness::new();
    let body = EntryBody::message(Arc::new(Message::User(UserMessage::text("do it", UnixMs(0)))));
    let entry = Entry { id: "e1".into(), parent: None, timestamp: UnixMs(0), body };
    let former = harness.component.replace(LoadedPath::from_path(&[], vec![entry]));
    harness.with(|pane, cx| pane.restore(&InFlight::default(), former, cx));
    let screen = harness.screen();
    assert!(screen.contains("! not answered: tiller stopped first"), "{screen}");
    let taken = |harness: &mut Harness| harness.with(|pane, cx| pane.take_back_prompt(cx)).0;
    let back = Action::Navigate(Navigate::ToEntry("e1".into(), BranchSummary::None));
    assert_eq!(taken(&mut harness), Some(back));
    harness.model.activity.running_since = Some(UnixMs(0));
    assert_eq!(taken(&mut harness), None);
}
