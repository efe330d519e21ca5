//! The tree, over a session in memory.

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

use super::harness::{Harness, SIZES, START, call, text};
use crate::app::{Action, BackgroundJob, ListResult, Msg, Navigate, SessionEdit, TaskResult};
use crate::list_data;
use crate::tree::{self, SearchControl, TreeRequest};

const HOUR: i64 = 3_600_000;

const FORKS_BEFORE: &str = "enter: fork before it, text in the editor";

/// A front end over a session that lies in memory.
struct Grove {
    stage: Harness,
    writer: Writer,
    now: i64,
}

impl Grove {
    fn new(width: u16, height: u16) -> Self {
        let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
        let writer = manager.create(UnixMs(START - 5 * HOUR));
        Self { stage: Harness::new(width, height), writer, now: START - 5 * HOUR }
    }

    /// Two ways to go on from one answer, each with some history; the second one is where one is.
    fn branched(width: u16, height: u16) -> Self {
        let mut grove = Self::new(width, height);
        grove.user("the parser test fails on windows line endings, find out why");
        grove.answer("I'll look at the **tokenizer** first.", "claude-opus-4-5");
        let fork = grove.leaf();
        grove.user("change the lexer");
        grove.calls("c1", "claude-opus-4-5");
        grove.result("c1", "edited");
        grove.answer("Done, but the fixture still fails.", "claude-opus-4-5");
        let dead_end = grove.leaf();
        grove.writer.branch(Some(&fork), UnixMs(grove.now)).unwrap();
        grove.user("look at the fixture");
        grove.answer(
            "You're right: line 3 of `mixed.txt` ends in `\\r\\r\\n`.\n\n- one\n- two",
            "claude-sonnet-4-5",
        );
        grove.writer.label(&dead_end, Some("dead end"), UnixMs(grove.now)).unwrap();
        grove
    }

    fn leaf(&self) -> EntryId {
        self.writer.reader().leaf().unwrap()
    }

    fn say(&mut self, message: Message) {
        self.now += HOUR / 4;
        self.writer.append(EntryBody::message(Arc::new(message)), UnixMs(self.now)).unwrap();
    }

    fn user(&mut self, said: &str) {
        self.say(Message::User(UserMessage::text(said, UnixMs(0))));
    }

    fn answer(&mut self, said: &str, model: &str) {
        self.answers(vec![text(said)], model, StopReason::Stop);
    }

    fn calls(&mut self, id: &str, model: &str) {
        let content = vec![call(id, "edit_file", json!({"path": "src/lexer.rs"}))];
        self.answers(content, model, StopReason::ToolUse);
    }

    fn answers(&mut self, content: Vec<AssistantBlock>, model: &str, stop_reason: StopReason) {
        let cost = Cost { total: Usd(0.02), ..Cost::default() };
        let usage = Usage { input: Tokens(12_000), output: Tokens(321), cost, ..Usage::default() };
        let model = model.to_owned();
        self.say(Message::Assistant(AssistantMessage {
            content,
            model,
            usage,
            stop_reason,
            ..AssistantMessage::default()
        }));
    }

