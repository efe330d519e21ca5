//! Hooks in the settings: real shell commands, and the effects of their answers on a run.

use std::cell::RefCell;
use std::path::Path;

use tiller_engine::extension::command_hook::{HookEnvironment, HookProblems, HookSettings};
use tiller_tools::policy::AskBehavior;

use super::*;

/// Creates a harness with these hooks in a directory.
fn harness_in(dir: TempDir, hooks: &Value, answers: Vec<ScriptedAnswer>) -> Harness {
    harness_with(dir, hooks, answers, |_| {})
}

fn harness(hooks: &Value, answers: Vec<ScriptedAnswer>) -> Harness {
    harness_in(TempDir::new().unwrap(), hooks, answers)
}

fn harness_with(
    dir: TempDir,
    hooks: &Value,
    answers: Vec<ScriptedAnswer>,
    change: impl FnOnce(&mut SessionParts),
) -> Harness {
    let cwd = dir.path().canonicalize().unwrap();
    let manager = SessionManager::new(Placement::Flat(dir.path().join("logs")), cwd.clone());
    let mut settings = HookSettings::default();
    assert_eq!(settings.add(hooks, "settings.json"), HookProblems::default());
    let harness = Harness::configured(dir, (manager, None), Access::Writes, answers, |parts| {
        let environment = HookEnvironment {
            runner: parts.runner.clone(),
            withheld_variables: vec!["CARGO_MANIFEST_DIR".into()],
            variables: vec![("CLAUDE_PROJECT_DIR".into(), cwd.display().to_string())],
            cwd,
        };
        parts.extensions.add_commands(settings, environment);
        change(parts);
    });
    harness.permits.add_permits(100);
    harness
}

/// Returns hooks of one event that run these lines.
fn hooks(event: &str, lines: &[&str]) -> Value {
    let commands: Vec<Value> = lines.iter().map(|line| json!({"type": "command", "command": line})).collect();
    json!({event: [{"hooks": commands}]})
}

fn warning(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    }
}

fn read_json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Runs one call with these hooks; returns its result as the model gets it.
async fn run_call(hooks: &Value, change: impl FnOnce(&mut SessionParts)) -> String {
    let answers = vec![calls(&[json!({"n": 1})]), text_answer("done")];
    let mut harness = harness_with(TempDir::new().unwrap(), hooks, answers, change);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    harness.message_lines()[2].clone()
}

fn no_change(_: &mut SessionParts) {}

fn nobody(parts: &mut SessionParts) {
    parts.options.approver = Approver::Absent;
}

fn everything_allowed(parts: &mut SessionParts) {
    nobody(parts);
    parts.options.policy.ask_behavior = AskBehavior::Yes;
}

#[tokio::test]
async fn pre_tool_use_gets_the_call_on_stdin() {
    let dir = TempDir::new().unwrap();
    let line = "cat > input.json; echo \"$CLAUDE_PROJECT_DIR ${CARGO_MANIFEST_DIR-none}\" > variables";
    let answers = vec![calls(&[json!({"n": 1})]), text_answer("done")];
    let mut harness = harness_in(dir, &hooks("PreToolUse", &[line]), answers);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[2], "result through");
    let cwd = harness.dir.path().canonicalize().unwrap();
    let mut input = read_json(&cwd.join("input.json"));
    assert!(input["tool_use_id"].take().is_string());
    let reader = harness.agent.reader();
    let expected = json!({
        "session_id": reader.id(),
        "transcript_path": reader.path().unwrap(),
        "cwd": cwd,
        "hook_event_name": "PreToolUse",
        "tool_name": "gate",
        "tool_use_id": null,
        "tool_input": {"n": 1},
    });
    assert_eq!(input, expected);
    let variables = std::fs::read_to_string(cwd.join("variables")).unwrap();
    assert_eq!(variables, format!("{} none\n", cwd.display()));
}

#[tokio::test]
async fn pre_tool_use_exit_code_2_denies_with_stderr() {
    let line = "read -r input; echo \"not gate\" >&2; exit 2";
    assert_eq!(run_call(&hooks("PreToolUse", &[line]), no_change).await, "result denied: not gate (hook)");
    let other_tool =
        json!({"PreToolUse": [{"matcher": "bash|gat", "hooks": [{"type": "command", "command": line}]}]});
    assert_eq!(run_call(&other_tool, no_change).await, "result through");
}

