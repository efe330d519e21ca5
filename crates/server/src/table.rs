//! The table of open sessions. One task owns it; handlers hold a [`SessionTable`].

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tiller_core::id::SessionId;
use tiller_session::DeleteMode;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::free_memory::FreeMemory;
use crate::host::{HostError, HostFuture, HostedSession, NewSession, ResumeRequest, SessionHost};
use crate::metrics::{Gauges, Metrics};
use crate::open_session::OpenSession;
use crate::problem::{NOT_OPEN, OVERLOADED, Problem, internal};

/// Capacity of the command channel. The task responds immediately, so callers wait for microseconds when it is full.
const COMMANDS: usize = 256;

/// Maximum number of open sessions: each has up to 1 MiB of events, and a task.
const MAX_SESSIONS: usize = 1_024;

/// Time for a session to store its work in progress and to close its log.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(8);

/// A handle of the table.
#[derive(Clone)]
pub(crate) struct SessionTable {
    commands: mpsc::Sender<TableCommand>,
}

type StartResult = Result<Arc<OpenSession>, Problem>;

enum TableCommand {
    Find { id: SessionId, reply: oneshot::Sender<Option<Arc<OpenSession>>> },
    List { reply: oneshot::Sender<Vec<Arc<OpenSession>>> },
    Create { request: NewSession, reply: oneshot::Sender<StartResult> },
    Resume { id: SessionId, request: ResumeRequest, reply: oneshot::Sender<StartResult> },
    Close { id: SessionId, reply: oneshot::Sender<()> },
    Delete { id: SessionId, mode: DeleteMode, reply: oneshot::Sender<Result<(), HostError>> },
    Shutdown { reply: oneshot::Sender<()> },
}

impl SessionTable {
    /// Starts the task, which ends with the last handle.
    pub(crate) fn start(host: Arc<dyn SessionHost>, metrics: Arc<Metrics>, memory: FreeMemory) -> Self {
        let (commands, receiver) = mpsc::channel(COMMANDS);
        tokio::spawn(SessionTableTask::new(host, metrics, memory).run(receiver));
        Self { commands }
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> TableCommand) -> Result<T, Problem> {
        let (reply, answer) = oneshot::channel();
        let closed = || OVERLOADED.detail("the server is shutting down");
        self.commands.send(command(reply)).await.map_err(|_| closed())?;
        answer.await.map_err(|_| closed())
    }

    /// Returns an open session; one that is being opened or closed is waited for.
    pub(crate) async fn find(&self, id: &SessionId) -> Result<Option<Arc<OpenSession>>, Problem> {
        let id = id.clone();
        self.ask(|reply| TableCommand::Find { id, reply }).await
    }

    /// Returns all open sessions.
    pub(crate) async fn list(&self) -> Result<Vec<Arc<OpenSession>>, Problem> {
        self.ask(|reply| TableCommand::List { reply }).await
    }

    pub(crate) async fn create(&self, request: NewSession) -> StartResult {
        self.ask(|reply| TableCommand::Create { request, reply }).await?
    }

    /// Opens a session; one that is open, or being opened, isn't opened twice.
    pub(crate) async fn resume(&self, id: SessionId, request: ResumeRequest) -> StartResult {
        self.ask(|reply| TableCommand::Resume { id, request, reply }).await?
    }

    /// Stops a session's work, and closes it; returns when its log is closed.
    pub(crate) async fn close(&self, id: &SessionId) -> Result<(), Problem> {
        let id = id.clone();
        self.ask(|reply| TableCommand::Close { id, reply }).await
    }

    /// Closes a session if it is open, and removes its log; meanwhile nobody can open it.
    pub(crate) async fn delete(&self, id: SessionId, mode: DeleteMode) -> Result<(), Problem> {
        Ok(self.ask(|reply| TableCommand::Delete { id, mode, reply }).await??)
    }

    /// Closes all sessions. Afterwards none can be opened.
    pub(crate) async fn shut_down(&self) {
        let _ = self.ask(|reply| TableCommand::Shutdown { reply }).await;
    }

    /// Returns the current values.
    pub(crate) async fn gauges(&self) -> Result<Gauges, Problem> {
        let sessions = self.list().await?;
        let mut gauges = Gauges { sessions: sessions.len(), ..Gauges::default() };
        for session in sessions {
            gauges.watchers += session.feed.watchers();
            let state = session.agent.state().await;
            gauges.running += usize::from(state.is_ok_and(|state| state.activity.is_running));
        }
        Ok(gauges)
    }
}

/// A job's end.
enum JobEnd {
    /// A session was started; the id is the request's.
    Started(Option<SessionId>, StartResult, Vec<oneshot::Sender<StartResult>>),
    Closed(SessionId),
}

/// The requests that wait for a session's end: until then its log is locked.
#[derive(Default)]
struct Closing {
    /// Requests to close it.
    closers: Vec<oneshot::Sender<()>>,
    /// Requests to open it again.
    openers: Vec<(ResumeRequest, oneshot::Sender<StartResult>)>,
}

