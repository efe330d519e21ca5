//! The task plan of the current conversation.

use tiller_core::message::Message;
use tiller_core::task_plan::TaskPlan;
use tiller_session::context::{ProjectedMessage, Projection};

/// Returns the plan of a conversation, unless all steps are done. It is in the last result with a plan, or
/// kept by the last compaction.
pub(crate) fn current(projection: &Projection) -> Option<TaskPlan> {
    let kept = || from_compaction(projection);
    last(&projection.messages).or_else(kept).filter(|plan| !plan.is_finished())
}

/// Returns the plan kept by the conversation's last compaction.
pub(crate) fn from_compaction(projection: &Projection) -> Option<TaskPlan> {
    TaskPlan::from_details(projection.compaction.as_ref()?.details.as_ref()?)
}

/// Returns the plan in the last result that contains one.
pub(crate) fn last(messages: &[ProjectedMessage]) -> Option<TaskPlan> {
    messages.iter().rev().find_map(|projected| match &*projected.message {
        Message::ToolResult(result) if !result.is_error => TaskPlan::from_details(result.details.as_ref()?),
        _ => None,
    })
}
