//! The lists with their items: rows, previews, and the effects of their keys.

use tiller_core::background_job::{CommandJob, JobStatus};
use tiller_core::delegated_task::{DelegatedTask, DelegatedTaskEnd};
use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::setting::Settings;
use tiller_engine::agents::{AgentActivity, RunningAgent, TaskRecord};
use tiller_engine::{
    ConfiguredRules, CredentialOrigin, DirAccess, LockedModel, Permission, ProviderCredential,
};
use tiller_provider::catalog;
use tiller_render::Role;

use super::*;
use crate::action::ListAction;
use crate::login::{KeyInput, LoginRequest};
use crate::picker::agent_options::Levels;
use crate::picker::models::{Models, model_items};

/// A list on a screen of this size.
pub(super) struct ListBench(pub(super) Bench<Picker>);

impl ListBench {
    pub(super) fn new((width, height): (u16, u16), picker: Picker) -> Self {
        Self(Bench::of(picker, Address::Screen).sized(width, height))
    }

    /// A list of this kind with its items.
    pub(super) fn with_items(size: (u16, u16), kind: ListKind, items: (Vec<PickerItem>, usize)) -> Self {
        let mut list = Self::new(size, Picker::waiting(list_source(kind)));
        list.fill(items);
        list
    }

    pub(super) fn fill(&mut self, (items, selected): (Vec<PickerItem>, usize)) {
        assert!(self.0.take(TaskResult::List(ListResult::Items { items, selected })).0.is_none());
    }

    /// The effects of a key.
    pub(super) fn key(&mut self, code: KeyCode) -> Vec<Effect> {
        self.0.key(code).1
    }

    pub(super) fn control(&mut self, c: char) -> Vec<Effect> {
        self.0.chord(KeyModifiers::CONTROL, c).1
    }

    /// The rows on the screen, after what follows a key.
    pub(super) fn screen(&mut self) -> String {
        self.0.refresh();
        self.0.drawn()
    }
}

pub(super) const SMALL: (u16, u16) = (80, 23);

