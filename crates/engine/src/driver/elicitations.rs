//! Questions to the user from servers and from tiller itself. They wait for an answer from a front end, or
//! until the server withdraws them.

use tiller_core::elicitation::{ElicitationAction, ElicitationAnswer, ElicitationKind, ElicitationRequest};
use tiller_core::event::EventKind;
use tiller_core::id::ElicitationId;
use tiller_tools::tool::ServerQuestion;
use tokio::sync::oneshot;

use super::Driver;
use super::commands::send_reply;
use super::elicitation_state::PendingElicitation;
use super::job_event::JobEvent;
use crate::approvals::Approver;
use crate::handle::{AgentError, Reply};

impl Driver {
    /// Asks the user a server's question.
    pub(super) fn elicit(&mut self, question: ServerQuestion) {
        self.ask_user(Some(question.server), question.message, question.kind, question.reply);
    }

    /// Asks the user. Without an approver the question is dropped and gets no answer.
    pub(super) fn ask_user(
        &mut self,
        server: Option<String>,
        message: String,
        kind: ElicitationKind,
        mut reply: oneshot::Sender<ElicitationAnswer>,
    ) {
        if self.approvals.approver() == Approver::Absent || reply.is_closed() {
            return;
        }
        self.elicitations.last += 1;
        let elicitation_id = ElicitationId::new(format!("e{}", self.elicitations.last));
        let request =
            ElicitationRequest { elicitation_id: elicitation_id.clone(), server, agent: None, message, kind };
        let (answer, answered) = oneshot::channel();
        self.elicitations.pending.push(PendingElicitation { request: request.clone(), answer });
        let _task = self.jobs.spawn(async move {
            tokio::select! {
                biased;
                answer = answered => {
                    // Without an answer, the approver has left; dropping `reply` reports that.
                    let _ = answer.map(|answer| reply.send(answer));
                }
                () = reply.closed() => {}
            }
            JobEvent::ElicitationEnded(elicitation_id)
        });
        self.bus.emit(EventKind::ElicitationRequested(request));
    }

    /// Answers a question; values are checked against the question's fields. Cancelling one question cancels
    /// the asker's other questions.
    pub(super) fn answer_elicitation(
        &mut self,
        id: &ElicitationId,
        answer: ElicitationAnswer,
        reply: Reply<()>,
    ) {
        let Some(at) = self.elicitations.position(id) else {
            return send_reply(reply, Err(AgentError::NotFound("pending question with that id")));
        };
        if let ElicitationAnswer::Accept(values) = &answer
            && let Err(problem) = self.elicitations.pending[at].request.kind.check(values)
        {
            return send_reply(reply, Err(AgentError::InvalidAnswer(problem)));
        }
        let pending = self.elicitations.pending.remove(at);
        let left = (answer == ElicitationAnswer::Cancel).then(|| pending.request.server.clone());
        self.resolve(pending, answer);
        if let Some(server) = left {
            self.cancel_elicitations_where(|request| request.server == server);
        }
        send_reply(reply, Ok(()));
    }

    /// Cancels all questions, because their calls are stopped.
    pub(super) fn cancel_elicitations(&mut self) {
        self.cancel_elicitations_where(|_| true);
    }

    fn cancel_elicitations_where(&mut self, is_meant: impl Fn(&ElicitationRequest) -> bool) {
        let questions = &mut self.elicitations.pending;
        let cancelled: Vec<PendingElicitation> =
            questions.extract_if(.., |pending| is_meant(&pending.request)).collect();
        for pending in cancelled {
            self.resolve(pending, ElicitationAnswer::Cancel);
        }
    }

    /// Removes a question that its asker has withdrawn.
    pub(super) fn elicitation_ended(&mut self, id: &ElicitationId) {
        if let Some(at) = self.elicitations.position(id) {
            let elicitation_id = self.elicitations.pending.remove(at).request.elicitation_id;
            let action = ElicitationAction::Cancel;
            self.bus.emit(EventKind::ElicitationResolved { elicitation_id, action, withdrawn: true });
        }
    }

    /// Declines all questions, because the approver has left.
    pub(super) fn decline_elicitations(&mut self) {
        for PendingElicitation { request, .. } in std::mem::take(&mut self.elicitations.pending) {
            self.emit_resolved(request.elicitation_id, ElicitationAction::Decline);
        }
    }

    fn resolve(
        &mut self,
        PendingElicitation { request, answer: waiting }: PendingElicitation,
        answer: ElicitationAnswer,
    ) {
        let action = answer.action();
        // A question that is withdrawn at this moment has no receiver.
        let _ = waiting.send(answer);
        self.emit_resolved(request.elicitation_id, action);
    }

    fn emit_resolved(&mut self, elicitation_id: ElicitationId, action: ElicitationAction) {
        self.bus.emit(EventKind::ElicitationResolved { elicitation_id, action, withdrawn: false });
    }
}
