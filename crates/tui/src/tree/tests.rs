//! Tests of the tree as a component: keys and results in, effects and rows out.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Cost, Message, StopReason, ToolCall, ToolResultMessage, Usage,
    UserBlock, UserMessage,
};
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_engine::built_in_tools;
use tiller_session::{EntryBody, Placement, SessionManager, Writer};

use super::*;
use crate::action::{Action, BackgroundJob, SessionEdit};
use crate::address::Address;
use crate::component::testing::Bench;
use crate::component::{Outcome, UiEvent};
use crate::effect::{Effect, LeaveScope, OverlayRequest};
use crate::message::{ListResult, TaskResult};
use crate::tree::search_worker::SearchControl;

const HOUR: i64 = 3_600_000;

/// 14:02 UTC.
const NOW: i64 = 1_795_269_720_000;

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

/// A session in memory, with a message every quarter of an hour.
pub(crate) struct SampleLog {
    pub(crate) writer: Writer,
    pub(crate) now: UnixMs,
}

impl SampleLog {
    pub(crate) fn new(start: UnixMs) -> Self {
        let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
        Self { writer: manager.create(start), now: start }
    }

    /// Two ways to go on from one answer, each with some history; the second one is where one is.
    pub(crate) fn branched(start: UnixMs) -> Self {
        let mut log = Self::new(start);
        log.user("the parser test fails on windows line endings, find out why");
        log.answer("I'll look at the **tokenizer** first.", "claude-opus-4-5");
        let fork = log.leaf();
        log.user("change the lexer");
        log.calls("c1", "claude-opus-4-5");
        log.result("c1", "edited");
        log.answer("Done, but the fixture still fails.", "claude-opus-4-5");
        let dead_end = log.leaf();
        log.writer.branch(Some(&fork), log.now).unwrap();
        log.user("look at the fixture");
        log.answer(
            "You're right: line 3 of `mixed.txt` ends in `\\r\\r\\n`.\n\n- one\n- two",
            "claude-sonnet-4-5",
        );
        log.writer.label(&dead_end, Some("dead end"), log.now).unwrap();
        log
    }

    pub(crate) fn leaf(&self) -> EntryId {
        self.writer.reader().leaf().unwrap()
    }

    fn append(&mut self, message: Message) {
        self.now = UnixMs(self.now.0 + HOUR / 4);
        self.writer.append(EntryBody::message(Arc::new(message)), self.now).unwrap();
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.append(Message::User(UserMessage::text(text, UnixMs(0))));
    }

    pub(crate) fn answer(&mut self, answer: &str, model: &str) {
        self.answers(vec![AssistantBlock::text(answer)], model, StopReason::Stop);
    }

    fn calls(&mut self, id: &str, model: &str) {
        let call = ToolCall {
            id: id.into(),
            name: "edit_file".into(),
            arguments: json!({"path": "src/lexer.rs"}),
            raw_arguments: None,
            thought_signature: None,
        };
        let content = vec![AssistantBlock::ToolCall(call)];
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

    pub(crate) fn entry(&self, at: usize) -> EntryId {
        self.writer.reader().entry_at(at).unwrap().id
    }

    /// The results of a request of the tree.
    pub(crate) fn answer_request(&self, request: &TreeRequest) -> Vec<TreeResult> {
        let reader = self.writer.reader();
        let mut results: Vec<TreeResult> =
            loader::load(&reader, &built_in_tools(), request).into_iter().collect();
        if let TreeRequest::Search(query) = request {
            let collect = |found| {
                results.push(found);
                SearchControl::Yes
            };
            search_worker::search_entries(&reader, query, || SearchControl::Yes, collect);
        }
        results
    }
}

/// The text of the row under the cursor.
pub(crate) fn chosen_row(screen: &str) -> String {
    let row = screen.lines().find(|line| line.starts_with(" ▸")).unwrap_or_default();
    let text: String = row.chars().skip(4).collect();
    text.split("  ").map(str::trim).find(|part| !part.is_empty()).unwrap_or_default().to_owned()
}

/// The tree of a session on a screen of some size, with all that it asks for.
struct TreeBench {
    bench: Bench<TreeView>,
    log: SampleLog,
    /// Number of row texts that were read.
    texts: usize,
}

impl TreeBench {
    fn new() -> Self {
        Self::branched(60, 13)
    }

