//! Background jobs through the tools, with real commands.

use std::fs;
use std::path::Path;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_core::background_job::JobStatus;
use tiller_core::id::JobId;
use tiller_core::message::joined_text;
use tiller_tools::process::Runner;
use tiller_tools::tool::{
    JobChange, OutputLimits, ToolEnvironment, ToolInvocation, ToolOutput, ToolProgress, Tools,
};
use tiller_tools::workspace::Workspace;

/// Timeout for real processes to start or end on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A working directory with a named pipe `gate`, and the tools.
struct Bench {
    dir: TempDir,
    tools: Tools,
}

impl Bench {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        nix::unistd::mkfifo(&dir.path().join("gate"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let workspace = Workspace::new(dir.path()).unwrap();
        let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
        let limits = OutputLimits { max_lines: 8, max_chars: 400 };
        let environment =
            ToolEnvironment { limits, ..ToolEnvironment::new(workspace, runner, dir.path().join("scratch")) };
        Self { tools: Tools::built_in(environment), dir }
    }

    async fn call_with(&self, tool: &str, arguments: Value, progress: ToolProgress) -> ToolOutput {
        let tool = self.tools.find(tool).unwrap();
        tool.check(&arguments).unwrap();
        let call = tool.run(ToolInvocation { arguments, progress });
        tokio::time::timeout(TIMEOUT, call).await.unwrap()
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        self.call_with(tool, arguments, ToolProgress::new(|_| {})).await
    }

    async fn start(&self, command: &str) -> ToolOutput {
        self.call("bash", json!({"command": command, "background": true})).await
    }

    async fn jobs(&self, action: &str, id: &str) -> String {
        let output = self.call("job", json!({"action": action, "id": id})).await;
        assert!(!output.is_error, "{output:?}");
        joined_text(&output.content)
    }

    /// Unblocks the command that reads from the pipe.
    async fn open_gate(&self) {
        let gate = self.dir.path().join("gate");
        tokio::task::spawn_blocking(move || fs::write(gate, "go\n").unwrap()).await.unwrap();
    }

    /// Returns the notes about ends that the model hasn't been notified of.
    fn notes(&self) -> Vec<String> {
        self.tools.jobs().end_notes().into_iter().map(|note| note.text).collect()
    }

    /// Waits until a job has ended, without reading it.
    async fn ended(&self, id: &str) -> JobStatus {
        let mut changes = self.tools.jobs().subscribe();
        loop {
            let job = self.tools.jobs().list().into_iter().find(|job| job.job_id == JobId::new(id)).unwrap();
            if !job.status.is_running() {
                return job.status;
            }
            tokio::time::timeout(TIMEOUT, changes.changed()).await.unwrap().unwrap();
        }
    }
}

async fn until_dead(pid: &Path) {
    let pid = Pid::from_raw(fs::read_to_string(pid).unwrap().trim().parse().unwrap());
    let dead = async {
        while kill(pid, None) != Err(Errno::ESRCH) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, dead).await.unwrap();
}

#[tokio::test]
async fn job_returns_at_once_and_is_read_in_pieces_until_its_end() {
    let bench = Bench::new();
    let started = bench.start("cat gate; exit 3").await;
    let text = joined_text(&started.content);
    assert!(text.starts_with("[runs in the background as job_1; its full output goes to "), "{text}");
    assert_eq!(started.details.unwrap()["jobId"], "job_1");
    assert_eq!(bench.jobs("read", "job_1").await, "[no new output]\n[job_1: running]");
    bench.open_gate().await;
    assert_eq!(bench.jobs("wait", "job_1").await, "go\n[job_1: ended with exit status 3]");
    assert_eq!(bench.jobs("read", "job_1").await, "[no new output]\n[job_1: ended with exit status 3]");
    let list = joined_text(&bench.call("job", json!({"action": "list"})).await.content);
    assert!(list.starts_with("job_1: ended with exit status 3, started 20"), "{list}");
    assert!(list.ends_with(": cat gate; exit 3"), "{list}");
}

#[tokio::test]
async fn job_end_is_noted_until_it_was_read() {
    let bench = Bench::new();
    bench.start("seq 20; exit 1").await;
    assert_eq!(bench.ended("job_1").await, JobStatus::Exited { exit_code: 1 });
    let last: String = (11..=20).map(|n| format!("\n{n}")).collect();
    let note =
        format!("Background job job_1 (`seq 20; exit 1`) ended with exit status 1. Its last lines:{last}");
    assert_eq!(bench.notes(), [note]);
    let text = bench.jobs("read", "job_1").await;
    assert!(
        text.contains("[… 12 lines omitted …]") && text.contains("from the new output of bash"),
        "{text}"
    );
    assert_eq!(bench.notes(), [] as [String; 0]);
    bench.start("exit 0").await;
    bench.ended("job_2").await;
    assert_eq!(bench.notes(), ["Background job job_2 (`exit 0`) ended with exit status 0."]);
    bench.tools.jobs().mark_reported(&"job_2".into());
    assert_eq!(bench.notes(), [] as [String; 0]);
}

#[tokio::test]
async fn job_stopped_by_the_model_dies_whole_and_is_not_noted() {
    let bench = Bench::new();
    bench.start("sh -c 'echo $$ > pid; cat gate > /dev/null; exec sleep 600'; true").await;
    bench.open_gate().await;
    let text = bench.jobs("stop", "job_1").await;
    assert_eq!(text, "[no new output]\n[job_1: stopped]");
    until_dead(&bench.dir.path().join("pid")).await;
    assert_eq!(bench.notes(), [] as [String; 0]);
    assert_eq!(bench.jobs("stop", "job_1").await, text, "a second time");
}

#[tokio::test]
async fn job_stopped_by_the_user_is_noted() {
    let bench = Bench::new();
    bench.start("sleep 600").await;
    assert!(bench.tools.jobs().stop(&"job_1".into()));
    bench.ended("job_1").await;
    assert_eq!(bench.notes(), ["Background job job_1 (`sleep 600`) was stopped by the user."]);
    assert!(!bench.tools.jobs().stop(&"job_1".into()), "it has ended");
}

#[tokio::test]
async fn jobs_die_with_their_table_and_when_it_is_cleared() {
    for is_cleared in [true, false] {
        let Bench { dir, tools } = {
            let bench = Bench::new();
            bench.start("echo $$ > pid; cat gate > /dev/null; exec sleep 600").await;
            bench.open_gate().await;
            bench
        };
        let table = tools.jobs().clone();
        drop(tools);
        if is_cleared {
            table.clear();
            assert_eq!(table.list(), []);
            assert_eq!(table.take_changes(), []);
        } else {
            drop(table);
        }
        until_dead(&dir.path().join("pid")).await;
    }
}

#[tokio::test]
async fn call_moved_to_the_background_keeps_process_and_output() {
    let bench = Bench::new();
    let (shown, mut first) = tokio::sync::mpsc::unbounded_channel();
    let progress = ToolProgress::new(move |printed| _ = shown.send(printed.text));
    let call =
        bench.call_with("bash", json!({"command": "echo a; cat gate", "timeout": 600}), progress.clone());
    let user = async {
        assert_eq!(first.recv().await.unwrap(), "a\n");
        progress.move_to_background();
    };
    let (moved, ()) = tokio::join!(call, user);
    let text = joined_text(&moved.content);
    assert!(text.starts_with("a\n[moved to the background by the user as job_1"), "{text}");
    assert!(!moved.is_error);
    bench.open_gate().await;
    assert_eq!(bench.jobs("wait", "job_1").await, "go\n[job_1: ended with exit status 0]");
    let [JobChange::Started(started), JobChange::Ended { job: ended, warning: None }] =
        &bench.tools.jobs().take_changes()[..]
    else {
        panic!("a start and an end")
    };
    assert_eq!((started.status.is_running(), ended.status.exit_code()), (true, Some(0)));
    assert_eq!(ended.last_line, "go");
}

#[tokio::test]
async fn job_wait_ends_for_a_message_and_the_job_continues() {
    let bench = Bench::new();
    bench.start("cat gate").await;
    let progress = ToolProgress::new(|_| {});
    progress.end_wait();
    let arguments = json!({"action": "wait", "id": "job_1", "timeout": 600});
    let waited = bench.call_with("job", arguments, progress).await;
    assert_eq!(joined_text(&waited.content), "[no new output]\n[job_1: running]");
    let waited = bench.call("job", json!({"action": "wait", "id": "job_1", "timeout": 1})).await;
    assert_eq!(joined_text(&waited.content), "[no new output]\n[job_1: running]");
}

#[tokio::test]
async fn job_with_a_timeout_is_stopped_at_it() {
    let bench = Bench::new();
    bench.call("bash", json!({"command": "sleep 600", "background": true, "timeout": 1})).await;
    assert_eq!(bench.ended("job_1").await, JobStatus::TimedOut);
    assert_eq!(bench.notes(), ["Background job job_1 (`sleep 600`) was stopped at its timeout."]);
}

#[tokio::test]
async fn job_with_the_longest_timeout_starts() {
    let bench = Bench::new();
    let output =
        bench.call("bash", json!({"command": "true", "background": true, "timeout": u64::MAX})).await;
    assert!(!output.is_error, "{output:?}");
    assert_eq!(bench.ended("job_1").await, JobStatus::Exited { exit_code: 0 });
}

#[tokio::test]
async fn jobs_refuse_unknown_ids_and_missing_ones() {
    let bench = Bench::new();
    let output = bench.call("job", json!({"action": "read", "id": "job_9"})).await;
    assert!(output.is_error);
    assert_eq!(joined_text(&output.content), "no job `job_9`; available: none");
    let tool = bench.tools.find("job").unwrap();
    assert_eq!(
        tool.check(&json!({"action": "wait"})).unwrap_err(),
        "argument `id`: required for this action"
    );
    let list = bench.call("job", json!({"action": "list"})).await;
    assert_eq!(joined_text(&list.content), "no background jobs");
}
