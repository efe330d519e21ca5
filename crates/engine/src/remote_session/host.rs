//! The host's side: the process that has the session open.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::to_raw_value;
use tiller_core::event::{Event, EventKind, QueueItem, SessionChange};
use tiller_core::id::EntryId;
use tiller_core::message::ThinkingLevel;
use tiller_provider::{Model, ScopedModel};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};

use super::RemoteError;
use super::protocol::{ClientLine, HostLine, LogPart, RemoteCommand as R, VERSION, WireError, WireModel};
use crate::handle::{
    AgentError, AgentSession, AttachCommand, BackgroundJobCommand, DelegationCommand, DriverCommand as C,
    EventStream, Reply, SwitchTarget,
};
use crate::sent_item::{WireQueueItem, sent_items};
use crate::turn::AbortCause;

/// Number of lines that wait for a slow front end before events have to wait too. A front end that lags
/// behind the session's events is disconnected, and can reconnect.
const LINES: usize = 256;

/// Serves a session to the front end at the other end of `stream`, until one end closes the connection or the
/// session is closed. A front end that reconnects already has the entries up to `known`.
///
/// # Errors
/// If the connection fails, or the other end sends an invalid line.
pub async fn share<S>(agent: AgentSession, stream: S, known: Option<EntryId>) -> Result<(), RemoteError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (input, output) = tokio::io::split(stream);
    let (lines, outgoing) = mpsc::channel(LINES);
    // Subscribed before the log is read, so that no entry is lost; the other end drops duplicates.
    let events = agent.subscribe();
    let mut tasks = JoinSet::new();
    let (answers, answered) = mpsc::channel(LINES);
    tasks.spawn(send_lines(agent.clone(), known, events, answered, lines));
    let writer = write_lines(output, outgoing);
    let mut host = Host { agent, answers, waiting: JoinSet::new() };
    tokio::select! {
        result = host.serve(BufReader::new(input)) => result,
        written = writer => written.map_err(RemoteError::Connection),
        _ = tasks.join_next() => Ok(()),
    }
}

/// Writes lines as they arrive.
async fn write_lines(
    mut output: impl AsyncWrite + Unpin,
    mut lines: mpsc::Receiver<HostLine>,
) -> std::io::Result<()> {
    while let Some(line) = lines.recv().await {
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        output.write_all(&bytes).await?;
        if lines.is_empty() {
            output.flush().await?;
        }
    }
    Ok(())
}

/// Sends the log, then events and results, until the session is closed, or the front end lags or is gone.
/// Events that precede a result are sent before it: a snapshot must not be newer than the mirrored log.
async fn send_lines(
    agent: AgentSession,
    known: Option<EntryId>,
    mut events: EventStream,
    mut answers: mpsc::Receiver<HostLine>,
    lines: mpsc::Sender<HostLine>,
) {
    let hello = HostLine::Hello { version: VERSION.to_owned() };
    if lines.send(hello).await.is_err() || !send_log(&agent, known, &lines).await {
        return;
    }
    loop {
        let is_open = tokio::select! {
            event = events.next() => match event {
                Some(Ok(event)) => send_event(&agent, event, &lines).await,
                _ => return,
            },
            Some(answer) = answers.recv() => {
                while let Some(event) = events.try_next() {
                    let Ok(event) = event else { return };
                    if !send_event(&agent, event, &lines).await {
                        return;
                    }
                }
                lines.send(answer).await.is_ok()
            }
        };
        if !is_open {
            return;
        }
    }
}

/// Sends an event, after the log if the log was replaced. Returns false if the front end is gone.
async fn send_event(agent: &AgentSession, event: Arc<Event>, lines: &mpsc::Sender<HostLine>) -> bool {
    if has_other_log(&event) && !send_log(agent, None, lines).await {
        return false;
    }
    lines.send(HostLine::event(event)).await.is_ok()
}

/// Returns true if the log after this event is more than the previous log with the reported entries.
fn has_other_log(event: &Event) -> bool {
    matches!(&event.kind, EventKind::SessionChanged { reason, .. } if *reason != SessionChange::Leaf)
}

