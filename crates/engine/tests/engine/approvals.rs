//! Approval of built-in tools' calls: paths outside the working directory, session rules, and logged decisions.

use std::path::Path;

use tiller_core::event::ApprovalRequest;
use tiller_core::proposed_rules::ProposedRules;
use tiller_engine::DirAccess;
use tiller_engine::Permission;
use tiller_tools::policy::{ApprovalMode, AskBehavior, ConfiguredRules, RuleSource};
use tiller_tools::tool::ToolEnvironment;
use tiller_tools::workspace::{FileAccess, Workspace};

use super::*;

/// A tool call.
fn call(name: &str, arguments: Value) -> ScriptedAnswer {
    serde_json::from_value(json!({"calls": [{"name": name, "arguments": arguments}]})).unwrap()
}

fn read(path: &Path) -> ScriptedAnswer {
    call("read_file", json!({"path": path}))
}

fn bash(command: &str) -> ScriptedAnswer {
    call("bash", json!({"command": command}))
}

/// Creates a harness with the built-in tools in a directory `work`, next to a directory `outside` with the
/// files `one` and `two`.
fn harness(answers: Vec<ScriptedAnswer>, configure: impl FnOnce(&mut SessionParts)) -> (Harness, PathBuf) {
    let dir = TempDir::new().unwrap();
    let real = dir.path().canonicalize().unwrap();
    let (work, outside) = (real.join("work"), real.join("outside"));
    for name in ["work/.git", "outside"] {
        std::fs::create_dir_all(real.join(name)).unwrap();
    }
    for name in ["one", "two"] {
        std::fs::write(outside.join(name), format!("text {name}")).unwrap();
    }
    std::os::unix::fs::symlink(outside.join("one"), work.join("link")).unwrap();
    let manager = SessionManager::new(Placement::Flat(real.join("logs")), work.clone());
    let harness = Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        let workspace = Workspace::new(&work).unwrap();
        parts.tools =
            Tools::built_in(ToolEnvironment::new(workspace, parts.runner.clone(), real.join("outputs")));
        parts.options.policy.root = work;
        configure(parts);
    });
    (harness, outside)
}

impl Harness {
    pub(crate) async fn approval_requested(&mut self) -> ApprovalRequest {
        self.wait_for_event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.clone()),
            _ => None,
        })
        .await
    }

    pub(crate) async fn answer(&self, request: &ApprovalRequest, decision: Decision) {
        self.agent.decide(request.tool_call_id.clone(), decision).await.unwrap();
    }

    /// Returns the results of the calls so far.
    fn results(&self) -> Vec<String> {
        self.message_lines()
            .into_iter()
            .filter_map(|line| line.strip_prefix("result ").map(str::to_owned))
            .collect()
    }

    /// Returns `decision by rule` for each approval entry.
    fn decisions(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.agent.reader().path().unwrap()).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let approvals = lines.filter(|line| line["customType"] == "tiller.approval");
        approvals
            .map(|line| {
                let data = &line["data"];
                let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
                format!("{} {} {}", text("decision"), text("by"), text("rule")).trim_end().to_owned()
            })
            .collect()
    }
}

#[tokio::test]
async fn read_outside_asks_and_is_allowed_once_or_by_dir() {
    for mode in [ApprovalMode::Ask, ApprovalMode::Auto] {
        let outside = |name: &str| PathBuf::from("../outside").join(name);
        let answers =
            vec![read(&outside("one")), read(&outside("one")), read(&outside("two")), text_answer("done")];
        let (mut harness, dir) = harness(answers, |parts| parts.options.policy.mode = mode);
        harness.prompt("go").await;
        let first = harness.approval_requested().await;
        let first_file = dir.join("one").display().to_string();
        assert_eq!(first.reason, format!("reads outside the working directory: {first_file}"));
        assert_eq!(first.rule, format!("reading in {}", dir.display()));
        harness.answer(&first, Decision::Once).await;
        let second = harness.approval_requested().await;
        harness.answer(&second, Decision::Session).await;
        harness.settled().await;
        assert_eq!(harness.results(), ["text one", "text one", "text two"]);
        let dir_decision = format!("session user reading in {}", dir.display());
        assert_eq!(harness.decisions(), ["once user".to_owned(), dir_decision, "once mode".to_owned()]);
        let system = harness.requests().pop().unwrap().system;
        let dir_line = format!("- Tools can also access: {} (read-only)\n", dir.display());
        assert!(system.contains(&dir_line), "{system}");
    }
}

