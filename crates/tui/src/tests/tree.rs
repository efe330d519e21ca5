//! Tests of the tree with a session in memory.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEventKind};
use serde_json::json;
use tiller_core::event::{EventKind, SessionChange};
use tiller_core::id::EntryId;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Cost, Message, StopReason, ToolResultMessage, Usage, UserBlock,
    UserMessage,
};
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_engine::{BranchSummary, SessionSwitched, built_in_tools};
use tiller_session::{EntryBody, Placement, SessionManager, Visibility, Writer};

use crate::action::{Action, BackgroundJob, SessionEdit};
use crate::effect::{Effect, OverlayRequest};
use crate::message::{ListResult, Msg, TaskResult};
use crate::navigate::Navigate;
use crate::tests::harness::{Harness, SIZES, START, call, text};
use crate::tree::request::TreeRequest;
use crate::tree::search_worker::SearchControl;
use crate::{list_data, tree};

const HOUR: i64 = 3_600_000;

const FORKS_BEFORE: &str = "enter: fork before it, its text in the editor";

/// A front end with a session in memory.
struct TreeHarness {
    harness: Harness,
    writer: Writer,
    now: i64,
}

impl TreeHarness {
    fn new(width: u16, height: u16) -> Self {
        let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
        let writer = manager.create(UnixMs(START - 5 * HOUR));
        Self { harness: Harness::new(width, height), writer, now: START - 5 * HOUR }
    }

    /// Creates two branches after one answer, each with some history; the second one is current.
    fn branched(width: u16, height: u16) -> Self {
        let mut tree = Self::new(width, height);
        tree.user("the parser test fails on windows line endings, find out why");
        tree.answer("I'll look at the **tokenizer** first.", "claude-opus-4-5");
        let fork = tree.leaf();
        tree.user("change the lexer");
        tree.calls("c1", "claude-opus-4-5");
        tree.result("c1", "edited");
        tree.answer("Done, but the fixture still fails.", "claude-opus-4-5");
        let dead_end = tree.leaf();
        tree.writer.branch(Some(&fork), UnixMs(tree.now)).unwrap();
        tree.user("look at the fixture");
        tree.answer(
            "You're right: line 3 of `mixed.txt` ends in `\\r\\r\\n`.\n\n- one\n- two",
            "claude-sonnet-4-5",
        );
        tree.writer.label(&dead_end, Some("dead end"), UnixMs(tree.now)).unwrap();
        tree
    }

    fn leaf(&self) -> EntryId {
        self.writer.reader().leaf().unwrap()
    }

    fn append(&mut self, message: Message) {
        self.now += HOUR / 4;
        self.writer.append(EntryBody::message(Arc::new(message)), UnixMs(self.now)).unwrap();
    }

    fn user(&mut self, text: &str) {
        self.append(Message::User(UserMessage::text(text, UnixMs(0))));
    }

    fn answer(&mut self, answer: &str, model: &str) {
        self.answers(vec![text(answer)], model, StopReason::Stop);
    }

    fn calls(&mut self, id: &str, model: &str) {
        let content = vec![call(id, "edit_file", json!({"path": "src/lexer.rs"}))];
        self.answers(content, model, StopReason::ToolUse);
    }

    fn answers(&mut self, content: Vec<AssistantBlock>, model: &str, stop_reason: StopReason) {
        let cost = Cost { total: Usd(0.02), ..Cost::default() };
        let usage = Usage { input: Tokens(12_000), output: Tokens(321), cost, ..Usage::default() };
        let model = model.to_owned();
        self.append(Message::Assistant(AssistantMessage {
            content,
            model,
            usage,
            stop_reason,
            ..AssistantMessage::default()
        }));
    }