    fn branched(width: u16, height: u16) -> Self {
        Self::over(SampleLog::branched(UnixMs(NOW - 5 * HOUR)), TreePurpose::Go, (width, height))
    }

    /// The tree on a screen of this size, which has a footer where there is room.
    fn over(log: SampleLog, purpose: TreePurpose, (width, height): (u16, u16)) -> Self {
        let mut bench = Bench::of(TreeView::new(purpose), Address::Screen);
        (bench.ui.size, bench.area) = ((width, height), area((width, height)));
        bench.now = NOW;
        let mut tree = Self { bench, log, texts: 0 };
        tree.settle();
        tree
    }

    /// Answers the tree's requests until there are none.
    fn settle(&mut self) {
        loop {
            let requests = self.bench.refresh();
            if requests.is_empty() {
                return;
            }
            for request in requests {
                let Effect::Perform(_, Action::Background(BackgroundJob::Tree(request))) = request else {
                    panic!("{request:?}")
                };
                if let TreeRequest::Texts(texts) = &request {
                    self.texts += texts.len();
                }
                for news in self.log.answer_request(&request) {
                    let session = self.log.writer.reader().id().clone();
                    let left = self.bench.take(TaskResult::List(ListResult::Tree { session, news })).0;
                    assert!(left.is_none());
                }
            }
        }
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Effect> {
        let (outcome, effects) = self.bench.send(UiEvent::Key(KeyEvent::new(code, modifiers)));
        assert_eq!(outcome, Outcome::Consumed);
        self.settle();
        effects
    }

    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.press(code, KeyModifiers::NONE)
    }

