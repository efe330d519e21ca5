//! Lists: their screens, keys and actions.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::setting::{self, SettingSource, Settings};
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller_engine::{ApprovalMode, FolderAccess, LockedModel, OfferState, OfferedTool, Permission};
use tiller_provider::catalog;
use tiller_render::{Line, Role};
use tiller_tools::tool::ToolSource;

use super::harness::{Harness, SIZES};
use crate::app::{
    Action, BackgroundJob, ListAction, ListKind, ListResult, Msg, Navigate, SessionEdit, TaskResult,
};
use crate::dialog::Dialog;
use crate::picker::{self, Levels, Models, PickerChoice, PickerItem, StatusText};

impl Harness {
    fn report(&mut self, report: TaskResult) -> Vec<Action> {
        self.actions.clear();
        self.input(Msg::TaskResult(report));
        std::mem::take(&mut self.actions)
    }

    fn say(&mut self, line: &str) -> Vec<Action> {
        self.type_text(line);
        let actions = self.key(KeyCode::Enter);
        actions
            .into_iter()
            .filter(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))))
            .collect()
    }

    fn items(&mut self, list: ListKind, (items, selected): (Vec<PickerItem>, usize)) {
        self.report(TaskResult::List(ListResult::Items { list, items, selected }));
    }
}

fn models() -> Models {
    let usable = catalog::list_models("anthropic");
    let current =
        usable.first().map(|facts| ModelRef { provider: facts.provider.clone(), id: facts.id.clone() });
    let facts = catalog::list_models("openai").remove(0);
    let cycled = current.clone().into_iter().collect();
    let locked = vec![LockedModel { facts, key_name: "OPENAI_API_KEY".into() }];
    Models { usable, locked, cycled, current }
}

#[test]
fn models_narrow_keeps_distinguishing_part() {
    let mut stage = Harness::new(40, 12);
    stage.control('l');
    let locked = catalog::list_models("anthropic").into_iter();
    let locked = locked.map(|facts| LockedModel { facts, key_name: "ANTHROPIC_API_KEY".into() }).collect();
    stage.items(ListKind::Models, picker::models(&Models { locked, usable: Vec::new(), ..models() }));
    let screen = stage.screen();
    let ids = ["anthropic/claude-opus-", "anthropic/claude-sonnet-"];
    assert!(ids.iter().all(|id| screen.contains(id)) && screen.contains("needs"), "{screen}");
}

#[test]
fn models_show_price_and_missing_key() {
    for (width, height) in SIZES {
        let mut stage = Harness::new(width, height);
        assert_eq!(stage.control('l'), [Action::List(ListAction::LoadItems(ListKind::Models))]);
        stage.items(ListKind::Models, picker::models(&models()));
        insta::assert_snapshot!(format!("models_{width}x{height}"), stage.screen());
        stage.type_text("gpt");
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::List(ListAction::LoadItems(ListKind::Logins))],
            "it can't answer"
        );
        assert!(stage.screen().contains("key of openai ❯"), "{}", stage.screen());
        (0..3).for_each(|_| _ = stage.key(KeyCode::Esc));
        stage.control('u');
        stage.type_text("haiku");
        insta::assert_snapshot!(format!("models_narrowed_{width}x{height}"), stage.screen());
        let chosen = stage.press(KeyCode::BackTab, KeyModifiers::SHIFT);
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
fn esc_clears_filter_then_closes() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("dear draft");
    stage.control('l');
    stage.items(ListKind::Models, picker::models(&models()));
    stage.type_text("haiku");
    assert!(stage.screen().contains("esc show all"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    let screen = stage.screen();
    assert!(screen.contains("type to filter") && screen.contains("esc back"), "{screen}");
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("── models"), "{}", stage.screen());
    assert_eq!(stage.app.editor.text(), "dear draft");
}

#[test]
fn thinking_unsupported_level_is_marked() {
    let mut stage = Harness::new(80, 24);
    stage.say("/thinking");
    let can = vec![ThinkingLevel::Off];
    let levels = Levels { supported: can, current: ThinkingLevel::Off, ..all_levels("my-model") };
    stage.items(ListKind::Thinking, picker::levels(&levels));
    stage.type_text("high");
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(stage.screen().contains("✗ not supported by my-model"), "{}", stage.screen());
}