    fn result(&mut self, id: &str, text: &str) {
        self.append(Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: "edit_file".into(),
            content: vec![UserBlock::Text { text: text.into() }],
            details: None,
            is_error: false,
            timestamp: UnixMs(0),
        }));
    }

    fn open(&mut self) -> &mut Self {
        self.type_text("/tree");
        self.key(KeyCode::Enter);
        self
    }

    /// Answers the tree's requests until there are none; returns the other actions.
    fn settle(&mut self, actions: Vec<Action>) -> Vec<Action> {
        let (mut todo, mut rest) = (std::collections::VecDeque::from(actions), Vec::new());
        while let Some(action) = todo.pop_front() {
            let Action::Background(BackgroundJob::Tree(request)) = action else {
                rest.push(action);
                continue;
            };
            for results in self.run_request(&request) {
                let session = self.writer.reader().id().clone();
                self.harness.actions.clear();
                self.harness.report_result(TaskResult::List(ListResult::Tree { session, news: results }));
                todo.extend(std::mem::take(&mut self.harness.actions));
            }
        }
        rest
    }

    fn run_request(&self, request: &TreeRequest) -> Vec<tree::request::TreeResult> {
        let reader = self.writer.reader();
        let mut results: Vec<tree::request::TreeResult> =
            tree::loader::load(&reader, &built_in_tools(), request).into_iter().collect();
        if let TreeRequest::Search(query) = request {
            let collect = |found| {
                results.push(found);
                SearchControl::Yes
            };
            tree::search_worker::search_entries(&reader, query, || SearchControl::Yes, collect);
        }
        results
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        let actions = self.harness.press(code, modifiers);
        self.settle(actions)
    }

    fn key(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::NONE)
    }

    fn control(&mut self, c: char) -> Vec<Action> {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    fn alt(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::ALT)
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
    }

    fn event(&mut self, kind: EventKind) -> Vec<Action> {
        self.harness.actions.clear();
        self.harness.event(kind);
        let actions = std::mem::take(&mut self.harness.actions);
        self.settle(actions)
    }

    /// Emits the event of the newest entry.
    fn emit_newest(&mut self) -> Vec<Action> {
        let line = self.writer.reader().raw_line(self.writer.reader().entry_count() - 1).unwrap();
        let raw = serde_json::value::RawValue::from_string(String::from_utf8(line).unwrap()).unwrap();
        let (entry_id, entry) = (self.leaf(), Arc::from(raw));
        self.event(EventKind::EntryAppended { entry_id, entry })
    }

    fn report(&mut self, report: TaskResult) -> Vec<Action> {
        self.harness.actions.clear();
        self.harness.report_result(report);
        let actions = std::mem::take(&mut self.harness.actions);
        self.settle(actions)
    }

    fn screen(&mut self) -> String {
        self.harness.screen()
    }

    /// Returns the row of the cursor, starting with its sign.
    fn chosen(&mut self) -> String {
        let screen = self.screen();
        let row = screen.lines().find(|line| line.starts_with(" ▸")).unwrap_or_default();
        row.chars()
            .skip(4)
            .collect::<String>()
            .split("  ")
            .map(str::trim)
            .find(|part| !part.is_empty())
            .unwrap_or_default()
            .to_owned()
    }

    fn entry(&self, at: usize) -> EntryId {
        self.writer.reader().entry_at(at).unwrap().id
    }
}

fn each_size(name: &str, change: impl Fn(&mut TreeHarness)) {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut tree = TreeHarness::branched(width, height);
        tree.open();
        change(&mut tree);
        insta::assert_snapshot!(format!("tree_{name}_{width}x{height}"), tree.screen());
    }
}

#[test]
fn tree_shows_branches_and_preview() {
    each_size("preview", |_| {});
}

#[test]
fn tree_without_preview_has_more_rows() {
    each_size("plain", |tree| assert_eq!(tree.control('o'), []));
}

#[test]
fn tree_filters() {
    each_size("all", |tree| (0..3).for_each(|_| drop(tree.key(KeyCode::Tab))));
    each_size("labelled", |tree| (0..2).for_each(|_| drop(tree.key(KeyCode::Tab))));
}

