//! Error messages of the agent.

use tiller_engine::AgentError;

use crate::action::UserText;
use crate::crash_report;
use crate::message::{TaskOrigin, TaskResult};

/// Reports a panic in a part of tiller, with the path of the crash report.
pub(super) fn internal_error() -> TaskResult {
    let what = "internal error: a part of tiller crashed; the rest continues".to_owned();
    let hint = crash_report::take_newest().map(|path| format!("crash report: {}", path.display()));
    TaskResult::Failed { what, hint, text: None }
}

/// Reports an error with its causes and a hint; `text` is user input that would otherwise be lost. Errors in
/// the input itself are reported as invalid input.
pub(crate) fn failure(error: &AgentError, text: Option<UserText>) -> TaskResult {
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
        AgentError::Model(_) => Some("/model lists the available models".to_owned()),
        AgentError::UnknownSkill { .. } => Some("/help lists the skills".to_owned()),
        AgentError::Running | AgentError::Summarizing => {
            Some("stop it first, or wait until it ends".to_owned())
        }
        AgentError::AgentsAtWork => Some("/agents lists them, and /race shows a race".to_owned()),
        AgentError::TooLong { .. }
        | AgentError::Busy
        | AgentError::QueueFull(_)
        | AgentError::BashRunning
        | AgentError::Empty
        | AgentError::Store(_)
        | AgentError::Extension(_)
        | AgentError::Folder { .. }
        | AgentError::Rules { .. }
        | AgentError::NotFound(_)
        | AgentError::InvalidAnswer(_)
        | AgentError::SessionOpen
        | AgentError::Compaction(_)
        | AgentError::PromptRejected(_)
        | AgentError::Remote(_)
        | AgentError::Closed => None,
        AgentError::OpenElsewhere => Some("do this in the other tiller".to_owned()),
    };
    match (error, text) {
        (AgentError::Model(_) | AgentError::UnknownSkill { .. } | AgentError::Running, Some(typed)) => {
            TaskResult::invalid_input(typed, (what, hint), TaskOrigin::Editor)
        }
        (_, text) => TaskResult::Failed { what, hint, text },
    }
}
