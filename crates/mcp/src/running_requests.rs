//! The requests that a server works on: their progress, and whether they wait for the user.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tiller_tools::tool::ToolProgress;
use tokio::sync::watch;

/// The running requests of one connection. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct RunningRequests {
    /// Locked only for a look, never across an await.
    running: Arc<Mutex<HashMap<ProgressToken, Running>>>,
    pub(crate) state: watch::Sender<RequestsState>,
}

/// A running request.
pub(crate) struct Running {
    progress: ToolProgress,
    /// Number of signs of life.
    pub(crate) activity: watch::Sender<u64>,
    /// Remarks for its result.
    pub(crate) notes: Vec<String>,
}

/// How many requests are running, and how many questions are open.
#[derive(Clone, Copy, Default)]
pub(crate) struct RequestsState {
    pub(crate) running: usize,
    /// Questions that wait for the user.
    pub(crate) questions: usize,
}

impl RunningRequests {
    /// Shows the progress of a request.
    pub(crate) fn progress(&self, token: &ProgressToken, text: String) {
        if let Some(running) = self.lock().get(token) {
            running.activity.send_modify(|signs| *signs += 1);
            running.progress.show(text);
        }
    }

    /// Adds a remark to the results of all running requests: servers don't say which one a question belongs to.
    pub(crate) fn note(&self, text: &str) {
        self.lock().values_mut().for_each(|running| running.notes.push(text.to_owned()));
    }

    /// Returns whether a request is running.
    pub(crate) fn is_any(&self) -> bool {
        self.state.borrow().running > 0
    }

    /// Waits until no request is running.
    pub(crate) async fn ended(&self) {
        // This handle holds the sender.
        let _ = self.state.subscribe().wait_for(|state| state.running == 0).await;
    }

    /// Suspends the time limits of the requests until the result is dropped.
    pub(crate) fn waiting_for_user(&self) -> WaitingForUser {
        self.state.send_modify(|state| state.questions += 1);
        WaitingForUser(self.clone())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits for the user.
pub(crate) struct WaitingForUser(RunningRequests);

impl Drop for WaitingForUser {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.questions -= 1);
    }
}

impl Running {
    pub(crate) fn new(progress: ToolProgress) -> Self {
        Self { progress, activity: watch::Sender::default(), notes: Vec::new() }
    }
}
