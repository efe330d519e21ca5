//! Skills, templates and context files of a session, and their reload.

use std::fs;
use std::path::{Path, PathBuf};

use tiller_core::event::{EventKind, RunOutcome};
use tiller_core::tool_spec::Access;
use tiller_engine::{
    AgentCommand, AgentError, CommandSource, Expansion, Inventory, PromptOptions, ResourcePaths,
    StreamingBehavior, WatchMode,
};
use tiller_files::search_path::{ResourceOrigin, SearchPath};

use super::{Harness, calls, text_answer};

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Sets the search paths to the harness's directory.
async fn set_search_paths(harness: &Harness, watch_mode: WatchMode) -> Inventory {
    let cwd = harness.dir.path().canonicalize().unwrap();
    let default_paths = ResourcePaths::usual(&cwd, &cwd.join("config"), None);
    harness
        .agent
        .change_sources(move |sources| *sources = ResourcePaths { watch: watch_mode, ..default_paths })
        .await
        .unwrap()
}

fn skill(body: &str) -> String {
    format!("---\nname: tidy\ndescription: Tidies up.\n---\n{body}\n")
}

fn changed(event: &EventKind) -> Option<(usize, usize, usize)> {
    match event {
        EventKind::ResourcesChanged { skills, templates, context_files } => {
            Some((*skills, *templates, *context_files))
        }
        _ => None,
    }
}

