//! Transport to an extension's process: requests and replies as JSON lines.
//!
//! One task, the dispatcher, owns the pending requests. Writer, reader and stderr each have their own task,
//! so that a process that doesn't read can't block the reading of its replies. All tasks end with the
//! transport.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::Value;
use tiller_tools::process::{ExitStatus, PipedChild};
use tiller_tools::tool::ToolProgress;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::HookError;
use super::host::WarningSender;
use super::protocol::{Declaration, FromProcess, ToProcess};

/// Maximum length of a line from a process, in bytes: a result with several images.
const MAX_LINE: usize = 8 * 1024 * 1024;

/// Maximum length of a line of stderr and of a quote in a warning, in bytes.
const MAX_QUOTE: usize = 300;

/// Number of consecutive invalid lines after which the process is killed, because it isn't an extension.
const MAX_INVALID: u32 = 100;

/// Maximum number of invalid lines and of stderr lines that are logged.
const MAX_LOGGED_INVALID: u32 = 5;

const MAX_LOGGED_STDERR: u32 = 1_000;

/// Capacity of the channels to the writer and the dispatcher; senders wait when they are full.
const CHANNEL_CAPACITY: usize = 64;

/// The connection to a process. The process ends when this is dropped.
#[derive(Debug)]
pub(super) struct Transport {
    lines: mpsc::Sender<Vec<u8>>,
    messages: mpsc::Sender<TransportMessage>,
    next: AtomicU64,
    state: Arc<TransportState>,
    tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct TransportState {
    /// Set before an intended end, so that the end isn't reported.
    closing: AtomicBool,
    over: AtomicBool,
}

enum TransportMessage {
    Pending { id: u64, answer: oneshot::Sender<Result<Value, HookError>>, progress: Option<ToolProgress> },
    Cancelled { id: u64 },
    Line(StdoutLine),
    Ended(String),
}

/// A line from a process.
#[derive(Debug, PartialEq, Eq)]
enum StdoutLine {
    Whole(Vec<u8>),
    /// The start of a line over the limit; the rest was skipped.
    TooLong(Vec<u8>),
}

impl Transport {
    /// Starts the tasks. The receiver yields the process's declaration, or the reason for its end.
    pub(super) fn open(
        name: &str,
        child: PipedChild,
        warn: WarningSender,
    ) -> (Self, oneshot::Receiver<Result<Declaration, String>>) {
        let (lines, to_write) = mpsc::channel(CHANNEL_CAPACITY);
        let (messages, received) = mpsc::channel(CHANNEL_CAPACITY);
        let (ready, declared) = oneshot::channel();
        let state = Arc::new(TransportState::default());
        let PipedChild { stdin, stdout, stderr, supervisor } = child;
        let mut tasks = JoinSet::new();
        let writer = tasks.spawn(write(stdin, to_write));
        let dispatcher = Dispatcher {
            name: name.to_owned(),
            warn,
            state: Arc::clone(&state),
            ready: Some(ready),
            pending: HashMap::new(),
            invalid: InvalidLines::default(),
            writer,
            end_reason: None,
        };
        tasks.spawn(read(stdout, messages.clone()));
        let (extension_name, sender) = (name.to_owned(), messages.clone());
        tasks.spawn(async move {
            let end = log_stderr(&extension_name, stderr).await;
            drop(supervisor);
            let _ = sender.send(TransportMessage::Ended(end)).await;
        });
        tasks.spawn(dispatcher.run(received));
        (Self { lines, messages, next: AtomicU64::new(1), state, tasks }, declared)
    }

    pub(super) fn is_over(&self) -> bool {
        self.state.over.load(Ordering::Relaxed)
    }

    /// Sends a notification.
    pub(super) async fn notify(&self, message: &ToProcess<'_>) -> Result<(), HookError> {
        self.lines.send(message.to_line()).await.map_err(|_| closed_error())
    }

    /// Sends a request and waits for the reply. If the future is dropped before, a cancellation is sent.
    pub(super) async fn ask(
        &self,
        hook: &'static str,
        params: Value,
        progress: Option<ToolProgress>,
    ) -> Result<Value, HookError> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        // Registered before sending, because the reply could otherwise arrive first.
        self.messages
            .send(TransportMessage::Pending { id, answer, progress })
            .await
            .map_err(|_| closed_error())?;
        let mut waiter = ReplyWaiter { id, transport: self, is_answered: false };
        self.notify(&ToProcess::Request { id, hook, params }).await?;
        let answer = answered.await;
        waiter.is_answered = true;
        answer.map_err(|_| closed_error())?
    }