#[test]
fn thinking_and_approval_lists() {
    for (width, height) in SIZES {
        let mut stage = Harness::new(width, height);
        assert_eq!(stage.say("/thinking"), [Action::List(ListAction::LoadItems(ListKind::Thinking))]);
        stage.items(ListKind::Thinking, picker::levels(&all_levels("claude-haiku-4-5")));
        insta::assert_snapshot!(format!("thinking_{width}x{height}"), stage.screen());
        stage.key(KeyCode::Down);
        assert_eq!(stage.key(KeyCode::Enter), [Action::Edit(SessionEdit::SetThinking(ThinkingLevel::Xhigh))]);
        assert_eq!(stage.say("/approval"), [Action::List(ListAction::LoadItems(ListKind::Approval))]);
        stage.items(ListKind::Approval, picker::modes("ask"));
        insta::assert_snapshot!(format!("approval_modes_{width}x{height}"), stage.screen());
        stage.type_text("read");
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::List(ListAction::SetApproval(ApprovalMode::ReadOnly))]
        );
        assert_eq!(stage.say("/approval auto"), [Action::List(ListAction::SetApproval(ApprovalMode::Auto))]);
    }
}

#[test]
fn permissions_list_revokes() {
    let folder = Permission::Folder { folder: "/docs".into(), access: FolderAccess::ReadOnly };
    for code in [KeyCode::Enter, KeyCode::Delete] {
        let mut stage = Harness::new(80, 24);
        assert_eq!(stage.say("/permissions"), [Action::List(ListAction::LoadItems(ListKind::Permissions))]);
        stage.items(ListKind::Permissions, (picker::permissions(std::slice::from_ref(&folder)), 0));
        let screen = stage.screen();
        assert!(
            screen.contains("reading in /docs") && screen.contains("file tools · this session"),
            "{screen}"
        );
        assert_eq!(stage.key(code), [Action::List(ListAction::Revoke(folder.clone()))], "{code:?}");
    }
    let mut stage = Harness::new(80, 24);
    assert_eq!(stage.say("/add-dir ../x:ro"), [Action::List(ListAction::AddFolder("../x:ro".into()))]);
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
        let mut stage = Harness::new(width, height);
        assert_eq!(stage.say("/tools"), [Action::List(ListAction::LoadItems(ListKind::Tools))]);
        stage.items(
            ListKind::Tools,
            (
                picker::tools(&[
                    tool("read_file", ToolSource::BuiltIn, OfferState::Offered),
                    tool("bash", ToolSource::BuiltIn, off.clone()),
                    tool("ship", extension(), OfferState::Removed),
                ]),
                0,
            ),
        );
        insta::assert_snapshot!(format!("tools_{width}x{height}"), stage.screen());
        stage.key(KeyCode::Down);
        assert_eq!(stage.key(KeyCode::Enter), [Action::List(ListAction::ToggleTool("bash".into()))]);
        stage.items(
            ListKind::Tools,
            (
                picker::tools(&[
                    tool("read_file", ToolSource::BuiltIn, OfferState::Offered),
                    tool("bash", ToolSource::BuiltIn, OfferState::Offered),
                ]),
                0,
            ),
        );
        assert!(stage.screen().contains("▸ ✓ bash"), "{}", stage.screen());
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
        let mut stage = Harness::new(width, height);
        assert_eq!(stage.say("/settings"), [Action::List(ListAction::LoadItems(ListKind::Settings))]);
        stage.report(settings());
        insta::assert_snapshot!(format!("settings_{width}x{height}"), stage.screen());
        stage.type_text("sync");
        assert_eq!(stage.key(KeyCode::Enter), [], "of three words one is chosen");
        insta::assert_snapshot!(format!("setting_words_{width}x{height}"), stage.screen());
        stage.key(KeyCode::Up);
        assert_eq!(stage.key(KeyCode::Enter), [Action::List(ListAction::Set(&setting::SYNC, "turn".into()))]);
        assert_eq!(stage.control('x'), [Action::List(ListAction::Set(&setting::SYNC, String::new()))]);
        stage.control('u');
        stage.type_text("max_turns");
        assert_eq!(stage.key(KeyCode::Enter), []);
        stage.type_text("many");
        assert_eq!(stage.key(KeyCode::Enter), []);
        insta::assert_snapshot!(format!("settings_wrong_{width}x{height}"), stage.screen());
        stage.control('w');
        stage.type_text("12");
        assert_eq!(
            stage.key(KeyCode::Enter),
            [Action::List(ListAction::Set(&setting::MAX_TURNS, "12".into()))]
        );
        stage.report(TaskResult::List(ListResult::Status(StatusText::note(
            "saved; takes effect at the next start",
        ))));
        assert!(stage.screen().contains("at the next start"));
        stage.key(KeyCode::Enter);
        stage.key(KeyCode::Esc);
        assert!(stage.screen().contains("── settings ──"), "esc leaves the value alone, and the list open");
        stage.key(KeyCode::Esc);
        stage.key(KeyCode::Esc);
        assert!(!stage.screen().contains("── settings ──"));
    }
}

