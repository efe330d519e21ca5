//! Decisions about pending calls, and the reason of a denial.

use tiller_core::event::{ApprovalRequest, Decision};

use crate::action::Action;
use crate::component::Context;
use crate::effect::Effect;

pub(crate) fn decide(request: &ApprovalRequest, decision: Decision, cx: &mut Context<'_>) {
    let call = &request.tool_call_id;
    cx.push(Effect::CloseCallPage(call.clone()));
    cx.push(Effect::CallAnswered(call.clone()));
    cx.push(Action::Decide(call.clone(), decision));
}