struct SessionTableTask {
    host: Arc<dyn SessionHost>,
    metrics: Arc<Metrics>,
    sessions: HashMap<SessionId, Arc<OpenSession>>,
    /// Further requests for sessions that are being opened.
    waiting: HashMap<SessionId, Vec<oneshot::Sender<StartResult>>>,
    closing: HashMap<SessionId, Closing>,
    /// Requests for a session that wait until it is neither being opened nor closed: until then its log is locked.
    deferred: HashMap<SessionId, Vec<TableCommand>>,
    /// Number of sessions that are being started.
    starting: usize,
    jobs: JoinSet<JobEnd>,
    memory: FreeMemory,
}

impl SessionTableTask {
    fn new(host: Arc<dyn SessionHost>, metrics: Arc<Metrics>, memory: FreeMemory) -> Self {
        Self {
            host,
            metrics,
            memory,
            sessions: HashMap::new(),
            waiting: HashMap::new(),
            closing: HashMap::new(),
            deferred: HashMap::new(),
            starting: 0,
            jobs: JoinSet::new(),
        }
    }

    async fn run(mut self, mut commands: mpsc::Receiver<TableCommand>) {
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(TableCommand::Shutdown { reply }) => {
                        commands.close();
                        self.shut_down().await;
                        let _ = reply.send(());
                        return;
                    }
                    Some(command) => self.handle(command),
                    None => return self.shut_down().await,
                },
                Some(ended) = self.jobs.join_next() => self.finish(ended),
            }
        }
    }

    fn handle(&mut self, command: TableCommand) {
        if let TableCommand::Find { id, .. } | TableCommand::Delete { id, .. } = &command
            && (self.waiting.contains_key(id) || self.closing.contains_key(id))
        {
            return self.deferred.entry(id.clone()).or_default().push(command);
        }
        match command {
            TableCommand::Find { id, reply } => {
                let _ = reply.send(self.open(&id).cloned());
            }
            TableCommand::List { reply } => {
                let _ = reply.send(self.all_open().cloned().collect());
            }
            TableCommand::Create { request, reply } => self.start(None, reply, |host| create(host, request)),
            TableCommand::Resume { id, request, reply } => self.resume(id, request, reply),
            TableCommand::Close { id, reply } => self.close(id, reply),
            TableCommand::Delete { id, mode, reply } => self.delete(id, mode, reply),
            TableCommand::Shutdown { .. } => unreachable!("handled by the loop"),
        }
    }

    fn handle_deferred(&mut self, id: &SessionId) {
        for command in self.deferred.remove(id).unwrap_or_default() {
            self.handle(command);
        }
    }

    fn open(&self, id: &SessionId) -> Option<&Arc<OpenSession>> {
        self.sessions.get(id).filter(|session| !session.feed.is_closed())
    }

    /// The open sessions, without those whose agent has crashed.
    fn all_open(&self) -> impl Iterator<Item = &Arc<OpenSession>> {
        self.sessions.values().filter(|session| !session.feed.is_closed())
    }

    fn resume(&mut self, id: SessionId, request: ResumeRequest, reply: oneshot::Sender<StartResult>) {
        if let Some(session) = self.open(&id) {
            let _ = reply.send(Ok(Arc::clone(session)));
        } else if let Some(waiting) = self.waiting.get_mut(&id) {
            waiting.push(reply);
        } else if let Some(closing) = self.closing.get_mut(&id) {
            closing.openers.push((request, reply));
        } else {
            self.waiting.insert(id.clone(), Vec::new());
            self.start(Some(id), reply, |host| resume(host, request));
        }
    }

    /// Closes a session in its own job, once, whatever the number of requests.
    fn close(&mut self, id: SessionId, reply: oneshot::Sender<()>) {
        if let Some(session) = self.sessions.remove(&id) {
            self.end(id.clone(), async move { close(&session).await });
            self.closing.entry(id).or_default().closers.push(reply);
        } else if let Some(closing) = self.closing.get_mut(&id) {
            closing.closers.push(reply);
        } else {
            let _ = reply.send(());
        }
    }

    fn delete(&mut self, id: SessionId, mode: DeleteMode, reply: oneshot::Sender<Result<(), HostError>>) {
        let (session, host, named) = (self.sessions.remove(&id), Arc::clone(&self.host), id.clone());
        self.end(id, async move {
            if let Some(session) = &session {
                close(session).await;
            }
            let removed = match host.find(named).await {
                Ok(Some(summary)) => host.delete(summary.path, mode).await,
                // An open session may have no log.
                Ok(None) if session.is_some() => Ok(()),
                Ok(None) => Err(HostError::NotFound),
                Err(error) => Err(error),
            };
            let _ = reply.send(removed);
        });
    }

    /// Ends a session in a job of its own. Until then, other requests for the session wait.
    fn end(&mut self, id: SessionId, work: impl Future<Output = ()> + Send + 'static) {
        self.closing.insert(id.clone(), Closing::default());
        self.jobs.spawn(async move {
            // A separate task, because requests wait for the end even after a panic.
            if let Err(panic) = tokio::spawn(work).await {
                tracing::error!(%panic, "a session could not be closed");
            }
            JobEnd::Closed(id)
        });
    }

    /// Starts a session in its own job: it takes as long as reading a long log does.
    fn start(
        &mut self,
        id: Option<SessionId>,
        reply: oneshot::Sender<StartResult>,
        open: impl FnOnce(&dyn SessionHost) -> HostFuture<'_, HostedSession> + Send + 'static,
    ) {
        let is_full = self.sessions.len() + self.starting + self.closing.len() >= MAX_SESSIONS;
        self.starting += 1;
        let (host, metrics) = (Arc::clone(&self.host), Arc::clone(&self.metrics));
        self.jobs.spawn(async move {
            // A separate task, because the caller that waits for the session needs a response even after a panic.
            let started = tokio::spawn(async move {
                if is_full {
                    return Err(OVERLOADED.detail("too many sessions are open; close some"));
                }
                let hosted: Result<HostedSession, HostError> = open(&*host).await;
                let epoch = format!("{:x}", RandomState::new().hash_one(()));
                let session = OpenSession::start(hosted?, epoch, metrics).await?;
                Ok(Arc::new(session))
            });
            JobEnd::Started(id, started.await.unwrap_or_else(|panic| Err(internal(&panic))), vec![reply])
        });
    }

    fn finish(&mut self, ended: Result<JobEnd, tokio::task::JoinError>) {
        match ended {
            Ok(JobEnd::Started(id, started, mut replies)) => {
                self.starting -= 1;
                replies.extend(id.as_ref().and_then(|id| self.waiting.remove(id)).unwrap_or_default());
                if let Ok(session) = &started {
                    self.sessions.insert(session.id.clone(), Arc::clone(session));
                }
                for reply in replies {
                    let _ = reply.send(started.clone());
                }
                id.iter().for_each(|id| self.handle_deferred(id));
            }
            Ok(JobEnd::Closed(id)) => {
                self.memory.return_soon();
                let Closing { closers, openers } = self.closing.remove(&id).unwrap_or_default();
                for reply in closers {
                    let _ = reply.send(());
                }
                for (request, reply) in openers {
                    self.resume(id.clone(), request, reply);
                }
                self.handle_deferred(&id);
            }
            // The responses are errors, because the replies were dropped.
            Err(panic) => tracing::error!(%panic, "a job of the server panicked"),
        }
    }

    /// Waits for the sessions that are being started or closed, then closes all.
    async fn shut_down(&mut self) {
        // Answers the requests with an error.
        self.closing.values_mut().for_each(|closing| closing.openers.clear());
        let ended = async {
            while let Some(ended) = self.jobs.join_next().await {
                self.finish(ended);
            }
        };
        if timeout(CLOSE_TIMEOUT, ended).await.is_err() {
            tracing::warn!("a session is still starting or closing, and is abandoned");
            self.jobs.abort_all();
        }
        let mut closing = JoinSet::new();
        for (_, session) in self.sessions.drain() {
            closing.spawn(async move { close(&session).await });
        }
        closing.join_all().await;
    }
}

