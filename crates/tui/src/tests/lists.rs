//! Lists: their screens, keys and actions.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting;
use tiller_core::setting::{SettingSource, Settings};
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller_engine::{ApprovalMode, ConfiguredRules, LockedModel, OfferState, OfferedTool, RuleSource};
use tiller_provider::catalog;
use tiller_tools::tool::ToolSource;

use crate::action::{Action, BackgroundJob, ListAction, SessionEdit};
use crate::dialog::Dialog;
use crate::effect::{Effect, OverlayRequest};
use crate::list_kind::ListKind;
use crate::message::{ListResult, TaskResult};
use crate::navigate::Navigate;
use crate::picker;
use crate::picker::agent_options::Levels;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::picker::models::{Models, model_items};
use crate::tests::harness::{Harness, SIZES};

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

/// A usable provider, and a model whose key is missing.
pub(crate) fn models() -> Models {
    let usable = catalog::list_models("anthropic");
    let current =
        usable.first().map(|facts| ModelRef { provider: facts.provider.clone(), id: facts.id.clone() });
    let facts = catalog::list_models("openai").remove(0);
    let cycled = current.clone().into_iter().collect();
    let locked = vec![LockedModel { facts, key_name: "OPENAI_API_KEY".into() }];
    Models { usable, locked, cycled, current }
}

#[test]
fn models_show_price_and_missing_key() {
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        assert_eq!(harness.control('l'), [Action::List(ListAction::LoadItems(ListKind::Models))]);
        harness.items(ListKind::Models, model_items(&models()));
        insta::assert_snapshot!(format!("models_{width}x{height}"), harness.screen());
        harness.type_text("gpt");
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::List(ListAction::LoadItems(ListKind::Logins))],
            "it can't answer"
        );
        assert!(harness.screen().contains("key for openai ❯"), "{}", harness.screen());
        (0..3).for_each(|_| _ = harness.key(KeyCode::Esc));
        harness.control('u');
        harness.type_text("haiku");
        insta::assert_snapshot!(format!("models_narrowed_{width}x{height}"), harness.screen());
        let chosen = harness.press(KeyCode::BackTab, KeyModifiers::SHIFT);
        assert!(
            matches!(&chosen[..], [Action::Edit(SessionEdit::SetModel(name)), Action::List(ListAction::LoadItems(ListKind::Thinking))] if name.contains("haiku"))
        );
    }
}

fn all_levels(id: &str) -> Levels {
    let model = ModelRef { provider: "anthropic".into(), id: id.into() };
    Levels { supported: ThinkingLevel::ALL.to_vec(), current: ThinkingLevel::High, model }
}

