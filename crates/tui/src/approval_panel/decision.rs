//! Decisions about pending calls, and the reason of a denial.

use crate::action::Action;
use crate::component::Context;
use crate::effect::Effect;
use tiller_core::event::ApprovalRequest;
use tiller_core::event::Decision;

/// The reason of a denial without a text from the user. The model reads it.
pub(crate) const DENIED: &str = "the user rejected it";

/// Separates it from the user's own reason.
pub(crate) const REASON_SEPARATOR: &str = ": ";

/// The reason of a denial, with the user's text if there is one.
pub(crate) fn denial_reason(text: &str) -> String {
    match text.trim() {
        "" => DENIED.to_owned(),
        text => format!("{DENIED}{REASON_SEPARATOR}{text}"),
    }
}

/// The part of a denial's reason that the user typed.
pub(crate) fn user_reason(reason: &str) -> Option<&str> {
    reason.strip_prefix(DENIED)?.strip_prefix(REASON_SEPARATOR)
}

/// Sends a decision.
pub(crate) fn decide(request: &ApprovalRequest, decision: Decision, cx: &mut Context<'_>) {
    let call = &request.tool_call_id;
    cx.push(Effect::CloseCallPage(call.clone()));
    cx.push(Effect::CallAnswered(call.clone()));
    cx.push(Action::Decide(call.clone(), decision));
}