fn warning(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn expansion_is_the_same_for_prompts_steering_and_follow_ups() {
    let mut harness = Harness::new(
        Access::Writes,
        vec![calls(&[serde_json::json!({})]), text_answer("steered"), text_answer("done")],
    );
    let path = write(harness.dir.path(), ".tiller/skills/tidy/SKILL.md", skill("Tidy."));
    write(harness.dir.path(), ".tiller/prompts/ask.md", "Ask about $1.");
    set_search_paths(&harness, WatchMode::Off).await;
    harness.prompt("/ask 'the parser' now").await;
    harness.started.notified().await;
    harness.agent.steer("/skill:tidy gently").await.unwrap();
    harness.agent.follow_up("/ask tests").await.unwrap();
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let lines: Vec<String> =
        harness.message_lines().into_iter().filter(|line| line.starts_with("user ")).collect();
    let location = path.canonicalize().unwrap();
    let block = format!("<skill name=\"tidy\" location=\"{}\">\nTidy.\n</skill>", location.display());
    assert_eq!(
        lines,
        [
            "user Ask about the parser.".to_owned(),
            format!("user {block}\n\ngently"),
            "user Ask about tests.".to_owned()
        ]
    );
}

#[tokio::test]
async fn expansion_verbatim_is_kept_and_unknown_skill_is_rejected() {
    let mut harness = Harness::new(Access::Writes, vec![text_answer("fine")]);
    write(harness.dir.path(), ".tiller/skills/tidy.md", skill("Tidy."));
    set_search_paths(&harness, WatchMode::Off).await;
    for behavior in [None, Some(StreamingBehavior::Steer), Some(StreamingBehavior::FollowUp)] {
        let options = PromptOptions { streaming_behavior: behavior, ..PromptOptions::default() };
        let error = harness.agent.prompt("/skill:tody x", options).await.unwrap_err();
        assert!(matches!(&error, AgentError::UnknownSkill { name, .. } if name == "tody"), "{error:?}");
        assert_eq!(error.to_string(), "unknown skill `tody`; did you mean `tidy`?");
    }
    let error = harness.agent.steer_now("/skill:tody", PromptOptions::default()).await;
    assert!(matches!(error, Err(AgentError::UnknownSkill { .. })), "{error:?}");
    let verbatim = PromptOptions { expand_templates: Expansion::Verbatim, ..PromptOptions::default() };
    harness.agent.prompt("/skill:tidy x", verbatim).await.unwrap();
    harness.settled().await;
    assert_eq!(harness.message_lines()[0], "user /skill:tidy x");
}

#[tokio::test]
async fn slash_commands_have_source_and_location() {
    let harness = Harness::new(Access::Writes, vec![]);
    let path = write(harness.dir.path(), ".tiller/skills/tidy.md", skill("Tidy."));
    let prompt = write(
        harness.dir.path(),
        ".tiller/prompts/ask.md",
        "---\ndescription: Asks\nargument-hint: <what>\n---\nAsk about $1.",
    );
    set_search_paths(&harness, WatchMode::Off).await;
    let location = |path: PathBuf| Some(path.canonicalize().unwrap());
    let ask = AgentCommand {
        name: "ask".into(),
        description: "Asks".into(),
        argument_hint: Some("<what>".into()),
        source: CommandSource::Prompt,
        location: location(prompt),
    };
    let tidy_command = AgentCommand {
        name: "skill:tidy".into(),
        description: "Tidies up.".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: location(path),
    };
    assert_eq!(harness.agent.slash_commands().await.unwrap(), [ask, tidy_command]);
}

#[tokio::test]
async fn system_prompt_changes_only_with_the_files() {
    let mut harness =
        Harness::new(Access::Writes, vec![text_answer("one"), text_answer("two"), text_answer("three")]);
    let path = write(harness.dir.path(), "AGENTS.md", "Use tabs.");
    let found = set_search_paths(&harness, WatchMode::Off).await;
    assert_eq!(found, Inventory { context_files: 1, ..Inventory::default() });
    assert_eq!(harness.wait_for_event(changed).await, (0, 0, 1));
    harness.prompt("one").await;
    harness.settled().await;
    write(harness.dir.path(), "unrelated.md", "x");
    harness.agent.reload().await.unwrap();
    harness.prompt("two").await;
    harness.settled().await;
    harness.agent.reload().await.unwrap();
    fs::write(&path, "Use spaces.").unwrap();
    write(harness.dir.path(), ".tiller/skills/tidy.md", skill("Tidy."));
    harness.agent.reload().await.unwrap();
    // The reload that changed nothing emitted no event, so this is the event of the second.
    assert_eq!(harness.wait_for_event(changed).await, (1, 0, 1));
    harness.prompt("three").await;
    harness.settled().await;
    let systems: Vec<String> = harness.requests().into_iter().map(|request| request.system).collect();
    assert!(systems[0].contains("Use tabs.") && systems[2].contains("Use spaces."), "{systems:?}");
    assert_eq!(systems[0], systems[1]);
}

#[tokio::test]
async fn watcher_reloads_changed_files_and_broken_ones_keep_theirs() {
    let mut harness = Harness::new(Access::Writes, vec![]);
    let path = write(harness.dir.path(), ".tiller/skills/tidy/SKILL.md", skill("Tidy."));
    set_search_paths(&harness, WatchMode::On).await;
    assert_eq!(harness.wait_for_event(changed).await, (1, 0, 0));

    fs::write(&path, "---\nname: [\n---\n").unwrap();
    let message = harness.wait_for_event(warning).await;
    assert!(
        message.contains("SKILL.md") && message.ends_with("; its previous version stays in use"),
        "{message}"
    );
    assert_eq!(harness.agent.slash_commands().await.unwrap().len(), 1);

    write(harness.dir.path(), ".tiller/prompts/new.md", "In a directory that is new.");
    let change_or_warning = |event: &EventKind| changed(event).map(Ok).or_else(|| warning(event).map(Err));
    assert_eq!(
        harness.wait_for_event(change_or_warning).await,
        Ok((1, 1, 0)),
        "what is known to be wrong is not told again"
    );
    fs::remove_file(&path).unwrap();
    assert_eq!(harness.wait_for_event(changed).await, (0, 1, 0));
    fs::remove_dir_all(harness.dir.path().join(".tiller")).unwrap();
    assert_eq!(harness.wait_for_event(changed).await, (0, 0, 0));
    write(harness.dir.path(), ".tiller/prompts/again.md", "In a directory that came back.");
    assert_eq!(harness.wait_for_event(changed).await, (0, 1, 0));
}

#[tokio::test]
async fn reload_reports_all_problems_and_watching_only_new_ones() {
    let mut harness = Harness::new(Access::Writes, vec![]);
    write(harness.dir.path(), ".tiller/skills/tidy.md", b"\xff");
    let search_path =
        SearchPath { path: harness.dir.path().join("missing"), origin: ResourceOrigin::Given, bounds: None };
    assert_eq!(set_search_paths(&harness, WatchMode::Off).await.problems, 1);
    let first = harness.wait_for_event(warning).await;
    let message =
        harness.agent.change_sources(move |sources| sources.templates.push(search_path)).await.unwrap();
    assert_eq!(message.problems, 2);
    assert_eq!(harness.wait_for_event(warning).await, first);
    assert!(harness.wait_for_event(warning).await.contains("can't load templates"));
}
