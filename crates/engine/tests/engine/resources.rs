//! Skills, templates and context files of a session, and their reload.

use std::fs;
use std::path::{Path, PathBuf};

use tiller_core::event::{EventKind, RunOutcome};
use tiller_core::tool_spec::Access;
use tiller_engine::{
    AgentError, CommandSource, Expansion, Inventory, PromptOptions, ResourcePaths, SlashCommand,
    StreamingBehavior, WatchMode,
};
use tiller_files::search_path::{ResourceOrigin, SearchPath};

use super::{Stage, calls, says};

fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// Sets the search paths to the stage's folder.
async fn look(stage: &Stage, watching: WatchMode) -> Inventory {
    let cwd = stage.folder.path().canonicalize().unwrap();
    let usual = ResourcePaths::usual(&cwd, &cwd.join("config"), None);
    stage
        .agent
        .change_sources(move |sources| *sources = ResourcePaths { watch: watching, ..usual })
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
    let mut stage =
        Stage::new(Access::Writes, vec![calls(&[serde_json::json!({})]), says("steered"), says("done")]);
    let path = write(stage.folder.path(), ".tiller/skills/tidy/SKILL.md", skill("Tidy."));
    write(stage.folder.path(), ".tiller/prompts/ask.md", "Ask about $1.");
    look(&stage, WatchMode::Off).await;
    stage.prompt("/ask 'the parser' now").await;
    stage.begun.notified().await;
    stage.agent.steer("/skill:tidy gently").await.unwrap();
    stage.agent.follow_up("/ask tests").await.unwrap();
    stage.go.add_permits(1);
    assert_eq!(stage.settled().await, RunOutcome::Completed);
    let said: Vec<String> = stage.said().into_iter().filter(|line| line.starts_with("user ")).collect();
    let location = path.canonicalize().unwrap();
    let block = format!("<skill name=\"tidy\" location=\"{}\">\nTidy.\n</skill>", location.display());
    assert_eq!(
        said,
        [
            "user Ask about the parser.".to_owned(),
            format!("user {block}\n\ngently"),
            "user Ask about tests.".to_owned()
        ]
    );
}

#[tokio::test]
async fn expansion_verbatim_is_kept_and_unknown_skill_is_rejected() {
    let mut stage = Stage::new(Access::Writes, vec![says("fine")]);
    write(stage.folder.path(), ".tiller/skills/tidy.md", skill("Tidy."));
    look(&stage, WatchMode::Off).await;
    for behavior in [None, Some(StreamingBehavior::Steer), Some(StreamingBehavior::FollowUp)] {
        let options = PromptOptions { streaming_behavior: behavior, ..PromptOptions::default() };
        let refused = stage.agent.prompt("/skill:tody x", options).await.unwrap_err();
        assert!(matches!(&refused, AgentError::UnknownSkill { name, .. } if name == "tody"), "{refused:?}");
        assert_eq!(refused.to_string(), "there is no skill `tody`; did you mean `tidy`?");
    }
    let refused = stage.agent.steer_now("/skill:tody", PromptOptions::default()).await;
    assert!(matches!(refused, Err(AgentError::UnknownSkill { .. })), "{refused:?}");
    let verbatim = PromptOptions { expand_templates: Expansion::Verbatim, ..PromptOptions::default() };
    stage.agent.prompt("/skill:tidy x", verbatim).await.unwrap();
    stage.settled().await;
    assert_eq!(stage.said()[0], "user /skill:tidy x");
}

#[tokio::test]
async fn slash_commands_have_source_and_location() {
    let stage = Stage::new(Access::Writes, vec![]);
    let path = write(stage.folder.path(), ".tiller/skills/tidy.md", skill("Tidy."));
    let prompt = write(
        stage.folder.path(),
        ".tiller/prompts/ask.md",
        "---\ndescription: Asks\nargument-hint: <what>\n---\nAsk about $1.",
    );
    look(&stage, WatchMode::Off).await;
    let location = |path: PathBuf| Some(path.canonicalize().unwrap());
    let ask = SlashCommand {
        name: "ask".into(),
        description: "Asks".into(),
        argument_hint: Some("<what>".into()),
        source: CommandSource::Prompt,
        location: location(prompt),
    };
    let tidy = SlashCommand {
        name: "skill:tidy".into(),
        description: "Tidies up.".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: location(path),
    };
    assert_eq!(stage.agent.slash_commands().await.unwrap(), [ask, tidy]);
}