#[tokio::test]
async fn read_through_link_asks_for_its_target() {
    let (mut harness, dir) = harness(vec![read(Path::new("link")), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    assert!(request.reason.ends_with(&dir.join("one").display().to_string()), "{}", request.reason);
    harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
    harness.settled().await;
    assert_eq!(harness.results(), ["denied: no"]);
}

#[tokio::test]
async fn read_allowed_once_reaches_only_what_was_shown() {
    let (mut harness, dir) = harness(vec![read(Path::new("link")), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    let link = dir.parent().unwrap().join("work/link");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(dir.join("two"), &link).unwrap();
    harness.answer(&request, Decision::Once).await;
    harness.settled().await;
    assert!(harness.results()[0].contains("outside the working directory"), "{:?}", harness.results());
}

#[tokio::test]
async fn write_outside_asks_and_creates_the_file() {
    let write = call("write_file", json!({"path": "../outside/new/x", "content": "hi"}));
    let (mut harness, dir) = harness(vec![write, text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    let path = dir.join("new/x");
    assert_eq!(request.reason, format!("writes outside the working directory: {}", path.display()));
    assert!(matches!(request.preview, Some(tiller_core::event::Preview::Change(_))), "{:?}", request.preview);
    harness.answer(&request, Decision::Once).await;
    harness.settled().await;
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hi");
}

#[tokio::test]
async fn call_outside_without_approver_is_denied_with_hint() {
    let (mut harness, _) = harness(vec![read(Path::new("../outside/one")), text_answer("done")], |parts| {
        parts.options.approver = Approver::Absent;
    });
    harness.prompt("go").await;
    harness.settled().await;
    assert!(harness.results()[0].contains("--add-dir DIR"), "{:?}", harness.results());
    assert_eq!(harness.decisions(), ["deny nobody"]);
}

#[tokio::test]
async fn call_outside_in_read_only_mode_is_refused() {
    let (mut harness, _) = harness(vec![read(Path::new("../outside/one")), text_answer("done")], |parts| {
        parts.options.policy.mode = ApprovalMode::ReadOnly;
    });
    harness.prompt("go").await;
    harness.settled().await;
    assert!(harness.results()[0].contains("and tools can't access it"), "{:?}", harness.results());
}

#[tokio::test]
async fn decisions_are_logged_with_their_decider() {
    let answers = || vec![bash("touch a"), bash("ls"), text_answer("done")];
    let (mut yes, _) = harness(answers(), |parts| parts.options.policy.ask_behavior = AskBehavior::Yes);
    yes.prompt("go").await;
    yes.settled().await;
    assert_eq!(yes.decisions(), ["once yes-flag", "once mode"]);

    let (mut denied, _) = harness(answers(), |parts| parts.options.policy.mode = ApprovalMode::ReadOnly);
    denied.prompt("go").await;
    denied.settled().await;
    assert_eq!(denied.decisions(), ["deny mode", "deny mode"]);

    let (mut ruled, _) = harness(vec![bash("touch a"), bash("touch a"), text_answer("done")], |_| {});
    ruled.prompt("go").await;
    let request = ruled.approval_requested().await;
    ruled.answer(&request, Decision::Session).await;
    ruled.settled().await;
    assert_eq!(ruled.decisions(), ["session user exactly `touch a`", "once rule exactly `touch a`"]);
}

#[tokio::test]
async fn command_that_only_reads_runs_unasked_in_ask_mode() {
    let answers = vec![bash("ls"), bash("cat link"), text_answer("done")];
    let (mut harness, _) = harness(answers, |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    assert_eq!(request.args["command"], "cat link", "the link leads out");
    harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
    harness.settled().await;
    assert_eq!(harness.results(), ["link\n", "denied: no"]);
}

/// Turns the working directory into a Git repository with this configuration.
fn make_repository(work: &Path, config: &str) {
    for name in ["objects", "refs"] {
        std::fs::create_dir_all(work.join(".git").join(name)).unwrap();
    }
    std::fs::write(work.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    std::fs::write(work.join(".git/config"), format!("[core]\n\trepositoryformatversion = 0\n{config}"))
        .unwrap();
}

/// Returns true if a call of `git status` needs approval in a working directory prepared by `prepare`.
async fn git_status_asks(prepare: impl FnOnce(&Path)) -> bool {
    let (mut harness, _) = harness(vec![bash("git status"), text_answer("done")], |parts| {
        prepare(&parts.options.policy.root);
    });
    harness.prompt("go").await;
    let asks = harness
        .wait_for_event(|event| match event {
            EventKind::ApprovalRequested(request) => Some(Some(request.clone())),
            EventKind::ToolExecutionEnd { .. } => Some(None),
            _ => None,
        })
        .await;
    if let Some(request) = &asks {
        harness.answer(request, Decision::Deny { reason: "no".into() }).await;
    }
    harness.settled().await;
    asks.is_some()
}

#[tokio::test]
async fn git_status_in_harmless_repository_runs_unasked() {
    assert!(!git_status_asks(|work| make_repository(work, "\tbare = false\n")).await);
    let worktree = |work: &Path| {
        let repository = work.with_file_name("other");
        make_repository(&repository, "");
        std::fs::remove_dir(work.join(".git")).unwrap();
        std::fs::write(work.join(".git"), format!("gitdir: {}/.git", repository.display())).unwrap();
    };
    assert!(!git_status_asks(worktree).await);
}

#[tokio::test]
async fn git_status_where_git_may_run_something_asks() {
    assert!(git_status_asks(|_| {}).await, "an empty .git");
    for config in ["\tfsmonitor = ./x\n", "\thooksPath = x\n", "[include]\n\tpath = ../x\n"] {
        assert!(git_status_asks(|work| make_repository(work, config)).await, "{config}");
    }
    for broken in ["HEAD", "config", "objects"] {
        let prepare = |work: &Path| {
            make_repository(work, "");
            std::fs::rename(work.join(".git").join(broken), work.join("moved")).unwrap();
        };
        assert!(git_status_asks(prepare).await, "without {broken}");
    }
    for (name, text) in [
        (".git/config.worktree", "[core]\n\tfsmonitor = ./x\n"),
        (".git/hooks/post-index-change", "#!/bin/sh\n"),
        (".gitmodules", ""),
    ] {
        let prepare = |work: &Path| {
            make_repository(work, "");
            std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
            std::fs::write(work.join(name), text).unwrap();
        };
        assert!(git_status_asks(prepare).await, "{name}");
    }
    let dangling = |work: &Path| {
        std::fs::remove_dir(work.join(".git")).unwrap();
        std::os::unix::fs::symlink("nowhere", work.join(".git")).unwrap();
    };
    assert!(git_status_asks(dangling).await, "a dangling link");
}

/// Returns an answer that calls bash with these commands.
fn commands(lines: &[&str]) -> ScriptedAnswer {
    let calls: Vec<Value> =
        lines.iter().map(|line| json!({"name": "bash", "arguments": {"command": line}})).collect();
    serde_json::from_value(json!({ "calls": calls })).unwrap()
}

#[tokio::test]
async fn command_that_only_reads_is_judged_when_it_runs() {
    let answers = || vec![commands(&["ln -s link second", "cat second", "ls"]), text_answer("done")];
    let (mut harness, _) = harness(answers(), |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    assert_eq!(request.args["command"], "ln -s link second");
    harness.answer(&request, Decision::Once).await;
    let request = harness.approval_requested().await;
    assert_eq!(request.args["command"], "cat second", "it leads out by now");
    harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
    harness.settled().await;
    assert_eq!(harness.results()[1..], ["denied: no", "link\nsecond\n"]);
    assert_eq!(harness.decisions(), ["once user", "deny user", "once mode"]);
}

#[tokio::test]
async fn command_that_no_longer_reads_without_approver_is_denied() {
    // A tool that needs no approval writes the file, which makes git's reading commands unsafe.
    let write = json!({"name": "write_file", "arguments": {"path": ".gitmodules", "content": ""}});
    let status = json!({"name": "bash", "arguments": {"command": "git status"}});
    let both = serde_json::from_value(json!({ "calls": [write, status] })).unwrap();
    let (mut harness, _) = harness(vec![both, text_answer("done")], |parts| {
        make_repository(&parts.options.policy.root, "");
        parts.options.approver = Approver::Absent;
    });
    harness.prompt("go").await;
    harness.settled().await;
    assert!(harness.results()[1].starts_with("denied: runs a command"), "{:?}", harness.results());
    assert_eq!(harness.decisions(), ["once mode", "deny nobody"]);
}

#[tokio::test]
async fn mode_change_resolves_the_pending_request() {
    let (mut harness, _) = harness(vec![commands(&["touch a", "touch b"]), text_answer("done")], |_| {});
    harness.prompt("go").await;
    harness.approval_requested().await;
    harness.agent.set_approval(ApprovalMode::Auto).await.unwrap();
    harness.settled().await;
    assert_eq!(harness.results(), ["[no output]", "[no output]"]);
    assert_eq!(harness.decisions(), ["once mode", "once mode"], "the new mode lets both run");
}

#[tokio::test]
async fn mode_change_leaves_the_request_about_a_path_outside() {
    let write = call("write_file", json!({"path": "../outside/new/x", "content": "hi"}));
    let (mut harness, dir) = harness(vec![write, text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    harness.agent.set_approval(ApprovalMode::Auto).await.unwrap();
    harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
    harness.settled().await;
    assert!(!dir.join("new").exists());
}

#[tokio::test]
async fn mode_change_that_denies_resolves_the_pending_request() {
    let (mut harness, _) = harness(vec![commands(&["touch a", "touch b"]), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    harness.agent.set_approval(ApprovalMode::ReadOnly).await.unwrap();
    let late = harness.agent.decide(request.tool_call_id, Decision::Once).await;
    assert!(matches!(late, Err(AgentError::NotFound("pending approval request for that call"))), "{late:?}");
    harness.settled().await;
    assert!(harness.results().iter().all(|result| result.starts_with("denied: ")), "{:?}", harness.results());
    assert!(!harness.dir.path().join("work/a").exists());
}

#[tokio::test]
async fn rule_of_dir_outside_is_the_one_that_was_offered() {
    let dir = TempDir::new().unwrap();
    let sub_dir = dir.path().canonicalize().unwrap().join("sub");
    std::fs::write(&sub_dir, "text").unwrap();
    let (mut harness, _) = harness(vec![read(&sub_dir), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    // As a directory, it would be covered by the rule.
    std::fs::remove_file(&sub_dir).unwrap();
    std::fs::create_dir(&sub_dir).unwrap();
    harness.answer(&request, Decision::Session).await;
    harness.settled().await;
    let rules = harness.agent.permissions().await.unwrap();
    assert_eq!(rules.iter().map(ToString::to_string).collect::<Vec<_>>(), [request.rule]);
}

#[tokio::test]
async fn reading_credentials_in_an_added_dir_asks() {
    const KEYS: &str = "reads keys or passwords";
    let file = || read(Path::new("keys"));
    let search = || call("grep", json!({"pattern": "x", "path": "home"}));
    for (mode, answer, reason) in [
        (ApprovalMode::Auto, file(), KEYS),
        (ApprovalMode::Ask, search(), KEYS),
        (ApprovalMode::Ask, bash("cat keys"), "runs a command"),
        (ApprovalMode::Ask, bash("grep -r x home"), "runs a command"),
    ] {
        let (mut harness, _) = harness(vec![answer, text_answer("done")], |parts| {
            let (work, runner) = (parts.options.policy.root.clone(), parts.runner.clone());
            let home = work.with_file_name("outside");
            std::fs::write(home.join(".netrc"), "secret").unwrap();
            std::os::unix::fs::symlink(home.join(".netrc"), work.join("keys")).unwrap();
            std::os::unix::fs::symlink(&home, work.join("home")).unwrap();
            let workspace = Workspace::new(&work).unwrap().with_dir(&home, FileAccess::Read);
            let outputs = work.with_file_name("outputs");
            parts.tools = Tools::built_in(ToolEnvironment::new(workspace, runner, outputs));
            parts.options.policy.mode = mode;
            parts.options.policy.protected.homes = vec![home];
        });
        harness.prompt("go").await;
        let request = harness.approval_requested().await;
        assert_eq!(request.reason, reason);
        harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
        harness.settled().await;
        assert_eq!(harness.results(), ["denied: no"]);
    }
}

#[tokio::test]
async fn permission_revoked_asks_again() {
    let (mut harness, _) =
        harness(vec![bash("touch a"), text_answer("one"), bash("touch a"), text_answer("two")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    harness.answer(&request, Decision::Session).await;
    harness.settled().await;
    let permissions = harness.agent.permissions().await.unwrap();
    assert_eq!(permissions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["exactly `touch a`"]);
    harness.agent.revoke_permission(permissions[0].clone()).await.unwrap();
    assert!(harness.agent.permissions().await.unwrap().is_empty());
    let second_revocation = harness.agent.revoke_permission(permissions[0].clone()).await;
    assert!(matches!(second_revocation, Err(AgentError::NotFound(_))), "{second_revocation:?}");
    harness.prompt("again").await;
    let request = harness.approval_requested().await;
    harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
    harness.settled().await;
}

#[tokio::test]
async fn added_dir_is_reached_until_it_is_revoked() {
    let first_file = || read(Path::new("../outside/one"));
    let answers = vec![first_file(), text_answer("a"), first_file(), text_answer("b")];
    let (mut harness, dir) = harness(answers, |_| {});
    let permission = harness.agent.add_dir("../outside:ro").await.unwrap();
    assert_eq!(permission, Permission::Directory { dir: dir.clone(), access: DirAccess::ReadOnly });
    harness.prompt("go").await;
    harness.settled().await;
    assert_eq!(harness.results(), ["text one"]);
    let dir_line = format!("- Tools can also access: {} (read-only)\n", dir.display());
    assert!(harness.requests()[0].system.contains(&dir_line));
    harness.agent.revoke_permission(permission).await.unwrap();
    harness.prompt("again").await;
    let request = harness.approval_requested().await;
    harness.answer(&request, Decision::Deny { reason: "no".into() }).await;
    harness.settled().await;
    assert!(!harness.requests().pop().unwrap().system.contains(&dir_line));
    for dir_argument in ["../none", "../outside/one"] {
        let error = harness.agent.add_dir(dir_argument).await;
        assert!(matches!(error, Err(AgentError::Directory { .. })), "{error:?}");
    }
}

fn bash_call() -> serde_json::Value {
    json!({"name": "bash", "arguments": {"command": "ls"}})
}

#[tokio::test]
async fn call_repeated_five_times_asks_the_user() {
    let answers = (0..5).map(|_| bash("ls")).chain([text_answer("done")]).collect();
    let (mut harness, _) = harness(answers, |parts| parts.options.policy.mode = ApprovalMode::Auto);
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    assert_eq!(
        (request.reason.as_str(), request.rule.as_str()),
        ("the same call for the 5th time in a row", "")
    );
    harness.answer(&request, Decision::Deny { reason: "enough".into() }).await;
    harness.settled().await;
    assert_eq!(harness.results().len(), 5);
    assert_eq!(harness.decisions(), ["once mode", "once mode", "once mode", "once mode", "deny user"]);
}

#[tokio::test]
async fn call_repeated_asks_again_only_five_calls_after_a_yes() {
    let five = serde_json::from_value(json!({"calls": vec![bash_call(); 5]})).unwrap();
    let answers = vec![five, bash("ls"), text_answer("done")];
    let (mut harness, _) = harness(answers, |parts| parts.options.policy.mode = ApprovalMode::Auto);
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    harness.answer(&request, Decision::Once).await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.results().len(), 6);
}

#[tokio::test]
async fn call_repeated_after_a_no_never_runs() {
    let mut calls = vec![bash_call(); 6];
    calls.push(json!({"name": "bash", "arguments": {"command": "pwd"}}));
    let answers =
        vec![serde_json::from_value(json!({"calls": calls})).unwrap(), bash("ls"), text_answer("done")];
    let (mut harness, _) = harness(answers, |parts| parts.options.policy.mode = ApprovalMode::Auto);
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    assert_eq!(request.reason, "the same call for the 5th time in a row");
    harness.answer(&request, Decision::Deny { reason: "enough".into() }).await;
    harness.settled().await;
    let results = harness.results();
    assert_eq!(results[4..6], ["denied: enough", "denied: the user declined the same call"]);
    assert_eq!(results[7], "not run: the run ended because the same call was repeated");
}

#[tokio::test]
async fn call_that_waits_may_be_repeated() {
    let wait = || call("job", json!({"action": "wait", "id": "job_1"}));
    let answers = (0..6).map(|_| wait()).chain([text_answer("done")]).collect();
    let (mut harness, _) = harness(answers, |_| {});
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.results().len(), 6);
}

#[tokio::test]
async fn call_that_waits_ends_a_row_of_others() {
    let pair = || [bash("ls"), call("job", json!({"action": "wait", "id": "job_1"}))];
    let answers = (0..5).flat_map(|_| pair()).chain([text_answer("done")]).collect();
    let (mut harness, _) = harness(answers, |parts| parts.options.policy.mode = ApprovalMode::Auto);
    harness.prompt("go").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(harness.results().len(), 10);
}

#[tokio::test]
async fn call_repeated_without_approver_ends_the_run() {
    let answers = (0..9).map(|_| bash("ls")).collect();
    let (mut harness, _) = harness(answers, |parts| {
        parts.options.policy.ask_behavior = AskBehavior::Yes;
        parts.options.approver = Approver::Absent;
    });
    harness.prompt("go").await;
    harness.settled().await;
    let results = harness.results();
    assert_eq!(results[4], "denied: the same call for the 5th time in a row");
    assert_eq!(results[5], "not run: the run ended because the same call was repeated");
    assert_eq!(results.len(), 6, "the sixth answer is the last");
}

#[tokio::test]
async fn call_repeated_in_one_answer_is_denied_from_the_fifth() {
    let answer = serde_json::from_value(json!({"calls": vec![bash_call(); 8]})).unwrap();
    let (mut harness, _) = harness(vec![answer, text_answer("done")], |parts| {
        parts.options.policy.mode = ApprovalMode::Auto;
        parts.options.approver = Approver::Absent;
    });
    harness.prompt("go").await;
    harness.settled().await;
    let results = harness.results();
    let denied: Vec<bool> =
        results.iter().map(|result| result.starts_with("denied: the same call")).collect();
    assert_eq!(denied, [false, false, false, false, true, true, true, true]);
}

#[tokio::test]
async fn call_with_clear_but_wrong_types_is_repaired() {
    let limited = call("bash", json!({"command": "ls", "timeout": "5"}));
    let misspelled = ["bsh", "functions.bash", "Bash"].map(|name| call(name, json!({"command": "ls"})));
    let answers = [vec![limited], misspelled.into(), vec![text_answer("done")]].concat();
    let (mut harness, _) = harness(answers, |_| {});
    harness.prompt("go").await;
    harness.settled().await;
    let results = harness.results();
    assert_eq!(results[0], "link\n", "its timeout is a number");
    for (result, name) in results[1..].iter().zip(["bsh", "functions.bash", "Bash"]) {
        let expected = format!("unknown tool `{name}`; did you mean `bash`? available: read_file, ");
        assert!(result.starts_with(&expected), "{results:?}");
    }
}

#[tokio::test]
async fn plan_mode_only_reads_and_tells_the_model_until_it_is_left() {
    let calls = json!({"calls": [
        {"name": "bash", "arguments": {"command": "ls"}},
        {"name": "bash", "arguments": {"command": "touch a"}},
        {"name": "write_file", "arguments": {"path": "a", "content": ""}},
        {"name": "list_files", "arguments": {}},
    ]});
    let calls: ScriptedAnswer = serde_json::from_value(calls).unwrap();
    let (mut harness, _) = harness(vec![calls, text_answer("First a, then b."), text_answer("done")], |_| {});
    harness.agent.set_approval(ApprovalMode::Auto).await.unwrap();
    assert_eq!(harness.agent.toggle_plan().await.unwrap(), None);
    harness.prompt("go").await;
    harness.settled().await;
    let results = harness.results();
    let is_denied: Vec<bool> = results.iter().map(|result| result.starts_with("denied: ")).collect();
    assert_eq!(is_denied, [false, true, true, false], "{results:?}");
    assert!(results[1].contains("bash can make changes, and plan mode forbids them"), "{results:?}");
    assert_eq!(harness.agent.toggle_plan().await.unwrap().as_deref(), Some("First a, then b."));
    assert_eq!(harness.agent.state().await.unwrap().state.approval, "auto");
    harness.prompt("Carry it out.").await;
    harness.settled().await;
    let plans: Vec<bool> =
        harness.requests().iter().map(|request| request.system.contains("## Plan mode")).collect();
    assert_eq!(plans, [true, true, false]);
}

#[tokio::test]
async fn plan_mode_left_without_a_plan_returns_no_older_answer() {
    let answers = vec![text_answer("It rains."), text_answer("A plan."), text_answer("done")];
    let (mut harness, _) = harness(answers, |_| {});
    harness.prompt("What is the weather like?").await;
    harness.settled().await;
    harness.agent.set_approval(ApprovalMode::Plan).await.unwrap();
    assert_eq!(harness.agent.toggle_plan().await.unwrap(), None);
    harness.agent.toggle_plan().await.unwrap();
    harness.prompt("Plan it.").await;
    harness.settled().await;
    assert_eq!(harness.agent.toggle_plan().await.unwrap().as_deref(), Some("A plan."));
    harness.agent.toggle_plan().await.unwrap();
    assert_eq!(harness.agent.toggle_plan().await.unwrap(), None);
}

#[tokio::test]
async fn plan_mode_from_the_start_is_told_and_ends_in_ask() {
    let (mut harness, _) = harness(vec![text_answer("A plan.")], |parts| {
        parts.options.policy.mode = ApprovalMode::Plan;
    });
    harness.prompt("go").await;
    harness.settled().await;
    assert!(harness.requests()[0].system.contains("## Plan mode"));
    harness.agent.toggle_plan().await.unwrap();
    assert_eq!(harness.agent.state().await.unwrap().state.approval, "ask");
}

/// Creates a harness with these settings rules in `auto`, and a path in the home directory `home` next to the
/// working directory.
fn harness_with_rules(rules: &Value, answers: Vec<ScriptedAnswer>) -> Harness {
    let (harness, outside) = harness(answers, |parts| {
        parts.options.approver = Approver::Absent;
        let policy = &mut parts.options.policy;
        policy.mode = ApprovalMode::Auto;
        assert_eq!(policy.rules.add(rules, &RuleSource::User("settings.json".into())), Vec::<String>::new());
        let home = policy.root.parent().unwrap().join("outside");
        std::fs::create_dir_all(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".ssh/id_rsa"), "secret key").unwrap();
        std::os::unix::fs::symlink(home.join(".ssh/id_rsa"), home.join("key")).unwrap();
        std::fs::create_dir(policy.root.join("secrets")).unwrap();
        std::fs::write(policy.root.join("secrets/x"), "secret text").unwrap();
        std::os::unix::fs::symlink("secrets/x", policy.root.join("plain")).unwrap();
        policy.protected.homes = vec![home];
    });
    assert!(outside.exists());
    harness
}

#[tokio::test]
async fn settings_rule_for_a_path_counts_for_the_target_of_a_link() {
    let dir = |name: &str| format!("../outside/{name}");
    let reads = json!({"calls": [
        {"name": "read_file", "arguments": {"path": dir("one")}},
        {"name": "read_file", "arguments": {"path": dir("key")}},
        {"name": "write_file", "arguments": {"path": dir("key"), "content": "x"}},
        {"name": "read_file", "arguments": {"path": "plain"}},
        {"name": "list_files", "arguments": {"path": "secrets"}},
    ]});
    let rules = json!([
        {"tool": "*_file", "match": "../outside/*", "decision": "allow"},
        {"tool": "*_files", "match": "secrets/**", "decision": "deny"},
        {"tool": "read_file", "match": "secrets/**", "decision": "deny"},
    ]);
    let calls = serde_json::from_value(reads).unwrap();
    let mut harness = harness_with_rules(&rules, vec![calls, text_answer("done")]);
    harness.prompt("go").await;
    harness.settled().await;
    let results = harness.results();
    assert!(results[0].contains("text one"), "{results:?}");
    assert!(results[1].starts_with("denied: reads keys or passwords"), "{results:?}");
    assert!(results[2].starts_with("denied: "), "{results:?}");
    assert!(results[3].starts_with("denied: a settings rule"), "{results:?}");
    assert!(results[4].starts_with("denied: a settings rule"), "{results:?}");
}

#[tokio::test]
async fn settings_rule_that_asks_holds_for_a_command_that_only_reads() {
    let rules = json!([{"tool": "bash", "match": "cat secrets*", "decision": "ask"}]);
    for mode in [ApprovalMode::Ask, ApprovalMode::Plan] {
        let calls = serde_json::from_value(json!({"calls": [
            {"name": "bash", "arguments": {"command": "cat secrets/x"}},
            {"name": "bash", "arguments": {"command": "cat plain"}},
        ]}));
        let mut harness = harness_with_rules(&rules, vec![calls.unwrap(), text_answer("done")]);
        harness.agent.set_approval(mode).await.unwrap();
        harness.prompt("go").await;
        harness.settled().await;
        let results = harness.results();
        assert!(results[0].starts_with("denied: "), "{mode:?} {results:?}");
        assert!(results[1].contains("secret text"), "{mode:?} {results:?}");
    }
}

/// Returns the settings rules proposed for a call.
fn saved(request: &ApprovalRequest) -> ConfiguredRules {
    let mut rules = ConfiguredRules::default();
    let source = RuleSource::User("settings.json".into());
    rules.add_proposed(request.proposed.as_ref().unwrap(), &source).unwrap();
    rules
}

#[tokio::test]
async fn saved_rule_decides_pending_and_later_calls() {
    let calls = serde_json::from_value(json!({"calls": [
        {"name": "bash", "arguments": {"command": "mkdir one"}},
        {"name": "bash", "arguments": {"command": "mkdir two"}},
    ]}));
    let (mut harness, _) = harness(vec![calls.unwrap(), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let first = harness.approval_requested().await;
    let line = first.proposed.as_ref().unwrap().line();
    assert_eq!((first.later, line.as_str()), (1, "mkdir one"));
    let mut rules = saved(&first);
    let wide = ProposedRules::parse("bash", "mkdir *");
    rules.add_proposed(&wide, &RuleSource::Project("project.json".into())).unwrap();
    assert!(harness.agent.configure_rules(rules.clone()).await.unwrap().is_empty());
    harness.settled().await;
    let by_rules = ["once rule allow bash `mkdir one`", "once rule allow bash `mkdir *`"];
    assert_eq!(harness.decisions(), by_rules);
    harness.agent.new_session().await.unwrap();
    harness.prompt("again").await;
    harness.settled().await;
    assert_eq!(harness.decisions(), by_rules, "later sessions have the rules, too");
    assert_eq!(harness.agent.configured_rules().await.unwrap(), rules);
}

#[tokio::test]
async fn saved_rule_that_misses_the_call_leaves_it_pending() {
    let (mut harness, _) = harness(vec![bash("mkdir one"), text_answer("done")], |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    let mut rules = ConfiguredRules::default();
    rules
        .add_proposed(&ProposedRules::parse("bash", "mkdir two"), &RuleSource::User("settings.json".into()))
        .unwrap();
    let waiting = harness.agent.configure_rules(rules).await.unwrap();
    assert_eq!(waiting, std::slice::from_ref(&request.tool_call_id));
    harness.agent.configure_rules(saved(&request)).await.unwrap();
    harness.settled().await;
    assert_eq!(harness.decisions(), ["once rule allow bash `mkdir one`"]);
}

#[tokio::test]
async fn saved_rule_opens_the_dir_outside() {
    let answers =
        vec![read(Path::new("../outside/one")), read(Path::new("../outside/two")), text_answer("done")];
    let (mut harness, dir) = harness(answers, |_| {});
    harness.prompt("go").await;
    let request = harness.approval_requested().await;
    assert_eq!(request.proposed.as_ref().unwrap().line(), format!("{}/**", dir.display()));
    harness.agent.configure_rules(saved(&request)).await.unwrap();
    harness.settled().await;
    assert_eq!(harness.results(), ["text one", "text two"]);
}

#[tokio::test]
async fn proposed_rules_are_missing_where_no_rule_allows() {
    let answers = vec![
        read(Path::new("link")),
        call("write_file", json!({"path": ".git/x", "content": ""})),
        text_answer(""),
    ];
    let (mut harness, _) = harness(answers, |_| {});
    harness.prompt("go").await;
    for _ in 0..2 {
        let request = harness.approval_requested().await;
        assert_eq!(request.proposed, None, "{}", request.reason);
        harness.answer(&request, Decision::Once).await;
    }
    harness.settled().await;
}
