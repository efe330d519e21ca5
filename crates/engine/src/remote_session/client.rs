//! The front end's side: a handle to a driver in another process.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tiller_core::event::{Event, EventKind};
use tiller_core::message::ThinkingLevel;
use tiller_provider::{Model, ScopedModel};
use tiller_session::{MirrorLog, Reader};
use tiller_tools::tool::built_in_tools;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, Lines, ReadHalf};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{sleep, timeout};

use super::RemoteError;
use super::protocol::{
    ClientLine, HostLine, LogPart, RemoteCommand as R, VERSION, WireError, WireModel, received_event,
};
use super::redial::{ConnectionState, NoRedial, Redial, RedialError, delay};
use crate::handle::{
    AgentError, AgentSession, AttachCommand, BackgroundJobCommand, COMMANDS, DelegationCommand,
    DriverCommand as C, EVENTS, PermissionCommand, Reply, SwitchTarget,
};
use crate::sent_item::{WireQueueItem, queue_items};

/// Timeout for the other process's first line.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// Receives the result of a command.
type Receiver = Box<dyn FnOnce(Result<Box<RawValue>, WireError>) + Send>;

/// Connects to a session that is open in the process at the other end of `stream`. Closing the handle ends
/// the connection; if the other end closes it, the session is closed here.
///
/// # Errors
/// If the connection fails or ends, or the other process has another version.
pub async fn connect<S>(stream: S) -> Result<AgentSession, RemoteError>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    connect_again(stream, NoRedial(PhantomData)).await
}

/// Connects like [`connect`], and reconnects after a lost connection until `redial` is refused. In between,
/// commands fail with [`AgentError::Disconnected`]; after a reconnection, front ends need a snapshot.
///
/// # Errors
/// If the first connection fails or ends, or the other process has another version.
pub async fn connect_again<R: Redial>(stream: R::Stream, redial: R) -> Result<AgentSession, RemoteError> {
    let (connection, log) = Connection::open(stream).await?;
    let mirror = MirrorLog::new(log.lines, log.path)?;
    let (commands, requests) = mpsc::channel(COMMANDS);
    let (events, _) = broadcast::channel(EVENTS);
    let (shown, reader) = watch::channel(mirror.reader());
    let (state, connection_state) = watch::channel(ConnectionState::Connected);
    let agent = AgentSession {
        commands,
        events: events.downgrade(),
        reader,
        notices: Arc::from([]),
        tool_catalog: built_in_tools(),
        forwarder: None,
        connection: Some(connection_state),
    };
    let sent = connection.sent.clone();
    let driver = RemoteDriver { sent, next_id: 0, waiting: HashMap::new(), mirror, shown, events, state };
    tokio::spawn(driver.run(connection, redial, requests));
    Ok(agent)
}

/// An open connection.
struct Connection<S> {
    lines: Lines<BufReader<ReadHalf<S>>>,
    sent: mpsc::Sender<ClientLine>,
}

/// The log, or the part that the front end doesn't have yet.
struct ReceivedLog {
    lines: Vec<String>,
    path: Option<PathBuf>,
    part: LogPart,
}

impl<S: AsyncRead + AsyncWrite + Send + 'static> Connection<S> {
    /// Reads the first two lines of a connection.
    async fn open(stream: S) -> Result<(Self, ReceivedLog), RemoteError> {
        let (input, output) = tokio::io::split(stream);
        let mut lines = BufReader::new(input).lines();
        let greeting = timeout(GREETING_TIMEOUT, next(&mut lines)).await.map_err(|_| RemoteError::Silent)?;
        match greeting?.ok_or(RemoteError::Ended)? {
            HostLine::Hello { version } if version == VERSION => {}
            HostLine::Hello { version } => {
                return Err(RemoteError::Version { theirs: version, ours: VERSION });
            }
            _ => {
                return Err(RemoteError::Version {
                    theirs: "another version of tiller".into(),
                    ours: VERSION,
                });
            }
        }
        let log = match next(&mut lines).await?.ok_or(RemoteError::Ended)? {
            HostLine::Log { lines, path, part } => ReceivedLog { lines, path, part },
            _ => return Err(RemoteError::Ended),
        };
        let (sent, outgoing) = mpsc::channel(COMMANDS);
        tokio::spawn(write_lines(output, outgoing));
        Ok((Self { lines, sent }, log))
    }
}

/// Reads a line; `None` at the end of the connection.
async fn next<R: AsyncRead + Unpin>(
    lines: &mut Lines<BufReader<R>>,
) -> Result<Option<HostLine>, RemoteError> {
    let line = lines.next_line().await.map_err(RemoteError::Connection)?;
    line.map(|line| serde_json::from_str(&line).map_err(RemoteError::Invalid)).transpose()
}