#[test]
fn tree_filtered_position_marks_ancestor() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    assert!(tree.screen().contains(" ▸●      You're right"), "{}", tree.screen());
    tree.key(KeyCode::Tab);
    let screen = tree.screen();
    assert!(screen.contains("user messages") && screen.contains("● └─ ▌ look at the fixture"), "{screen}");
    assert_eq!(screen.matches('●').count(), 1, "{screen}");
}

#[test]
fn tree_typing_searches() {
    each_size("search", |tree| tree.type_text("FIXTURE still"));
}

#[test]
fn tree_label_is_edited_in_place() {
    each_size("label", |tree| {
        tree.control('l');
        tree.type_text("works");
    });
}

#[test]
fn tree_accept_while_working_asks() {
    each_size("busy", |tree| {
        tree.event(EventKind::AgentStart);
        tree.key(KeyCode::Up);
        assert_eq!(tree.key(KeyCode::Enter), []);
    });
}

#[test]
fn tree_of_empty_session() {
    let mut tree = TreeHarness::new(80, 24);
    tree.open();
    for (width, height) in SIZES {
        tree.harness.resize(width, height);
        insta::assert_snapshot!(format!("tree_empty_{width}x{height}"), tree.screen());
    }
    assert_eq!(tree.key(KeyCode::Enter), []);
    for key in [KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::End, KeyCode::Tab] {
        assert_eq!(tree.key(key), []);
    }
    for key in ['l', 'x', 'f', 'a', 'o'] {
        assert_eq!(tree.control(key), []);
    }
}

#[test]
fn tree_deep_branches_leave_room() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut tree = TreeHarness::new(width, height);
        tree.user("the first prompt");
        for depth in 0..30 {
            let fork = tree.leaf();
            tree.user(&format!("a way that was left at depth {depth}"));
            tree.writer.branch(Some(&fork), UnixMs(tree.now)).unwrap();
            tree.user(&format!("the way that was taken at depth {depth}"));
        }
        tree.open();
        insta::assert_snapshot!(format!("tree_deep_{width}x{height}"), tree.screen());
    }
}

#[test]
fn tree_small_screens() {
    for width in [1, 2, 3, 5, 8, 13, 29] {
        for height in [1, 2, 3, 4, 7, 8, 15] {
            let mut tree = TreeHarness::branched(width, height);
            tree.open().screen();
            tree.control('l');
            tree.type_text("label");
            tree.screen();
            tree.key(KeyCode::Esc);
            tree.type_text("dead");
            tree.screen();
        }
    }
}

#[test]
fn tree_enter_before_prompt_or_from_entry() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    assert_eq!(tree.key(KeyCode::Enter), [], "that is where one is");
    assert!(!tree.screen().contains("── tree"));
    tree.open();
    tree.key(KeyCode::Up);
    assert_eq!(tree.chosen(), "└─ ▌ look at the fixture");
    let fixture = tree.entry(7);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(fixture.clone()))]);
    let question = list_data::ask_on_leaving(&tree.writer.reader(), &fixture).unwrap();
    tree.report(question);
    assert!(tree.screen().contains("no summary"), "{}", tree.screen());
    assert_eq!(tree.key(KeyCode::Esc), []);
    assert_eq!(tree.chosen(), "└─ ▌ look at the fixture", "one level back");
    assert_eq!(tree.alt(KeyCode::Enter), [Action::Navigate(Navigate::Fork(fixture))]);
}

#[test]
fn tree_returned_prompt_keeps_draft() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.harness.app.composer.editor.set_text("a draft");
    let session = tree.writer.reader().id().clone();
    let moved = SessionSwitched { change: SessionChange::Leaf, session, editor: Some("a prompt".into()) };
    tree.report(TaskResult::SessionSwitched(moved));
    assert_eq!(tree.harness.app.composer.editor.text(), "a prompt\n\na draft");
    assert!(!tree.screen().contains("── tree"));
}

