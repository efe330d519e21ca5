//! Races and worktrees: the results of agents stay separate until one is picked.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::*;
use tiller_core::message::Usage;
use tiller_engine::SessionBuilder;
use tiller_engine::agents::{
    AgentRegistry, AgentSpec, Delegation, DelegationLimits, Isolation, LaneState, Race, RaceError, RaceLane,
    RaceOptions, TaskRecord,
};
use tiller_provider::ModelFacts;
use tiller_tools::policy::ApprovalMode;

/// A repository with a session whose models answer by scripts of their names.
struct Fixture {
    agent: AgentSession,
    dir: TempDir,
}

/// Answers with the script of the requested model.
struct Models(Vec<(&'static str, ScriptedProvider)>);

impl Provider for Models {
    fn name(&self) -> &str {
        "track"
    }

    fn api(&self) -> &'static str {
        "scripted"
    }

    fn stream(&self, request: Request) -> ProviderStream {
        let script = self.0.iter().find(|(name, _)| request.model.id == *name).map(|(_, script)| script);
        script.expect("a script").stream(request)
    }
}

fn write(path: &str, content: &str) -> ScriptedAnswer {
    let arguments = json!({ "path": path, "content": content });
    serde_json::from_value(json!({ "calls": [{ "name": "write_file", "arguments": arguments }] })).unwrap()
}

fn call(tool: &str, arguments: Value) -> ScriptedAnswer {
    serde_json::from_value(json!({ "calls": [{ "name": tool, "arguments": arguments }] })).unwrap()
}

fn git(cwd: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(cwd).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

impl Fixture {
    fn new(models: Vec<(&'static str, Vec<ScriptedAnswer>)>) -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap().join("work");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "--quiet", "--initial-branch=main"]);
        fs::write(root.join("a.txt"), "one\n").unwrap();
        git(&root, &["add", "."]);
        let identity =
            ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgSign=false"];
        git(&root, &[&identity[..], &["commit", "--quiet", "-m", "first"]].concat());
        let facts = |id: &str| ModelFacts {
            provider: "track".into(),
            id: id.into(),
            ..ScriptedProvider::new(Vec::new()).facts()
        };
        let all_facts = models.iter().map(|(name, _)| facts(name)).collect();
        let scripts =
            models.into_iter().map(|(name, answers)| (name, ScriptedProvider::new(answers))).collect();
        let mut providers = ProviderRegistry::default();
        providers.add(Arc::new(Models(scripts)), all_facts);
        let registry = AgentRegistry::default();
        for name in ["left", "right"] {
            registry.register(name, name, move || AgentSpec::new(name, "", name).model(name));
        }
        registry.register("apart", "works apart", || AgentSpec {
            isolation: Isolation::Worktree,
            background: true,
            ..AgentSpec::new("apart", "", "").model("left")
        });
        let builder = SessionBuilder::new(providers)
            .commands(Runner::with_supervisor(env!("CARGO_BIN_EXE_engine-supervisor")))
            .model("main")
            .log_dir(dir.path().join("logs"));
        let delegation = Delegation::new(registry, DelegationLimits::default());
        let agent = delegation.equip(builder).start(&root).unwrap();
        Self { agent, dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("work").join(name)
    }

    async fn run(&self, prompt: &str) {
        self.agent.prompt(prompt, PromptOptions::default()).await.unwrap();
        tokio::time::timeout(TIMEOUT, self.agent.settled()).await.unwrap().unwrap();
    }

    async fn race(&self, options: RaceOptions) -> Race {
        let mut race = Race::start(&self.agent, options).await.unwrap();
        while tokio::time::timeout(TIMEOUT, race.changed()).await.expect("a lane doesn't end") {}
        race
    }

    fn worktrees(&self) -> usize {
        git(&self.path(""), &["worktree", "list"]).lines().count()
    }
}

fn options(models: &[&str], check: Option<&str>) -> RaceOptions {
    RaceOptions {
        prompt: "Write b.txt.".into(),
        models: models.iter().map(|model| Some((*model).to_owned())).collect(),
        check: check.map(Into::into),
        ..RaceOptions::default()
    }
}

fn summary(lane: &RaceLane) -> (LaneState, &str, String, u64) {
    let changes = lane.changes.as_ref().map(ToString::to_string).unwrap_or_default();
    (lane.state.clone(), lane.check_text(), changes, lane.activity.turns)
}

#[tokio::test]
async fn race_result_that_is_picked_is_applied_and_continued() {
    let fixture = Fixture::new(vec![
        ("main", vec![text_answer("Hello.")]),
        ("left", vec![text_answer("unused"), write("b.txt", "bad\n"), text_answer("Left.")]),
        (
            "right",
            vec![
                text_answer("unused"),
                write("b.txt", "good\n"),
                text_answer("Right."),
                text_answer("Going on."),
            ],
        ),
    ]);
    fixture.run("Hi.").await;
    fs::write(fixture.path("a.txt"), "uncommitted\n").unwrap();
    let race = fixture.race(options(&["left", "right"], Some("grep -q good b.txt"))).await;
    let lanes = race.lanes();
    let one_file = || "1 file, +1 −0".to_owned();
    assert_eq!(summary(&lanes[0]), (LaneState::Finished, "failed", one_file(), 2));
    assert_eq!(summary(&lanes[1]), (LaneState::Finished, "passed", one_file(), 2));
    assert_eq!(fixture.worktrees(), 1, "the others are removed");
    assert!(!fixture.path("b.txt").exists());
    let path = message_lines(&fixture.agent.reader());
    assert_eq!(path, ["user Hi.", "answer Hello. Stop"], "the session is where it was");

    race.pick(2).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.path("b.txt")).unwrap(), "good\n");
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "uncommitted\n");
    assert_eq!(message_lines(&fixture.agent.reader()).last().unwrap(), "answer Right. Stop");
    let reader = fixture.agent.reader();
    let (entries, _) = reader.branch(lanes[0].leaf.as_ref().unwrap()).unwrap();
    assert!(
        entries.iter().any(|entry| format!("{entry:?}").contains("Left.")),
        "the other stays in the tree"
    );
    let log = fs::read_to_string(reader.path().unwrap()).unwrap();
    let entries: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for lane in &lanes {
        let label = entries.iter().find(|entry| entry["targetId"] == lane.leaf.as_ref().unwrap().as_str());
        assert_eq!(label.unwrap()["label"], format!("lane {}", lane.number).as_str());
    }
    // The branch's model answers.
    fixture.run("Go on.").await;
    assert_eq!(message_lines(&fixture.agent.reader()).last().unwrap(), "answer Going on. Stop");
}

#[tokio::test]
async fn race_can_start_at_an_earlier_entry_and_in_an_empty_session() {
    let fixture = Fixture::new(vec![
        ("main", vec![text_answer("One."), text_answer("Two.")]),
        ("left", vec![text_answer("First."), text_answer("Second.")]),
    ]);
    let race = fixture.race(options(&["left"], None)).await;
    race.pick(1).await.unwrap();
    assert_eq!(message_lines(&fixture.agent.reader()), ["user Write b.txt.", "answer First. Stop"]);
    let from = fixture.agent.reader().leaf().map(|leaf| leaf.short().into());
    fixture.run("Hi.").await;
    let race = fixture.race(RaceOptions { from, ..options(&["left"], None) }).await;
    race.pick(1).await.unwrap();
    let lines = message_lines(&fixture.agent.reader());
    let expected = ["user Write b.txt.", "answer First. Stop", "user Write b.txt.", "answer Second. Stop"];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn race_lane_without_a_result_cannot_be_picked() {
    let failing =
        serde_json::from_value(json!({ "error": { "failure": "fatal", "message": "no luck" } })).unwrap();
    let fixture = Fixture::new(vec![("main", vec![]), ("left", vec![failing])]);
    let race = fixture.race(options(&["left"], Some("true"))).await;
    let lanes = race.lanes();
    assert!(matches!(&lanes[0].state, LaneState::Failed(reason) if reason.contains("no luck")), "{lanes:?}");
    assert_eq!(lanes[0].check, None);
    assert!(matches!(race.pick(1).await, Err(RaceError::NoResult(1))));
    assert_eq!(fixture.worktrees(), 1);
}

#[tokio::test]
async fn race_with_an_invalid_option_replaces_no_other() {
    let fixture = Fixture::new(vec![("main", vec![]), ("left", vec![text_answer("Left.")])]);
    drop(fixture.race(options(&["left"], None)).await);
    fixture.agents_have_ended().await;
    let refusal = async |options| Race::start(&fixture.agent, options).await.err().unwrap().to_string();
    let nowhere = refusal(options(&["left", "nowhere"], None)).await;
    assert!(nowhere.contains("nowhere"), "{nowhere}");
    let from = |entry: &str| RaceOptions { from: Some(entry.into()), ..options(&["left"], None) };
    assert_eq!(refusal(from("no-entry")).await, "no entry `no-entry` in this session");
    assert_eq!(refusal(from("abc")).await, "`abc` is too short; give at least 4 characters of the id");
    let blank = RaceOptions { prompt: " ".into(), ..options(&["left"], None) };
    assert_eq!(refusal(blank).await, "the prompt is empty");
    assert_eq!(refusal(options(&[], None)).await, "a race has 1 to 10 lanes, not 0");
    fixture.agent.set_approval(ApprovalMode::Plan).await.unwrap();
    assert_eq!(refusal(options(&["left"], None)).await, "worktrees aren't available in mode plan");
    assert_eq!(fixture.worktrees(), 1);
    let found = Race::find(&fixture.agent).await.unwrap().unwrap();
    assert_eq!(found.lanes()[0].state, LaneState::Finished);
}

#[tokio::test]
async fn race_lane_has_only_tools_that_are_offered_in_the_session() {
    let fixture =
        Fixture::new(vec![("main", vec![]), ("left", vec![write("b.txt", "b\n"), text_answer("Left.")])]);
    fixture.agent.offer_tools(vec!["read_file".to_owned()]).await.unwrap();
    let race = fixture.race(options(&["left"], None)).await;
    let lane = &race.lanes()[0];
    assert_eq!(
        (&lane.state, lane.changes.as_ref().map(|changes| changes.files)),
        (&LaneState::Finished, Some(0))
    );
}

#[tokio::test]
async fn race_lane_that_the_user_aborts_is_stopped() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let fixture = Fixture::new(vec![("main", vec![]), ("left", vec![hanging])]);
    let mut race = Race::start(&fixture.agent, options(&["left"], Some("true"))).await.unwrap();
    while race.lanes()[0].state != LaneState::Working {
        race.changed().await;
    }
    let id = race.lanes()[0].agent_id.clone().unwrap();
    fixture.agent.running_agent(id).await.unwrap().abort().await.unwrap();
    while tokio::time::timeout(TIMEOUT, race.changed()).await.expect("the lane doesn't end") {}
    let lane = &race.lanes()[0];
    assert_eq!((&lane.state, lane.state.to_string().as_str()), (&LaneState::Stopped, "stopped"));
    assert!(matches!(race.pick(1).await, Err(RaceError::NoResult(1))));
}

#[tokio::test]
async fn race_that_is_dropped_leaves_no_worktree() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let fixture = Fixture::new(vec![("main", vec![]), ("left", vec![hanging])]);
    let mut race = Race::start(&fixture.agent, options(&["left"], None)).await.unwrap();
    while race.lanes()[0].state != LaneState::Working {
        race.changed().await;
    }
    drop(race);
    while !fixture.agent.running_agents().await.unwrap().is_empty() || fixture.worktrees() > 1 {
        tokio::task::yield_now().await;
    }
}

