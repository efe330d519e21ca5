//! Handling of SIGINT and SIGTERM without a TUI.

use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::failure::INTERRUPTED;
use crate::agent::AgentSession;
use crate::repl::{InputMode, Interrupt};

/// Time for a stopped run to end and for its last lines to reach stdout.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// Capacity for pending interrupts. Two presses of Ctrl+C already mean that the user wants to quit.
const MAX_PENDING: usize = 4;

/// Stops the run at SIGINT or SIGTERM; its remaining output is still printed.
///
/// A separate task waits for the signals, because the printing task blocks if stdout isn't read. After
/// [`GRACE_PERIOD`], or at a second signal, the process exits.
pub(super) struct SignalGuard {
    was_triggered: watch::Receiver<bool>,
    _watcher: JoinSet<()>,
}

impl SignalGuard {
    pub(super) fn watch(agent: AgentSession) -> Self {
        let (trigger, was_triggered) = watch::channel(false);
        let mut watcher = JoinSet::new();
        // Without handlers, a signal kills the process by default.
        if let Some(signals) = signals() {
            watcher.spawn(end_at_signal(agent, signals, trigger));
        }
        Self { was_triggered, _watcher: watcher }
    }

    pub(super) fn was_triggered(&self) -> bool {
        *self.was_triggered.borrow()
    }

    /// Waits for the signal; forever if signals can't be handled.
    pub(super) fn wait(&self) -> impl Future<Output = ()> + use<> {
        let mut was_triggered = self.was_triggered.clone();
        async move {
            if was_triggered.wait_for(|was_triggered| *was_triggered).await.is_err() {
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
    trigger: watch::Sender<bool>,
) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    trigger.send_replace(true);
    end_after(GRACE_PERIOD, &agent, [&mut interrupt, &mut terminate]).await;
}

/// Stops the run, then exits the process after the grace period or at another signal.
async fn end_after(grace: Duration, agent: &AgentSession, [interrupt, terminate]: [&mut Signal; 2]) {
    let ended = async {
        let _ = agent.interrupt().await;
        sleep(grace).await;
        // Syncs the log if possible.
        let _ = timeout(GRACE_PERIOD, agent.close()).await;
    };
    tokio::select! {
        () = ended => {}
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    std::process::exit(INTERRUPTED.into());
}

/// Forwards signals to the front end; if they can't be handled, none arrive.
///
/// If a signal ends the front end, or isn't received because the printing task is blocked, the process ends
/// after [`GRACE_PERIOD`].
pub(super) fn forward_signals(
    agent: AgentSession,
    input_mode: InputMode,
) -> (mpsc::Receiver<Interrupt>, JoinSet<()>) {
    let (sender, received) = mpsc::channel(MAX_PENDING);
    let mut watcher = JoinSet::new();
    if let Some(signals) = signals() {
        watcher.spawn(forward(agent, input_mode, signals, sender));
    }
    (received, watcher)
}

async fn forward(
    agent: AgentSession,
    input_mode: InputMode,
    [mut interrupt, mut terminate]: [Signal; 2],
    sender: mpsc::Sender<Interrupt>,
) {
    loop {
        let interrupt_kind = tokio::select! {
            _ = interrupt.recv() => Interrupt::Keyboard,
            _ = terminate.recv() => Interrupt::Termination,
        };
        // If the channel is full or closed, the process ends below.
        let _ = sender.try_send(interrupt_kind);
        let is_last =
            interrupt_kind == Interrupt::Termination || input_mode == InputMode::Batch || sender.is_closed();
        let is_received =
            async { !is_last && timeout(GRACE_PERIOD, sender.reserve_many(MAX_PENDING)).await.is_ok() };
        if !is_received.await {
            let grace = if is_last { GRACE_PERIOD } else { Duration::ZERO };
            end_after(grace, &agent, [&mut interrupt, &mut terminate]).await;
        }
    }
}
