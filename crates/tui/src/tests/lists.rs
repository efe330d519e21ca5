//! Lists: their screens, keys and actions.

use crossterm::event::KeyCode;
use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::proposed_rules::ProposedRules;
use tiller_engine::{ConfiguredRules, RuleSource};

use crate::action::{Action, BackgroundJob, ListAction, TerminalAction};
use crate::dialog::Dialog;
use crate::effect::{Effect, OverlayRequest};
use crate::list_kind::ListKind;
use crate::message::{ListResult, TaskResult};
use crate::navigate::Navigate;
use crate::picker;
use crate::picker::agent_options::Levels;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::picker::models::model_items;
use crate::picker::tests::lists::models;
use crate::tests::harness::Harness;

impl Harness {
    pub(super) fn submit_typed(&mut self, line: &str) -> Vec<Action> {
        self.type_text(line);
        let actions = self.key(KeyCode::Enter);
        actions
            .into_iter()
            .filter(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))))
            .collect()
    }

    pub(super) fn items(&mut self, list: ListKind, (items, selected): (Vec<PickerItem>, usize)) {
        self.report_to(self.list_address(list), TaskResult::List(ListResult::Items { items, selected }));
    }
}

fn all_levels(id: &str) -> Levels {
    let model = ModelRef { provider: "anthropic".into(), id: id.into() };
    Levels { supported: ThinkingLevel::ALL.to_vec(), current: ThinkingLevel::High, model }
}

#[test]
fn permissions_list_asks_before_it_changes_a_file() {
    let mut rules = ConfiguredRules::default();
    for (line, source) in [
        ("cargo test*", RuleSource::User("/home/ada/settings.json".into())),
        ("npm test*", RuleSource::Project("/p/.tiller/settings.json".into())),
    ] {
        rules.add_proposed(&ProposedRules::parse("bash", line), &source).unwrap();
    }
    let mut harness = Harness::new(80, 24);
    harness.submit_typed("/permissions");
    let none = ConfiguredRules::default();
    harness.items(ListKind::Permissions, (picker::agent_options::permissions(&[], &none), 0));
    let empty = harness.screen();
    assert!(!empty.contains("enter"), "there is nothing to remove: {empty}");
    harness.items(ListKind::Permissions, (picker::agent_options::permissions(&[], &rules), 0));
    let screen = harness.screen();
    for row in
        [["allow bash `cargo test*`", "your settings"], ["allow bash `npm test*`", "project's settings"]]
    {
        assert!(screen.lines().any(|line| row.iter().all(|part| line.contains(part))), "{screen}");
    }
    harness.key(KeyCode::Down);
    assert_eq!(harness.key(KeyCode::Delete), []);
    let question = harness.screen();
    assert!(question.contains("remove allow bash `npm test*`?"), "{question}");
    assert_eq!(harness.key(KeyCode::Enter), [], "keeping it is the default");
    harness.key(KeyCode::Delete);
    harness.key(KeyCode::Down);
    let removed = rules.iter().nth(1).unwrap().clone();
    assert_eq!(harness.key(KeyCode::Enter), [Action::List(ListAction::RemoveRule(Box::new(removed)))]);
    assert!(harness.screen().contains("permissions"), "the list stays");
}

#[test]
fn sessions_locked_can_be_forked() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("dear draft");
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    let items = vec![
        PickerItem::new("continue in a fork", PickerChoice::ForkOf("/s/1.jsonl".into())),
        PickerItem::new("stay here", PickerChoice::Nothing),
    ];
    harness.report(TaskResult::Dialog(Dialog {
        title: "the session is open in another tiller process".into(),
        items,
    }));
    harness.wait(400);
    let fork = Action::Navigate(Navigate::ForkOf("/s/1.jsonl".into()));
    assert_eq!(harness.key(KeyCode::Enter), [fork, Action::EndSessionSearch]);
    assert!(harness.screen().contains("dear draft"), "the list beneath is gone: {}", harness.screen());
}

#[test]
fn sessions_locked_can_be_attached_to() {
    let mut harness = Harness::new(80, 24);
    harness.app.apply(Effect::Open(OverlayRequest::sessions()));
    let items = vec![PickerItem::new("attach to it", PickerChoice::Attach("/s/1.jsonl".into()))];
    harness.report(TaskResult::Dialog(Dialog { title: "open elsewhere".into(), items }));
    harness.wait(400);
    let attach = Action::Terminal(TerminalAction::Attach("/s/1.jsonl".into()));
    assert_eq!(harness.key(KeyCode::Enter), [attach]);
}

#[test]
fn list_data_of_closed_list_is_dropped() {
    let mut harness = Harness::new(80, 24);
    harness.submit_typed("/thinking");
    harness.key(KeyCode::Esc);
    assert_eq!(harness.control('l'), [Action::List(ListAction::LoadItems(ListKind::Models))]);
    harness.items(ListKind::Thinking, picker::agent_options::levels(&all_levels("claude-haiku-4-5")));
    assert!(harness.screen().contains("loading…"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    harness.control('r');
    harness.items(ListKind::Models, model_items(&models()));
    assert!(harness.screen().contains("an earlier prompt"), "{}", harness.screen());
}

#[test]
fn failure_without_list_has_one_sign() {
    let mut harness = Harness::new(80, 24);
    harness.report(TaskResult::List(ListResult::Status(StatusText::error("unknown tool nope"))));
    assert!(harness.screen().contains("\n  ✗ unknown tool nope"), "{}", harness.screen());
    harness.report(TaskResult::List(ListResult::Status(StatusText::note("restored"))));
    assert!(harness.screen().contains("\n  · restored"), "{}", harness.screen());
}

#[test]
fn list_shows_notes_and_warnings_that_it_would_cover() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/race -n 2 Write b");
    harness.key(KeyCode::Enter);
    harness.report(TaskResult::Note("There is a race already.".into()));
    assert!(harness.screen().contains("── race ──"), "{}", harness.screen());
    assert!(harness.screen().contains("\n   There is a race already."), "{}", harness.screen());
    harness.report(TaskResult::Warning("No lane has a result: no repository".into()));
    assert!(harness.screen().contains("✗ No lane has a result: no repository"), "{}", harness.screen());
    harness.key(KeyCode::Esc);
    assert!(harness.screen().contains("! No lane has a result: no repository"), "{}", harness.screen());
    assert!(!harness.screen().contains("There is a race already."), "{}", harness.screen());
}