    fn result(&mut self, id: &str, said: &str) {
        self.say(Message::ToolResult(ToolResultMessage {
            tool_call_id: id.into(),
            tool_name: "edit_file".into(),
            content: vec![UserBlock::Text { text: said.into() }],
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

    /// Answers what the tree asks for, until it asks for nothing; what else is to be done.
    fn settle(&mut self, actions: Vec<Action>) -> Vec<Action> {
        let (mut todo, mut rest) = (std::collections::VecDeque::from(actions), Vec::new());
        while let Some(action) = todo.pop_front() {
            let Action::Background(BackgroundJob::Tree(ask)) = action else {
                rest.push(action);
                continue;
            };
            for news in self.answered(&ask) {
                let session = self.writer.reader().id().clone();
                self.stage.actions.clear();
                self.stage.input(Msg::TaskResult(TaskResult::List(ListResult::Tree { session, news })));
                todo.extend(std::mem::take(&mut self.stage.actions));
            }
        }
        rest
    }

    fn answered(&self, ask: &TreeRequest) -> Vec<tree::TreeResult> {
        let reader = self.writer.reader();
        let mut news: Vec<tree::TreeResult> =
            tree::load(&reader, &built_in_tools(), ask).into_iter().collect();
        if let TreeRequest::Search(query) = ask {
            let tell = |found| {
                news.push(found);
                SearchControl::Yes
            };
            tree::search_entries(&reader, query, || SearchControl::Yes, tell);
        }
        news
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        let actions = self.stage.press(code, modifiers);
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
        self.stage.actions.clear();
        self.stage.event(kind);
        let actions = std::mem::take(&mut self.stage.actions);
        self.settle(actions)
    }

    /// Tells the front end of the newest entry.
    fn told(&mut self) -> Vec<Action> {
        let line = self.writer.reader().raw_line(self.writer.reader().entry_count() - 1).unwrap();
        let raw = serde_json::value::RawValue::from_string(String::from_utf8(line).unwrap()).unwrap();
        let (entry_id, entry) = (self.leaf(), Arc::from(raw));
        self.event(EventKind::EntryAppended { entry_id, entry })
    }

    fn report(&mut self, report: TaskResult) -> Vec<Action> {
        self.stage.actions.clear();
        self.stage.input(Msg::TaskResult(report));
        let actions = std::mem::take(&mut self.stage.actions);
        self.settle(actions)
    }

    fn screen(&mut self) -> String {
        self.stage.screen()
    }

    /// The row under the cursor, from its sign on.
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

fn each_size(name: &str, act: impl Fn(&mut Grove)) {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut grove = Grove::branched(width, height);
        grove.open();
        act(&mut grove);
        insta::assert_snapshot!(format!("tree_{name}_{width}x{height}"), grove.screen());
    }
}

#[test]
fn tree_shows_branches_and_preview() {
    each_size("preview", |_| {});
}

#[test]
fn tree_without_preview_has_more_rows() {
    each_size("plain", |grove| assert_eq!(grove.control('o'), []));
}

#[test]
fn tree_filters() {
    each_size("all", |grove| (0..3).for_each(|_| drop(grove.key(KeyCode::Tab))));
    each_size("labelled", |grove| (0..2).for_each(|_| drop(grove.key(KeyCode::Tab))));
}

#[test]
fn tree_filtered_position_marks_ancestor() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    assert!(grove.screen().contains(" ▸●      You're right"), "{}", grove.screen());
    grove.key(KeyCode::Tab);
    let screen = grove.screen();
    assert!(screen.contains("user messages") && screen.contains("● └─ ▌ look at the fixture"), "{screen}");
    assert_eq!(screen.matches('●').count(), 1, "{screen}");
}

#[test]
fn tree_typing_searches() {
    each_size("search", |grove| grove.type_text("FIXTURE still"));
}

#[test]
fn tree_label_is_edited_in_place() {
    each_size("label", |grove| {
        grove.control('l');
        grove.type_text("works");
    });
}

#[test]
fn tree_accept_while_working_asks() {
    each_size("busy", |grove| {
        grove.event(EventKind::AgentStart);
        grove.key(KeyCode::Up);
        assert_eq!(grove.key(KeyCode::Enter), []);
    });
}

#[test]
fn tree_of_empty_session() {
    let mut grove = Grove::new(80, 24);
    grove.open();
    for (width, height) in SIZES {
        grove.stage.resize(width, height);
        insta::assert_snapshot!(format!("tree_empty_{width}x{height}"), grove.screen());
    }
    assert_eq!(grove.key(KeyCode::Enter), []);
    for key in [KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::End, KeyCode::Tab] {
        assert_eq!(grove.key(key), []);
    }
    for key in ['l', 'x', 'f', 'a', 'o'] {
        assert_eq!(grove.control(key), []);
    }
}

#[test]
fn tree_deep_branches_leave_room() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut grove = Grove::new(width, height);
        grove.user("the first prompt");
        for depth in 0..30 {
            let fork = grove.leaf();
            grove.user(&format!("a way that was left at depth {depth}"));
            grove.writer.branch(Some(&fork), UnixMs(grove.now)).unwrap();
            grove.user(&format!("the way that was taken at depth {depth}"));
        }
        grove.open();
        insta::assert_snapshot!(format!("tree_deep_{width}x{height}"), grove.screen());
    }
}

#[test]
fn tree_small_screens() {
    for width in [1, 2, 3, 5, 8, 13, 29] {
        for height in [1, 2, 3, 4, 7, 8, 15] {
            let mut grove = Grove::branched(width, height);
            grove.open().screen();
            grove.control('l');
            grove.type_text("label");
            grove.screen();
            grove.key(KeyCode::Esc);
            grove.type_text("dead");
            grove.screen();
        }
    }
}

#[test]
fn tree_enter_before_prompt_or_from_entry() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    assert_eq!(grove.key(KeyCode::Enter), [], "that is where one is");
    assert!(!grove.screen().contains("── tree"));
    grove.open();
    grove.key(KeyCode::Up);
    assert_eq!(grove.chosen(), "└─ ▌ look at the fixture");
    let fixture = grove.entry(7);
    assert_eq!(grove.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(fixture.clone()))]);
    let question = list_data::ask_on_leaving(&grove.writer.reader(), &fixture).unwrap();
    grove.report(question);
    assert!(grove.screen().contains("without a summary"), "{}", grove.screen());
    assert_eq!(grove.key(KeyCode::Esc), []);
    assert_eq!(grove.chosen(), "└─ ▌ look at the fixture", "one level back");
    assert_eq!(grove.alt(KeyCode::Enter), [Action::Navigate(Navigate::Fork(fixture))]);
}

