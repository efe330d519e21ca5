//! Tests of the tree as a component: keys and results in, effects and rows out.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_engine::built_in_tools;
use tiller_session::{EntryBody, Placement, SessionManager, Writer};

use super::*;
use crate::action::{BackgroundJob, SessionEdit};
use crate::address::Address;
use crate::component::testing::Bench;
use crate::component::{Outcome, UiEvent};
use crate::effect::{Effect, LeaveScope, OverlayRequest};
use crate::message::{ListResult, TaskResult};
use crate::tree::request::TreePurpose;

/// Creates two branches after one answer; the second is the current one.
fn session() -> Writer {
    let mut writer = SessionManager::new(Placement::Memory, "/work".into()).create(UnixMs(0));
    let mut now = 0;
    let mut say = |writer: &mut Writer, message| {
        now += 60_000;
        writer.append(EntryBody::message(Arc::new(message)), UnixMs(now)).unwrap();
        writer.reader().leaf().unwrap()
    };
    let user = |text: &str| Message::User(UserMessage::text(text, UnixMs(0)));
    let answer = |text: &str| {
        let content = vec![AssistantBlock::text(text)];
        Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() })
    };
    say(&mut writer, user("why does the test fail?"));
    let fork = say(&mut writer, answer("The lexer."));
    say(&mut writer, user("change the lexer"));
    say(&mut writer, answer("Done."));
    writer.branch(Some(&fork), UnixMs(300_000)).unwrap();
    say(&mut writer, user("change the fixture"));
    say(&mut writer, answer("It has mixed line endings."));
    writer
}

/// The tree of that session on a screen of 60 by 12, with all requested data.
struct TreeBench {
    bench: Bench<TreeView>,
    writer: Writer,
}

impl TreeBench {
    fn new() -> Self {
        let mut bench = Bench::of(TreeView::new(TreePurpose::Go), Address::Screen).sized(60, 12);
        bench.ui.size = (60, 13);
        bench.now = 3_600_000;
        let mut tree = Self { bench, writer: session() };
        tree.settle();
        tree
    }

    /// Answers the tree's requests until there are none.
    fn settle(&mut self) {
        let reader = self.writer.reader();
        loop {
            let requests = self.bench.refresh();
            if requests.is_empty() {
                return;
            }
            for request in requests {
                let Effect::Perform(_, Action::Background(BackgroundJob::Tree(request))) = request else {
                    panic!("{request:?}")
                };
                let Some(news) = loader::load(&reader, &built_in_tools(), &request) else { continue };
                let session = reader.id().clone();
                let left = self.bench.take(TaskResult::List(ListResult::Tree { session, news })).0;
                assert!(left.is_none());
            }
        }
    }

    fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        let (outcome, effects) = self.bench.key(code);
        assert_eq!(outcome, Outcome::Consumed);
        effects
    }
}

#[test]
fn tree_draws_branches_and_the_current_entry() {
    insta::assert_snapshot!(TreeBench::new().bench.drawn(), @r"
    ── tree ─────────── without tool results · 6 of 7 entries ──
     ❯ type to search the messages
      • ▌ why does the test fail?               54m · 7 entries
      •   The lexer.
        ├─ ▌ change the lexer                   56m · 2 entries
        │    Done.
      • └─ ▌ change the fixture                 54m · 2 entries
     ▸●      It has mixed line endings.                     54m



       enter go there · tab filter · ctrl+l label · esc back
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
    assert_eq!((title.as_str(), items.len()), ("the agent is working", 3));
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
