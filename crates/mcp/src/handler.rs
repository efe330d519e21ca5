//! The client's side of a connection: the server's notifications and questions.

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CustomRequest, CustomResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ProgressNotificationParam, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use crate::elicitation::ElicitationSender;
use crate::list_changes::ListChanges;
use crate::options::UserPresence;
use crate::running_requests::RunningRequests;

/// Receives the messages of the server on one connection.
#[derive(Clone)]
pub(crate) struct ConnectionHandler {
    /// Changes of the lists of tools, prompts and resources; they wake the connection's task.
    pub(crate) lists_changed: ListChanges,
    pub(crate) requests: RunningRequests,
    pub(crate) asker: ElicitationSender,
}

impl ConnectionHandler {
    pub(crate) fn new(asker: ElicitationSender) -> Self {
        Self { lists_changed: ListChanges::default(), requests: RunningRequests::default(), asker }
    }
}

impl ClientHandler for ConnectionHandler {
    /// Asks the user while a request is running. The question ends with the requests, because the answer is no longer
    /// needed.
    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        if !self.requests.is_any() {
            tracing::warn!(
                server = self.asker.server,
                "declined a question from an MCP server outside of calls"
            );
            return Ok(ElicitResult::new(ElicitationAction::Decline));
        }
        Ok(tokio::select! {
            biased;
            () = self.requests.ended() => ElicitResult::new(ElicitationAction::Cancel),
            () = context.ct.cancelled() => ElicitResult::new(ElicitationAction::Cancel),
            answer = self.asker.ask(request, &self.requests) => answer,
        })
    }

    /// A question whose form isn't one of the protocol arrives as an unknown request.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleClient>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == "elicitation/create" {
            let reason = "the requested form doesn't conform to the protocol";
            self.requests.note(&format!("[The server asked the user for input. It was refused: {reason}.]"));
            return Err(ErrorData::invalid_params(reason, None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.requests.progress(&params.progress_token, progress_text(&params));
    }

    fn get_info(&self) -> ClientConfig {
        let implementation = Implementation::new("tiller", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        if self.asker.presence == UserPresence::Present {
            let capability = ElicitationCapability::default()
                .with_form(FormElicitationCapability::default())
                .with_url(UrlElicitationCapability::default());
            capabilities.elicitation = Some(capability);
        }
        ClientConfig::new(capabilities, implementation)
    }
}

/// Returns the line that shows a call's progress.
fn progress_text(params: &ProgressNotificationParam) -> String {
    let done = match params.total {
        Some(total) if total > 0.0 => format!("{:.0}%", (params.progress / total * 100.0).clamp(0.0, 100.0)),
        Some(_) | None => params.progress.to_string(),
    };
    match &params.message {
        Some(message) => format!("{done} {message}"),
        None => done,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{NumberOrString, ProgressToken};

    use super::*;

    #[test]
    fn progress_text_is_a_share_if_the_total_is_known() {
        let text = |progress, total: Option<f64>, message: Option<&str>| {
            let token = ProgressToken(NumberOrString::Number(1));
            let mut params = ProgressNotificationParam::new(token, progress);
            params.total = total;
            params.message = message.map(str::to_owned);
            progress_text(&params)
        };
        assert_eq!(text(3.0, Some(4.0), Some("files")), "75% files");
        assert_eq!(text(3.0, None, None), "3");
        assert_eq!(text(9.0, Some(0.0), Some("x")), "9 x");
    }
}
