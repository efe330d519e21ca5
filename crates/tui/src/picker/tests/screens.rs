//! The lists at both sizes of the screen, and the effects of their rows.

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::setting;
use tiller_core::setting::{SettingSource, Settings};
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller_engine::{ApprovalMode, OfferState, OfferedTool};
use tiller_render::theme::ColorDepth;
use tiller_session::import::{LogPeek, SourceFormat};
use tiller_tools::tool::ToolSource;

use super::lists::{ListBench, logins, models, perform, store};
use super::*;
use crate::action::ListAction;
use crate::effect::OverlayRequest;
use crate::import::ForeignLog;
use crate::login::LoginRequest;
use crate::navigate::Navigate;
use crate::picker::agent_options::Levels;
use crate::picker::choices::Question;
use crate::picker::models::model_items;
use crate::picker::settings::SettingValueList;
use crate::picker::themes::theme_items;
use crate::theme::{ThemeOptions, ThemeState};

/// The sizes of overlays, which leave a row for the footer.
const SIZES: [(u16, u16); 2] = [(80, 23), (120, 39)];

/// 14:02 UTC.
const NOW: i64 = 1_795_269_720_000;

/// Compares the list at this size with its snapshot, which is named after the screen.
macro_rules! assert_screen {
    ($name:literal, $size:expr, $list:expr) => {{
        let (width, height) = $size;
        insta::assert_snapshot!(format!("{}_{width}x{}", $name, height + 1), $list.screen());
    }};
}

/// The effects of choosing a row that closes the list.
fn closing(effects: impl IntoIterator<Item = Effect>) -> Vec<Effect> {
    std::iter::once(Effect::CloseTop).chain(effects).collect()
}

#[test]
fn models_show_price_and_missing_key() {
    for size in SIZES {
        let mut list = ListBench::with_items(size, ListKind::Models, model_items(&models()));
        assert_screen!("models", size, list);
        list.0.type_keys("gpt");
        let asks = Effect::Open(OverlayRequest::Login("openai".into()));
        assert_eq!(list.key(KeyCode::Enter), [asks], "it can't answer");
        list.control('u');
        list.0.type_keys("haiku");
        assert_screen!("models_narrowed", size, list);
        let chosen = list.key(KeyCode::BackTab);
        let [Effect::CloseTop, Effect::Perform(_, Action::Edit(SessionEdit::SetModel(name))), thinks] =
            &chosen[..]
        else {
            panic!("{chosen:?}")
        };
        assert!(name.contains("haiku"), "{name}");
        assert_eq!(*thinks, Effect::Open(OverlayRequest::list(ListKind::Thinking)));
    }
}

#[test]
fn thinking_and_approval_lists() {
    for size in SIZES {
        let model = ModelRef { provider: "anthropic".into(), id: "claude-haiku-4-5".into() };
        let supported = ThinkingLevel::ALL.to_vec();
        let levels = Levels { supported, current: ThinkingLevel::High, model };
        let mut list = ListBench::with_items(size, ListKind::Thinking, agent_options::levels(&levels));
        assert_screen!("thinking", size, list);
        list.key(KeyCode::Down);
        let chosen = Action::Edit(SessionEdit::SetThinking(ThinkingLevel::Xhigh));
        assert_eq!(list.key(KeyCode::Enter), closing([chosen.into()]));
        let mut list = ListBench::with_items(size, ListKind::Approval, agent_options::modes("ask"));
        assert_screen!("approval_modes", size, list);
        list.0.type_keys("read");
        let chosen = perform(ListAction::SetApproval(ApprovalMode::ReadOnly));
        assert_eq!(list.key(KeyCode::Enter), closing(chosen));
    }
}

#[test]
fn tools_list_switches_and_stays() {
    let tool = |name: &str, source: ToolSource, offer: OfferState| OfferedTool {
        spec: ToolSpec {
            name: name.into(),
            description: format!("Does what {name} does.\nAnd a little more."),
            parameters: Arc::new(serde_json::json!({})),
            traits: ToolTraits::new(Access::Reads),
        },
        source,
        offer,
    };
    let tools = |bash: OfferState| {
        let tools = [
            tool("read_file", ToolSource::BuiltIn, OfferState::Offered),
            tool("bash", ToolSource::BuiltIn, bash),
            tool("ship", ToolSource::Extension("deploy".into()), OfferState::Removed),
        ];
        (agent_options::tools(&tools), 0)
    };
    for size in SIZES {
        let items = tools(OfferState::LeftOut("--tools".into()));
        let mut list = ListBench::with_items(size, ListKind::Tools, items);
        assert_screen!("tools", size, list);
        list.key(KeyCode::Down);
        assert_eq!(list.key(KeyCode::Enter), perform(ListAction::ToggleTool("bash".into())));
        list.fill(tools(OfferState::Offered));
        assert!(list.screen().contains("▸ ✓ bash"), "{}", list.screen());
    }
}

