//! Forwards events to extensions, outside the run and at each extension's own pace.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tiller_core::event::{Event, EventKind};
use tokio::sync::broadcast;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::host::{ExtensionHost, Hook, LoadedExtension};

/// Time limit for delivering the last events when the session is closed.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Forwards a session's events to its extensions until dropped.
#[derive(Debug)]
pub(crate) struct EventForwarder {
    host: ExtensionHost,
    tasks: Mutex<JoinSet<()>>,
}

impl EventForwarder {
    /// Starts forwarding events.
    pub(crate) fn start(host: ExtensionHost, events: &broadcast::Sender<Arc<Event>>) -> Self {
        let mut tasks = JoinSet::new();
        for member in host.members() {
            tasks.spawn(forward_events(host.clone(), Arc::clone(member), events.subscribe()));
        }
        Self { host, tasks: Mutex::new(tasks) }
    }

    /// Reloads the extensions.
    pub(crate) async fn reload(&self) {
        self.host.reload().await;
    }

    /// Delivers the remaining events and shuts the extensions down. Called after the session itself has ended.
    pub(crate) async fn end(&self) {
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = timeout(DRAIN_TIMEOUT, async { while tasks.join_next().await.is_some() {} }).await;
        self.host.close().await;
    }
}

async fn forward_events(
    host: ExtensionHost,
    member: Arc<LoadedExtension>,
    mut events: broadcast::Receiver<Arc<Event>>,
) {
    let mut has_missed = false;
    loop {
        match events.recv().await {
            Ok(event) => deliver(&host, &member, event).await,
            Err(broadcast::error::RecvError::Lagged(count)) => {
                if !std::mem::replace(&mut has_missed, true) {
                    let name = member.extension.name();
                    host.warn().send(format!("extension {name}: fell behind and missed {count} events"));
                }
            }
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

async fn deliver(host: &ExtensionHost, member: &LoadedExtension, event: Arc<Event>) {
    if matches!(event.kind, EventKind::TurnEnd { .. }) {
        let (extension, event) = (Arc::clone(&member.extension), Arc::clone(&event));
        let work = async move {
            match &event.kind {
                EventKind::TurnEnd { message, tool_results } => {
                    extension.turn_end(message, tool_results).await
                }
                _ => Ok(()),
            }
        };
        let _ = host.run_hook(member, Hook::TurnEnd, work).await;
    }
    if member.extension.event_detail().takes(&event.kind) {
        let extension = Arc::clone(&member.extension);
        let work = async move { extension.session_event(&event).await };
        let _ = host.run_hook(member, Hook::SessionEvent, work).await;
    }
}