#[test]
fn tree_returned_prompt_keeps_draft() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.stage.app.editor.set_text("a draft");
    let session = grove.writer.reader().id().clone();
    let moved = SessionSwitched { change: SessionChange::Leaf, session, editor: Some("a prompt".into()) };
    grove.report(TaskResult::SessionSwitched(moved));
    assert_eq!(grove.stage.app.editor.text(), "a prompt\n\na draft");
    assert!(!grove.screen().contains("── tree"));
}

#[test]
fn tree_esc_clears_search_then_closes() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.type_text("fixture");
    assert_eq!(grove.screen().matches("fixture still").count(), 1);
    assert!(grove.screen().contains("2 found"), "{}", grove.screen());
    grove.key(KeyCode::Esc);
    assert!(grove.screen().contains("change the lexer"), "{}", grove.screen());
    grove.type_text("/");
    assert!(grove.screen().contains("❯ fixture "), "the words come back: {}", grove.screen());
    grove.key(KeyCode::Esc);
    grove.key(KeyCode::Esc);
    assert!(!grove.screen().contains("── tree"), "{}", grove.screen());
}

#[test]
fn tree_search_labels_and_escaped_text() {
    let mut grove = Grove::branched(80, 24);
    grove.user("she said \"naïve\", twice");
    grove.open();
    for (words, found) in [("end dead", 1), ("\"NAÏVE\"", 1), ("naïve lexer", 0), ("LEXER", 2)] {
        grove.type_text(words);
        assert!(grove.screen().contains(&format!("{found} found")), "{words}: {}", grove.screen());
        grove.control('u');
    }
}

#[test]
fn tree_folds_branch_and_others() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.key(KeyCode::Home);
    grove.key(KeyCode::Left);
    let screen = grove.screen();
    assert!(screen.contains("6 folded") && screen.contains("1 of 10"), "{screen}");
    grove.key(KeyCode::Right);
    assert!(grove.screen().contains("7 of 10"), "{}", grove.screen());
    grove.alt(KeyCode::Right);
    assert!(grove.chosen().starts_with("You're right"), "{}", grove.screen());
    grove.control('f');
    let screen = grove.screen();
    assert!(screen.contains("5 of 10") && screen.contains("2 folded"), "{screen}");
    grove.control('f');
    assert!(grove.screen().contains("7 of 10"), "{}", grove.screen());
    grove.key(KeyCode::Left);
    assert_eq!(grove.chosen(), "I'll look at the tokenizer first.", "there is nothing to fold");
}

#[test]
fn tree_keys_move_between_branches() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.alt(KeyCode::Up);
    assert_eq!(grove.chosen(), "└─ ▌ look at the fixture");
    grove.alt(KeyCode::Up);
    assert_eq!(grove.chosen(), "├─ ▌ change the lexer");
    grove.alt(KeyCode::Down);
    assert_eq!(grove.chosen(), "└─ ▌ look at the fixture");
    grove.alt(KeyCode::Left);
    assert_eq!(grove.chosen(), "I'll look at the tokenizer first.");
    grove.alt(KeyCode::Right);
    assert!(grove.chosen().starts_with("You're right"), "{}", grove.screen());
}