#[test]
fn settings_value_is_chosen_or_typed() {
    for size in SIZES {
        let mut settings = Settings::default();
        let source = SettingSource::File("/home/ada/.config/tiller/settings.json".into());
        settings.set(&setting::SYNC, setting::SYNC.parse("never").unwrap(), source);
        let mut list = ListBench::new(size, Picker::waiting(list_source(ListKind::Settings)));
        list.0.take(TaskResult::List(ListResult::Settings(Box::new(settings))));
        assert_screen!("settings", size, list);
        list.0.type_keys("sync");
        let effects = list.key(KeyCode::Enter);
        let [Effect::Open(OverlayRequest::SettingValues { title, items, selected })] = &effects[..] else {
            panic!("of three words one is chosen: {effects:?}")
        };
        let values = Picker::with_items(&SettingValueList, title.clone(), items.clone(), *selected);
        let mut values = ListBench::new(size, values);
        assert_screen!("setting_words", size, values);
        values.key(KeyCode::Up);
        let set = |setting, value: &str| perform(ListAction::Set(setting, value.into()));
        assert_eq!(values.key(KeyCode::Enter), closing(set(&setting::SYNC, "turn")));
        assert_eq!(list.control('x'), set(&setting::SYNC, ""));
        list.control('u');
        list.0.type_keys("max_turns");
        assert_eq!(list.key(KeyCode::Enter), []);
        list.0.type_keys("many");
        assert_eq!(list.key(KeyCode::Enter), []);
        assert_screen!("settings_wrong", size, list);
        list.control('w');
        list.0.type_keys("12");
        assert_eq!(list.key(KeyCode::Enter), set(&setting::MAX_TURNS, "12"));
        let saved = StatusText::note("saved; takes effect at the next start");
        list.0.take(TaskResult::List(ListResult::Status(saved)));
        assert!(list.screen().contains("at the next start"));
        list.key(KeyCode::Enter);
        assert_eq!(list.key(KeyCode::Esc), [], "esc leaves the value alone, and the list open");
        assert_eq!(list.key(KeyCode::Esc), [], "it shows all settings again");
        assert_eq!(list.key(KeyCode::Esc), [Effect::Leave(LeaveScope::Top)]);
    }
}

#[test]
fn login_key_is_masked() {
    for size in SIZES {
        let mut list = ListBench::with_items(size, ListKind::Logins, (credentials::logins(&logins()), 0));
        assert_screen!("login", size, list);
        assert_eq!(list.key(KeyCode::Enter), []);
        list.0.type_keys("sk-ant-");
        list.0.send(UiEvent::Paste("hush-hush\n"));
        let screen = list.screen();
        assert!(!screen.contains("hush") && !screen.contains("sk-"), "{screen}");
        assert_screen!("login_typed", size, list);
        assert_eq!(list.key(KeyCode::Enter), store("sk-ant-hush-hush"));
    }
}

#[test]
fn logout_lists_stored_keys_only() {
    for size in SIZES {
        let mut list = ListBench::with_items(size, ListKind::Logouts, (credentials::logouts(&logins()), 0));
        assert_screen!("logout", size, list);
        list.key(KeyCode::Down);
        let removed = ListAction::Key(LoginRequest::Remove("mistral".into()));
        assert_eq!(list.key(KeyCode::Enter), perform(removed));
    }
}

#[test]
fn import_lists_by_first_prompt() {
    let log = |from, file: &str, cwd: Option<&str>, words: Option<&str>, hours: i64| ForeignLog {
        path: format!("/h/{file}").into(),
        modified: UnixMs(NOW - hours * 3_600_000),
        peek: LogPeek { from, cwd: cwd.map(str::to_owned), first_prompt: words.map(str::to_owned) },
    };
    let fish = "feed the fish, and then tell me in every detail how many there are and of which kind they seem to be";
    let logs = [
        log(Some(SourceFormat::Claude), "5b0f.jsonl", Some("/home/ada/orchard"), Some("count the trees"), 2),
        log(Some(SourceFormat::Codex), "rollout-mill.jsonl", Some("/home/ada/mill"), None, 50),
        log(Some(SourceFormat::Pi), "pond.jsonl", Some("/home/ada/pond"), Some(fish), 700),
        log(None, "torn.jsonl", None, None, 9_000),
    ];
    for size in SIZES {
        let items = foreign_logs::foreign_logs(&logs, UnixMs(NOW));
        let mut list = ListBench::with_items(size, ListKind::ForeignLogs, (items, 0));
        assert_screen!("import", size, list);
        list.0.type_keys("fish");
        let import = perform(ListAction::Import("/h/pond.jsonl".into()));
        assert_eq!(list.key(KeyCode::Enter), import);
    }
}

#[test]
fn question_opens_the_imported_session() {
    let open = PickerItem::new("open it, session DFGHJKL", PickerChoice::Open("/s/pond.jsonl".into()));
    let question = Picker::with_items(&Question, "imported, 9 entries".into(), vec![open], 0);
    let opens = Action::Navigate(Navigate::Open("/s/pond.jsonl".into()));
    assert_eq!(ListBench::new(SIZES[0], question).key(KeyCode::Enter), [opens.into()]);
}

#[test]
fn theme_list_previews_all_roles() {
    for size in SIZES {
        let mut list = ListBench::new(size, Picker::waiting(list_source(ListKind::Themes)));
        list.0.ui.theme =
            ThemeState::new(&ThemeOptions { depth: ColorDepth::Millions, ..ThemeOptions::default() });
        let items = theme_items(&list.0.ui.theme);
        list.fill(items);
        list.key(KeyCode::Down);
        assert_screen!("themes", size, list);
    }
}