#[tokio::test]
async fn pre_tool_use_strictest_of_several_wins() {
    let permission = |decision: &str| {
        let fields = json!({"permissionDecision": decision, "permissionDecisionReason": decision});
        format!("echo '{}'", json!({"hookSpecificOutput": fields}))
    };
    let [allow, ask, deny] = ["allow", "ask", "deny"].map(permission);
    let run = async |lines: &[&str]| run_call(&hooks("PreToolUse", lines), nobody).await;
    assert_eq!(run(&[&allow]).await, "result through");
    let asked = run(&[&allow, &ask]).await;
    assert!(asked.starts_with("result denied: ask (hook), and no one can approve it"), "{asked}");
    assert_eq!(run(&[&ask, &deny, "exit 1", &allow]).await, "result denied: deny (hook)");
    let approved = run_call(&hooks("PreToolUse", &[&ask]), everything_allowed).await;
    assert_eq!(approved, "result through");
}

#[tokio::test]
async fn pre_tool_use_changes_arguments_and_adds_to_the_result() {
    let answer = |decision: &str, input: Value| {
        let fields = json!({"permissionDecision": decision, "permissionDecisionReason": "look",
            "updatedInput": input, "additionalContext": "be brief"});
        format!("echo '{}'", json!({"hookSpecificOutput": fields}))
    };
    let record = json!({"PreToolUse": [{"hooks": [{"type": "command", "command": answer("allow", json!({"n": 2}))}]}],
        "PostToolUse": [{"hooks": [{"type": "command", "command": "cat > input.json"}]}]});
    let answers = vec![calls(&[json!({"n": 1})]), text_answer("done")];
    let mut harness = harness_in(TempDir::new().unwrap(), &record, answers);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[2], "result through\n[hook] be brief");
    let input = read_json(&harness.dir.path().join("input.json"));
    assert_eq!(input["tool_input"], json!({"n": 2}));
    let asked = run_call(&hooks("PreToolUse", &[&answer("ask", json!({"n": 2}))]), nobody).await;
    assert!(asked.starts_with("result denied: look (hook), and no one can approve it"), "{asked}");
    let guard = "grep -q '\"n\": *2' && { echo 'no 2' >&2; exit 2; }; exit 0";
    let blocked = run_call(&hooks("PreToolUse", &[guard, &answer("allow", json!({"n": 2}))]), nobody).await;
    assert_eq!(blocked, "result denied: no 2 (hook)", "it sees the changed arguments");
    let invalid = run_call(&hooks("PreToolUse", &[&answer("allow", json!({"wrong": 1}))]), nobody).await;
    assert!(invalid.contains("`wrong` is wrong"), "{invalid}");
}

#[tokio::test]
async fn pre_tool_use_allow_does_not_loosen_the_policy() {
    let allow = json!({"hookSpecificOutput": {"permissionDecision": "allow"}});
    let read_only = |parts: &mut SessionParts| {
        parts.options.policy.mode = tiller_engine::ApprovalMode::ReadOnly;
    };
    let result = run_call(&hooks("PreToolUse", &[&format!("echo '{allow}'")]), read_only).await;
    assert!(result.starts_with("result denied: "), "{result}");
}

#[tokio::test]
async fn pre_tool_use_failure_counts_as_a_failed_guard() {
    for (line, reason) in [
        ("echo boom >&2; exit 1", "exit code 1: boom"),
        ("echo '{\"decision\": \"perhaps\"}'", "unknown decision `perhaps`"),
        ("kill -9 $$", "killed by signal 9 (SIGKILL)"),
    ] {
        let result = run_call(&hooks("PreToolUse", &[line]), everything_allowed).await;
        let expected = format!(
            "result denied: hook, which reviews calls, failed: {line}: {reason}, and no one can approve it"
        );
        assert_eq!(result, expected);
    }
}

#[tokio::test]
async fn pre_tool_use_failures_are_each_a_warning() {
    let lines = ["echo a >&2; exit 1", "echo b >&2; exit 3"];
    let answers = vec![calls(&[json!({"n": 1})]), calls(&[json!({"n": 2})]), text_answer("done")];
    let dir = TempDir::new().unwrap();
    let mut harness = harness_with(dir, &hooks("PreToolUse", &lines), answers, nobody);
    harness.prompt("go").await;
    let warnings = RefCell::new(Vec::new());
    harness
        .wait_for_event(|event| {
            warnings.borrow_mut().extend(warning(event));
            matches!(event, EventKind::AgentEnd { .. }).then_some(())
        })
        .await;
    let mut warnings = warnings.into_inner();
    warnings.sort();
    let expected = [
        format!("PreToolUse hook failed: {}: exit code 1: a", lines[0]),
        format!("PreToolUse hook failed: {}: exit code 3: b", lines[1]),
    ];
    assert_eq!(warnings, expected);
}