#[test]
fn tree_esc_clears_search_then_closes() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.type_text("fixture");
    assert_eq!(tree.screen().matches("fixture still").count(), 1);
    assert!(tree.screen().contains("2 found"), "{}", tree.screen());
    tree.key(KeyCode::Esc);
    assert!(tree.screen().contains("change the lexer"), "{}", tree.screen());
    tree.type_text("/");
    assert!(tree.screen().contains("❯ fixture "), "the words come back: {}", tree.screen());
    tree.key(KeyCode::Esc);
    tree.key(KeyCode::Esc);
    assert!(!tree.screen().contains("── tree"), "{}", tree.screen());
}

#[test]
fn tree_search_labels_and_escaped_text() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.user("she said \"naïve\", twice");
    tree.open();
    for (words, found) in [("end dead", 1), ("\"NAÏVE\"", 1), ("naïve lexer", 0), ("LEXER", 2)] {
        tree.type_text(words);
        assert!(tree.screen().contains(&format!("{found} found")), "{words}: {}", tree.screen());
        tree.control('u');
    }
}

#[test]
fn tree_folds_branch_and_others() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.key(KeyCode::Home);
    tree.key(KeyCode::Left);
    let screen = tree.screen();
    assert!(screen.contains("6 folded") && screen.contains("1 of 10"), "{screen}");
    tree.key(KeyCode::Right);
    assert!(tree.screen().contains("7 of 10"), "{}", tree.screen());
    tree.alt(KeyCode::Right);
    assert!(tree.chosen().starts_with("You're right"), "{}", tree.screen());
    tree.control('f');
    let screen = tree.screen();
    assert!(screen.contains("5 of 10") && screen.contains("2 folded"), "{screen}");
    tree.control('f');
    assert!(tree.screen().contains("7 of 10"), "{}", tree.screen());
    tree.key(KeyCode::Left);
    assert_eq!(tree.chosen(), "I'll look at the tokenizer first.", "there is nothing to fold");
}

#[test]
fn tree_keys_move_between_branches() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.alt(KeyCode::Up);
    assert_eq!(tree.chosen(), "└─ ▌ look at the fixture");
    tree.alt(KeyCode::Up);
    assert_eq!(tree.chosen(), "├─ ▌ change the lexer");
    tree.alt(KeyCode::Down);
    assert_eq!(tree.chosen(), "└─ ▌ look at the fixture");
    tree.alt(KeyCode::Left);
    assert_eq!(tree.chosen(), "I'll look at the tokenizer first.");
    tree.alt(KeyCode::Right);
    assert!(tree.chosen().starts_with("You're right"), "{}", tree.screen());
}

#[test]
fn tree_label_keys() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.control('l');
    tree.type_text("it works");
    let answer = tree.entry(8);
    assert_eq!(
        tree.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::LabelEntry(answer.clone(), Some("it works".into())))]
    );
    tree.writer.label(&answer, Some("it works"), UnixMs(tree.now)).unwrap();
    assert_eq!(tree.emit_newest(), []);
    assert!(tree.screen().contains("[it works]"), "{}", tree.screen());
    tree.control('l');
    tree.control('u');
    tree.key(KeyCode::Esc);
    assert!(tree.screen().contains("[it works]") && tree.screen().contains("── tree"), "{}", tree.screen());
    tree.control('l');
    tree.control('u');
    assert_eq!(tree.key(KeyCode::Enter), [Action::Edit(SessionEdit::LabelEntry(answer, None))]);
}

#[test]
fn tree_long_label_shows_its_end() {
    let long = "a label that says rather more than there is room for in its row, and that is its end";
    for (width, height) in SIZES {
        let mut tree = TreeHarness::branched(width, height);
        tree.open();
        tree.control('l');
        tree.type_text(long);
        let screen = tree.screen();
        assert!(screen.contains("[…") && screen.contains("its row, and that is its end ]"), "{screen}");
        let answer = tree.entry(8);
        assert_eq!(
            tree.key(KeyCode::Enter),
            [Action::Edit(SessionEdit::LabelEntry(answer.clone(), Some(long.into())))]
        );
        tree.writer.label(&answer, Some(long), UnixMs(tree.now)).unwrap();
        assert_eq!(tree.emit_newest(), []);
        assert!(tree.screen().contains("[a label that says rather more than"), "{}", tree.screen());
    }
}

