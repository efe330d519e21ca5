//! Calls of the built-in tools that ask: outside of the working directory, what was allowed for the session, and what the log
//! says of each decision.

use std::path::Path;

use tiller::agent::FolderAccess;
use tiller::agent::Permission;
use tiller::event::ApprovalRequest;
use tiller::policy::{Asking, Mode};
use tiller::tool::ToolEnvironment;
use tiller::workspace::Workspace;

use super::*;

/// A call of a tool.
fn call(name: &str, arguments: Value) -> Answer {
    serde_json::from_value(json!({"calls": [{"name": name, "arguments": arguments}]})).unwrap()
}

fn read(path: &Path) -> Answer {
    call("read_file", json!({"path": path}))
}

fn bash(command: &str) -> Answer {
    call("bash", json!({"command": command}))
}

/// The built-in tools in a folder `work`, beside a folder `outside` with the files `one` and `two`.
fn stage(answers: Vec<Answer>, tune: impl FnOnce(&mut Parts)) -> (Stage, PathBuf) {
    let folder = TempDir::new().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let (work, outside) = (real.join("work"), real.join("outside"));
    for name in ["work/.git", "outside"] {
        std::fs::create_dir_all(real.join(name)).unwrap();
    }
    for name in ["one", "two"] {
        std::fs::write(outside.join(name), format!("text {name}")).unwrap();
    }
    std::os::unix::fs::symlink(outside.join("one"), work.join("link")).unwrap();
    let manager = SessionManager::new(Placement::Flat(real.join("logs")), work.clone());
    let stage = Stage::tuned(folder, (manager, None), Access::Reads, answers, |parts| {
        let workspace = Workspace::new(&work).unwrap();
        parts.tools =
            Tools::built_in(ToolEnvironment::new(workspace, parts.runner.clone(), real.join("outputs")));
        parts.options.policy.root = work;
        tune(parts);
    });
    (stage, outside)
}

impl Stage {
    async fn asked(&mut self) -> ApprovalRequest {
        self.until(|event| match event {
            EventKind::ApprovalRequested(request) => Some(request.clone()),
            _ => None,
        })
        .await
    }

    async fn answer(&self, request: &ApprovalRequest, decision: Decision) {
        self.agent.decide(request.tool_call_id.clone(), decision).await.unwrap();
    }

    /// The results of calls so far.
    fn results(&self) -> Vec<String> {
        self.said().into_iter().filter_map(|line| line.strip_prefix("result ").map(str::to_owned)).collect()
    }

    /// `decision by rule` of each entry.
    fn decisions(&self) -> Vec<String> {
        let log = std::fs::read_to_string(self.agent.reader().path().unwrap()).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let own = lines.filter(|line| line["customType"] == "tiller.approval");
        own.map(|line| {
            let data = &line["data"];
            let text = |key: &str| data[key].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", text("decision"), text("by"), text("rule")).trim_end().to_owned()
        })
        .collect()
    }
}

#[tokio::test]
async fn read_outside_asks_and_is_allowed_once_or_by_folder() {
    for mode in [Mode::Ask, Mode::Auto] {
        let outside = |name: &str| PathBuf::from("../outside").join(name);
        let answers = vec![read(&outside("one")), read(&outside("one")), read(&outside("two")), says("done")];
        let (mut stage, folder) = stage(answers, |parts| parts.options.policy.mode = mode);
        stage.prompt("go").await;
        let first = stage.asked().await;
        let one = folder.join("one").display().to_string();
        assert_eq!(first.reason, format!("reads outside the working directory: {one}"));
        assert_eq!(first.rule, format!("reading in {}", folder.display()));
        stage.answer(&first, Decision::Once).await;
        let second = stage.asked().await;
        stage.answer(&second, Decision::Session).await;
        stage.settled().await;
        assert_eq!(stage.results(), ["text one", "text one", "text two"]);
        let by_folder = format!("session user reading in {}", folder.display());
        assert_eq!(stage.decisions(), ["once user".to_owned(), by_folder]);
        let system = stage.requests().pop().unwrap().system;
        let told = format!("- Tools also reach: {} (to read only)\n", folder.display());
        assert!(system.contains(&told), "{system}");
    }
}

#[tokio::test]
async fn read_through_link_asks_for_where_it_leads() {
    let (mut stage, folder) = stage(vec![read(Path::new("link")), says("done")], |_| {});
    stage.prompt("go").await;
    let request = stage.asked().await;
    assert!(request.reason.ends_with(&folder.join("one").display().to_string()), "{}", request.reason);
    stage.answer(&request, Decision::Deny { reason: "no".into() }).await;
    stage.settled().await;
    assert_eq!(stage.results(), ["denied: no"]);
}

#[tokio::test]
async fn read_allowed_once_reaches_only_what_was_shown() {
    let (mut stage, folder) = stage(vec![read(Path::new("link")), says("done")], |_| {});
    stage.prompt("go").await;
    let request = stage.asked().await;
    let link = folder.parent().unwrap().join("work/link");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(folder.join("two"), &link).unwrap();
    stage.answer(&request, Decision::Once).await;
    stage.settled().await;
    assert!(stage.results()[0].contains("outside the working directory"), "{:?}", stage.results());
}