#[test]
fn list_very_wide_keeps_notes_near() {
    let mut stage = Harness::new(200, 60);
    stage.say("/settings");
    stage.report(TaskResult::List(ListResult::Settings(Box::default())));
    let screen = stage.screen();
    let row = screen.lines().find(|line| line.contains("steering_point")).unwrap();
    let ends = row.find("between-tools").unwrap() + "between-tools".len();
    assert_eq!(ends, 80, "{row}");
}

#[test]
fn sessions_locked_can_be_forked() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("dear draft");
    stage.app.browse("");
    let items = vec![
        PickerItem::new("continue in a fork", PickerChoice::ForkOf("/s/1.jsonl".into())),
        PickerItem::new("stay here", PickerChoice::Nothing),
    ];
    stage.report(TaskResult::Dialog(Dialog { title: "the session is open in another tiller".into(), items }));
    stage.wait(400);
    let fork = Action::Navigate(Navigate::ForkOf("/s/1.jsonl".into()));
    assert_eq!(stage.key(KeyCode::Enter), [fork, Action::EndSessionSearch]);
    assert!(stage.screen().contains("dear draft"), "the list beneath is gone: {}", stage.screen());
}

#[test]
fn preview_beside_wide_or_below_high_list() {
    for (width, height, text) in [(120, 24, " │ more of it"), (80, 24, "   more of it")] {
        let mut stage = Harness::new(width, height);
        stage.control('l');
        let item = PickerItem::new("a", PickerChoice::Model("a".into()))
            .with_detail(vec![Line::new("more of it", Role::Text)]);
        stage.items(ListKind::Models, (vec![item], 0));
        let screen = stage.screen();
        assert!(screen.lines().any(|line| line.contains(text)), "{screen}");
    }
    let mut stage = Harness::new(80, 12);
    stage.control('l');
    let item = PickerItem::new("a", PickerChoice::Model("a".into()))
        .with_detail(vec![Line::new("more of it", Role::Text)]);
    stage.items(ListKind::Models, (vec![item], 0));
    assert!(!stage.screen().contains("more of it"), "there is no room for it");
}

#[test]
fn preview_of_models_needs_room_for_prices() {
    for (width, is_beside) in [(100, false), (104, false), (110, true), (120, true)] {
        let mut stage = Harness::new(width, 30);
        stage.control('l');
        stage.items(ListKind::Models, picker::models(&models()));
        let screen = stage.screen();
        assert_eq!(screen.contains(" │ claude-opus"), is_beside, "{screen}");
        assert!(screen.contains("cycled · thinks · $4/$20 · 1.0M"), "{screen}");
        assert!(screen.contains("  needs OPENAI_API_KEY"), "{screen}");
        assert!(screen.contains("thinking   low, medium"), "{screen}");
    }
}

#[test]
fn preview_without_match_is_empty() {
    let mut stage = Harness::new(120, 24);
    stage.control('l');
    let item = PickerItem::new("a", PickerChoice::Model("a".into()))
        .with_detail(vec![Line::new("more of it", Role::Text)]);
    stage.items(ListKind::Models, (vec![item], 0));
    assert!(stage.screen().contains("more of it"));
    stage.type_text("zz");
    assert!(!stage.screen().contains("more of it"), "{}", stage.screen());
    stage.control('u');
    assert!(stage.screen().contains("more of it"), "{}", stage.screen());
}

#[test]
fn list_data_of_closed_list_is_dropped() {
    let mut stage = Harness::new(80, 24);
    stage.say("/thinking");
    stage.key(KeyCode::Esc);
    stage.control('l');
    stage.items(ListKind::Thinking, picker::levels(&all_levels("claude-haiku-4-5")));
    assert!(stage.screen().contains("loading…"), "{}", stage.screen());
    stage.key(KeyCode::Esc);
    stage.control('r');
    stage.items(ListKind::Models, picker::models(&models()));
    assert!(stage.screen().contains("an earlier prompt"), "{}", stage.screen());
}

#[test]
fn failure_without_list_has_one_sign() {
    let mut stage = Harness::new(80, 24);
    stage.report(TaskResult::List(ListResult::Status(StatusText::error("unknown tool nope"))));
    assert!(stage.screen().contains("\n  ✗ unknown tool nope"), "{}", stage.screen());
    stage.report(TaskResult::List(ListResult::Status(StatusText::note("restored"))));
    assert!(stage.screen().contains("\n  · restored"), "{}", stage.screen());
}
