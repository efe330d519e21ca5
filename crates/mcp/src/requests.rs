//! A request to a server: its time limit, and the input that it requires.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientRequest, DEFAULT_MRTR_MAX_ROUNDS,
    ElicitRequestParams, ElicitResult, ElicitationAction, ErrorCode, InputRequest, InputRequiredResult,
    InputResponses, NumberOrString, ProgressToken, RequestId, ServerResult,
};
use rmcp::service::{PeerRequestOptions, RequestHandle, RoleClient, ServiceError};
use serde_json::Value;
use tiller_tools::tool::ToolProgress;
use tokio::time::sleep;

use crate::call_timeout::within;
use crate::link::LivePeer;
use crate::login::needs_login;
use crate::running_requests::{CallQuestions, RequestState, RunningRequests};

/// Wait before the repetition of a request that required no input.
const REPEAT_DELAY: Duration = Duration::from_millis(250);

/// The error of a server that wants the user to visit a web page first (MCP 2025-11-25, Elicitation).
const URL_ELICITATION_REQUIRED: ErrorCode = ErrorCode(-32042);

/// A request to a server.
pub(crate) struct RequestExchange<'a> {
    pub(crate) live: &'a Arc<LivePeer>,
    /// Time limit without a response or progress.
    pub(crate) limit: Duration,
    pub(crate) progress: ToolProgress,
}

/// The answer to a request.
pub(crate) struct RequestAnswer {
    pub(crate) result: ServerResult,
    /// Remarks about events during the request.
    pub(crate) notes: Vec<String>,
}

impl RequestExchange<'_> {
    /// Sends a request, and sends it again with the user's input as long as the server requires input. `make` builds it
    /// from that input and the server's state. If the future is dropped, the request is canceled at the server.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub(crate) async fn perform(
        &self,
        make: impl Fn(Option<InputResponses>, Option<String>) -> ClientRequest,
    ) -> Result<RequestAnswer, String> {
        let (mut input, mut state, questions) = (None, None, CallQuestions::default());
        for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
            match self.send(make(input.take(), state.take()), &questions).await? {
                ServerResult::InputRequiredResult(required) => {
                    (input, state) = self.provide_input(required, &questions).await?;
                }
                result => return Ok(RequestAnswer { result, notes: questions.take_notes() }),
            }
        }
        Err("too many requests for input".to_owned())
    }

    async fn send(&self, request: ClientRequest, questions: &CallQuestions) -> Result<ServerResult, String> {
        // Counted before it is sent: the server may request input immediately.
        let count = RequestCount::new(Arc::clone(self.live));
        let sent = self.live.peer.send_cancellable_request(request, PeerRequestOptions::default()).await;
        let handle = sent.map_err(|error| self.describe(&error))?;
        let running = RequestState::new(self.progress.clone(), questions.clone());
        let activity = running.activity.subscribe();
        let mut running = RunningRequest::new(count, &handle, running);
        let state = self.live.requests.state.subscribe();
        let Some(response) = within(self.limit, handle.await_response(), activity, state).await else {
            let limit = self.limit.as_secs_f64();
            return Err(format!("no response and no progress within {limit} s; the call was canceled"));
        };
        running.is_over = true;
        drop(running);
        match response {
            Ok(result) => Ok(result),
            Err(ServiceError::McpError(error)) if error.code == URL_ELICITATION_REQUIRED => {
                Err(self.visit_pages(error.data.as_ref(), questions).await)
            }
            Err(error) => Err(self.describe(&error)),
        }
    }

    /// Asks the user for the input that a server requires.
    async fn provide_input(
        &self,
        required: InputRequiredResult,
        questions: &CallQuestions,
    ) -> Result<(Option<InputResponses>, Option<String>), String> {
        let requests = required.input_requests.unwrap_or_default();
        if requests.is_empty() {
            sleep(REPEAT_DELAY).await;
            return Ok((None, required.request_state));
        }
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let InputRequest::Elicitation(request) = request else {
                return Err("it requires a kind of input that tiller doesn't support".to_owned());
            };
            let answer = self.ask(request.params, questions).await;
            let encoded = serde_json::to_value(answer).map_err(|error| error.to_string())?;
            responses.insert(key, encoded);
        }
        Ok((Some(responses), required.request_state))
    }

    async fn ask(&self, params: ElicitRequestParams, questions: &CallQuestions) -> ElicitResult {
        // No request is running at the server, and the question is known to be one of this call.
        let this_call = RunningRequests::default();
        let token = ProgressToken(NumberOrString::Number(0));
        this_call.lock().insert(token, RequestState::new(self.progress.clone(), questions.clone()));
        self.live.asker.ask(params, &this_call).await
    }

    /// Offers the pages that a server wants to be visited before it answers (error -32042); returns the sentence for
    /// the model.
    async fn visit_pages(&self, data: Option<&Value>, questions: &CallQuestions) -> String {
        const NEEDS: &str = "it needs the user to visit a web page first";
        let listed = data.and_then(|data| data["elicitations"].as_array()).cloned().unwrap_or_default();
        let pages = listed.into_iter().filter_map(|page| serde_json::from_value(page).ok());
        for page in pages {
            if self.ask(page, questions).await.action != ElicitationAction::Accept {
                let notes = questions.take_notes().join(" ");
                return format!("{NEEDS}, and that was declined. {notes}").trim_end().to_owned();
            }
        }
        format!("{NEEDS}, which has been opened. Call it again when the user has finished there.")
    }

    /// Returns a sentence about a failed request.
    fn describe(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => error.message.to_string(),
            ServiceError::TransportClosed => "it ended during the call".to_owned(),
            error if error.is_authorization_required() => needs_login(&self.live.asker.server),
            ServiceError::TransportSend(error) => {
                format!("it can't be reached: {}", root_cause(&*error.error))
            }
            error => error.to_string(),
        }
    }
}

/// Returns the innermost cause: the others name the types of the connection.
fn root_cause(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), root_cause)
}

/// Counts a request as running until it is dropped.
struct RequestCount(Arc<LivePeer>);

impl RequestCount {
    fn new(live: Arc<LivePeer>) -> Self {
        live.requests.state.send_modify(|state| state.running += 1);
        Self(live)
    }
}

impl Drop for RequestCount {
    fn drop(&mut self) {
        self.0.requests.state.send_modify(|state| state.running -= 1);
    }
}

/// A request that the server works on. If it is dropped before its end, it is canceled at the server.
struct RunningRequest {
    count: RequestCount,
    id: RequestId,
    token: ProgressToken,
    is_over: bool,
}

impl RunningRequest {
    fn new(count: RequestCount, handle: &RequestHandle<RoleClient>, running: RequestState) -> Self {
        let (id, token) = (handle.id.clone(), handle.progress_token.clone());
        count.0.requests.lock().insert(token.clone(), running);
        Self { count, id, token, is_over: false }
    }
}

impl Drop for RunningRequest {
    fn drop(&mut self) {
        self.count.0.requests.lock().remove(&self.token);
        if self.is_over {
            return;
        }
        let reason = Some("the call was stopped".to_owned());
        let params = CancelledNotificationParam::new(Some(self.id.clone()), reason);
        let (live, notification) = (Arc::clone(&self.count.0), CancelledNotification::new(params));
        // Without a runtime, tiller is exiting and the server ends anyway.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { live.peer.send_notification(notification.into()).await });
        }
    }
}
