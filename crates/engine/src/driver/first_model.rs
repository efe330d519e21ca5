//! The initial model of a session.

use tiller_core::message::ThinkingLevel;
use tiller_provider::Model;

/// The initial model. It is used unless the session's log names another model and the log takes precedence.
#[derive(Clone, Debug)]
pub struct FirstModel {
    /// The model.
    pub model: Model,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Precedence of this model or the log's.
    pub choice: ModelChoice,
    /// Precedence of this thinking level or the log's.
    pub thinking_choice: ModelChoice,
}

/// Precedence of caller or log for the model and the thinking level of a resumed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// The caller takes precedence: the command line names a model.
    Caller,
    /// The log takes precedence.
    Log,
}