    /// Shuts the process down and waits for its end.
    pub(super) async fn close(self) {
        self.state.closing.store(true, Ordering::Relaxed);
        let Self { lines, messages, mut tasks, .. } = self;
        let _ = lines.send(ToProcess::Close.to_line()).await;
        // Without these senders, the writer closes the process's stdin; the dispatcher ends when all senders
        // are dropped.
        drop((lines, messages));
        while tasks.join_next().await.is_some() {}
    }
}

fn closed_error() -> HookError {
    HookError::new("it has ended")
}

/// A request that is waiting for its reply.
struct ReplyWaiter<'a> {
    id: u64,
    transport: &'a Transport,
    is_answered: bool,
}

impl Drop for ReplyWaiter<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            // If the channel is full, the late reply is dropped anyway.
            let _ = self.transport.messages.try_send(TransportMessage::Cancelled { id: self.id });
            let _ = self.transport.lines.try_send(ToProcess::Cancel { id: self.id }.to_line());
        }
    }
}

async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

async fn read(stdout: ChildStdout, messages: mpsc::Sender<TransportMessage>) {
    let mut stdout = BufReader::new(stdout);
    while let Ok(Some(line)) = next_line(&mut stdout, MAX_LINE).await {
        if messages.send(TransportMessage::Line(line)).await.is_err() {
            return;
        }
    }
}

/// Logs stderr; returns a description of the process's end.
async fn log_stderr(name: &str, stderr: ChildStderr) -> String {
    let mut stderr = BufReader::new(stderr);
    let (mut last, mut before) = (String::new(), String::new());
    let mut count = 0_u32;
    while let Ok(Some(StdoutLine::Whole(line) | StdoutLine::TooLong(line))) =
        next_line(&mut stderr, MAX_QUOTE).await
    {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = String::from_utf8_lossy(&line).into_owned();
        if !last.is_empty() {
            count = count.saturating_add(1);
            match count.cmp(&MAX_LOGGED_STDERR) {
                std::cmp::Ordering::Less => tracing::info!(extension = name, "{last}"),
                std::cmp::Ordering::Equal => {
                    tracing::info!(extension = name, "{last}; further lines are not logged")
                }
                std::cmp::Ordering::Greater => {}
            }
        }
        before = std::mem::replace(&mut last, line);
    }
    let end = match PipedChild::end(&last).map(|exit| exit.status) {
        Ok(ExitStatus::Code(code)) => format!("ended with exit code {code}"),
        Ok(ExitStatus::Signal(signal)) => format!("was killed by signal {signal}"),
        Err(error) => return error.to_string(),
    };
    if before.is_empty() { end } else { format!("{end}; last output: {before}") }
}

/// Reads the next line without its newline; the excess of a line over the limit is skipped. `None` at the
/// end.
async fn next_line(from: &mut (impl AsyncBufRead + Unpin), limit: usize) -> io::Result<Option<StdoutLine>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let chunk = from.fill_buf().await?;
        if chunk.is_empty() {
            let is_end = line.is_empty() && !is_too_long;
            return Ok((!is_end).then_some(if is_too_long {
                StdoutLine::TooLong(line)
            } else {
                StdoutLine::Whole(line)
            }));
        }
        let end = memchr::memchr(b'\n', chunk);
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = limit - line.len();
        line.extend_from_slice(&part[..part.len().min(room)]);
        is_too_long |= part.len() > room;
        let consumed = end.map_or(chunk.len(), |end| end + 1);
        from.consume(consumed);
        if end.is_some() {
            return Ok(Some(if is_too_long { StdoutLine::TooLong(line) } else { StdoutLine::Whole(line) }));
        }
    }
}

/// Owns the pending requests.
struct Dispatcher {
    name: String,
    warn: WarningSender,
    state: Arc<TransportState>,
    ready: Option<oneshot::Sender<Result<Declaration, String>>>,
    pending: HashMap<u64, PendingRequest>,
    invalid: InvalidLines,
    /// Aborting this task closes the process's stdin, which ends the process.
    writer: AbortHandle,
    end_reason: Option<String>,
}

/// Count of invalid lines.
#[derive(Debug, Default)]
struct InvalidLines {
    count: u64,
    consecutive_invalid: u32,
}

struct PendingRequest {
    answer: oneshot::Sender<Result<Value, HookError>>,
    progress: Option<ToolProgress>,
}

