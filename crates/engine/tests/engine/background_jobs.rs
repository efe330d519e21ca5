//! Background jobs through the handle: the model is informed about their ends, and they end with their
//! session.

use nix::sys::signal::kill;
use nix::unistd::Pid;
use tiller_core::background_job::{CommandJob, JobStatus};
use tiller_tools::policy::AskBehavior;
use tiller_tools::tool::ToolEnvironment;
use tiller_tools::workspace::Workspace;

use super::*;

/// Creates a session with the built-in tools, the tool `gate`, and a named pipe `pipe` in the working directory.
fn harness(answers: Vec<ScriptedAnswer>) -> Harness {
    let dir = TempDir::new().unwrap();
    nix::unistd::mkfifo(&dir.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    opened(dir, None, answers)
}

/// Opens a session like the one of [`harness`].
fn opened(dir: TempDir, path: Option<PathBuf>, answers: Vec<ScriptedAnswer>) -> Harness {
    let root = dir.path().canonicalize().unwrap();
    let manager = SessionManager::new(Placement::Flat(dir.path().join("logs")), root.clone());
    Harness::configured(dir, (manager, path), Access::Reads, answers, |parts| {
        let (workspace, runner) = (Workspace::new(&root).unwrap(), parts.runner.clone());
        let gate = parts.tools.find("gate").unwrap();
        parts.tools =
            Tools::built_in(ToolEnvironment::new(workspace, runner, root.join("outputs"))).with(gate);
        parts.options.policy.ask_behavior = AskBehavior::Yes;
    })
}

fn call(name: &str, arguments: Value) -> Value {
    json!({"name": name, "arguments": arguments})
}

fn answer(calls: &[Value]) -> ScriptedAnswer {
    serde_json::from_value(json!({ "calls": calls })).unwrap()
}

fn background(command: &str) -> Value {
    call("bash", json!({"command": command, "background": true}))
}

fn job_ended(event: &EventKind) -> Option<CommandJob> {
    match event {
        EventKind::BackgroundJobEnd(job) => Some(job.clone()),
        _ => None,
    }
}

/// Unblocks the job that reads from the pipe.
async fn open_pipe(harness: &Harness) {
    let pipe = harness.dir.path().join("pipe");
    tokio::task::spawn_blocking(move || std::fs::write(pipe, "go\n").unwrap()).await.unwrap();
}

/// Returns the last message of a request.
fn last_text(request: &Request) -> String {
    message_text(request.messages.last().unwrap())
}

fn text_before_the_last(request: &Request) -> String {
    message_text(&request.messages[request.messages.len() - 2])
}

fn message_text(message: &Message) -> String {
    match message {
        Message::User(user) => format!("user {}", user.content.joined_text()),
        Message::ToolResult(result) => format!("result {}", joined_text(&result.content)),
        other => panic!("{other:?}"),
    }
}

const NOTE: &str = "Background job job_1 (`cat pipe; exit 1`) ended with exit status 1. Its last lines:\ngo";

#[tokio::test]
async fn job_that_ends_during_a_run_is_told_at_the_next_gap() {
    let calls = [background("cat pipe; exit 1"), call("gate", json!({}))];
    let mut harness = harness(vec![answer(&calls), text_answer("seen"), text_answer("again")]);
    harness.prompt("go").await;
    harness.started.notified().await;
    let started = harness.wait_for_event(|event| match event {
        EventKind::BackgroundJobStart(job) => Some(job.clone()),
        _ => None,
    });
    assert_eq!(started.await.status, JobStatus::Running);
    open_pipe(&harness).await;
    let ended = harness.wait_for_event(job_ended).await;
    assert_eq!((ended.status, ended.last_line.as_str()), (JobStatus::Exited { exit_code: 1 }, "go"));
    harness.permits.add_permits(1);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(last_text(&harness.requests()[1]), format!("user {NOTE}"));
    {
        let recorded = harness.model.recorded.lock().unwrap();
        let log = &recorded[1].1;
        assert!(log.contains(r#""type":"custom_message""#), "it is in the log before the request: {log}");
        assert!(log.contains(r#""customType":"tiller.job_end""#) && log.contains(r#""display":true"#));
    }
    harness.prompt("more").await;
    harness.settled().await;
    assert_eq!(last_text(&harness.requests()[2]), "user more", "it is told once");
}

#[tokio::test]
async fn job_ended_in_an_idle_session_is_logged_at_once() {
    let mut harness =
        harness(vec![answer(&[background("cat pipe; exit 1")]), text_answer("started"), text_answer("seen")]);
    harness.prompt("go").await;
    harness.settled().await;
    open_pipe(&harness).await;
    harness.wait_for_event(job_ended).await;
    assert_eq!(harness.requests().len(), 2, "no request by itself");
    let log = std::fs::read_to_string(harness.agent.reader().path().unwrap()).unwrap();
    assert!(log.contains(r#""customType":"tiller.job_end""#), "{log}");
    harness.prompt("and?").await;
    harness.settled().await;
    assert_eq!(text_before_the_last(&harness.requests()[2]), format!("user {NOTE}"));
}

#[tokio::test]
async fn job_that_was_waited_for_is_not_told() {
    let calls = [background("exit 1"), call("job", json!({"action": "wait", "id": "job_1"}))];
    let mut harness = harness(vec![answer(&calls), text_answer("seen")]);
    harness.prompt("go").await;
    harness.settled().await;
    let last = last_text(&harness.requests()[1]);
    assert_eq!(last, "result [no new output]\n[job_1: ended with exit status 1]");
}

#[tokio::test]
async fn job_calls_of_an_answer_run_one_after_the_other() {
    let list = || call("job", json!({"action": "list"}));
    let mut harness = harness(vec![answer(&[list(), list()]), text_answer("ok")]);
    harness.prompt("go").await;
    let mut steps = Vec::new();
    for _ in 0..4 {
        let step = harness.wait_for_event(|event| match event {
            EventKind::ToolExecutionStart { .. } => Some("start"),
            EventKind::ToolExecutionEnd { .. } => Some("end"),
            _ => None,
        });
        steps.push(step.await);
    }
    assert_eq!(steps, ["start", "end", "start", "end"]);
}

#[tokio::test]
async fn steering_message_ends_a_wait() {
    let calls = [background("cat pipe"), call("job", json!({"action": "wait", "id": "job_1"}))];
    let mut harness = harness(vec![answer(&calls), text_answer("ok")]);
    harness.prompt("go").await;
    let waits = |event: &EventKind| match event {
        EventKind::ToolExecutionStart { tool_name, .. } => (tool_name == "job").then_some(()),
        _ => None,
    };
    harness.wait_for_event(waits).await;
    harness.agent.steer("never mind").await.unwrap();
    harness.settled().await;
    let lines = harness.message_lines();
    assert_eq!(lines[3..5], ["result [no new output]\n[job_1: running]", "user never mind"]);
}

#[tokio::test]
async fn running_call_moved_to_the_background_returns_and_goes_on() {
    let mut harness = harness(vec![
        answer(&[call("bash", json!({"command": "echo begun; cat pipe; exit 1"}))]),
        text_answer("moved"),
    ]);
    let error = harness.agent.move_to_background().await.unwrap_err();
    assert!(matches!(error, AgentError::NotFound(_)), "{error}");
    harness.prompt("go").await;
    let prints = |event: &EventKind| matches!(event, EventKind::ToolExecutionUpdate { .. }).then_some(());
    harness.wait_for_event(prints).await;
    harness.agent.move_to_background().await.unwrap();
    harness.settled().await;
    let result = &harness.message_lines()[2];
    let expected = "result begun\n[moved to the background by the user as job_1";
    assert!(result.starts_with(expected), "{result}");
    open_pipe(&harness).await;
    let job = harness.wait_for_event(job_ended).await;
    assert_eq!(harness.agent.background_jobs().await.unwrap(), [job]);
}

#[tokio::test]
async fn jobs_end_with_their_session() {
    for is_closed in [true, false] {
        let command = "echo $$ > pid; cat pipe > /dev/null; exec sleep 600";
        let mut harness = harness(vec![answer(&[background(command)]), text_answer("ok")]);
        harness.prompt("go").await;
        harness.settled().await;
        open_pipe(&harness).await;
        let pid = std::fs::read_to_string(harness.dir.path().join("pid")).unwrap();
        if is_closed {
            harness.agent.close().await.unwrap();
        } else {
            harness.agent.new_session().await.unwrap();
            assert_eq!(harness.agent.background_jobs().await.unwrap(), []);
        }
        let pid = Pid::from_raw(pid.trim().parse().unwrap());
        let dead = async {
            while kill(pid, None).is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::time::timeout(TIMEOUT, dead).await.unwrap();
    }
}

#[tokio::test]
async fn job_after_a_resume_has_a_new_id() {
    // The answers of all three processes: the model selects one by its position in the conversation.
    let start = || {
        let run = || [answer(&[background("exit 0"), background("exit 0")]), text_answer("started")];
        (0..3).flat_map(|_| run()).collect::<Vec<_>>()
    };
    let mut harness = harness(start());
    harness.prompt("go").await;
    harness.settled().await;
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.close().await.unwrap();
    let mut harness = opened(harness.dir, Some(path.clone()), start());
    harness.prompt("go").await;
    harness.settled().await;
    let ids = |jobs: Vec<CommandJob>| jobs.into_iter().map(|job| job.job_id.to_string()).collect::<Vec<_>>();
    assert_eq!(ids(harness.agent.background_jobs().await.unwrap()), ["job_3", "job_4"]);
    harness.agent.close().await.unwrap();
    let mut harness = opened(harness.dir, None, start());
    harness.agent.open_session(path).await.unwrap();
    harness.prompt("go").await;
    harness.settled().await;
    assert_eq!(ids(harness.agent.background_jobs().await.unwrap()), ["job_5", "job_6"]);
}

#[tokio::test]
async fn job_stopped_by_the_user_is_told() {
    let mut harness =
        harness(vec![answer(&[background("sleep 600")]), text_answer("started"), text_answer("seen")]);
    harness.prompt("go").await;
    harness.settled().await;
    harness.agent.stop_background_job("job_1".into()).await.unwrap();
    let job = harness.wait_for_event(job_ended).await;
    assert_eq!(job.status, JobStatus::Stopped);
    let error = harness.agent.stop_background_job("job_1".into()).await.unwrap_err();
    assert!(matches!(error, AgentError::NotFound(_)), "{error}");
    harness.prompt("and?").await;
    harness.settled().await;
    let told = "user Background job job_1 (`sleep 600`) was stopped by the user.";
    assert_eq!(text_before_the_last(&harness.requests()[2]), told);
}