/// Starts a session whose log is stored, so that it outlives the server even without a message.
fn create(host: &dyn SessionHost, request: NewSession) -> HostFuture<'_, HostedSession> {
    Box::pin(async move {
        let hosted = host.create(request).await?;
        let stored = hosted.agent.create_log().await;
        stored.map_err(|error| HostError::Internal(error.to_string()))?;
        Ok(hosted)
    })
}

/// Opens a session again. If its log was removed in the meantime, there is no such session.
fn resume(host: &dyn SessionHost, request: ResumeRequest) -> HostFuture<'_, HostedSession> {
    let log = request.log.clone();
    Box::pin(async move {
        let opened = host.resume(request).await;
        opened.map_err(|error| if log.exists() { error } else { HostError::NotFound })
    })
}

/// Stores the session's work in progress as stopped, and closes its log. Queued messages stay in it.
async fn close(session: &OpenSession) {
    let agent = &session.agent;
    let closed = async {
        agent.interrupt().await?;
        // Fails if nothing has run.
        let _ = agent.settled().await;
        agent.close().await
    };
    match timeout(CLOSE_TIMEOUT, closed).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(session = %session.id, %error, "a session can't be closed"),
        Err(_) => {
            tracing::warn!(session = %session.id, "a session doesn't stop");
            let _ = timeout(CLOSE_TIMEOUT, agent.close()).await;
        }
    }
    // The last event closes the feed.
    let mut head = session.feed.watch();
    let ended = async { drop(head.wait_for(|head| head.is_closed).await) };
    if timeout(CLOSE_TIMEOUT, ended).await.is_err() {
        session.feed.close();
    }
}

/// The problem of a session that isn't open.
pub(crate) fn not_open() -> Problem {
    NOT_OPEN.detail("`POST /api/sessions/{id}/resume` opens it")
}
