//! The user's shell commands (`!` and `!!`): their jobs and their records.

use tiller_core::ansi::Utf8Decoder;
use tiller_core::id::EntryId;
use tiller_core::message::BashExecutionMessage;
use tiller_core::unit::UnixMs;
use tiller_tools::process::{ExitStatus, RunningCommand};
use tiller_tools::tool::{CapturedOutput, OutputCapture, PREVIEW_INTERVAL};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval};

use super::driver::job_event::{BashEnd, JobEvent};
use super::handle::{BashContext, Reply, RunningBash};

/// Bytes of unreported output that trigger an immediate report.
const MAX_UNREPORTED: usize = 64 * 1024;

/// The driver's side of a running command.
pub(super) struct BashJob {
    pub(super) shown: RunningBash,
    /// Stops the command when a message is sent or the sender is dropped.
    stop: Option<oneshot::Sender<()>>,
    /// Returns the output captured so far.
    snapshot: Box<dyn Fn() -> CapturedOutput + Send>,
    /// Receives the command's record.
    pub(super) reply: Option<Reply<BashExecutionMessage>>,
}

impl BashJob {
    /// Wraps a command that was just started. The returned future runs the command to its end.
    pub(super) fn start(
        shown: RunningBash,
        process: RunningCommand,
        capture: OutputCapture,
        report: mpsc::Sender<JobEvent>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (stop, stopped) = oneshot::channel();
        let snapshot = Box::new(capture.snapshot_fn());
        let reporter = OutputReporter {
            id: shown.id.clone(),
            report,
            unreported: Vec::new(),
            decoder: Utf8Decoder::new(),
        };
        let job = run(process, capture, reporter, stopped);
        (Self { shown, stop: Some(stop), snapshot, reply: None }, job)
    }

    /// Requests the command to stop; its end is still reported.
    pub(super) fn stop(&mut self) {
        self.stop = None;
    }

    /// Takes the reply channel for the record.
    pub(super) fn take_reply(&mut self) -> Option<Reply<BashExecutionMessage>> {
        self.reply.take()
    }

    /// Returns the record of a command that has ended.
    pub(super) fn into_record(self, end: BashEnd, timestamp: UnixMs) -> BashExecutionMessage {
        let command = self.shown;
        let truncated = end.output.notice.is_some();
        let output = match end.output.notice {
            Some(notice) => format!("{}\n{notice}", end.output.text),
            None => end.output.text,
        };
        BashExecutionMessage {
            command: command.line,
            output,
            exit_code: end.status.and_then(ExitStatus::code),
            cancelled: end.status.is_none(),
            truncated,
            full_output_path: end.output.full_output.map(|path| path.display().to_string()),
            exclude_from_context: command.context == BashContext::Exclude,
            style_runs: end.output.style_runs,
            timestamp,
        }
    }

    /// Returns the record of a command whose end can't be awaited any longer, with the output captured so
    /// far.
    pub(super) fn into_cut_off_record(self, timestamp: UnixMs) -> BashExecutionMessage {
        let end = BashEnd { status: None, error: None, output: (self.snapshot)() };
        self.into_record(end, timestamp)
    }
}

struct OutputReporter {
    id: EntryId,
    report: mpsc::Sender<JobEvent>,
    /// Output captured since the last report.
    unreported: Vec<u8>,
    decoder: Utf8Decoder,
}

impl OutputReporter {
    /// Reports the new output together with all output so far, so that a client that has the full text can
    /// continue with the deltas. Returns false if the driver has stopped listening.
    async fn report(&mut self, capture: &OutputCapture) -> bool {
        let mut delta = String::with_capacity(self.unreported.len());
        self.decoder.decode(&self.unreported, &mut delta);
        self.unreported.clear();
        let output = Box::new(capture.buffer());
        self.report.send(JobEvent::BashOutput { id: self.id.clone(), delta, output }).await.is_ok()
    }
}

async fn run(
    mut process: RunningCommand,
    mut capture: OutputCapture,
    mut reporter: OutputReporter,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut ticks = interval(PREVIEW_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut is_stopped, mut is_new) = (false, false);
    loop {
        let is_due = tokio::select! {
            biased;
            _ = &mut stopped, if !is_stopped => {
                is_stopped = true;
                process.stop();
                false
            }
            _ = ticks.tick(), if is_new => true,
            chunk = process.chunk() => {
                let Some(chunk) = chunk else { break };
                capture.push(&chunk).await;
                reporter.unreported.extend_from_slice(&chunk);
                is_new = true;
                reporter.unreported.len() > MAX_UNREPORTED
            }
        };
        if is_due {
            is_new = false;
            if !reporter.report(&capture).await {
                return;
            }
        }
    }
    if is_new && !reporter.report(&capture).await {
        return;
    }
    let (status, error) = match process.wait().await {
        Ok(exit) => (Some(exit.status), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let output = capture.finish().await;
    let end = if is_stopped {
        BashEnd { status: None, error: None, output }
    } else {
        BashEnd { status, error, output }
    };
    let _ = reporter.report.send(JobEvent::BashEnded { id: reporter.id, end }).await;
}