async fn send_log(agent: &AgentSession, known: Option<EntryId>, lines: &mpsc::Sender<HostLine>) -> bool {
    let reader = agent.reader();
    let path = reader.path().map(ToOwned::to_owned);
    let read = move || match known.and_then(|known| reader.lines_after(&known).ok()) {
        Some(rest) => Ok((rest, LogPart::Rest)),
        None => reader.lines().map(|all| (all, LogPart::Whole)),
    };
    match spawn_blocking(read).await {
        Ok(Ok((log, part))) => {
            let log = log.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect();
            lines.send(HostLine::Log { lines: log, path, part }).await.is_ok()
        }
        Ok(Err(error)) => {
            tracing::warn!(%error, "the log can't be sent to another front end");
            false
        }
        // Only a panic ends it early, and a panic is reported.
        Err(_) => false,
    }
}

/// Performs a front end's commands in order.
struct Host {
    agent: AgentSession,
    answers: mpsc::Sender<HostLine>,
    /// The tasks that are waiting for results.
    waiting: JoinSet<()>,
}

impl Host {
    async fn serve(&mut self, input: BufReader<impl AsyncRead + Unpin>) -> Result<(), RemoteError> {
        let mut input = input.lines();
        while let Some(line) = input.next_line().await.map_err(RemoteError::Connection)? {
            let ClientLine { id, command } = serde_json::from_str(&line).map_err(RemoteError::Invalid)?;
            self.perform(id, command).await;
            while self.waiting.try_join_next().is_some() {}
        }
        Ok(())
    }

    /// Sends a command to the driver; forwards the result when it is available.
    async fn give<T>(&mut self, id: u64, command: impl FnOnce(Reply<T>) -> C)
    where
        T: Serialize + Send + 'static,
    {
        self.forward_converted(id, command, |result| result).await;
    }

    /// Sends a command to the driver; converts and forwards the result when it is available.
    async fn forward_converted<T, W>(
        &mut self,
        id: u64,
        command: impl FnOnce(Reply<T>) -> C,
        convert: impl FnOnce(T) -> W + Send + 'static,
    ) where
        T: Send + 'static,
        W: Serialize,
    {
        let (reply, answer) = oneshot::channel();
        // If the driver has ended, the reply is dropped.
        let _ = self.agent.commands.send(command(reply)).await;
        let answers = self.answers.clone();
        self.waiting.spawn(async move {
            let result = answer.await.unwrap_or(Err(AgentError::Closed)).map(convert);
            let result = result.map_err(WireError::from).and_then(|result| {
                to_raw_value(&result)
                    .map_err(|error| WireError::Other { message: error.to_string(), hint: None })
            });
            // The front end may be gone.
            let _ = answers.send(HostLine::Answer { id, result }).await;
        });
    }

