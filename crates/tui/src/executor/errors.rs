//! What the user is told when the agent could not do something.

use tiller_engine::AgentError;

use crate::app::{TaskOrigin, TaskResult, UserText};
use crate::crash_report;

/// Says that a part of tiller fell over, and where there is more to read of it.
pub(super) fn fault() -> TaskResult {
    let what = "a part of tiller failed because of a fault of its own; the rest goes on".to_owned();
    let hint = crash_report::newest().map(|path| format!("what is known of it is in {}", path.display()));
    TaskResult::Failed { what, hint, text: None }
}

/// Says what failed, with its causes, and what may help; `text` is what the user would otherwise have lost. Where that is what can't be
/// meant it is a slip.
pub(crate) fn failed(error: &AgentError, text: Option<UserText>) -> TaskResult {
    let mut what = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !what.ends_with(&cause_text) {
            what = format!("{what}: {cause_text}");
        }
        source = cause.source();
    }
    let hint = match error {
        AgentError::Session(error) => error.hint().map(str::to_owned),
        AgentError::Model(_) => Some("/model shows the models that can be asked".to_owned()),
        AgentError::UnknownSkill { .. } => Some("/help lists the skills".to_owned()),
        AgentError::Running | AgentError::Summarizing => {
            Some("stop it first, or wait for its end".to_owned())
        }
        AgentError::TooLong { .. }
        | AgentError::Busy
        | AgentError::QueueFull(_)
        | AgentError::BashRunning
        | AgentError::Empty
        | AgentError::Store(_)
        | AgentError::Extension(_)
        | AgentError::Folder { .. }
        | AgentError::Gone(_)
        | AgentError::InUse
        | AgentError::Compaction(_)
        | AgentError::Closed => None,
    };
    match (error, text) {
        (AgentError::Model(_) | AgentError::UnknownSkill { .. } | AgentError::Running, Some(typed)) => {
            TaskResult::slip(typed, (what, hint), TaskOrigin::Typed)
        }
        (_, text) => TaskResult::Failed { what, hint, text },
    }
}
