//! A server's questions to the user: from the protocol's types to the front ends' types, and back.

mod schema;

use std::sync::Arc;

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::Value;
use tiller_core::elicitation::{ElicitationAnswer, ElicitationKind};
use tiller_tools::tool::ServerQuestion;
use tokio::sync::{Semaphore, mpsc, oneshot};

use crate::options::UserPresence;
use crate::running_requests::{CallQuestions, RunningRequests};
use crate::web_address::parse_host;
use schema::cut;

/// Maximum length of the server's text, in characters. The rest is omitted.
const MAX_MESSAGE: usize = 4_000;

/// Questions of a server that may wait for the user at a time: more than a server has reason for.
const MAX_PENDING: usize = 8;

/// Asks the user for one server.
#[derive(Clone)]
pub(crate) struct ElicitationSender {
    pub(crate) server: String,
    pub(crate) presence: UserPresence,
    pub(crate) questions: mpsc::Sender<ServerQuestion>,
    /// One permit for every question that may still be asked.
    free: Arc<Semaphore>,
}

impl ElicitationSender {
    pub(crate) fn new(server: &str, presence: UserPresence, questions: mpsc::Sender<ServerQuestion>) -> Self {
        Self { server: server.to_owned(), presence, questions, free: Arc::new(Semaphore::new(MAX_PENDING)) }
    }

    /// Asks the user and waits for the answer. A question that can't be shown is declined immediately; the results of
    /// the running requests contain the reason. After a question that the user canceled, others of the same calls are
    /// canceled immediately. Dropping the future withdraws the question.
    pub(crate) async fn ask(&self, params: ElicitRequestParams, requests: &RunningRequests) -> ElicitResult {
        let calls = requests.calls();
        if !calls.is_empty() && calls.iter().all(CallQuestions::is_cancelled) {
            return result(ElicitationAnswer::Cancel);
        }
        match self.answer(params, requests).await {
            Ok(answer) => {
                if answer == ElicitationAnswer::Cancel {
                    calls.iter().for_each(CallQuestions::cancel);
                }
                result(answer)
            }
            Err(reason) => {
                tracing::info!(server = self.server, reason, "declined a question from an MCP server");
                requests.note(&format!("[The server asked the user for input. It was declined: {reason}.]"));
                result(ElicitationAnswer::Decline)
            }
        }
    }

    async fn answer(
        &self,
        params: ElicitRequestParams,
        requests: &RunningRequests,
    ) -> Result<ElicitationAnswer, &'static str> {
        const NOBODY: &str = "the session is non-interactive";
        if self.presence == UserPresence::Absent {
            return Err(NOBODY);
        }
        let (message, kind) = question(params)?;
        let _permit = self.free.try_acquire().map_err(|_| "too many of its questions are already waiting")?;
        let message = cut(&message, MAX_MESSAGE);
        let (reply, answer) = oneshot::channel();
        let question = ServerQuestion { server: self.server.clone(), message, kind, reply };
        // Calls don't time out while the user thinks.
        let _waiting = requests.waiting_for_user();
        self.questions.send(question).await.map_err(|_| NOBODY)?;
        answer.await.map_err(|_| NOBODY)
    }
}

/// Converts a request. A form without fields is a question for consent.
fn question(params: ElicitRequestParams) -> Result<(String, ElicitationKind), &'static str> {
    match params {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let fields = schema::fields(requested_schema)?;
            Ok((message, ElicitationKind::Form { fields }))
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let host = parse_host(&url)?;
            Ok((message, ElicitationKind::Url { url, host }))
        }
        _ => Err("tiller doesn't support this kind of question"),
    }
}

fn result(answer: ElicitationAnswer) -> ElicitResult {
    match answer {
        ElicitationAnswer::Accept(values) if values.is_empty() => {
            ElicitResult::new(ElicitationAction::Accept)
        }
        ElicitationAnswer::Accept(values) => {
            ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(values))
        }
        ElicitationAnswer::Decline => ElicitResult::new(ElicitationAction::Decline),
        ElicitationAnswer::Cancel => ElicitResult::new(ElicitationAction::Cancel),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_counts_characters() {
        assert_eq!([cut("äöü", 3), cut("äöüß", 3)], ["äöü", "äöü…"]);
    }
}