#[test]
fn tree_label_keys() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.control('l');
    grove.type_text("it works");
    let answer = grove.entry(8);
    assert_eq!(
        grove.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::LabelEntry(answer.clone(), Some("it works".into())))]
    );
    grove.writer.label(&answer, Some("it works"), UnixMs(grove.now)).unwrap();
    assert_eq!(grove.told(), []);
    assert!(grove.screen().contains("[it works]"), "{}", grove.screen());
    grove.control('l');
    grove.control('u');
    grove.key(KeyCode::Esc);
    assert!(
        grove.screen().contains("[it works]") && grove.screen().contains("── tree"),
        "{}",
        grove.screen()
    );
    grove.control('l');
    grove.control('u');
    assert_eq!(grove.key(KeyCode::Enter), [Action::Edit(SessionEdit::LabelEntry(answer, None))]);
}

#[test]
fn tree_long_label_shows_its_end() {
    let long = "a label that says rather more than there is room for in its row, and that is its end";
    for (width, height) in SIZES {
        let mut grove = Grove::branched(width, height);
        grove.open();
        grove.control('l');
        grove.type_text(long);
        let screen = grove.screen();
        assert!(screen.contains("[…") && screen.contains("its row, and that is its end ]"), "{screen}");
        let answer = grove.entry(8);
        assert_eq!(
            grove.key(KeyCode::Enter),
            [Action::Edit(SessionEdit::LabelEntry(answer.clone(), Some(long.into())))]
        );
        grove.writer.label(&answer, Some(long), UnixMs(grove.now)).unwrap();
        assert_eq!(grove.told(), []);
        assert!(grove.screen().contains("[a label that says rather more than"), "{}", grove.screen());
    }
}

#[test]
fn tree_branch_is_hidden_and_restored() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.alt(KeyCode::Up);
    grove.alt(KeyCode::Up);
    let lexer = grove.entry(2);
    assert_eq!(grove.control('x'), [Action::Background(BackgroundJob::AskToHide(lexer.clone()))]);
    let question = list_data::ask_to_hide(&grove.writer.reader(), lexer.clone());
    grove.report(question);
    assert!(grove.screen().contains("hide this entry and the 3 after it"), "{}", grove.screen());
    grove.stage.wait(400);
    assert_eq!(
        grove.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::Hide(lexer.clone(), Visibility::Hidden))]
    );
    grove.writer.hide(&lexer, Visibility::Hidden, UnixMs(grove.now)).unwrap();
    grove.told();
    assert!(!grove.screen().contains("change the lexer"), "{}", grove.screen());
    grove.type_text("lexer");
    let screen = grove.screen();
    assert!(screen.contains("found, ") && !screen.contains("change the lexer"), "{screen}");
    grove.key(KeyCode::Esc);
    grove.control('a');
    let screen = grove.screen();
    assert!(screen.contains("change the lexer") && screen.contains("hidden"), "{screen}");
    grove.type_text("fixture still");
    assert_eq!(
        grove.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::Hide(lexer.clone(), Visibility::Shown))]
    );
    assert_eq!(grove.control('x'), [Action::Edit(SessionEdit::Hide(lexer, Visibility::Shown))]);
}

#[test]
fn tree_current_branch_is_not_hidden() {
    let mut grove = Grove::branched(120, 40);
    grove.open();
    assert!(!grove.screen().contains("ctrl+x hide"), "{}", grove.screen());
    assert_eq!(grove.control('x'), []);
    let screen = grove.screen();
    assert!(screen.contains("── tree") && screen.contains("✗ can't hide the current branch"), "{screen}");
    grove.alt(KeyCode::Up);
    grove.alt(KeyCode::Up);
    let screen = grove.screen();
    assert!(!screen.contains("can't hide") && screen.contains("ctrl+x hide"), "{screen}");
    assert_eq!(grove.control('x'), [Action::Background(BackgroundJob::AskToHide(grove.entry(2)))]);
}

#[test]
fn tree_dialog_key_selects_nothing_below() {
    for (last, answered) in [(KeyCode::Enter, true), (KeyCode::Esc, false)] {
        let mut grove = Grove::branched(80, 24);
        grove.open();
        grove.alt(KeyCode::Up);
        grove.alt(KeyCode::Up);
        let entry = grove.entry(2);
        grove.control('x');
        let question = list_data::ask_to_hide(&grove.writer.reader(), entry.clone());
        grove.report(question);
        grove.stage.wait(400);
        let hides = vec![Action::Edit(SessionEdit::Hide(entry.clone(), Visibility::Hidden))];
        assert_eq!(grove.key(last), if answered { hides } else { vec![] });
        for pause in [0, 150, 399] {
            grove.stage.wait(pause);
            assert_eq!(grove.key(last), [], "{last:?} goes on being pressed");
            assert!(grove.screen().contains("── tree"), "{}", grove.screen());
        }
        // Another key means what it says.
        grove.key(KeyCode::Down);
        grove.key(KeyCode::Up);
        assert_eq!(grove.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(entry))]);
    }
}

