//! The agent's error messages.

use tiller_core::os_error::without_code;
use tiller_engine::AgentError;

use crate::action::UserText;
use crate::crash_report::NewestReport;
use crate::message::TaskResult;

/// Reports a panic in tiller, with the path of the crash report.
pub(super) fn internal_error(newest: &NewestReport) -> TaskResult {
    let message = "internal error: a part of tiller crashed; the rest continues".to_owned();
    let hint = newest.take().map(|path| format!("crash report: {}", path.display()));
    TaskResult::Failed { message, hint, text: None }
}

/// Reports an error with its causes and a hint; `text` is user input that would otherwise be lost. Errors in
/// the input itself are reported as invalid input. A lost connection leaves nothing in the transcript: the footer shows
/// it as long as it lasts.
pub(crate) fn failure(error: &AgentError, text: Option<UserText>) -> TaskResult {
    let mut message = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !message.ends_with(&cause_text) {
            message = format!("{message}: {cause_text}");
        }
        source = cause.source();
    }
    let message = without_code(&message);
    let hint = error.hint();
    match (error, text) {
        (
            AgentError::Model(_)
            | AgentError::UnknownSkill { .. }
            | AgentError::Running
            | AgentError::Disconnected,
            Some(typed),
        ) => TaskResult::invalid_input(typed, (message, hint)),
        (AgentError::Disconnected, None) => TaskResult::Note(message),
        (_, text) => TaskResult::Failed { message, hint, text },
    }
}
