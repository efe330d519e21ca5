//! The events that wake the loop, and their sources.

use std::future::pending;
use std::sync::Arc;

use nix::sys::signal::Signal;
use tiller_core::event::Event;
use tiller_engine::remote_session::ConnectionState;
use tiller_engine::{EventStream, Lag};
use tiller_render::theme::ThemeRegistry;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::input::{InputStream, TermEvent};
use crate::message::TaskReport;

/// An event that wakes the loop.
pub(super) enum LoopEvent {
    Hangup,
    Signal,
    /// SIGTSTP: the process should stop.
    Stop,
    /// SIGCONT: the process continues after a stop.
    Continued,
    Resized,
    Terminal(Option<std::io::Result<TermEvent>>),
    Themes(Arc<ThemeRegistry>),
    Frame,
    /// The draft is due to be saved.
    SaveDraft,
    /// The prompt history is loaded.
    History(Vec<String>),
    TaskResult(Option<TaskReport>),
    Agent(Option<Result<Arc<Event>, Lag>>),
    /// The connection to the process that has the session open was lost or restored.
    Connection(ConnectionState),
    /// An event of the main session while an agent's session is shown.
    MainSession(Option<Result<Arc<Event>, Lag>>),
    Tick,
}

pub(super) struct Signals {
    pub(super) terminate: SignalStream,
    pub(super) interrupt: SignalStream,
    pub(super) hangup: SignalStream,
    pub(super) stop: SignalStream,
    pub(super) continued: SignalStream,
    pub(super) resized: SignalStream,
}

impl Signals {
    pub(super) fn catch() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            stop: signal(SignalKind::from_raw(Signal::SIGTSTP as i32))?,
            continued: signal(SignalKind::from_raw(Signal::SIGCONT as i32))?,
            resized: signal(SignalKind::window_change())?,
        })
    }
}

/// The next task result; pending without an executor.
pub(super) async fn next_result(reports: Option<&mut mpsc::Receiver<TaskReport>>) -> Option<TaskReport> {
    match reports {
        Some(reports) => reports.recv().await,
        None => pending().await,
    }
}

/// The next event; pending without an agent.
pub(super) async fn next_event(events: Option<&mut EventStream>) -> Option<Result<Arc<Event>, Lag>> {
    match events {
        Some(events) => events.next().await,
        None => pending().await,
    }
}

/// The next change of the connection; pending without one.
pub(super) async fn next_connection(
    connection: Option<&mut watch::Receiver<ConnectionState>>,
) -> ConnectionState {
    if let Some(connection) = connection
        && connection.changed().await.is_ok()
    {
        return connection.borrow_and_update().clone();
    }
    pending().await
}

/// The next terminal event; pending while the input stream is closed.
pub(super) async fn next_terminal_event(
    input: Option<&mut InputStream>,
) -> Option<std::io::Result<TermEvent>> {
    match input {
        Some(input) => input.next().await,
        None => pending().await,
    }
}

/// The set of themes after the next change; pending forever once the sender is gone.
pub(super) async fn next_themes(
    updates: Option<&mut watch::Receiver<Arc<ThemeRegistry>>>,
) -> Arc<ThemeRegistry> {
    if let Some(updates) = updates
        && updates.changed().await.is_ok()
    {
        return Arc::clone(&updates.borrow_and_update());
    }
    pending().await
}