#[test]
fn tree_new_entries_keep_cursor() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.key(KeyCode::Up);
    let before = grove.chosen();
    grove.event(EventKind::AgentStart);
    grove.user("and now the docs");
    assert_eq!(grove.told(), []);
    let screen = grove.screen();
    assert!(screen.contains("and now the docs"), "{screen}");
    assert_eq!(grove.chosen(), before);
}

#[test]
fn tree_accept_while_working_stops_first() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.event(EventKind::AgentStart);
    grove.key(KeyCode::Up);
    grove.key(KeyCode::Enter);
    assert_eq!(grove.key(KeyCode::Enter), [], "the first choice leaves everything as it is");
    assert!(grove.screen().contains("── tree"), "{}", grove.screen());
    grove.stage.wait(400);
    grove.key(KeyCode::Enter);
    grove.key(KeyCode::Down);
    assert_eq!(grove.key(KeyCode::Enter), [Action::Abort]);
    assert!(grove.screen().contains("stopping…"), "{}", grove.screen());
    let go = Action::Navigate(Navigate::AskForSummary(grove.entry(7)));
    let settled = grove.event(EventKind::AgentSettled);
    assert!(settled.contains(&go), "{settled:?}");
}

#[test]
fn tree_fork_while_working() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.event(EventKind::AgentStart);
    grove.key(KeyCode::Up);
    grove.key(KeyCode::Enter);
    grove.key(KeyCode::End);
    assert_eq!(grove.key(KeyCode::Enter), [Action::Navigate(Navigate::ForkBeside(grove.entry(7)))]);
    grove.report(TaskResult::List(ListResult::ForkCreated("01JD6X9QWERTYUIOPASDFGHJKL".into())));
    let screen = grove.screen();
    assert!(screen.contains("forked into session FGHJKL") && screen.contains("tiller --session"), "{screen}");
    grove.open();
    grove.key(KeyCode::Home);
    grove.key(KeyCode::Enter);
    assert!(!grove.screen().contains("beside this one, and"), "nothing stands before it: {}", grove.screen());
}

#[test]
fn tree_closed_while_stopping_stays() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.event(EventKind::AgentStart);
    grove.key(KeyCode::Up);
    grove.key(KeyCode::Enter);
    grove.key(KeyCode::Down);
    grove.key(KeyCode::Enter);
    grove.key(KeyCode::Esc);
    let settled = grove.event(EventKind::AgentSettled);
    assert!(settled.iter().all(|action| !matches!(action, Action::Navigate(_))), "{settled:?}");
}

#[test]
fn fork_lists_user_prompts() {
    let mut grove = Grove::branched(80, 24);
    grove.type_text("/fork");
    grove.key(KeyCode::Enter);
    for (width, height) in SIZES {
        grove.stage.resize(width, height);
        insta::assert_snapshot!(format!("tree_fork_{width}x{height}"), grove.screen());
    }
    assert_eq!(grove.key(KeyCode::Enter), [Action::Navigate(Navigate::Fork(grove.entry(7)))]);
}

#[test]
fn tree_effect_is_shown_in_preview() {
    for (key, words) in [("/tree", "enter: you are here; return to the transcript"), ("/fork", FORKS_BEFORE)]
    {
        let mut grove = Grove::branched(120, 40);
        grove.type_text(key);
        grove.key(KeyCode::Enter);
        let screen = grove.screen();
        assert!(screen.lines().any(|line| line.trim_end().ends_with(words)), "{screen}");
    }
}

#[test]
fn tree_leave_dialog_closes_tree() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    grove.key(KeyCode::Up);
    let fixture = grove.entry(7);
    grove.key(KeyCode::Enter);
    let question = list_data::ask_on_leaving(&grove.writer.reader(), &fixture).unwrap();
    grove.report(question);
    grove.stage.wait(400);
    grove.key(KeyCode::Down);
    let made = BranchSummary::Made { instructions: None };
    assert_eq!(grove.key(KeyCode::Enter), [Action::Navigate(Navigate::ToEntry(fixture, made))]);
    assert!(!grove.screen().contains("── tree"), "{}", grove.screen());
}