#[tokio::test]
async fn write_outside_asks_and_makes_the_file() {
    let write = call("write_file", json!({"path": "../outside/new/x", "content": "hi"}));
    let (mut stage, folder) = stage(vec![write, says("done")], |_| {});
    stage.prompt("go").await;
    let request = stage.asked().await;
    let path = folder.join("new/x");
    assert_eq!(request.reason, format!("writes outside the working directory: {}", path.display()));
    assert!(matches!(request.preview, Some(tiller::event::Preview::Change(_))), "{:?}", request.preview);
    stage.answer(&request, Decision::Once).await;
    stage.settled().await;
    assert_eq!(std::fs::read_to_string(path).unwrap(), "hi");
}

#[tokio::test]
async fn call_outside_with_nobody_to_ask_is_denied_with_hint() {
    let (mut stage, _) = stage(vec![read(Path::new("../outside/one")), says("done")], |parts| {
        parts.options.audience = Audience::Nobody;
    });
    stage.prompt("go").await;
    stage.settled().await;
    assert!(stage.results()[0].contains("--add-dir FOLDER"), "{:?}", stage.results());
    assert_eq!(stage.decisions(), ["deny nobody"]);
}

#[tokio::test]
async fn call_outside_in_read_only_mode_is_refused() {
    let (mut stage, _) = stage(vec![read(Path::new("../outside/one")), says("done")], |parts| {
        parts.options.policy.mode = Mode::ReadOnly;
    });
    stage.prompt("go").await;
    stage.settled().await;
    assert!(stage.results()[0].contains("where tools may not reach"), "{:?}", stage.results());
}

#[tokio::test]
async fn decisions_are_logged_with_who_made_them() {
    let answers = || vec![bash("touch a"), bash("ls"), says("done")];
    let (mut yes, _) = stage(answers(), |parts| parts.options.policy.asking = Asking::Yes);
    yes.prompt("go").await;
    yes.settled().await;
    assert_eq!(yes.decisions(), ["once yes-flag"]);

    let (mut denied, _) = stage(answers(), |parts| parts.options.policy.mode = Mode::ReadOnly);
    denied.prompt("go").await;
    denied.settled().await;
    assert_eq!(denied.decisions(), ["deny rule", "deny rule"]);

    let (mut ruled, _) = stage(vec![bash("touch a"), bash("touch a"), says("done")], |_| {});
    ruled.prompt("go").await;
    let request = ruled.asked().await;
    ruled.answer(&request, Decision::Session).await;
    ruled.settled().await;
    assert_eq!(ruled.decisions(), ["session user exactly `touch a`", "once rule exactly `touch a`"]);
}

#[tokio::test]
async fn command_that_only_reads_runs_unasked_in_ask_mode() {
    let answers = vec![bash("ls"), bash("cat link"), says("done")];
    let (mut stage, _) = stage(answers, |_| {});
    stage.prompt("go").await;
    let request = stage.asked().await;
    assert_eq!(request.args["command"], "cat link", "the link leads out");
    stage.answer(&request, Decision::Deny { reason: "no".into() }).await;
    stage.settled().await;
    assert_eq!(stage.results(), ["link\n", "denied: no"]);
}

#[tokio::test]
async fn permission_that_is_revoked_asks_again() {
    let (mut stage, _) = stage(vec![bash("touch a"), says("one"), bash("touch a"), says("two")], |_| {});
    stage.prompt("go").await;
    let request = stage.asked().await;
    stage.answer(&request, Decision::Session).await;
    stage.settled().await;
    let permissions = stage.agent.permissions().await.unwrap();
    assert_eq!(permissions.iter().map(ToString::to_string).collect::<Vec<_>>(), ["exactly `touch a`"]);
    stage.agent.revoke_permission(permissions[0].clone()).await.unwrap();
    assert!(stage.agent.permissions().await.unwrap().is_empty());
    let again = stage.agent.revoke_permission(permissions[0].clone()).await;
    assert!(matches!(again, Err(AgentError::Gone(_))), "{again:?}");
    stage.prompt("again").await;
    let request = stage.asked().await;
    stage.answer(&request, Decision::Deny { reason: "no".into() }).await;
    stage.settled().await;
}

#[tokio::test]
async fn added_folder_is_reached_until_it_is_revoked() {
    let one = || read(Path::new("../outside/one"));
    let answers = vec![one(), says("a"), one(), says("b")];
    let (mut stage, folder) = stage(answers, |_| {});
    let permission = stage.agent.add_folder("../outside:ro").await.unwrap();
    assert_eq!(permission, Permission::Folder { folder: folder.clone(), access: FolderAccess::ReadOnly });
    stage.prompt("go").await;
    stage.settled().await;
    assert_eq!(stage.results(), ["text one"]);
    let told = format!("- Tools also reach: {} (to read only)\n", folder.display());
    assert!(stage.requests()[0].system.contains(&told));
    stage.agent.revoke_permission(permission).await.unwrap();
    stage.prompt("again").await;
    let request = stage.asked().await;
    stage.answer(&request, Decision::Deny { reason: "no".into() }).await;
    stage.settled().await;
    assert!(!stage.requests().pop().unwrap().system.contains(&told));
    for typed in ["../none", "../outside/one"] {
        let refused = stage.agent.add_folder(typed).await;
        assert!(matches!(refused, Err(AgentError::Folder { .. })), "{refused:?}");
    }
}
