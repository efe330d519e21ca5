//! What wakes the loop, and where it comes from.

use std::future::pending;
use std::sync::Arc;

use nix::sys::signal::Signal;
use tiller_core::event::Event;
use tiller_engine::{EventStream, Lagged};
use tiller_render::theme::ThemeRegistry;
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::sync::{mpsc, watch};

use crate::app::TaskResult;
use crate::input::{InputStream, TermEvent};

/// Something that woke the loop.
pub(super) enum LoopEvent {
    Hangup,
    Signal,
    /// The process is to stop.
    Stop,
    /// The process goes on after it was stopped.
    Continued,
    /// The terminal has another size.
    Resized,
    Terminal(Option<std::io::Result<TermEvent>>),
    Themes(Arc<ThemeRegistry>),
    Frame,
    /// The draft is to be kept.
    Keep,
    /// The prompts of earlier times are read.
    Earlier(Vec<String>),
    Report(Option<TaskResult>),
    Agent(Option<Result<Arc<Event>, Lagged>>),
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

/// The next report; none before there is somebody who reports.
pub(super) async fn next_report(reports: Option<&mut mpsc::Receiver<TaskResult>>) -> Option<TaskResult> {
    match reports {
        Some(reports) => reports.recv().await,
        None => pending().await,
    }
}

/// The next event; none before there is an agent.
pub(super) async fn next_event(events: Option<&mut EventStream>) -> Option<Result<Arc<Event>, Lagged>> {
    match events {
        Some(events) => events.next().await,
        None => pending().await,
    }
}

/// The next thing from the terminal; nothing as long as nobody listens.
pub(super) async fn next_heard(ears: Option<&mut InputStream>) -> Option<std::io::Result<TermEvent>> {
    match ears {
        Some(ears) => ears.next().await,
        None => pending().await,
    }
}

/// The themes when others are known than before; whoever told of them may have gone.
pub(super) async fn next_themes(
    news: Option<&mut watch::Receiver<Arc<ThemeRegistry>>>,
) -> Arc<ThemeRegistry> {
    if let Some(news) = news
        && news.changed().await.is_ok()
    {
        return Arc::clone(&news.borrow_and_update());
    }
    pending().await
}