pub(super) fn perform(action: ListAction) -> Vec<Effect> {
    vec![Action::List(action).into()]
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

/// The models of a provider without a key.
fn locked_models(size: (u16, u16)) -> ListBench {
    let lock = |facts| LockedModel { facts, key_name: "ANTHROPIC_API_KEY".into() };
    let locked = catalog::list_models("anthropic").into_iter().map(lock).collect();
    let models = Models { locked, usable: Vec::new(), ..models() };
    ListBench::with_items(size, ListKind::Models, model_items(&models))
}

/// A list of one model with a detail in its preview.
fn with_detail(size: (u16, u16)) -> ListBench {
    let detail = vec![Line::new("more of it", Role::Text)];
    let item = PickerItem::new("a", PickerChoice::Model("a".into())).with_detail(detail);
    ListBench::with_items(size, ListKind::Models, (vec![item], 0))
}

#[test]
fn models_narrow_keeps_distinguishing_part() {
    let screen = locked_models((40, 11)).screen();
    let ids = ["anthropic/claude-opus-", "anthropic/claude-sonnet-"];
    assert!(ids.iter().all(|id| screen.contains(id)) && screen.contains("needs"), "{screen}");
}

#[test]
fn models_preview_follows_rows_without_a_key() {
    let mut list = locked_models(SMALL);
    for facts in catalog::list_models("anthropic").iter().take(3) {
        let screen = list.screen();
        assert!(screen.lines().any(|line| line.trim() == facts.id), "{}: {screen}", facts.id);
        list.key(KeyCode::Down);
    }
}

#[test]
fn models_preview_needs_room_for_prices() {
    for (width, is_beside) in [(100, false), (104, false), (110, true), (120, true)] {
        let screen = ListBench::with_items((width, 29), ListKind::Models, model_items(&models())).screen();
        assert_eq!(screen.contains(" │ claude-opus"), is_beside, "{screen}");
        assert!(screen.contains("cycled · thinks · $4/$20 · 1.0M"), "{screen}");
        assert!(screen.contains("  needs OPENAI_API_KEY"), "{screen}");
        assert!(screen.contains("thinking   low, medium"), "{screen}");
    }
}

#[test]
fn preview_is_beside_wide_or_below_high_list() {
    for (size, text) in [((120, 23), " │ more of it"), (SMALL, "   more of it")] {
        let screen = with_detail(size).screen();
        assert!(screen.lines().any(|line| line.contains(text)), "{screen}");
    }
    assert!(!with_detail((80, 11)).screen().contains("more of it"), "there is no room for it");
}

#[test]
fn preview_without_match_is_empty() {
    let mut list = with_detail((120, 23));
    assert!(list.screen().contains("more of it"));
    list.0.type_keys("zz");
    assert!(!list.screen().contains("more of it"), "{}", list.screen());
    list.0.chord(KeyModifiers::CONTROL, 'u');
    assert!(list.screen().contains("more of it"), "{}", list.screen());
}

#[test]
fn list_very_wide_keeps_notes_near() {
    let mut list = ListBench::new((200, 59), Picker::waiting(list_source(ListKind::Settings)));
    list.0.take(TaskResult::List(ListResult::Settings(Box::<Settings>::default())));
    let screen = list.screen();
    let row = screen.lines().find(|line| line.contains("steering_point")).unwrap();
    let ends = row.find("between-tools").unwrap() + "between-tools".len();
    assert_eq!(ends, 80, "{row}");
}

#[test]
fn thinking_unsupported_level_is_marked() {
    let model = ModelRef { provider: "anthropic".into(), id: "my-model".into() };
    let levels = Levels { supported: vec![ThinkingLevel::Off], current: ThinkingLevel::Off, model };
    let mut list = ListBench::with_items(SMALL, ListKind::Thinking, agent_options::levels(&levels));
    list.0.type_keys("high");
    assert_eq!(list.key(KeyCode::Enter), []);
    assert!(list.screen().contains("✗ not supported by my-model"), "{}", list.screen());
}

#[test]
fn permissions_are_revoked() {
    let dir = Permission::Directory { dir: "/docs".into(), access: DirAccess::ReadOnly };
    for code in [KeyCode::Enter, KeyCode::Delete] {
        let rows = agent_options::permissions(std::slice::from_ref(&dir), &ConfiguredRules::default());
        let mut list = ListBench::with_items(SMALL, ListKind::Permissions, (rows, 0));
        let screen = list.screen();
        assert!(screen.contains("reading in /docs"), "{screen}");
        assert!(screen.contains("file tools · this session"), "{screen}");
        assert!(screen.contains("enter remove · esc back"), "the key hints name it once: {screen}");
        assert_eq!(list.key(code), perform(ListAction::Revoke(dir.clone())), "{code:?}");
    }
}

#[test]
fn agents_at_work_and_ended_are_opened() {
    let task = |name: &str, id: &str| DelegatedTask::new(id.into(), name, "Look around.\nTell me.");
    let since = UnixMs(0);
    let running =
        RunningAgent { start: task("explore", "id-ATWORK"), since, activity: AgentActivity::default() };
    let ended = |id: &str, error: Option<&str>| {
        let end = DelegatedTaskEnd::new(id.into(), error.map(str::to_owned));
        TaskRecord { start: task("worker", id), since, end: Some(end) }
    };
    let unended = |start: DelegatedTask| TaskRecord { start, since, end: None };
    let tasks = [
        ended("id-FIRST1", None),
        unended(task("worker", "id-KILLED")),
        ended("id-SECOND", Some("stopped")),
        unended(running.start.clone()),
    ];
    let at_work = [running];
    let items =
        [agents::running_items(&at_work, UnixMs(2_000)), agents::ended_items(&tasks, &at_work)].concat();
    let mut list = ListBench::with_items(SMALL, ListKind::Agents, (items, 0));
    let screen = list.screen();
    let rows: Vec<&str> = screen.lines().skip(2).take(4).map(str::trim).collect();
    insta::assert_snapshot!(rows.join("\n"), @r"
    ▸ explore ATWORK  Look around. Tell me. · 0 turns · 0 tokens · 2s
    worker SECOND   stopped · Look around.
    worker KILLED   interrupted · Look around.
    worker FIRST1   finished · Look around.
    ");
    list.key(KeyCode::Down);
    let open = ListAction::OpenAgent { id: "id-SECOND".into(), name: "worker".into() };
    assert_eq!(list.key(KeyCode::Enter), [&[Effect::CloseTop], &perform(open)[..]].concat());
}

#[test]
fn agents_truncated_descriptions_begin_in_one_column() {
    let long = "Looks around in the code and reports what it finds there, with files and lines.";
    let item = |name| PickerItem::new(name, PickerChoice::Nothing).with_note(long);
    let rows = ["explore", "reviewer", "worker"].map(item).to_vec();
    let screen = ListBench::with_items(SMALL, ListKind::Agents, (rows, 0)).screen();
    let columns: Vec<_> = screen.lines().skip(2).take(3).map(|line| line.find("Looks around")).collect();
    assert_eq!(columns[0].map(|at| at - " ▸ ".len()), Some("reviewer  ".len()), "{screen}");
    assert_eq!(columns[1..], [Some("   reviewer  ".len()); 2], "{screen}");
}

#[test]
fn list_with_only_a_reason_has_no_count() {
    let title = |choice| {
        let rows = vec![PickerItem::new("nothing to trust", choice)];
        let screen = ListBench::with_items(SMALL, ListKind::Trust, (rows, 0)).screen();
        screen.lines().next().unwrap_or_default().to_owned()
    };
    assert!(title(PickerChoice::Nothing).ends_with("─ 1 ──"));
    let empty = title(PickerChoice::Unavailable("nothing to trust".into()));
    assert!(empty.ends_with("────"), "{empty}");
    assert_eq!(empty.chars().count(), 80);
}

#[test]
fn models_preview_shows_free_and_unknown_prices() {
    for (provider, price) in [("demo", "price      free"), ("work", "price      unknown")] {
        let usable = vec![catalog::assumed(provider, "m")];
        let models = Models { usable, locked: Vec::new(), ..models() };
        let screen = ListBench::with_items((120, 29), ListKind::Models, model_items(&models)).screen();
        assert!(screen.contains(price), "{screen}");
    }
}

#[test]
fn agents_hint_is_shown_only_where_enter_opens() {
    let agent = PickerChoice::Agent { id: "id-ATWORK".into(), name: "explore".into() };
    let rows = vec![
        PickerItem::new("at work", agent),
        PickerItem::new("defined", PickerChoice::Unavailable("Ask for it.".into())),
    ];
    let mut list = ListBench::with_items(SMALL, ListKind::Agents, (rows, 0));
    assert!(list.screen().contains("enter open"), "{}", list.screen());
    list.key(KeyCode::Down);
    assert!(!list.screen().contains("enter open"), "{}", list.screen());
}

pub(super) fn logins() -> Vec<ProviderCredential> {
    let holder = |provider: &str, origin| ProviderCredential { provider: provider.into(), origin };
    vec![
        holder("anthropic", CredentialOrigin::Missing),
        holder("openai", CredentialOrigin::External("OPENAI_API_KEY".into())),
        holder("mistral", CredentialOrigin::Stored),
    ]
}

pub(super) fn store(key: &str) -> Vec<Effect> {
    perform(ListAction::Key(LoginRequest::Store("anthropic".into(), KeyInput::new(key))))
}

#[test]
fn login_esc_leaves_prompt_then_list() {
    let mut list = ListBench::with_items(SMALL, ListKind::Logins, (credentials::logins(&logins()), 0));
    list.key(KeyCode::Enter);
    list.0.type_keys("sk");
    assert_eq!(list.key(KeyCode::Esc), []);
    assert!(list.screen().contains("type to filter"), "{}", list.screen());
    list.key(KeyCode::Enter);
    assert!(list.screen().contains("it is not shown"), "what was typed before is gone: {}", list.screen());
    assert_eq!(list.key(KeyCode::Enter), []);
    assert!(list.screen().contains("no key entered"), "{}", list.screen());
    assert_eq!(list.key(KeyCode::Esc), [Effect::Leave(LeaveScope::Top)]);
}

#[test]
fn login_rejected_key_can_be_corrected() {
    let mut list = ListBench::new(SMALL, Picker::asking_for_key("anthropic".into()));
    list.fill((credentials::logins(&logins()), 0));
    list.0.type_keys("sk-bad");
    assert_eq!(list.key(KeyCode::Enter), store("sk-bad"));
    list.0.take(TaskResult::List(ListResult::Status(StatusText::error("that is no key"))));
    let screen = list.screen();
    assert!(screen.contains("✗ that is no key") && screen.contains("6 characters"), "{screen}");
    list.0.type_keys("x");
    assert_eq!(list.key(KeyCode::Enter), store("sk-badx"));
}

#[test]
fn login_named_provider_prompts_at_once() {
    let asking = |provider: &str| {
        let mut list = ListBench::new(SMALL, Picker::asking_for_key(provider.into()));
        list.0.type_keys("sk-hush");
        assert!(!list.screen().contains("sk-hush"), "typed before the list is there: {}", list.screen());
        for result in credentials::login_results(&logins()) {
            assert!(list.0.take(TaskResult::List(result)).0.is_none());
        }
        list
    };
    let mut list = asking("anth");
    assert!(list.screen().contains("key for anthropic ❯ •••••••  7 characters"), "{}", list.screen());
    assert_eq!(list.key(KeyCode::Enter), store("sk-hush"));
    let screen = asking("nobody").screen();
    assert!(screen.contains("unknown provider `nobody`") && !screen.contains("hush"), "{screen}");
    assert!(screen.contains("anthropic"), "all of them are offered: {screen}");
}

#[test]
fn jobs_list_shows_status_and_last_line_and_stops_a_job() {
    let job = |id: &str, status| CommandJob {
        job_id: id.into(),
        command: "cargo watch".into(),
        since: UnixMs(0),
        status,
        last_line: "Finished".into(),
    };
    let jobs = [job("job_1", JobStatus::Exited { exit_code: 1 }), job("job_2", JobStatus::Running)];
    let mut list = ListBench::with_items(SMALL, ListKind::Jobs, (command_jobs::items(&jobs), 0));
    let screen = list.screen();
    assert!(screen.contains("job_2 cargo watch") && screen.contains("running · Finished"), "{screen}");
    assert!(screen.contains("exit 1 · Finished"), "{screen}");
    assert_eq!(list.key(KeyCode::Enter), perform(ListAction::StopJob("job_2".into())));
}