#[tokio::test]
async fn system_prompt_changes_only_with_the_files() {
    let mut stage = Stage::new(Access::Writes, vec![says("one"), says("two"), says("three")]);
    let path = write(stage.folder.path(), "AGENTS.md", "Use tabs.");
    let found = look(&stage, WatchMode::Off).await;
    assert_eq!(found, Inventory { context_files: 1, ..Inventory::default() });
    assert_eq!(stage.until(changed).await, (0, 0, 1));
    stage.prompt("one").await;
    stage.settled().await;
    write(stage.folder.path(), "unrelated.md", "x");
    stage.agent.reload().await.unwrap();
    stage.prompt("two").await;
    stage.settled().await;
    stage.agent.reload().await.unwrap();
    fs::write(&path, "Use spaces.").unwrap();
    write(stage.folder.path(), ".tiller/skills/tidy.md", skill("Tidy."));
    stage.agent.reload().await.unwrap();
    // The reload that changed nothing emitted no event, so this is the event of the second.
    assert_eq!(stage.until(changed).await, (1, 0, 1));
    stage.prompt("three").await;
    stage.settled().await;
    let systems: Vec<String> = stage.requests().into_iter().map(|request| request.system).collect();
    assert!(systems[0].contains("Use tabs.") && systems[2].contains("Use spaces."), "{systems:?}");
    assert_eq!(systems[0], systems[1]);
}

#[tokio::test]
async fn watcher_reloads_changed_files_and_broken_ones_keep_theirs() {
    let mut stage = Stage::new(Access::Writes, vec![]);
    let path = write(stage.folder.path(), ".tiller/skills/tidy/SKILL.md", skill("Tidy."));
    look(&stage, WatchMode::On).await;
    assert_eq!(stage.until(changed).await, (1, 0, 0));

    fs::write(&path, "---\nname: [\n---\n").unwrap();
    let told = stage.until(warning).await;
    assert!(told.contains("SKILL.md") && told.ends_with("; its previous version stays in use"), "{told}");
    assert_eq!(stage.agent.slash_commands().await.unwrap().len(), 1);

    write(stage.folder.path(), ".tiller/prompts/new.md", "In a folder that is new.");
    let news = |event: &EventKind| changed(event).map(Ok).or_else(|| warning(event).map(Err));
    assert_eq!(stage.until(news).await, Ok((1, 1, 0)), "what is known to be wrong is not told again");
    fs::remove_file(&path).unwrap();
    assert_eq!(stage.until(changed).await, (0, 1, 0));
    fs::remove_dir_all(stage.folder.path().join(".tiller")).unwrap();
    assert_eq!(stage.until(changed).await, (0, 0, 0));
    write(stage.folder.path(), ".tiller/prompts/again.md", "In a folder that came back.");
    assert_eq!(stage.until(changed).await, (0, 1, 0));
}

#[tokio::test]
async fn reload_reports_all_problems_and_watching_only_new_ones() {
    let mut stage = Stage::new(Access::Writes, vec![]);
    write(stage.folder.path(), ".tiller/skills/tidy.md", b"\xff");
    let place =
        SearchPath { path: stage.folder.path().join("missing"), origin: ResourceOrigin::Given, bounds: None };
    assert_eq!(look(&stage, WatchMode::Off).await.problems, 1);
    let first = stage.until(warning).await;
    let told = stage.agent.change_sources(move |sources| sources.templates.push(place)).await.unwrap();
    assert_eq!(told.problems, 2);
    assert_eq!(stage.until(warning).await, first);
    assert!(stage.until(warning).await.contains("no templates loaded from here"));
}
