//! Commands of the user's own, `!` and `!!`: running one beside the loop, and the record it leaves.

use tokio::sync::{mpsc, oneshot};

use super::driver::Report;
use super::handle::{BashContext, Reply, RunningBash};
use crate::ansi::Printed;
use crate::id::EntryId;
use crate::message::BashExecutionMessage;
use crate::process::{ExitStatus, Running};
use crate::tool::{Gathered, GatheredOutput};
use crate::unit::UnixMs;

/// A command at work, as the driver knows it.
#[derive(Debug)]
pub(super) struct Bash {
    pub(super) shown: RunningBash,
    /// Stops it when sent to, or dropped.
    stop: Option<oneshot::Sender<()>>,
    /// Whoever waits for its record.
    pub(super) waits: Option<Reply<BashExecutionMessage>>,
}

/// How a command ended.
pub(super) struct BashEnd {
    /// Its exit; none when it was stopped or lost.
    pub(super) status: Option<ExitStatus>,
    /// What went wrong with running it.
    pub(super) trouble: Option<String>,
    pub(super) output: GatheredOutput,
}

impl Bash {
    /// Takes a command that was just started; the future runs it to its end.
    pub(super) fn begin(
        shown: RunningBash,
        process: Running,
        gathered: Gathered,
        report: mpsc::Sender<Report>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (stop, stopped) = oneshot::channel();
        let job = run(shown.id.clone(), process, gathered, (report, stopped));
        (Self { shown, stop: Some(stop), waits: None }, job)
    }

    /// Orders the command to be stopped; its end is still reported.
    pub(super) fn stop(&mut self) {
        self.stop = None;
    }

    /// Whoever waits for its record; nobody does any more then.
    pub(super) fn take_waiting(&mut self) -> Option<Reply<BashExecutionMessage>> {
        self.waits.take()
    }

    /// The record of the command now that it is over.
    pub(super) fn into_record(self, end: BashEnd, timestamp: UnixMs) -> BashExecutionMessage {
        let shown = self.shown;
        let truncated = end.output.notice.is_some();
        let output = match end.output.notice {
            Some(notice) => format!("{}\n{notice}", end.output.text),
            None => end.output.text,
        };
        BashExecutionMessage {
            command: shown.line,
            output,
            exit_code: end.status.and_then(ExitStatus::code),
            cancelled: end.status.is_none(),
            truncated,
            full_output_path: end.output.full_output.map(|path| path.display().to_string()),
            exclude_from_context: shown.context == BashContext::Exclude,
            strokes: end.output.strokes,
            timestamp,
        }
    }

    /// The record of a command that can't be waited for any more, with the last of its output that was seen. There may have been
    /// more before it.
    pub(super) fn into_cut_record(self, timestamp: UnixMs) -> BashExecutionMessage {
        let Printed { text, strokes } = self.shown.output.clone();
        let output = GatheredOutput { text, strokes, ..GatheredOutput::default() };
        let end = BashEnd { status: None, trouble: None, output };
        BashExecutionMessage { truncated: true, ..self.into_record(end, timestamp) }
    }
}

async fn run(
    id: EntryId,
    mut process: Running,
    mut gathered: Gathered,
    (report, mut stopped): (mpsc::Sender<Report>, oneshot::Receiver<()>),
) {
    let (mut cut_off, mut is_stopped) = (Vec::new(), false);
    loop {
        let chunk = tokio::select! {
            biased;
            _ = &mut stopped, if !is_stopped => {
                is_stopped = true;
                process.stop();
                continue;
            }
            chunk = process.chunk() => chunk,
        };
        let Some(chunk) = chunk else { break };
        gathered.push(&chunk).await;
        let delta = decode(&mut cut_off, &chunk);
        let glance = gathered.glance();
        if report.send(Report::BashOutput { id: id.clone(), delta, glance }).await.is_err() {
            return;
        }
    }
    let (status, trouble) = match process.wait().await {
        Ok(exit) => (Some(exit.status), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let output = gathered.finish().await;
    let end = if is_stopped {
        BashEnd { status: None, trouble: None, output }
    } else {
        BashEnd { status, trouble, output }
    };
    let _ = report.send(Report::BashEnded { id, end }).await;
}

/// Text of a chunk; a character cut off at its end waits for the next.
fn decode(cut_off: &mut Vec<u8>, chunk: &[u8]) -> String {
    cut_off.extend_from_slice(chunk);
    let whole = match std::str::from_utf8(cut_off) {
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Ok(_) | Err(_) => cut_off.len(),
    };
    let rest = cut_off.split_off(whole);
    String::from_utf8_lossy(&std::mem::replace(cut_off, rest)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_in_two_arrives_whole() {
        let mut cut_off = Vec::new();
        assert_eq!(decode(&mut cut_off, b"gr\xc3"), "gr");
        assert_eq!(decode(&mut cut_off, b"\xbc\xc3\x9fe"), "üße");
        assert_eq!(decode(&mut cut_off, b"\xff!"), "\u{fffd}!");
    }
}