/// Writes lines until the channel is closed, then ends the connection.
async fn write_lines(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<ClientLine>) {
    while let Some(line) = lines.recv().await {
        let mut bytes = serde_json::to_vec(&line).unwrap_or_default();
        bytes.push(b'\n');
        if output.write_all(&bytes).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
    let _ = output.shutdown().await;
}

/// Forwards commands in one direction, and results and events in the other.
struct RemoteDriver {
    /// The channel to the other process; replaced together with the connection.
    sent: mpsc::Sender<ClientLine>,
    next_id: u64,
    waiting: HashMap<u64, Receiver>,
    mirror: MirrorLog,
    shown: watch::Sender<Reader>,
    events: broadcast::Sender<Arc<Event>>,
    state: watch::Sender<ConnectionState>,
}

impl RemoteDriver {
    async fn run<R: Redial>(
        mut self,
        mut connection: Connection<R::Stream>,
        mut redial: R,
        mut commands: mpsc::Receiver<C>,
    ) {
        while self.serve(&mut connection, &mut commands).await.is_continue() {
            match self.connect_again(&mut redial, &mut commands).await {
                Some(opened) => connection = opened,
                None => return,
            }
        }
    }

    /// Forwards everything until the connection is lost; breaks if the front end has closed the session.
    async fn serve<S: AsyncRead + AsyncWrite>(
        &mut self,
        connection: &mut Connection<S>,
        commands: &mut mpsc::Receiver<C>,
    ) -> ControlFlow<()> {
        loop {
            tokio::select! {
                line = next(&mut connection.lines) => match line {
                    Ok(Some(line)) => self.receive(line),
                    Ok(None) => return ControlFlow::Continue(()),
                    Err(error) => {
                        tracing::warn!(%error, "the connection to the session has ended");
                        return ControlFlow::Continue(());
                    }
                },
                command = commands.recv() => match command {
                    Some(C::Close { reply }) => {
                        let _ = reply.send(Ok(()));
                        return ControlFlow::Break(());
                    }
                    Some(command) => self.pass_on(command).await,
                    None => return ControlFlow::Break(()),
                },
            }
        }
    }

    /// Reconnects with increasing delays. Returns `None` if the connection is refused, or the front end has
    /// closed the session. Commands are dropped in between, and their handle reports that.
    async fn connect_again<R: Redial>(
        &mut self,
        redial: &mut R,
        commands: &mut mpsc::Receiver<C>,
    ) -> Option<Connection<R::Stream>> {
        for attempt in 1.. {
            self.state.send_replace(ConnectionState::Lost { attempt });
            self.waiting.clear();
            let known = self.mirror.reader();
            let dialed = async {
                sleep(delay(attempt)).await;
                let stream = redial.redial(&known).await?;
                Connection::open(stream).await.map_err(|error| match error {
                    RemoteError::Version { .. } => RedialError::Refused(error.to_string()),
                    error => RedialError::Unreachable(error.to_string()),
                })
            };
            let mut dialed = std::pin::pin!(dialed);
            let dialed = loop {
                tokio::select! {
                    dialed = &mut dialed => break dialed,
                    command = commands.recv() => match command {
                        Some(C::Close { reply }) => {
                            let _ = reply.send(Ok(()));
                            return None;
                        }
                        Some(_) => {}
                        None => return None,
                    },
                }
            };
            match dialed {
                Ok((connection, log)) => {
                    self.receive_log(log);
                    self.sent = connection.sent.clone();
                    self.state.send_replace(ConnectionState::Connected);
                    return Some(connection);
                }
                Err(RedialError::Unreachable(reason)) => tracing::info!(attempt, reason, "not connected yet"),
                Err(RedialError::Refused(reason)) => {
                    tracing::warn!(reason, "the connection to the session has ended");
                    self.state.send_replace(ConnectionState::Ended { reason });
                    break;
                }
            }
        }
        None
    }

    fn receive(&mut self, line: HostLine) {
        match line {
            HostLine::Hello { .. } => {}
            HostLine::Log { lines, path, part } => self.receive_log(ReceivedLog { lines, path, part }),
            HostLine::Event { event, queue } => {
                let event = received_event(event, queue);
                if let EventKind::EntryAppended { entry, .. } = &event.kind
                    && let Err(error) = self.mirror.append(entry.get().as_bytes())
                {
                    tracing::warn!(%error, "an entry can't be mirrored");
                }
                // Having no subscriber is fine.
                let _ = self.events.send(event);
            }
            HostLine::Answer { id, result } => {
                if let Some(receiver) = self.waiting.remove(&id) {
                    receiver(result);
                }
            }
        }
    }

    fn receive_log(&mut self, ReceivedLog { lines, path, part }: ReceivedLog) {
        let received = match part {
            LogPart::Rest => lines.iter().try_for_each(|line| self.mirror.append(line.as_bytes())),
            LogPart::Whole => MirrorLog::new(lines, path).map(|mirror| {
                self.shown.send_replace(mirror.reader());
                self.mirror = mirror;
            }),
        };
        if let Err(error) = received {
            tracing::warn!(%error, "the session's log can't be mirrored");
        }
    }

    /// Sends a command; the result goes to `reply`.
    async fn send<T: DeserializeOwned + Send + 'static>(&mut self, command: R, reply: Reply<T>) {
        self.send_for(command, reply, |result: T| result).await;
    }

    /// Sends a command; the result is converted for `reply`.
    async fn send_for<W, T>(
        &mut self,
        command: R,
        reply: Reply<T>,
        convert: impl FnOnce(W) -> T + Send + 'static,
    ) where
        W: DeserializeOwned,
        T: Send + 'static,
    {
        let id = self.next_id;
        self.next_id += 1;
        let receiver = move |result: Result<Box<RawValue>, WireError>| {
            let result = result.map_err(AgentError::from).and_then(|json| {
                serde_json::from_str(json.get())
                    .map_err(|error| AgentError::Remote { message: error.to_string(), hint: None })
            });
            // The caller may be gone.
            let _ = reply.send(result.map(convert));
        };
        self.waiting.insert(id, Box::new(receiver));
        if self.sent.send(ClientLine { id, command }).await.is_err() {
            self.waiting.remove(&id);
        }
    }

    #[allow(clippy::too_many_lines, reason = "one arm a command, so that none is without an action")]
    async fn pass_on(&mut self, command: C) {
        match command {
            C::Prompt { text, options, reply } => self.send(R::Prompt { text, options }, reply).await,
            C::Abort { queue, cause: _, reply } => {
                self.send_for(R::Abort { queue }, reply, queue_items).await
            }
            C::SteerNow { text, options, reply } => self.send(R::SteerNow { text, options }, reply).await,
            C::Attach(AttachCommand::Read { files, reply }) => {
                self.send(R::AttachFiles { files }, reply).await
            }
            C::Attach(AttachCommand::Text { text, reply }) => self.send(R::AttachText { text }, reply).await,
            C::AbortRetry { reply } => self.send(R::AbortRetry, reply).await,
            C::EditQueued { id, edit, reply } => {
                self.send_for(R::EditQueued { id, edit }, reply, WireQueueItem::into).await;
            }
            C::Hold { id, reply } => self.send(R::Hold { id }, reply).await,
            C::Release { id, reply } => self.send(R::Release { id }, reply).await,
            C::PutBack { item, position, reply } => {
                self.send(R::PutBack { item: (&item).into(), position }, reply).await;
            }
            C::ClearQueue { kind, reply } => self.send_for(R::ClearQueue { kind }, reply, queue_items).await,
            C::RemoveQueued { id, reply } => {
                self.send_for(R::RemoveQueued { id }, reply, WireQueueItem::into).await;
            }
            C::Decide { call, decision, reply } => self.send(R::Decide { call, decision }, reply).await,
            C::AnswerElicitation { id, answer, reply } => {
                self.send(R::AnswerElicitation { id, answer }, reply).await;
            }
            C::BackgroundJob(BackgroundJobCommand::List { reply }) => {
                self.send(R::BackgroundJobs, reply).await
            }
            C::BackgroundJob(BackgroundJobCommand::Stop { id, reply }) => {
                self.send(R::StopBackgroundJob { id }, reply).await;
            }
            C::BackgroundJob(BackgroundJobCommand::MoveCalls { reply }) => {
                self.send(R::MoveCalls, reply).await
            }
            C::Bash { line, context, reply } => self.send(R::Bash { line, context }, reply).await,
            C::ExecuteBash { line, context, reply } => {
                self.send(R::ExecuteBash { line, context }, reply).await;
            }
            C::AbortBash { reply } => self.send(R::AbortBash, reply).await,
            C::SetModel { words, reply } => self.send(R::SetModel { words }, reply).await,
            C::CycleModel { direction, reply } => self.send(R::CycleModel { direction }, reply).await,
            C::ScopedModels { reply } => self.send_for(R::ScopedModels, reply, scoped_models).await,
            C::SetThinking { level, reply } => self.send(R::SetThinking { level }, reply).await,
            C::CycleThinking { reply } => self.send(R::CycleThinking, reply).await,
            C::ThinkingLevels { reply } => self.send(R::ThinkingLevels, reply).await,
            C::Configure { change, reply } => self.send(R::Configure { change }, reply).await,
            C::TogglePlan { reply } => self.send(R::TogglePlan, reply).await,
            C::Rename { name, reply } => self.send(R::Rename { name }, reply).await,
            C::Label { entry, label, reply } => self.send(R::Label { entry, label }, reply).await,
            C::Hide { entry, visibility, reply } => self.send(R::Hide { entry, visibility }, reply).await,
            C::Switch { to: SwitchTarget::Leaf { entry, summary }, reply } => {
                self.send(R::SwitchLeaf { entry, summary }, reply).await;
            }
            C::LeaveBranch { entry, instructions, reply } => {
                self.send(R::LeaveBranch { entry, instructions }, reply).await;
            }
            C::Expand { text, reply } => self.send(R::Expand { text }, reply).await,
            C::Compact { instructions, reply } => self.send(R::Compact { instructions }, reply).await,
            C::Truncate { reply } => self.send(R::Truncate, reply).await,
            C::AbortCompaction { reply } => self.send(R::AbortCompaction, reply).await,
            C::ResolveCompaction { choice, reply } => self.send(R::ResolveCompaction { choice }, reply).await,
            C::ServedResources { reply } => self.send(R::ServedResources, reply).await,
            C::SlashCommands { reply } => self.send(R::SlashCommands, reply).await,
            C::Models { reply } => self.send_for(R::Models, reply, models).await,
            C::Delegation(command) => self.pass_on_delegation(command).await,
            C::Snapshot { reply } => self.send(R::Snapshot, reply).await,
            C::Status { reply } => self.send(R::Status, reply).await,
            C::Settled { reply } => self.send(R::Settled, reply).await,
            C::Stats { reply } => self.send(R::Stats, reply).await,
            C::ContextBreakdown { reply } => self.send(R::ContextBreakdown, reply).await,
            C::Messages { reply } => self.send(R::Messages, reply).await,
            // The other process has its own approver, and this one answers requests too.
            C::SetApprover { reply, .. } => _ = reply.send(Ok(())),
            C::LockedModels { reply } => _ = reply.send(Ok(Vec::new())),
            // The other process doesn't know this process's sessions, keys and rules.
            C::ToolServers { reply } => refuse(reply),
            C::Tools { reply } => refuse(reply),
            C::OfferTools { reply, .. } => refuse(reply),
            C::ChangeProvider { reply, .. } => refuse(reply),
            C::Switch {
                to:
                    SwitchTarget::New
                    | SwitchTarget::NewAfter(_)
                    | SwitchTarget::Copy
                    | SwitchTarget::Open(_)
                    | SwitchTarget::Fork(_)
                    | SwitchTarget::ForkOf(_),
                reply,
            } => refuse(reply),
            C::CreateFork { reply, .. } => refuse(reply),
            C::CreateLog { reply } => refuse(reply),
            C::Resources { reply, .. } => refuse(reply),
            C::ChangeSession { reply, .. } => refuse(reply),
            C::Sessions { reply, .. } => refuse(reply),
            C::Catalog { reply } => refuse(reply),
            C::Permission(command) => refuse_permission(command),
            C::Close { reply } => _ = reply.send(Ok(())),
        }
    }

    /// Passes a command on; agents are started by the process that has the session.
    async fn pass_on_delegation(&mut self, command: DelegationCommand) {
        use DelegationCommand as D;
        match command {
            D::List { reply } => self.send(R::Agents, reply).await,
            D::Tasks { reply } => _ = reply.send(Ok(Vec::new())),
            D::Waiting { reply } => _ = reply.send(Ok(Vec::new())),
            D::Definitions { reply } => _ = reply.send(Ok(Vec::new())),
            D::Parent { reply } => refuse(reply),
            D::Started { reply, .. }
            | D::Ended { reply, .. }
            | D::BackgroundStarted { reply, .. }
            | D::CouldNotStart { reply, .. }
            | D::Notify { reply, .. }
            | D::Used { reply, .. }
            | D::EndInterrupted { reply }
            | D::RecordRace { reply, .. } => refuse(reply),
            D::Find { reply, .. } => refuse(reply),
        }
    }
}

fn refuse_permission(command: PermissionCommand) {
    use PermissionCommand as P;
    match command {
        P::List { reply } => refuse(reply),
        P::Revoke { reply, .. } => refuse(reply),
        P::Configured { reply } => refuse(reply),
        P::Configure { reply, .. } | P::ConfigureFile { reply, .. } => refuse(reply),
        P::AddDir { reply, .. } => refuse(reply),
    }
}

fn refuse<T>(reply: Reply<T>) {
    // The caller may be gone.
    let _ = reply.send(Err(AgentError::OpenElsewhere));
}

fn models(sent: Vec<WireModel>) -> Vec<Model> {
    sent.into_iter().map(Into::into).collect()
}

fn scoped_models(sent: Vec<(WireModel, Option<ThinkingLevel>)>) -> Vec<ScopedModel> {
    sent.into_iter().map(|(model, thinking)| ScopedModel { model: model.into(), thinking }).collect()
}