#[tokio::test]
async fn pre_tool_use_timeout_kills_everything_that_it_started() {
    let line = "sleep 1000 & echo $! > child; wait";
    let command = json!({"type": "command", "command": line, "timeout": 1});
    let answers = vec![calls(&[json!({})]), text_answer("done")];
    let dir = TempDir::new().unwrap();
    let hooks = json!({"PreToolUse": [{"hooks": [command]}]});
    let mut harness = harness_with(dir, &hooks, answers, nobody);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let result = harness.message_lines()[2].clone();
    assert!(result.contains(": took longer than 1 s and was killed"), "{result}");
    let child = std::fs::read_to_string(harness.dir.path().join("child")).unwrap();
    let child = nix::unistd::Pid::from_raw(child.trim().parse().unwrap());
    while nix::sys::signal::kill(child, None).is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn post_tool_use_text_follows_the_result() {
    let context = json!({"hookSpecificOutput": {"additionalContext": "formatted"}});
    let lines =
        ["echo ignored", &format!("echo '{context}'"), "cat > input.json; echo 'fix the types' >&2; exit 2"];
    let dir = TempDir::new().unwrap();
    let answers = vec![calls(&[json!({"n": 1})]), text_answer("done")];
    let mut harness = harness_in(dir, &hooks("PostToolUse", &lines), answers);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[2], "result through\n[hook] fix the types\n[hook] formatted");
    let input = read_json(&harness.dir.path().join("input.json"));
    assert_eq!(input["tool_response"], json!({"content": "through", "details": null, "is_error": false}));
}

#[tokio::test]
async fn post_tool_use_failure_is_a_warning() {
    let answers = vec![calls(&[json!({})]), calls(&[json!({"n": 2})]), text_answer("done")];
    let mut harness = harness(&hooks("PostToolUse", &["echo no prettier >&2; exit 127"]), answers);
    harness.prompt("go").await;
    let line = "echo no prettier >&2; exit 127";
    let expected = format!("PostToolUse hook failed: {line}: exit code 127: no prettier");
    assert_eq!(harness.wait_for_event(warning).await, expected);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines()[4], "result through");
}

#[tokio::test]
async fn prompt_context_and_session_context_follow_the_first_prompt() {
    let mut both = hooks("UserPromptSubmit", &["cat > prompt.json; echo on branch x"]);
    both["SessionStart"] = hooks("SessionStart", &["cat > start.json; echo be brief"])["SessionStart"].take();
    let mut harness = harness(&both, vec![text_answer("one"), text_answer("two")]);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    harness.prompt("on").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(
        harness.message_lines(),
        [
            "user go\n\n<hook>\nbe brief\n</hook>\n\n<hook>\non branch x\n</hook>",
            "answer one Stop",
            "user on\n\n<hook>\non branch x\n</hook>",
            "answer two Stop"
        ]
    );
    let dir = harness.dir.path();
    assert_eq!(read_json(&dir.join("prompt.json"))["prompt"], "on");
    let start = read_json(&dir.join("start.json"));
    assert_eq!(
        (&start["source"], &start["session_id"]),
        (&json!("startup"), &json!(harness.agent.reader().id()))
    );
}

#[tokio::test]
async fn prompt_rejected_is_not_sent() {
    let line = "if grep -q secret; then echo 'it has a secret' >&2; exit 2; fi";
    let mut harness = harness(&hooks("UserPromptSubmit", &[line]), vec![text_answer("done")]);
    let agent = &harness.agent;
    let error = agent.prompt("the secret is 7", PromptOptions::default()).await.unwrap_err();
    assert_eq!(error.to_string(), "not sent: it has a secret (hook)");
    let error = agent.steer_now("secret", PromptOptions::default()).await;
    assert!(matches!(error, Err(AgentError::PromptRejected(_))), "{error:?}");
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines(), ["user go", "answer done Stop"]);
}

#[tokio::test]
async fn prompts_in_review_stay_in_order() {
    // The first review takes longer, since it waits for the second prompt.
    let line = "if grep -q first; then until [ -e second ]; do :; done; fi";
    let mut harness =
        harness(&hooks("UserPromptSubmit", &[line]), vec![text_answer("one"), text_answer("two")]);
    let agent = harness.agent.clone();
    let first = tokio::spawn(async move { agent.prompt("first", PromptOptions::default()).await });
    tokio::task::yield_now().await;
    let agent = harness.agent.clone();
    let second =
        tokio::spawn(
            async move { agent.prompt("second", prompt_options(StreamingBehavior::FollowUp)).await },
        );
    tokio::task::yield_now().await;
    std::fs::write(harness.dir.path().join("second"), "").unwrap();
    first.await.unwrap().unwrap();
    second.await.unwrap().unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let users: Vec<String> =
        harness.message_lines().into_iter().filter(|line| line.starts_with("user")).collect();
    assert_eq!(users, ["user first", "user second"]);
}