    #[allow(clippy::too_many_lines, reason = "one arm a command, so that none is without an action")]
    async fn perform(&mut self, id: u64, command: R) {
        match command {
            R::Prompt { text, options } => self.give(id, |reply| C::Prompt { text, options, reply }).await,
            R::Abort { queue } => {
                let cause = AbortCause::User;
                self.forward_converted(id, |reply| C::Abort { queue, cause, reply }, into_items).await
            }
            R::SteerNow { text, options } => {
                self.give(id, |reply| C::SteerNow { text, options, reply }).await;
            }
            R::AttachFiles { files } => {
                self.give(id, |reply| C::Attach(AttachCommand::Read { files, reply })).await;
            }
            R::AttachText { text } => {
                self.give(id, |reply| C::Attach(AttachCommand::Text { text, reply })).await;
            }
            R::AbortRetry => self.give(id, |reply| C::AbortRetry { reply }).await,
            R::EditQueued { id: item, edit } => {
                self.forward_converted(id, |reply| C::EditQueued { id: item, edit, reply }, into_item).await;
            }
            R::Hold { id: item } => self.give(id, |reply| C::Hold { id: item, reply }).await,
            R::Release { id: item } => self.give(id, |reply| C::Release { id: item, reply }).await,
            R::PutBack { item, position } => {
                self.give(id, |reply| C::PutBack { item: item.into(), position, reply }).await;
            }
            R::ClearQueue { kind } => {
                self.forward_converted(id, |reply| C::ClearQueue { kind, reply }, into_items).await;
            }
            R::RemoveQueued { id: item } => {
                self.forward_converted(id, |reply| C::RemoveQueued { id: item, reply }, into_item).await;
            }
            R::Decide { call, decision } => self.give(id, |reply| C::Decide { call, decision, reply }).await,
            R::AnswerElicitation { id: question, answer } => {
                self.give(id, |reply| C::AnswerElicitation { id: question, answer, reply }).await;
            }
            R::BackgroundJobs => {
                self.give(id, |reply| C::BackgroundJob(BackgroundJobCommand::List { reply })).await;
            }
            R::StopBackgroundJob { id: job } => {
                self.give(id, |reply| C::BackgroundJob(BackgroundJobCommand::Stop { id: job, reply })).await;
            }
            R::MoveCalls => {
                self.give(id, |reply| C::BackgroundJob(BackgroundJobCommand::MoveCalls { reply })).await;
            }
            R::Bash { line, context } => self.give(id, |reply| C::Bash { line, context, reply }).await,
            R::ExecuteBash { line, context } => {
                self.give(id, |reply| C::ExecuteBash { line, context, reply }).await;
            }
            R::AbortBash => self.give(id, |reply| C::AbortBash { reply }).await,
            R::SetModel { words } => self.give(id, |reply| C::SetModel { words, reply }).await,
            R::CycleModel { direction } => self.give(id, |reply| C::CycleModel { direction, reply }).await,
            R::ScopedModels => {
                self.forward_converted(id, |reply| C::ScopedModels { reply }, scoped_models).await
            }
            R::SetThinking { level } => self.give(id, |reply| C::SetThinking { level, reply }).await,
            R::CycleThinking => self.give(id, |reply| C::CycleThinking { reply }).await,
            R::ThinkingLevels => self.give(id, |reply| C::ThinkingLevels { reply }).await,
            R::Configure { change } => self.give(id, |reply| C::Configure { change, reply }).await,
            R::TogglePlan => self.give(id, |reply| C::TogglePlan { reply }).await,
            R::Rename { name } => self.give(id, |reply| C::Rename { name, reply }).await,
            R::Label { entry, label } => self.give(id, |reply| C::Label { entry, label, reply }).await,
            R::Hide { entry, visibility } => {
                self.give(id, |reply| C::Hide { entry, visibility, reply }).await;
            }
            R::SwitchLeaf { entry, summary } => {
                self.give(id, |reply| C::Switch { to: SwitchTarget::Leaf { entry, summary }, reply }).await;
            }
            R::LeaveBranch { entry, instructions } => {
                self.give(id, |reply| C::LeaveBranch { entry, instructions, reply }).await;
            }
            R::Expand { text } => self.give(id, |reply| C::Expand { text, reply }).await,
            R::Compact { instructions } => self.give(id, |reply| C::Compact { instructions, reply }).await,
            R::Truncate => self.give(id, |reply| C::Truncate { reply }).await,
            R::AbortCompaction => self.give(id, |reply| C::AbortCompaction { reply }).await,
            R::ResolveCompaction { choice } => {
                self.give(id, |reply| C::ResolveCompaction { choice, reply }).await;
            }
            R::ServedResources => self.give(id, |reply| C::ServedResources { reply }).await,
            R::SlashCommands => self.give(id, |reply| C::SlashCommands { reply }).await,
            R::Models => self.forward_converted(id, |reply| C::Models { reply }, models).await,
            R::Agents => self.give(id, |reply| C::Delegation(DelegationCommand::List { reply })).await,
            R::Snapshot => self.give(id, |reply| C::Snapshot { reply }).await,
            R::Status => self.give(id, |reply| C::Status { reply }).await,
            R::Settled => self.give(id, |reply| C::Settled { reply }).await,
            R::Stats => self.give(id, |reply| C::Stats { reply }).await,
            R::ContextBreakdown => self.give(id, |reply| C::ContextBreakdown { reply }).await,
            R::Messages => self.give(id, |reply| C::Messages { reply }).await,
        }
    }
}

fn into_item(item: QueueItem) -> WireQueueItem {
    (&item).into()
}

fn into_items(items: Vec<QueueItem>) -> Vec<WireQueueItem> {
    sent_items(&items)
}

fn models(models: Vec<Model>) -> Vec<WireModel> {
    models.iter().map(Into::into).collect()
}

fn scoped_models(models: Vec<ScopedModel>) -> Vec<(WireModel, Option<ThinkingLevel>)> {
    models.iter().map(|scoped| ((&scoped.model).into(), scoped.thinking)).collect()
}
