//! Highlights code in a child process, controlled by one thread; ends the process when it is idle.
//!
//! A loaded grammar takes fifteen megabytes that a long-running process doesn't return to the system; a child
//! process returns them when it exits. The queue of pending code and the results are in the
//! [`HighlightCache`].

use std::io::{self, BufReader};
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use tiller_render::{
    self as render, HighlightBackend, HighlightCache, HighlightRequest, HighlightResponse, InProcess,
    WORKER_ARGUMENT,
};
use tokio::sync::mpsc;

use super::errors;
use crate::crash_report::NewestReport;
use crate::message::{TaskReport, TaskResult};

/// Idle time after which the child process is ended.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// Handle of the highlighting thread, which ends when this is dropped.
pub(super) struct HighlightWorker {
    /// `None` if the thread couldn't be started; then code isn't highlighted.
    wake: Option<SyncSender<()>>,
    cache: HighlightCache,
}

impl HighlightWorker {
    /// Starts the thread. It runs the program, or highlights in this process if there is none, and reports
    /// each finished piece of code.
    pub(super) fn open(
        program: Option<PathBuf>,
        cache: HighlightCache,
        reports: &mpsc::Sender<TaskReport>,
        crashes: NewestReport,
    ) -> Self {
        let (wake_tx, wake_rx) = sync_channel(1);
        let thread = thread::Builder::new().name("words".into());
        // A weak sender: highlighting doesn't keep the result channel open.
        let reports = reports.downgrade();
        let queue = cache.clone();
        let run =
            move || run_thread(&wake_rx, &queue, &mut ProcessHighlighter::new(program), &reports, &crashes);
        let thread_started = thread.spawn(run);
        Self { wake: thread_started.is_ok().then_some(wake_tx), cache }
    }

    /// Starts highlighting pending code, if any.
    pub(super) fn run(&self) {
        if !self.cache.has_queued() {
            return;
        }
        // If the channel is full, the thread is about to check anyway; if it is closed, the thread has ended.
        let _ = self.wake.as_ref().map(|wake_tx| wake_tx.try_send(()));
    }
}