#[test]
fn thinking_and_approval_lists() {
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        assert_eq!(
            harness.submit_typed("/thinking"),
            [Action::List(ListAction::LoadItems(ListKind::Thinking))]
        );
        harness.items(ListKind::Thinking, picker::agent_options::levels(&all_levels("claude-haiku-4-5")));
        insta::assert_snapshot!(format!("thinking_{width}x{height}"), harness.screen());
        harness.key(KeyCode::Down);
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::Edit(SessionEdit::SetThinking(ThinkingLevel::Xhigh))]
        );
        assert_eq!(
            harness.submit_typed("/approval"),
            [Action::List(ListAction::LoadItems(ListKind::Approval))]
        );
        harness.items(ListKind::Approval, picker::agent_options::modes("ask"));
        insta::assert_snapshot!(format!("approval_modes_{width}x{height}"), harness.screen());
        harness.type_text("read");
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::List(ListAction::SetApproval(ApprovalMode::ReadOnly))]
        );
        assert_eq!(
            harness.submit_typed("/approval auto"),
            [Action::List(ListAction::SetApproval(ApprovalMode::Auto))]
        );
    }
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
fn tools_list_switches_and_stays() {
    let tool = |name: &str, source: ToolSource, standing: OfferState| OfferedTool {
        spec: ToolSpec {
            name: name.into(),
            description: format!("Does what {name} does.\nAnd a little more."),
            parameters: std::sync::Arc::new(serde_json::json!({})),
            traits: ToolTraits::new(Access::Reads),
        },
        source,
        offer: standing,
    };
    let off = OfferState::LeftOut("--tools".into());
    let extension = || ToolSource::Extension("deploy".into());
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        assert_eq!(harness.submit_typed("/tools"), [Action::List(ListAction::LoadItems(ListKind::Tools))]);
        harness.items(
            ListKind::Tools,
            (
                picker::agent_options::tools(&[
                    tool("read_file", ToolSource::BuiltIn, OfferState::Offered),
                    tool("bash", ToolSource::BuiltIn, off.clone()),
                    tool("ship", extension(), OfferState::Removed),
                ]),
                0,
            ),
        );
        insta::assert_snapshot!(format!("tools_{width}x{height}"), harness.screen());
        harness.key(KeyCode::Down);
        assert_eq!(harness.key(KeyCode::Enter), [Action::List(ListAction::ToggleTool("bash".into()))]);
        harness.items(
            ListKind::Tools,
            (
                picker::agent_options::tools(&[
                    tool("read_file", ToolSource::BuiltIn, OfferState::Offered),
                    tool("bash", ToolSource::BuiltIn, OfferState::Offered),
                ]),
                0,
            ),
        );
        assert!(harness.screen().contains("▸ ✓ bash"), "{}", harness.screen());
    }
}

#[test]
fn settings_value_is_chosen_or_typed() {
    let settings = || {
        let mut settings = Settings::default();
        let never = setting::SYNC.parse("never").unwrap();
        settings.set(
            &setting::SYNC,
            never,
            SettingSource::File("/home/ada/.config/tiller/settings.json".into()),
        );
        TaskResult::List(ListResult::Settings(Box::new(settings)))
    };
    for (width, height) in SIZES {
        let mut harness = Harness::new(width, height);
        assert_eq!(
            harness.submit_typed("/settings"),
            [Action::List(ListAction::LoadItems(ListKind::Settings))]
        );
        harness.report(settings());
        insta::assert_snapshot!(format!("settings_{width}x{height}"), harness.screen());
        harness.type_text("sync");
        assert_eq!(harness.key(KeyCode::Enter), [], "of three words one is chosen");
        insta::assert_snapshot!(format!("setting_words_{width}x{height}"), harness.screen());
        harness.key(KeyCode::Up);
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::List(ListAction::Set(&setting::SYNC, "turn".into()))]
        );
        assert_eq!(harness.control('x'), [Action::List(ListAction::Set(&setting::SYNC, String::new()))]);
        harness.control('u');
        harness.type_text("max_turns");
        assert_eq!(harness.key(KeyCode::Enter), []);
        harness.type_text("many");
        assert_eq!(harness.key(KeyCode::Enter), []);
        insta::assert_snapshot!(format!("settings_wrong_{width}x{height}"), harness.screen());
        harness.control('w');
        harness.type_text("12");
        assert_eq!(
            harness.key(KeyCode::Enter),
            [Action::List(ListAction::Set(&setting::MAX_TURNS, "12".into()))]
        );
        harness.report(TaskResult::List(ListResult::Status(StatusText::note(
            "saved; takes effect at the next start",
        ))));
        assert!(harness.screen().contains("at the next start"));
        harness.key(KeyCode::Enter);
        harness.key(KeyCode::Esc);
        assert!(harness.screen().contains("── settings ──"), "esc leaves the value alone, and the list open");
        harness.key(KeyCode::Esc);
        harness.key(KeyCode::Esc);
        assert!(!harness.screen().contains("── settings ──"));
    }
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
fn list_data_of_closed_list_is_dropped() {
    let mut harness = Harness::new(80, 24);
    harness.submit_typed("/thinking");
    harness.key(KeyCode::Esc);
    harness.control('l');
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