#[test]
fn tree_second_enter_does_nothing() {
    let mut grove = Grove::branched(80, 24);
    grove.stage.app.editor.set_text("a draft");
    grove.stage.app.open_tree(tree::TreePurpose::Go);
    grove.report(TaskResult::Note(String::new()));
    grove.key(KeyCode::Up);
    let fixture = grove.entry(7);
    assert_eq!(grove.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(fixture.clone()))]);
    assert_eq!(grove.key(KeyCode::Enter), [], "one is on the way already");
    let question = list_data::ask_on_leaving(&grove.writer.reader(), &fixture).unwrap();
    grove.report(question);
    grove.stage.wait(400);
    let leaves = Action::Navigate(Navigate::ToEntry(fixture, BranchSummary::None));
    assert_eq!(grove.key(KeyCode::Enter), [leaves]);
    assert!(!grove.screen().contains("── tree"), "what is typed now is for where one goes");
    assert_eq!(grove.key(KeyCode::Enter), []);
    assert_eq!(grove.stage.app.editor.text(), "a draft");
}

#[test]
fn tree_typing_while_navigating_is_a_draft() {
    let went = || {
        let mut grove = Grove::branched(80, 24);
        grove.open();
        grove.key(KeyCode::Up);
        grove.key(KeyCode::Enter);
        grove.type_text("and theN");
        grove.key(KeyCode::Backspace);
        grove.stage.input(Msg::Paste("n".into()));
        grove
    };
    let mut grove = went();
    let session = grove.writer.reader().id().clone();
    grove.report(TaskResult::SessionSwitched(SessionSwitched {
        change: SessionChange::Leaf,
        session,
        editor: None,
    }));
    assert_eq!(grove.stage.app.editor.text(), "and then");
    let mut grove = went();
    grove.report(TaskResult::Failed { what: "the disk is full".into(), hint: None, text: None });
    assert_eq!(grove.stage.app.editor.text(), "and then");
    let mut grove = went();
    grove.key(KeyCode::Esc);
    assert_eq!(grove.stage.app.editor.text(), "and then");
}

#[test]
fn tree_reads_visible_texts_only() {
    let mut grove = Grove::new(80, 24);
    for at in 0..1_000 {
        grove.user(&format!("prompt {at}"));
    }
    let mut asked = 0;
    let mut todo: Vec<Action> = Vec::new();
    for c in "/tree".chars() {
        todo.extend(grove.stage.key(KeyCode::Char(c)));
    }
    todo.extend(grove.stage.key(KeyCode::Enter));
    while let Some(action) = todo.pop() {
        let Action::Background(BackgroundJob::Tree(ask)) = action else { continue };
        if let TreeRequest::Texts(wants) = &ask {
            asked += wants.len();
        }
        for news in grove.answered(&ask) {
            let session = grove.writer.reader().id().clone();
            grove.stage.input(Msg::TaskResult(TaskResult::List(ListResult::Tree { session, news })));
            todo.extend(std::mem::take(&mut grove.stage.actions));
        }
    }
    assert!((12..=60).contains(&asked), "{asked} rows were read");
}

#[test]
fn tree_click_selects_then_accepts() {
    let mut grove = Grove::branched(80, 24);
    grove.open();
    let row = |grove: &mut Grove, text: &str| {
        let screen = grove.stage.screen();
        screen
            .lines()
            .position(|line| line.contains(text))
            .unwrap_or_else(|| panic!("no {text} on\n{screen}"))
    };
    let before = row(&mut grove, "change the lexer");
    grove.stage.click_on("change the lexer");
    let screen = grove.stage.screen();
    assert!(screen.lines().nth(before).is_some_and(|line| line.contains('▸')), "{screen}");
    let actions = grove.stage.click_on("change the lexer");
    assert!(matches!(&actions[..], [Action::Navigate(Navigate::AskForSummary(_))]), "{actions:?}");
}

#[test]
fn tree_click_near_edge_does_not_scroll() {
    let mut grove = Grove::branched(80, 9);
    grove.open();
    let first = |grove: &mut Grove| grove.stage.screen().lines().nth(2).unwrap().to_owned();
    let before = first(&mut grove);
    assert!(!before.contains('▸'), "{before}");
    grove.stage.mouse_at(MouseEventKind::Down(MouseButton::Left), 2);
    let after = first(&mut grove);
    assert!(after.contains('▸'), "{after}");
    // The end of a row has facts of the chosen one.
    assert_eq!(after.replace('▸', " ")[..30], before[..30]);
}
