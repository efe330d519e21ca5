//! SIGINT and SIGTERM where there is no screen.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::INTERRUPTED;
use crate::agent::AgentSession;
use crate::plain::{InputMode, Interrupt};

/// Time that a stopped run has to end and its last lines have to reach stdout.
const GRACE: Duration = Duration::from_secs(3);

/// Interrupts that may wait: whoever presses Ctrl+C twice wants out.
const INTERRUPTS: usize = 4;

/// Stops the run at SIGINT or SIGTERM; what it says to its end is still printed.
///
/// The watch is kept by a task of its own, because a stdout that nobody reads blocks the task that prints. After [`GRACE`], or at a
/// second signal, the process ends wherever it is.
pub(super) struct Interruption {
    happened: watch::Receiver<bool>,
    _watcher: JoinSet<()>,
}

impl Interruption {
    pub(super) fn watch(agent: AgentSession) -> Self {
        let (happen, happened) = watch::channel(false);
        let mut watcher = JoinSet::new();
        // Without handlers a signal ends the process at once, as it does any other.
        if let Some(signals) = signals() {
            watcher.spawn(end_at_signal(agent, signals, happen));
        }
        Self { happened, _watcher: watcher }
    }

    pub(super) fn happened(&self) -> bool {
        *self.happened.borrow()
    }

    /// Waits for it; for ever where no signal can be watched.
    pub(super) fn wait(&self) -> impl Future<Output = ()> + use<> {
        let mut happened = self.happened.clone();
        async move {
            if happened.wait_for(|happened| *happened).await.is_err() {
                std::future::pending().await
            }
        }
    }
}

fn signals() -> Option<[Signal; 2]> {
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    Some([interrupt.ok()?, terminate.ok()?])
}

async fn end_at_signal(
    agent: AgentSession,
    [mut interrupt, mut terminate]: [Signal; 2],
    happen: watch::Sender<bool>,
) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    happen.send_replace(true);
    end_after(GRACE, &agent, [&mut interrupt, &mut terminate]).await;
}

/// Stops the run, and ends the process when the time is over or at another signal.
async fn end_after(grace: Duration, agent: &AgentSession, [interrupt, terminate]: [&mut Signal; 2]) {
    let ended = async {
        let _ = agent.interrupt().await;
        sleep(grace).await;
        // What is in the log is synced, if that can be had.
        let _ = timeout(GRACE, agent.close()).await;
    };
    tokio::select! {
        () = ended => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    std::process::exit(INTERRUPTED.into());
}

/// Passes signals on to whoever decides what they mean; none come where they can't be watched.
///
/// One that ends the front end, and one that nobody takes because the task that prints is blocked, ends the process after
/// [`GRACE`].
pub(super) fn pass_on(agent: AgentSession, manner: InputMode) -> (mpsc::Receiver<Interrupt>, JoinSet<()>) {
    let (sender, received) = mpsc::channel(INTERRUPTS);
    let mut watcher = JoinSet::new();
    if let Some(signals) = signals() {
        watcher.spawn(pass(agent, manner, signals, sender));
    }
    (received, watcher)
}

async fn pass(
    agent: AgentSession,
    manner: InputMode,
    [mut interrupt, mut terminate]: [Signal; 2],
    sender: mpsc::Sender<Interrupt>,
) {
    loop {
        let what = tokio::select! {
            _ = interrupt.recv() => Interrupt::Keyboard,
            _ = terminate.recv() => Interrupt::Termination,
        };
        // One that finds no room, or nobody, is of those that end the process below.
        let _ = sender.try_send(what);
        let is_last = what == Interrupt::Termination || manner == InputMode::Batch || sender.is_closed();
        let is_taken = async { !is_last && timeout(GRACE, sender.reserve_many(INTERRUPTS)).await.is_ok() };
        if !is_taken.await {
            let grace = if is_last { GRACE } else { Duration::ZERO };
            end_after(grace, &agent, [&mut interrupt, &mut terminate]).await;
        }
    }
}