#[test]
fn tree_branch_is_hidden_and_restored() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.alt(KeyCode::Up);
    tree.alt(KeyCode::Up);
    let lexer = tree.entry(2);
    assert_eq!(tree.control('x'), [Action::Background(BackgroundJob::AskToHide(lexer.clone()))]);
    let question = list_data::ask_to_hide(&tree.writer.reader(), lexer.clone());
    tree.report(question);
    assert!(tree.screen().contains("hide this entry and the 3 after it"), "{}", tree.screen());
    tree.harness.wait(400);
    assert_eq!(
        tree.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::Hide(lexer.clone(), Visibility::Hidden))]
    );
    tree.writer.hide(&lexer, Visibility::Hidden, UnixMs(tree.now)).unwrap();
    tree.emit_newest();
    assert!(!tree.screen().contains("change the lexer"), "{}", tree.screen());
    tree.type_text("lexer");
    let screen = tree.screen();
    assert!(screen.contains("found, ") && !screen.contains("change the lexer"), "{screen}");
    tree.key(KeyCode::Esc);
    tree.control('a');
    let screen = tree.screen();
    assert!(screen.contains("change the lexer") && screen.contains("hidden"), "{screen}");
    tree.type_text("fixture still");
    assert_eq!(tree.key(KeyCode::Enter), [Action::Edit(SessionEdit::Hide(lexer.clone(), Visibility::Shown))]);
    assert_eq!(tree.control('x'), [Action::Edit(SessionEdit::Hide(lexer, Visibility::Shown))]);
}

#[test]
fn tree_current_branch_is_not_hidden() {
    let mut tree = TreeHarness::branched(120, 40);
    tree.open();
    assert!(!tree.screen().contains("ctrl+x hide"), "{}", tree.screen());
    assert_eq!(tree.control('x'), []);
    let screen = tree.screen();
    assert!(screen.contains("── tree") && screen.contains("✗ can't hide the current branch"), "{screen}");
    tree.alt(KeyCode::Up);
    tree.alt(KeyCode::Up);
    let screen = tree.screen();
    assert!(!screen.contains("can't hide") && screen.contains("ctrl+x hide"), "{screen}");
    assert_eq!(tree.control('x'), [Action::Background(BackgroundJob::AskToHide(tree.entry(2)))]);
}

#[test]
fn tree_dialog_key_selects_nothing_below() {
    for (last, answered) in [(KeyCode::Enter, true), (KeyCode::Esc, false)] {
        let mut tree = TreeHarness::branched(80, 24);
        tree.open();
        tree.alt(KeyCode::Up);
        tree.alt(KeyCode::Up);
        let entry = tree.entry(2);
        tree.control('x');
        let question = list_data::ask_to_hide(&tree.writer.reader(), entry.clone());
        tree.report(question);
        tree.harness.wait(400);
        let hides = vec![Action::Edit(SessionEdit::Hide(entry.clone(), Visibility::Hidden))];
        assert_eq!(tree.key(last), if answered { hides } else { vec![] });
        for pause in [0, 150, 399] {
            tree.harness.wait(pause);
            assert_eq!(tree.key(last), [], "{last:?} goes on being pressed");
            assert!(tree.screen().contains("── tree"), "{}", tree.screen());
        }
        // Other keys keep their meaning.
        tree.key(KeyCode::Down);
        tree.key(KeyCode::Up);
        assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(entry))]);
    }
}

