//! The requests that a server works on: their progress, and the questions that they wait for.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::ProgressToken;
use tiller_tools::tool::ToolProgress;
use tokio::sync::watch;

/// The running requests of one connection. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct RunningRequests {
    /// Locked only briefly, never across an await.
    running: Arc<Mutex<HashMap<ProgressToken, RequestState>>>,
    pub(crate) state: watch::Sender<RequestsState>,
}

/// A running request.
pub(crate) struct RequestState {
    progress: ToolProgress,
    /// Number of signs of life.
    pub(crate) activity: watch::Sender<u64>,
    questions: CallQuestions,
}

/// The questions that a server asks during one call, which may take several requests. Clones share the state.
#[derive(Clone, Default)]
pub(crate) struct CallQuestions(Arc<Mutex<CallQuestionsState>>);

#[derive(Default)]
struct CallQuestionsState {
    /// Remarks for the call's result.
    notes: Vec<String>,
    /// The user has canceled a question.
    is_cancelled: bool,
}

impl CallQuestions {
    /// Takes the remarks for the call's result.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().notes)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.lock().is_cancelled
    }

    /// Cancels further questions of the call, too.
    pub(crate) fn cancel(&self) {
        self.lock().is_cancelled = true;
    }

    fn lock(&self) -> MutexGuard<'_, CallQuestionsState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers of running requests and of open questions.
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

    /// Adds a remark to the results of all running requests: servers don't identify the one that a question belongs to.
    pub(crate) fn note(&self, text: &str) {
        self.calls().iter().for_each(|call| call.lock().notes.push(text.to_owned()));
    }

    /// Returns the calls that a question may belong to: those with a running request.
    pub(crate) fn calls(&self) -> Vec<CallQuestions> {
        self.lock().values().map(|running| running.questions.clone()).collect()
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
    pub(crate) fn waiting_for_user(&self) -> UserWaitGuard {
        self.state.send_modify(|state| state.questions += 1);
        UserWaitGuard(self.clone())
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, HashMap<ProgressToken, RequestState>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that waits for the user.
pub(crate) struct UserWaitGuard(RunningRequests);

impl Drop for UserWaitGuard {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.questions -= 1);
    }
}

impl RequestState {
    pub(crate) fn new(progress: ToolProgress, questions: CallQuestions) -> Self {
        Self { progress, activity: watch::Sender::default(), questions }
    }
}