    fn control(&mut self, c: char) -> Vec<Effect> {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    fn alt(&mut self, code: KeyCode) -> Vec<Effect> {
        self.press(code, KeyModifiers::ALT)
    }

    fn type_text(&mut self, text: &str) {
        text.chars().for_each(|c| _ = self.key(KeyCode::Char(c)));
    }

    /// Follows new entries of the log.
    fn grow(&mut self) {
        self.bench.component.mark_stale();
        self.settle();
    }

    fn screen(&mut self) -> String {
        self.bench.drawn()
    }

    fn chosen(&mut self) -> String {
        chosen_row(&self.screen())
    }

    /// Clicks on the row with this text; returns the row's number and the effects.
    fn click_on(&mut self, text: &str) -> (usize, Vec<Effect>) {
        let screen = self.screen();
        let row = screen.lines().position(|line| line.contains(text));
        let row = row.unwrap_or_else(|| panic!("no {text} on\n{screen}"));
        (row, self.bench.press_at(5, u16::try_from(row).unwrap()).1)
    }
}

#[test]
fn tree_draws_branches_and_the_current_entry() {
    insta::assert_snapshot!(TreeBench::new().bench.drawn(), @r"
    ── tree ────────── without tool results · 7 of 10 entries ──
     ❯ type to search the messages
      • ▌ the parser test fails on windows li…  3h · 10 entries
      •   I'll look at the tokenizer first.
        ├─ ▌ change the lexer  3h · 4 entries · claude-opus-4-5
        │  → edit_file src/lexer.rs
        │    Done, but the fixture still fails.  [dead end]
      • └─ ▌ look at the fixture                 3h · 3 entries
     ▸●      You're right: line 3 of mixed.txt ends in \r\…  3h


       tab filter · ctrl+l label · left collapse · esc back
    ");
}

#[test]
fn tree_enter_continues_before_a_prompt() {
    let mut tree = TreeBench::new();
    let stays = [Effect::CloseAll, TreeView::end_search().into()];
    assert_eq!(tree.key(KeyCode::Enter), stays, "the current entry");
    tree.key(KeyCode::Up);
    let entry = tree.bench.component.chosen_id().unwrap();
    let asks = Action::Navigate(Navigate::AskForSummary(entry));
    assert_eq!(tree.key(KeyCode::Enter), [asks.clone().into()]);
    assert_eq!(tree.bench.type_keys("ahead"), [], "typed for the destination");
    let rejected = tree.bench.with(|tree, cx| crate::component::Component::rejected(tree, asks, cx));
    assert_eq!(rejected, (None, vec![Effect::PutBeforeDraft("ahead".into())]));
}

#[test]
fn tree_enter_asks_while_the_agent_works() {
    let mut tree = TreeBench::new();
    tree.bench.model.activity.running_since = Some(UnixMs(0));
    tree.key(KeyCode::Up);
    let effects = tree.key(KeyCode::Enter);
    let [Effect::Open(OverlayRequest::Question { title, items })] = &effects[..] else {
        panic!("{effects:?}")
    };
    let answers: Vec<&str> = items.iter().map(|item| item.label.as_str()).collect();
    let expected = [
        "stay here; the agent continues",
        "stop it and go there",
        "fork a new session there; the agent continues",
    ];
    assert_eq!((title.as_str(), answers.as_slice()), ("the agent is working", &expected[..]));
}

#[test]
fn tree_label_is_edited_in_its_row() {
    let mut tree = TreeBench::new();
    tree.bench.chord(KeyModifiers::CONTROL, 'l');
    tree.bench.send(UiEvent::Paste("a\nfix e\u{301}"));
    tree.key(KeyCode::Backspace);
    assert!(tree.bench.drawn().contains("[a fix  ]"), "{}", tree.bench.drawn());
    let entry = tree.bench.component.chosen_id().unwrap();
    let labels = Action::Edit(SessionEdit::LabelEntry(entry, Some("a fix".into())));
    assert_eq!(tree.key(KeyCode::Enter), [labels.into()]);
    tree.bench.chord(KeyModifiers::CONTROL, 'l');
    tree.bench.type_keys("two words");
    tree.bench.chord(KeyModifiers::CONTROL, 'w');
    assert!(tree.bench.drawn().contains("[two  ]"), "{}", tree.bench.drawn());
}

#[test]
fn tree_esc_clears_the_search_then_leaves() {
    let mut tree = TreeBench::new();
    tree.bench.type_keys("lexer e\u{301}");
    tree.key(KeyCode::Backspace);
    assert!(tree.bench.drawn().contains("❯ lexer "), "{}", tree.bench.drawn());
    assert_eq!(tree.key(KeyCode::Esc), []);
    assert!(tree.bench.drawn().contains("type to search"), "{}", tree.bench.drawn());
    assert_eq!(tree.key(KeyCode::Esc), [Effect::Leave(LeaveScope::Top)]);
}

#[test]
fn tree_filtered_position_marks_ancestor() {
    let mut tree = TreeBench::branched(80, 24);
    assert!(tree.screen().contains(" ▸●      You're right"), "{}", tree.screen());
    tree.key(KeyCode::Tab);
    let screen = tree.screen();
    assert!(screen.contains("user messages") && screen.contains("● └─ ▌ look at the fixture"), "{screen}");
    assert_eq!(screen.matches('●').count(), 1, "{screen}");
}

#[test]
fn tree_small_screens() {
    for width in [1, 2, 3, 5, 8, 13, 29] {
        for height in [1, 2, 3, 4, 7, 8, 15] {
            let mut tree = TreeBench::branched(width, height);
            tree.screen();
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
fn tree_search_labels_and_escaped_text() {
    let mut tree = TreeBench::branched(80, 24);
    tree.log.user("she said \"naïve\", twice");
    tree.grow();
    for (words, found) in [("end dead", 1), ("\"NAÏVE\"", 1), ("naïve lexer", 0), ("LEXER", 2)] {
        tree.type_text(words);
        assert!(tree.screen().contains(&format!("{found} found")), "{words}: {}", tree.screen());
        tree.control('u');
    }
}

#[test]
fn tree_folds_branch_and_others() {
    let mut tree = TreeBench::branched(80, 24);
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
    let mut tree = TreeBench::branched(80, 24);
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
    let mut tree = TreeBench::branched(80, 24);
    tree.control('l');
    tree.type_text("it works");
    let answer = tree.log.entry(8);
    let labels = Action::Edit(SessionEdit::LabelEntry(answer.clone(), Some("it works".into())));
    assert_eq!(tree.key(KeyCode::Enter), [labels.into()]);
    tree.log.writer.label(&answer, Some("it works"), tree.log.now).unwrap();
    tree.grow();
    assert!(tree.screen().contains("[it works]"), "{}", tree.screen());
    tree.control('l');
    tree.control('u');
    tree.key(KeyCode::Esc);
    assert!(tree.screen().contains("[it works]") && tree.screen().contains("── tree"), "{}", tree.screen());
    tree.control('l');
    tree.control('u');
    assert_eq!(tree.key(KeyCode::Enter), [Action::Edit(SessionEdit::LabelEntry(answer, None)).into()]);
}

#[test]
fn tree_long_label_shows_its_end() {
    let long = "a label that says rather more than there is room for in its row, and that is its end";
    for (width, height) in [(80, 24), (120, 40)] {
        let mut tree = TreeBench::branched(width, height);
        tree.control('l');
        tree.type_text(long);
        let screen = tree.screen();
        assert!(screen.contains("[…") && screen.contains("its row, and that is its end ]"), "{screen}");
        let answer = tree.log.entry(8);
        let labels = Action::Edit(SessionEdit::LabelEntry(answer.clone(), Some(long.into())));
        assert_eq!(tree.key(KeyCode::Enter), [labels.into()]);
        tree.log.writer.label(&answer, Some(long), tree.log.now).unwrap();
        tree.grow();
        assert!(tree.screen().contains("[a label that says rather more than"), "{}", tree.screen());
    }
}

#[test]
fn tree_current_branch_is_not_hidden() {
    let mut tree = TreeBench::branched(120, 40);
    assert!(!tree.screen().contains("ctrl+x hide"), "{}", tree.screen());
    assert_eq!(tree.control('x'), []);
    let screen = tree.screen();
    assert!(screen.contains("── tree") && screen.contains("✗ can't hide the current branch"), "{screen}");
    tree.alt(KeyCode::Up);
    tree.alt(KeyCode::Up);
    let screen = tree.screen();
    assert!(!screen.contains("can't hide") && screen.contains("ctrl+x hide"), "{screen}");
    assert_eq!(tree.control('x'), [Action::Background(BackgroundJob::AskToHide(tree.log.entry(2))).into()]);
}

#[test]
fn tree_new_entries_keep_cursor() {
    let mut tree = TreeBench::branched(80, 24);
    tree.key(KeyCode::Up);
    let before = tree.chosen();
    tree.bench.model.activity.running_since = Some(UnixMs(0));
    tree.log.user("and now the docs");
    tree.grow();
    let screen = tree.screen();
    assert!(screen.contains("and now the docs"), "{screen}");
    assert_eq!(tree.chosen(), before);
}

#[test]
fn tree_effect_is_shown_in_preview() {
    for (purpose, words) in [
        (TreePurpose::Go, "you are here · enter returns to the transcript"),
        (TreePurpose::Fork, "enter: fork before it, with its text to edit"),
    ] {
        let mut tree = TreeBench::over(SampleLog::branched(UnixMs(NOW - 5 * HOUR)), purpose, (120, 40));
        let screen = tree.screen();
        assert!(screen.lines().any(|line| line.trim_end().ends_with(words)), "{screen}");
    }
}

#[test]
fn tree_reads_visible_texts_only() {
    let mut log = SampleLog::new(UnixMs(NOW - 5 * HOUR));
    (0..1_000).for_each(|at| log.user(&format!("prompt {at}")));
    let tree = TreeBench::over(log, TreePurpose::Go, (80, 24));
    assert!((12..=60).contains(&tree.texts), "{} rows were read", tree.texts);
}

#[test]
fn tree_click_selects_then_accepts() {
    let mut tree = TreeBench::branched(80, 24);
    let (row, effects) = tree.click_on("change the lexer");
    assert_eq!(effects, []);
    let screen = tree.screen();
    assert!(screen.lines().nth(row).is_some_and(|line| line.contains('▸')), "{screen}");
    let goes = Action::Navigate(Navigate::AskForSummary(tree.log.entry(2)));
    assert_eq!(tree.click_on("change the lexer").1, [Effect::ClickAccepted, goes.into()]);
}

#[test]
fn tree_click_near_edge_does_not_scroll() {
    let mut tree = TreeBench::branched(80, 9);
    let first = |tree: &mut TreeBench| tree.screen().lines().nth(2).unwrap().to_owned();
    let before = first(&mut tree);
    assert!(!before.contains('▸'), "{before}");
    tree.bench.press_at(1, 2);
    let after = first(&mut tree);
    assert!(after.contains('▸'), "{after}");
    // The end of a row has facts of the chosen one.
    assert_eq!(after.replace('▸', " ")[..30], before[..30]);
}

fn each_size(name: &str, change: impl Fn(&mut TreeBench)) {
    for (width, height) in SIZES {
        let mut tree = TreeBench::branched(width, height);
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
fn tree_typing_searches() {
    each_size("search", |tree| tree.type_text("FIXTURE still"));
}

#[test]
fn tree_label_being_edited_has_room() {
    each_size("label", |tree| {
        tree.control('l');
        tree.type_text("works");
    });
}

#[test]
fn tree_of_empty_session() {
    for (width, height) in SIZES {
        let log = SampleLog::new(UnixMs(NOW));
        let mut tree = TreeBench::over(log, TreePurpose::Go, (width, height));
        insta::assert_snapshot!(format!("tree_empty_{width}x{height}"), tree.screen());
        assert_eq!(tree.key(KeyCode::Enter), []);
        for key in [KeyCode::Left, KeyCode::Right, KeyCode::Up, KeyCode::End, KeyCode::Tab] {
            assert_eq!(tree.key(key), []);
        }
        for key in ['l', 'x', 'f', 'a', 'o'] {
            assert_eq!(tree.control(key), []);
        }
    }
}

#[test]
fn tree_deep_branches_leave_room() {
    for (width, height) in SIZES {
        let mut log = SampleLog::new(UnixMs(NOW - 5 * HOUR));
        log.user("the first prompt");
        for depth in 0..30 {
            let fork = log.leaf();
            log.user(&format!("a way that was left at depth {depth}"));
            log.writer.branch(Some(&fork), log.now).unwrap();
            log.user(&format!("the way that was taken at depth {depth}"));
        }
        let mut tree = TreeBench::over(log, TreePurpose::Go, (width, height));
        insta::assert_snapshot!(format!("tree_deep_{width}x{height}"), tree.screen());
    }
}

#[test]
fn fork_lists_user_prompts() {
    for (width, height) in SIZES {
        let log = SampleLog::branched(UnixMs(NOW - 5 * HOUR));
        let mut tree = TreeBench::over(log, TreePurpose::Fork, (width, height));
        insta::assert_snapshot!(format!("tree_fork_{width}x{height}"), tree.screen());
        let forks = Action::Navigate(Navigate::Fork(tree.log.entry(7)));
        assert_eq!(tree.key(KeyCode::Enter), [forks.into()]);
    }
}