#[test]
fn tree_new_entries_keep_cursor() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.key(KeyCode::Up);
    let before = tree.chosen();
    tree.event(EventKind::AgentStart);
    tree.user("and now the docs");
    assert_eq!(tree.emit_newest(), []);
    let screen = tree.screen();
    assert!(screen.contains("and now the docs"), "{screen}");
    assert_eq!(tree.chosen(), before);
}

#[test]
fn tree_accept_while_working_stops_first() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.event(EventKind::AgentStart);
    tree.key(KeyCode::Up);
    tree.key(KeyCode::Enter);
    assert_eq!(tree.key(KeyCode::Enter), [], "the first choice leaves everything as it is");
    assert!(tree.screen().contains("── tree"), "{}", tree.screen());
    tree.harness.wait(400);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::Down);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Abort]);
    assert!(tree.screen().contains("stopping…"), "{}", tree.screen());
    let go = Action::Navigate(Navigate::AskForSummary(tree.entry(7)));
    let settled = tree.event(EventKind::AgentSettled);
    assert!(settled.contains(&go), "{settled:?}");
}

#[test]
fn tree_fork_while_working() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.event(EventKind::AgentStart);
    tree.key(KeyCode::Up);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::End);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::ForkBeside(tree.entry(7)))]);
    tree.report(TaskResult::List(ListResult::ForkCreated("01JD6X9QWERTYUIOPASDFGHJKL".into())));
    let screen = tree.screen();
    assert!(screen.contains("forked into session FGHJKL") && screen.contains("tiller --session"), "{screen}");
    tree.open();
    tree.key(KeyCode::Home);
    tree.key(KeyCode::Enter);
    assert!(!tree.screen().contains("beside this one, and"), "nothing stands before it: {}", tree.screen());
}

#[test]
fn tree_closed_while_stopping_stays() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.event(EventKind::AgentStart);
    tree.key(KeyCode::Up);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::Down);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::Esc);
    let settled = tree.event(EventKind::AgentSettled);
    assert!(settled.iter().all(|action| !matches!(action, Action::Navigate(_))), "{settled:?}");
}

#[test]
fn fork_lists_user_prompts() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.type_text("/fork");
    tree.key(KeyCode::Enter);
    for (width, height) in SIZES {
        tree.harness.resize(width, height);
        insta::assert_snapshot!(format!("tree_fork_{width}x{height}"), tree.screen());
    }
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::Fork(tree.entry(7)))]);
}

#[test]
fn tree_effect_is_shown_in_preview() {
    for (key, words) in [("/tree", "enter: you are here; return to the transcript"), ("/fork", FORKS_BEFORE)]
    {
        let mut tree = TreeHarness::branched(120, 40);
        tree.type_text(key);
        tree.key(KeyCode::Enter);
        let screen = tree.screen();
        assert!(screen.lines().any(|line| line.trim_end().ends_with(words)), "{screen}");
    }
}

#[test]
fn tree_leave_dialog_closes_tree() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.key(KeyCode::Up);
    let fixture = tree.entry(7);
    tree.key(KeyCode::Enter);
    let question = list_data::ask_on_leaving(&tree.writer.reader(), &fixture).unwrap();
    tree.report(question);
    tree.harness.wait(400);
    tree.key(KeyCode::Down);
    let summary_choice = BranchSummary::Made { instructions: None };
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::ToEntry(fixture, summary_choice))]);
    assert!(!tree.screen().contains("── tree"), "{}", tree.screen());
}

#[test]
fn tree_second_enter_does_nothing() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.harness.app.composer.editor.set_text("a draft");
    tree.harness.app.apply(Effect::Open(OverlayRequest::Tree(tree::request::TreePurpose::Go)));
    tree.report(TaskResult::Note(String::new()));
    tree.key(KeyCode::Up);
    let fixture = tree.entry(7);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(fixture.clone()))]);
    assert_eq!(tree.key(KeyCode::Enter), [], "one is on the way already");
    let question = list_data::ask_on_leaving(&tree.writer.reader(), &fixture).unwrap();
    tree.report(question);
    tree.harness.wait(400);
    let leaves = Action::Navigate(Navigate::ToEntry(fixture, BranchSummary::None));
    assert_eq!(tree.key(KeyCode::Enter), [leaves]);
    assert!(!tree.screen().contains("── tree"), "what is typed now is for where one goes");
    assert_eq!(tree.key(KeyCode::Enter), []);
    assert_eq!(tree.harness.app.composer.editor.text(), "a draft");
}