impl Dispatcher {
    async fn run(mut self, mut messages: mpsc::Receiver<TransportMessage>) {
        while let Some(messages) = messages.recv().await {
            match messages {
                TransportMessage::Pending { answer, .. } if self.end_reason.is_some() => {
                    let _ = answer.send(Err(self.closed_error()));
                }
                TransportMessage::Pending { id, answer, progress } => {
                    self.pending.insert(id, PendingRequest { answer, progress });
                }
                TransportMessage::Cancelled { id } => drop(self.pending.remove(&id)),
                // Lines after the kill are ignored.
                TransportMessage::Line(_) if self.is_killed() => {}
                TransportMessage::Line(StdoutLine::Whole(line)) => self.handle_line(&line),
                TransportMessage::Line(StdoutLine::TooLong(line)) => {
                    self.note_invalid(&line, &format!("longer than {MAX_LINE} bytes"));
                }
                TransportMessage::Ended(reason) => self.handle_end(reason),
            }
        }
    }

    fn handle_line(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let consecutive_invalid = std::mem::take(&mut self.invalid.consecutive_invalid);
        match serde_json::from_slice(line) {
            Ok(FromProcess::Ready(declared)) => match self.ready.take() {
                Some(ready) => drop(ready.send(Ok(declared))),
                None => {
                    self.invalid.consecutive_invalid = consecutive_invalid;
                    self.note_invalid(line, "it was already ready");
                }
            },
            Ok(FromProcess::Answer { id, result, error }) => {
                // A late reply has no pending request.
                if let Some(PendingRequest { answer, .. }) = self.pending.remove(&id) {
                    let _ = answer.send(error.map_or(Ok(result), |error| Err(HookError::new(error))));
                }
            }
            Ok(FromProcess::Progress { id, text }) => {
                if let Some(PendingRequest { progress: Some(progress), .. }) = self.pending.get(&id) {
                    progress.show(text);
                }
            }
            Err(error) => {
                self.invalid.consecutive_invalid = consecutive_invalid;
                self.note_invalid(line, &error.to_string());
            }
        }
    }

    /// Returns whether the process was killed for invalid lines.
    fn is_killed(&self) -> bool {
        self.invalid.consecutive_invalid >= MAX_INVALID
    }

    fn note_invalid(&mut self, line: &[u8], reason: &str) {
        let quote: String = String::from_utf8_lossy(line).chars().take(MAX_QUOTE).collect();
        let name = &self.name;
        let warning = format!("extension {name}: ignored an invalid line: {reason}: {quote}");
        self.invalid.count += 1;
        self.invalid.consecutive_invalid += 1;
        match self.invalid.count {
            1 => self.warn.send(warning),
            count if count <= u64::from(MAX_LOGGED_INVALID) => tracing::warn!("{warning}"),
            _ => {}
        }
        if self.is_killed() {
            self.writer.abort();
            self.handle_end(format!("was killed: {MAX_INVALID} consecutive lines were invalid"));
        }
    }

    fn closed_error(&self) -> HookError {
        HookError::new(format!("it {}", self.end_reason.as_deref().unwrap_or("has ended")))
    }

    fn handle_end(&mut self, reason: String) {
        if self.end_reason.is_some() {
            return;
        }
        if self.invalid.count > u64::from(MAX_LOGGED_INVALID) {
            tracing::warn!(extension = self.name, "ignored {} invalid lines in total", self.invalid.count);
        }
        self.state.over.store(true, Ordering::Relaxed);
        if let Some(ready) = self.ready.take() {
            let _ = ready.send(Err(reason.clone()));
        } else if !self.state.closing.load(Ordering::Relaxed) {
            self.warn.send(format!("extension {} {reason}; /reload restarts it", self.name));
        }
        self.end_reason = Some(reason);
        for (_, PendingRequest { answer, .. }) in std::mem::take(&mut self.pending) {
            let _ = answer.send(Err(self.closed_error()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8], limit: usize) -> Vec<StdoutLine> {
        // One byte at a time, so that every line arrives in pieces.
        let mut from = BufReader::with_capacity(1, text);
        let mut lines = Vec::new();
        while let Some(line) = next_line(&mut from, limit).await.unwrap() {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn next_line_over_the_limit_is_skipped_alone() {
        let complete = |text: &str| StdoutLine::Whole(text.into());
        assert_eq!(
            lines(b"one\n12345\n123456789\n\ntwo", 5).await,
            [
                complete("one"),
                complete("12345"),
                StdoutLine::TooLong("12345".into()),
                complete(""),
                complete("two")
            ]
        );
        assert_eq!(lines(b"", 5).await, []);
        assert_eq!(lines(b"123456", 5).await, [StdoutLine::TooLong("12345".into())]);
    }
}
