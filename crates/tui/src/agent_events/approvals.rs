//! Events of approval requests.

use tiller_core::event::ApprovalRequest;
use tiller_core::id::CallId;

use crate::app::App;
use crate::session_model::PendingApproval;

impl App {
    pub(super) fn approval_requested(&mut self, request: &ApprovalRequest) {
        let pending = PendingApproval { request: request.clone(), since: self.now };
        self.model.activity.approvals.push(pending);
    }

    /// Removes a call that was answered here or elsewhere, or whose run ended.
    pub(super) fn approval_resolved(&mut self, call: &CallId) {
        self.model.activity.approvals.retain(|pending| pending.request.tool_call_id != *call);
        self.flash.clear_about(call);
        if self.composer.end_reason(call, self.now) {
            self.flash("Already answered elsewhere; your text is kept as a draft.");
        }
    }

    /// Replaces the pending calls by those of a snapshot.
    pub(crate) fn set_approvals(&mut self, requests: &[ApprovalRequest]) {
        let before = std::mem::take(&mut self.model.activity.approvals);
        for pending in before.iter().filter(|pending| !requests.contains(&pending.request)) {
            self.approval_resolved(&pending.request.tool_call_id);
        }
        let since = |request: &ApprovalRequest| {
            let known = before.iter().find(|pending| pending.request == *request);
            known.map_or(self.now, |pending| pending.since)
        };
        let pending =
            |request: &ApprovalRequest| PendingApproval { request: request.clone(), since: since(request) };
        self.model.activity.approvals = requests.iter().map(pending).collect();
    }
}