#[test]
fn tree_typing_while_navigating_is_a_draft() {
    let went = || {
        let mut tree = TreeHarness::branched(80, 24);
        tree.open();
        tree.key(KeyCode::Up);
        tree.key(KeyCode::Enter);
        tree.type_text("and theN");
        tree.key(KeyCode::Backspace);
        tree.harness.input(Msg::Paste("n".into()));
        tree
    };
    let mut tree = went();
    let session = tree.writer.reader().id().clone();
    tree.report(TaskResult::SessionSwitched(SessionSwitched {
        change: SessionChange::Leaf,
        session,
        editor: None,
    }));
    assert_eq!(tree.harness.app.composer.editor.text(), "and then");
    let mut tree = went();
    tree.report(TaskResult::Failed { message: "the disk is full".into(), hint: None, text: None });
    assert_eq!(tree.harness.app.composer.editor.text(), "and then");
    let mut tree = went();
    tree.key(KeyCode::Esc);
    assert_eq!(tree.harness.app.composer.editor.text(), "and then");
}

#[test]
fn tree_reads_visible_texts_only() {
    let mut tree = TreeHarness::new(80, 24);
    for at in 0..1_000 {
        tree.user(&format!("prompt {at}"));
    }
    let mut requests = 0;
    let mut todo: Vec<Action> = Vec::new();
    for c in "/tree".chars() {
        todo.extend(tree.harness.key(KeyCode::Char(c)));
    }
    todo.extend(tree.harness.key(KeyCode::Enter));
    while let Some(action) = todo.pop() {
        let Action::Background(BackgroundJob::Tree(request)) = action else { continue };
        if let TreeRequest::Texts(wants) = &request {
            requests += wants.len();
        }
        for results in tree.run_request(&request) {
            let session = tree.writer.reader().id().clone();
            tree.harness.report_result(TaskResult::List(ListResult::Tree { session, news: results }));
            todo.extend(std::mem::take(&mut tree.harness.actions));
        }
    }
    assert!((12..=60).contains(&requests), "{requests} rows were read");
}

#[test]
fn tree_click_selects_then_accepts() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    let row = |tree: &mut TreeHarness, text: &str| {
        let screen = tree.harness.screen();
        screen
            .lines()
            .position(|line| line.contains(text))
            .unwrap_or_else(|| panic!("no {text} on\n{screen}"))
    };
    let before = row(&mut tree, "change the lexer");
    tree.harness.click_on("change the lexer");
    let screen = tree.harness.screen();
    assert!(screen.lines().nth(before).is_some_and(|line| line.contains('▸')), "{screen}");
    let actions = tree.harness.click_on("change the lexer");
    assert!(matches!(&actions[..], [Action::Navigate(Navigate::AskForSummary(_))]), "{actions:?}");
}

#[test]
fn tree_click_near_edge_does_not_scroll() {
    let mut tree = TreeHarness::branched(80, 9);
    tree.open();
    let first = |tree: &mut TreeHarness| tree.harness.screen().lines().nth(2).unwrap().to_owned();
    let before = first(&mut tree);
    assert!(!before.contains('▸'), "{before}");
    tree.harness.mouse_at(MouseEventKind::Down(MouseButton::Left), 2);
    let after = first(&mut tree);
    assert!(after.contains('▸'), "{after}");
    // The end of a row shows facts about the selected entry.
    assert_eq!(after.replace('▸', " ")[..30], before[..30]);
}