#[tokio::test]
async fn prompt_in_review_is_returned_when_stopped() {
    let harness = harness(&hooks("UserPromptSubmit", &["echo > begun; sleep 1000"]), vec![text_answer("no")]);
    let agent = harness.agent.clone();
    let prompt = tokio::spawn(async move { agent.prompt("go", PromptOptions::default()).await });
    while !harness.dir.path().join("begun").exists() {
        tokio::task::yield_now().await;
    }
    harness.agent.abort().await.unwrap();
    let error = prompt.await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "not sent: stopped before its hooks had finished");
    assert!(harness.requests().is_empty());
}

#[tokio::test]
async fn stop_lets_the_run_go_on_once() {
    let line = "cat >> stops; echo 'run the tests' >&2; exit 2";
    let mut harness = harness(&hooks("Stop", &[line]), vec![text_answer("done"), text_answer("tested")]);
    harness.prompt("go").await;
    let again = harness.wait_for_event(warning).await;
    assert_eq!(again, "a hook asked to continue the run again; a run continues only once");
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.message_lines(), ["user go", "answer done Stop", "answer tested Stop"]);
    let request = harness.requests().remove(1);
    let Message::User(last) = &**request.messages.last().unwrap() else { panic!("{request:?}") };
    assert_eq!(last.content.joined_text(), "run the tests");
    let stops = std::fs::read_to_string(harness.dir.path().join("stops")).unwrap();
    let active: Vec<bool> = serde_json::Deserializer::from_str(&stops)
        .into_iter::<Value>()
        .map(|input| input.unwrap()["stop_hook_active"].as_bool().unwrap())
        .collect();
    assert_eq!(active, [false, true]);
}

#[tokio::test]
async fn stop_hook_can_be_aborted() {
    let mut harness = harness(&hooks("Stop", &["echo > begun; sleep 1000"]), vec![text_answer("done")]);
    harness.prompt("go").await;
    while !harness.dir.path().join("begun").exists() {
        tokio::task::yield_now().await;
    }
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
}

#[tokio::test]
async fn session_start_after_compaction_adds_to_the_next_prompt() {
    let after = json!({"SessionStart": [{"matcher": "compact", "hooks": [{"command": "echo be brief"}]}]});
    let answers = ["one", "two", "a summary", "three"].map(text_answer).to_vec();
    let mut harness = harness_with(TempDir::new().unwrap(), &after, answers, |parts| {
        parts.options.compaction.keep = Some(Tokens(100));
    });
    for prompt in [&*"lorem ".repeat(2_000), "on"] {
        harness.prompt(prompt).await;
        harness.settled().await;
    }
    harness.agent.compact(None).await.unwrap();
    harness.prompt("go").await;
    harness.settled().await;
    let lines = harness.message_lines();
    let prompts: Vec<&String> = lines.iter().filter(|line| line.contains("be brief")).collect();
    assert_eq!(prompts, ["user go\n\n<hook>\nbe brief\n</hook>"]);
}

#[tokio::test]
async fn pre_compact_is_told_the_trigger_and_cannot_prevent_it() {
    let line = "cat > input.json; echo keep it >&2; exit 2";
    let answers = vec![text_answer("one"), text_answer("two"), text_answer("a summary")];
    let manual_only = json!({"PreCompact": [
        {"matcher": "manual", "hooks": [{"command": line}]},
        {"matcher": "auto", "hooks": [{"command": "echo > auto"}]},
    ]});
    let mut harness = harness_with(TempDir::new().unwrap(), &manual_only, answers, |parts| {
        parts.options.compaction.keep = Some(Tokens(100));
    });
    harness.prompt(&"lorem ".repeat(2_000)).await;
    harness.settled().await;
    harness.prompt("on").await;
    harness.settled().await;
    harness.agent.compact(None).await.unwrap();
    let expected = "PreCompact hook: keep it (a hook can't prevent a compaction)";
    assert_eq!(harness.wait_for_event(warning).await, expected);
    let dir = harness.dir.path();
    assert_eq!(read_json(&dir.join("input.json"))["trigger"], "manual");
    assert!(!dir.join("auto").exists());
}