impl Fixture {
    /// Waits until the last lane hangs in its second answer, `half`, and the others have ended.
    async fn wait_for_half_answer(&self, race: &Race) {
        let wait = async {
            loop {
                let lanes = race.lanes();
                let (last, others) = lanes.split_last().unwrap();
                if others.iter().all(|lane| lane.state.is_over()) && last.activity.turns == 1 {
                    let agent = self.agent.running_agent(last.agent_id.clone().unwrap()).await.unwrap();
                    let partial = agent.snapshot().await.unwrap().in_progress.partial;
                    if partial.is_some_and(|answer| answer.joined_text() == "half") {
                        break;
                    }
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, wait).await.expect("no lane hangs");
    }

    /// Waits until no agent is at work, and its worktree is removed.
    async fn agents_have_ended(&self) {
        while !self.agent.running_agents().await.unwrap().is_empty() || self.worktrees() > 1 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test]
async fn race_that_is_left_is_found_and_resumed() {
    let usage = |tokens: u64, answer: ScriptedAnswer| {
        let usage = Usage { output: Tokens(tokens), ..Usage::default() };
        ScriptedAnswer { usage, ..answer }
    };
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let fixture = Fixture::new(vec![
        ("main", vec![text_answer("Hello.")]),
        ("left", vec![text_answer("unused"), usage(1, write("b.txt", "bad\n")), text_answer("Left.")]),
        (
            "right",
            vec![
                text_answer("unused"),
                usage(10, write("b.txt", "half\n")),
                hanging,
                usage(100, write("b.txt", "good\n")),
                text_answer("Right."),
            ],
        ),
    ]);
    fixture.run("Hi.").await;
    assert!(Race::find(&fixture.agent).await.unwrap().is_none());
    let options = options(&["left", "right"], Some("grep -q good b.txt"));
    let race = Race::start(&fixture.agent, options).await.unwrap();
    fixture.wait_for_half_answer(&race).await;
    assert!(Race::find(&fixture.agent).await.unwrap().is_none(), "it is running");
    let first = race.lanes()[0].clone();
    drop(race);
    fixture.agents_have_ended().await;

    let mut race = Race::find(&fixture.agent).await.unwrap().expect("a race");
    let lanes = race.lanes();
    assert_eq!(
        (lanes[0].clone(), race.prompt()),
        (RaceLane { elapsed_ms: lanes[0].elapsed_ms, ..first }, "Write b.txt.")
    );
    assert_eq!((&lanes[1].state, lanes[1].activity.tokens), (&LaneState::Interrupted, Tokens(10)));
    race.resume().await.unwrap();
    while tokio::time::timeout(TIMEOUT, race.changed()).await.expect("a lane doesn't end") {}
    let lanes = race.lanes();
    assert_eq!(summary(&lanes[1]), (LaneState::Finished, "passed", "1 file, +1 −0".to_owned(), 3));
    assert_eq!(lanes[1].activity.tokens, Tokens(110));
    assert_eq!(fixture.agent.stats().await.unwrap().session.usage.output, Tokens(111));

    race.pick(2).await.unwrap();
    assert_eq!(fixture.agent.state().await.unwrap().state.model.id, "right");
    assert_eq!(fs::read_to_string(fixture.path("b.txt")).unwrap(), "good\n");
    let lines = message_lines(&fixture.agent.reader());
    assert_eq!(lines.last().unwrap(), "answer Right. Stop");
    assert!(lines.iter().any(|line| line.starts_with("user You were interrupted.")), "{lines:?}");
    assert!(Race::find(&fixture.agent).await.unwrap().is_none(), "it is over");
}

#[tokio::test]
async fn race_lane_whose_branch_is_gone_starts_again() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let fixture = Fixture::new(vec![("main", vec![]), ("left", vec![write("b.txt", "good\n"), hanging])]);
    let race = Race::start(&fixture.agent, options(&["left"], None)).await.unwrap();
    let written = fixture.path("").with_file_name("work.tiller-race-1-1").join("b.txt");
    while !written.exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(race);
    fixture.agents_have_ended().await;
    git(&fixture.path(""), &["branch", "-D", "tiller/race-1-1"]);
    let mut race = Race::find(&fixture.agent).await.unwrap().unwrap();
    let before = race.lanes()[0].agent_id.clone();
    race.resume().await.unwrap();
    while race.lanes()[0].agent_id == before {
        race.changed().await;
    }
    race.discard().await.unwrap();
    fixture.agents_have_ended().await;
    assert!(Race::find(&fixture.agent).await.unwrap().is_none());
}

#[tokio::test]
async fn race_whose_lanes_fail_has_nothing_to_resume() {
    let failing =
        || serde_json::from_value(json!({ "error": { "failure": "fatal", "message": "no luck" } })).unwrap();
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let fixture = Fixture::new(vec![
        ("main", vec![]),
        ("left", vec![write("b.txt", "left\n"), failing()]),
        ("right", vec![write("b.txt", "right\n"), hanging, failing()]),
    ]);
    let race = Race::start(&fixture.agent, options(&["left", "right"], None)).await.unwrap();
    fixture.wait_for_half_answer(&race).await;
    drop(race);
    fixture.agents_have_ended().await;
    let mut race = Race::find(&fixture.agent).await.unwrap().unwrap();
    race.resume().await.unwrap();
    while tokio::time::timeout(TIMEOUT, race.changed()).await.expect("a lane doesn't end") {}
    let lanes = race.lanes();
    assert!(lanes.iter().all(|lane| matches!(lane.state, LaneState::Failed(_))), "{lanes:?}");
    let branches: Vec<Option<&str>> = lanes.iter().map(RaceLane::branch).collect();
    assert_eq!(branches, [Some("tiller/race-1-1"), Some("tiller/race-2-1")]);
    assert!(race.reload_unfinished().await.unwrap().is_none());
}

#[tokio::test]
async fn race_lane_that_cannot_continue_can_be_resumed_again() {
    let hanging = ScriptedAnswer { hang: true, ..text_answer("half") };
    let fixture = Fixture::new(vec![
        ("main", vec![]),
        ("left", vec![write("b.txt", "left\n"), hanging, text_answer("Left.")]),
    ]);
    let race = Race::start(&fixture.agent, options(&["left"], None)).await.unwrap();
    fixture.wait_for_half_answer(&race).await;
    drop(race);
    fixture.agents_have_ended().await;
    let mut race = Race::find(&fixture.agent).await.unwrap().unwrap();
    fixture.agent.set_approval(ApprovalMode::Plan).await.unwrap();
    race.resume().await.unwrap();
    while tokio::time::timeout(TIMEOUT, race.changed()).await.expect("the lane doesn't end") {}
    let lanes = race.lanes();
    assert!(matches!(lanes[0].state, LaneState::Failed(_)), "no worktrees in this mode: {lanes:?}");

    let mut race = race.reload_unfinished().await.unwrap().expect("work to continue");
    assert_eq!(race.lanes()[0].state, LaneState::Interrupted);
    fixture.agent.set_approval(ApprovalMode::Auto).await.unwrap();
    race.resume().await.unwrap();
    while tokio::time::timeout(TIMEOUT, race.changed()).await.expect("the lane doesn't end") {}
    assert_eq!(race.lanes()[0].state, LaneState::Finished);
}

#[tokio::test]
async fn race_is_not_found_in_a_fork() {
    let fixture =
        Fixture::new(vec![("main", vec![text_answer("Hello.")]), ("left", vec![text_answer("Left."); 2])]);
    fixture.run("Hi.").await;
    let race = fixture.race(options(&["left"], None)).await;
    drop(race);
    assert_eq!(Race::find(&fixture.agent).await.unwrap().unwrap().lanes()[0].state, LaneState::Finished);
    fixture.agent.clone_session().await.unwrap();
    assert!(Race::find(&fixture.agent).await.unwrap().is_none());
}

#[tokio::test]
async fn agents_in_worktrees_return_their_diffs() {
    let tasks = json!([{ "agent": "left", "task": "Write." }, { "agent": "right", "task": "Write." }]);
    let arguments = json!({ "tasks": tasks, "isolation": "worktree" });
    let spawn =
        serde_json::from_value(json!({ "calls": [{ "name": "spawn_agents", "arguments": arguments }] }))
            .unwrap();
    let fixture = Fixture::new(vec![
        ("main", vec![spawn, text_answer("Thanks.")]),
        ("left", vec![write("a.txt", "left\n"), text_answer("Done.")]),
        ("right", vec![text_answer("Nothing to do.")]),
    ]);
    fixture.run("Go.").await;
    let lines = message_lines(&fixture.agent.reader());
    let result = lines.iter().find(|line| line.starts_with("result ")).unwrap();
    let branch = "[its changes are on the branch tiller/left-1, not in the working directory: 1 file, +1 −1]";
    assert!(result.contains(branch) && result.contains("-one\n+left"), "{result}");
    assert!(result.contains("[it changed no files]"), "{result}");
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "one\n");
    assert_eq!(git(&fixture.path(""), &["show", "tiller/left-1:a.txt"]), "left\n");
    assert_eq!(fixture.worktrees(), 1);
}

#[tokio::test]
async fn agents_that_are_cancelled_report_their_branches() {
    let failing =
        serde_json::from_value(json!({ "error": { "failure": "fatal", "message": "no luck" } })).unwrap();
    let hanging = || ScriptedAnswer { hang: true, ..text_answer("half") };
    let tasks = json!([{ "agent": "left", "task": "Write." }, { "agent": "right", "task": "Write." }]);
    let fixture = Fixture::new(vec![
        (
            "main",
            vec![
                call("spawn_agents", json!({ "tasks": tasks, "isolation": "worktree" })),
                text_answer("Hm."),
            ],
        ),
        ("left", vec![write("a.txt", "left\n"), hanging()]),
        ("right", vec![hanging(), failing]),
    ]);
    fixture.agent.prompt("Go.", PromptOptions::default()).await.unwrap();
    let written = fixture.path("").with_extension("tiller-left-1").join("a.txt");
    let agents = loop {
        let agents = fixture.agent.running_agents().await.unwrap();
        if agents.len() == 2 && fs::read_to_string(&written).is_ok_and(|text| text == "left\n") {
            break agents;
        }
        tokio::task::yield_now().await;
    };
    let right = agents.iter().find(|agent| agent.start.name == "right").unwrap().start.agent_id.clone();
    let right = fixture.agent.running_agent(right).await.unwrap();
    while right.snapshot().await.unwrap().in_progress.partial.is_none() {
        tokio::task::yield_now().await;
    }
    right.steer_now("Fail.", PromptOptions::default()).await.unwrap();
    tokio::time::timeout(TIMEOUT, fixture.agent.settled()).await.unwrap().unwrap();
    let lines = message_lines(&fixture.agent.reader());
    let result = lines.iter().find(|line| line.starts_with("result ")).unwrap();
    assert!(
        result.contains(
            "[its changes are on the branch tiller/left-1, not in the working directory: 1 file, +1 −1]"
        ) && result.contains("returned no answer: stopped because another task failed\n"),
        "{result}"
    );
    assert!(result.contains("-one\n+left"), "{result}");
    let (entries, _) = fixture.agent.reader().entries().unwrap();
    let log = format!("{entries:?}");
    assert!(log.contains(r#""branch": String("tiller/left-1")"#), "{log}");
}

#[tokio::test]
async fn agent_whose_definition_isolates_it_has_a_worktree() {
    let delegate = call("delegate_to_agent", json!({ "agent": "apart", "task": "Write." }));
    let fixture = Fixture::new(vec![
        ("main", vec![delegate, text_answer("Started."), text_answer("Thanks.")]),
        ("left", vec![write("a.txt", "left\n"), text_answer("Done.")]),
    ]);
    fixture.run("Go.").await;
    while !message_lines_with_notes(&fixture).contains("its changes are on the branch tiller/apart-1") {
        tokio::task::yield_now().await;
    }
    let lines = message_lines(&fixture.agent.reader());
    assert!(lines.iter().any(|line| line.starts_with("result apart runs in the background")), "{lines:?}");
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "one\n");
}

fn message_lines_with_notes(fixture: &Fixture) -> String {
    let (entries, _) = fixture.agent.reader().entries().unwrap();
    format!("{entries:?}")
}

#[tokio::test]
async fn agent_that_is_resumed_goes_on_in_its_worktree() {
    let tasks = json!([{ "agent": "left", "task": "Write." }]);
    // The ids of twelve days have the same prefix.
    let beginning = Fixture::new(vec![("main", vec![])]).agent.reader().id().to_string()[..4].to_owned();
    let resume =
        || call("delegate_to_agent", json!({ "agent": "left", "task": "Go on.", "resume": beginning }));
    let spawn = call("spawn_agents", json!({ "tasks": tasks, "isolation": "worktree" }));
    let fixture = Fixture::new(vec![
        ("main", vec![spawn, resume(), text_answer("Thanks."), resume(), text_answer("Pity.")]),
        (
            "left",
            vec![
                write("a.txt", "left\n"),
                text_answer("Half."),
                write("b.txt", "b\n"),
                text_answer("Whole."),
            ],
        ),
    ]);
    fixture.run("Go.").await;
    let lines = message_lines(&fixture.agent.reader());
    let results: Vec<&String> = lines.iter().filter(|line| line.starts_with("result ")).collect();
    assert!(results[1].starts_with("result Whole."), "{results:?}");
    let branch =
        "[its changes are on the branch tiller/left-1, not in the working directory: 2 files, +2 −1]";
    assert!(results[1].contains(branch) && !results[1].contains("before"), "{results:?}");
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "one\n");
    assert!(!fixture.path("b.txt").exists());
    assert_eq!(fixture.worktrees(), 1);

    git(&fixture.path(""), &["branch", "-D", "tiller/left-1"]);
    fixture.run("Again.").await;
    let lines = message_lines(&fixture.agent.reader());
    let result = lines.iter().rfind(|line| line.starts_with("result ")).unwrap();
    let refused = "result agent left returned no answer: it can't continue in its worktree: the branch tiller/left-1 is gone; \
                   delegate the task to a new agent";
    assert_eq!(result, refused);
}

#[tokio::test]
async fn agent_that_is_opened_goes_on_in_its_worktree() {
    let tasks = json!([{ "agent": "left", "task": "Write." }]);
    let spawn = call("spawn_agents", json!({ "tasks": tasks, "isolation": "worktree" }));
    let rewrite = |content: &str| write("a.txt", content);
    let fixture = Fixture::new(vec![
        ("main", vec![spawn, text_answer("Thanks.")]),
        ("left", vec![rewrite("left\n"), text_answer("Half."), rewrite("whole\n"), text_answer("Whole.")]),
    ]);
    fixture.run("Go.").await;
    let [task] = &fixture.agent.agent_tasks().await.unwrap()[..] else { panic!("one task") };
    let child = fixture.agent.open_agent(task.start.agent_id.clone()).await.unwrap().session;
    assert_eq!(fixture.worktrees(), 2);
    child.prompt("Go on.", PromptOptions::default()).await.unwrap();
    let settled = tokio::time::timeout(TIMEOUT, child.settled()).await.unwrap().unwrap();
    assert_eq!(settled.outcome, RunOutcome::Completed);
    assert_eq!(fs::read_to_string(fixture.path("a.txt")).unwrap(), "one\n");
    child.close().await.unwrap();
    let removed = async {
        while fixture.worktrees() > 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(TIMEOUT, removed).await.expect("the worktree stays");
    assert_eq!(git(&fixture.path(""), &["show", "tiller/left-1:a.txt"]), "whole\n");
    git(&fixture.path(""), &["branch", "--quiet", "-D", "tiller/left-1"]);
    let opened = fixture.agent.open_agent(task.start.agent_id.clone()).await.unwrap();
    let expected = "the branch tiller/left-1 is gone; without its worktree, the agent is read-only";
    assert_eq!(opened.notices.last().unwrap(), expected);
}

#[tokio::test]
async fn agent_without_changes_gets_no_other_branch() {
    let spawn = |task: &str| {
        let tasks = json!([{ "agent": "left", "task": task }]);
        call("spawn_agents", json!({ "tasks": tasks, "isolation": "worktree" }))
    };
    let nothing = ScriptedAnswer { when: Some("Look.".to_owned()), ..text_answer("Nothing to do.") };
    let fixture = Fixture::new(vec![
        ("main", vec![spawn("Look."), spawn("Write."), text_answer("Thanks.")]),
        ("left", vec![nothing, write("a.txt", "left\n"), text_answer("Done.")]),
    ]);
    fixture.run("Go.").await;
    let [first, second] = &fixture.agent.agent_tasks().await.unwrap()[..] else { panic!("two tasks") };
    let branch = |task: &TaskRecord| task.start.worktree.as_ref().unwrap().branch.clone();
    assert_eq!((branch(first), branch(second)), ("tiller/left-1".into(), "tiller/left-1".into()));
    assert_eq!(git(&fixture.path(""), &["show", "tiller/left-1:a.txt"]), "left\n");
    let opened = fixture.agent.open_agent(first.start.agent_id.clone()).await.unwrap();
    let expected = "the branch tiller/left-1 is gone; without its worktree, the agent is read-only";
    assert_eq!(opened.notices.last().unwrap(), expected);
}

/// Creates a session with an answer, and the model `left`, which writes a file.
async fn with_a_lane_that_uses_7_tokens() -> Fixture {
    let usage = Usage { output: Tokens(7), ..Usage::default() };
    let written = ScriptedAnswer { usage, ..write("b.txt", "good\n") };
    let fixture = Fixture::new(vec![
        ("main", vec![text_answer("Hello.")]),
        ("left", vec![text_answer("unused"), written, text_answer("Left.")]),
    ]);
    fixture.run("hello").await;
    fixture
}

#[tokio::test]
async fn race_branch_that_is_grafted_counts_its_usage_once() {
    let fixture = with_a_lane_that_uses_7_tokens().await;
    let leaf = fixture.agent.reader().leaf();
    let race = fixture.race(options(&["left"], None)).await;
    assert_eq!(fixture.agent.stats().await.unwrap().session.usage.output, Tokens(7));
    let reader = fixture.agent.reader();
    let is_usage =
        |entry: &tiller_session::Entry| matches!(entry.body, tiller_session::EntryBody::Usage { .. });
    let (entries, _) = reader.entries().unwrap();
    assert!(!entries.iter().any(is_usage), "the messages of the branch have it");
    let (path, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
    let branch = race.lanes()[0].leaf.clone().unwrap();
    let ids: Vec<&EntryId> = path.iter().map(|entry| &entry.id).collect();
    assert!(ids.contains(&&leaf.unwrap()) && !ids.contains(&&branch), "the session is where it was");
    assert!(path.iter().any(|entry| format!("{:?}", entry.body).contains("tiller.agent_end")), "{path:?}");
}

#[tokio::test]
async fn race_stopped_during_the_check_counts_its_usage() {
    let fixture = with_a_lane_that_uses_7_tokens().await;
    let check = options(&["left"], Some("echo > checked.txt; sleep 100"));
    let race = Race::start(&fixture.agent, check).await.unwrap();
    let checked = fixture.path("").with_file_name("work.tiller-race-1-1").join("checked.txt");
    let wait_until = async |is_done: &dyn Fn(usize) -> bool| {
        let wait = async {
            while !is_done(fixture.agent.running_agents().await.unwrap().len()) {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, wait).await.unwrap();
    };
    wait_until(&|_| checked.exists()).await;
    drop(race);
    wait_until(&|agents| agents == 0).await;
    assert_eq!(fixture.agent.stats().await.unwrap().session.usage.output, Tokens(7));
    let files = git(&fixture.path(""), &["show", "--name-only", "--format=", "tiller/race-1-1"]);
    assert_eq!((files.as_str(), fixture.worktrees()), ("b.txt\n", 1));
}