fn run_thread(
    wake_rx: &Receiver<()>,
    cache: &HighlightCache,
    highlighter: &mut ProcessHighlighter,
    reports: &mpsc::WeakSender<TaskReport>,
    crashes: &NewestReport,
) {
    // The channel is closed when the front end has ended.
    let report = |result: TaskResult| match reports.upgrade() {
        Some(reports) if reports.blocking_send(result.into()).is_ok() => ControlFlow::Continue(()),
        Some(_) | None => ControlFlow::Break(()),
    };
    while let Some(wakeup) = await_work(wake_rx, highlighter, IDLE_TIMEOUT) {
        match wakeup {
            WorkerWakeup::Work => {
                let response = || report(TaskResult::CodeHighlighted);
                if catch_unwind(AssertUnwindSafe(|| cache.run_queued(highlighter, response))).is_err() {
                    let _ = report(errors::internal_error(crashes));
                }
            }
            WorkerWakeup::Idle => highlighter.end_process(),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum WorkerWakeup {
    Work,
    /// The idle timeout has passed; the child process can end.
    Idle,
}

/// Waits for work; `None` when the handle is dropped.
fn await_work(
    wake_rx: &Receiver<()>,
    highlighter: &ProcessHighlighter,
    unused: Duration,
) -> Option<WorkerWakeup> {
    if highlighter.is_idle() {
        return wake_rx.recv().ok().map(|()| WorkerWakeup::Work);
    }
    match wake_rx.recv_timeout(unused) {
        Ok(()) => Some(WorkerWakeup::Work),
        Err(RecvTimeoutError::Timeout) => Some(WorkerWakeup::Idle),
        Err(RecvTimeoutError::Disconnected) => None,
    }
}

/// Sends code to the child process, starting it if it isn't running.
struct ProcessHighlighter {
    /// The program; `None` to highlight in this process.
    program: Option<PathBuf>,
    process: Option<WorkerProcess>,
    in_process: InProcess,
}

struct WorkerProcess {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl ProcessHighlighter {
    fn new(program: Option<PathBuf>) -> Self {
        Self { program, process: None, in_process: InProcess::default() }
    }

    fn is_idle(&self) -> bool {
        self.process.is_none()
    }

    fn end_process(&mut self) {
        self.process = None;
    }

    fn ask(&mut self, piece: &HighlightRequest) -> io::Result<HighlightResponse> {
        let helper = self.process.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let response = render::request_highlighting(piece, &mut helper.input, &mut helper.output);
        if response.is_err() {
            self.process = None;
        }
        response
    }
}

impl HighlightBackend for ProcessHighlighter {
    fn highlight(&mut self, piece: &HighlightRequest) -> HighlightResponse {
        // The request didn't cause the end of a process that was idle, so the process is restarted once.
        if let Ok(response) = self.ask(piece) {
            return response;
        }
        let Some(helper) = self.program.as_deref().and_then(|program| WorkerProcess::start(program).ok())
        else {
            return self.in_process.highlight(piece);
        };
        self.process = Some(helper);
        self.ask(piece).unwrap_or(HighlightResponse::Failed)
    }
}

impl WorkerProcess {
    fn start(program: &Path) -> io::Result<Self> {
        let mut child = Command::new(program)
            .arg0("tiller")
            .arg(WORKER_ARGUMENT)
            // The process must not keep a directory in use that the user may want to remove.
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let output = BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?);
        Ok(Self { child, input, output })
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        // The process has nothing to save. An error means that it has exited.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;
    use tiller_render::{Language, Role};

    use super::*;

    fn piece() -> HighlightRequest {
        HighlightRequest::complete(Language::Named("rust"), "let a;")
    }

    /// Creates a program that runs `script` for each request.
    fn program(dir: &TempDir, script: &str) -> PathBuf {
        let path = dir.path().join("words");
        fs::write(&path, format!("#!/bin/sh\nwhile read piece; do {script}; done\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("may be run");
        path
    }

    const REPLY: &str = "echo '[[[1,\"Quote\"]]]'";

    fn reply() -> HighlightResponse {
        HighlightResponse::Tokens(vec![vec![(1, Role::Quote)]])
    }

    #[test]
    fn worker_silent_program_fails_and_missing_one_falls_back() {
        let response = |program: Option<&str>| {
            let mut highlighter = ProcessHighlighter::new(program.map(PathBuf::from));
            (highlighter.highlight(&piece()), highlighter.is_idle())
        };
        let (expected, is_idle) = response(None);
        assert!(matches!(&expected, HighlightResponse::Tokens(words) if words[0].len() > 1) && is_idle);
        assert_eq!(response(Some("/nowhere/tiller")), (expected, true));
        assert_eq!(response(Some("/bin/true")), (HighlightResponse::Failed, true));
    }

    #[test]
    fn worker_killed_process_is_restarted_and_crash_fails_request() {
        let dir = TempDir::new().expect("a directory");
        let mut highlighter = ProcessHighlighter::new(Some(program(&dir, REPLY)));
        assert_eq!(highlighter.highlight(&piece()), reply());
        let helper = highlighter.process.as_mut().expect("at work");
        let first = helper.child.id();
        helper.child.kill().expect("killed");
        assert_eq!(highlighter.highlight(&piece()), reply());
        assert_ne!(highlighter.process.as_ref().expect("at work").child.id(), first);

        let mut highlighter = ProcessHighlighter::new(Some(program(&dir, "echo; exit")));
        assert_eq!(highlighter.highlight(&piece()), HighlightResponse::Failed);
        assert!(highlighter.is_idle());
    }

    #[test]
    fn worker_idle_process_is_ended() {
        let dir = TempDir::new().expect("a directory");
        let mut highlighter = ProcessHighlighter::new(Some(program(&dir, REPLY)));
        let (wake_tx, wake_rx) = sync_channel(1);
        wake_tx.try_send(()).expect("rung");
        assert_eq!(await_work(&wake_rx, &highlighter, Duration::ZERO), Some(WorkerWakeup::Work));
        assert_eq!(highlighter.highlight(&piece()), reply());
        assert_eq!(await_work(&wake_rx, &highlighter, Duration::ZERO), Some(WorkerWakeup::Idle));
        highlighter.end_process();
        assert!(highlighter.is_idle());
        drop(wake_tx);
        assert_eq!(await_work(&wake_rx, &highlighter, Duration::ZERO), None);
    }
}
