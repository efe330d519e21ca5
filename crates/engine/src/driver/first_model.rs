//! The initial model of a session.

use tiller_core::message::ThinkingLevel;
use tiller_provider::Model;

/// The initial model, used unless the session's log names another one and the log takes precedence.
#[derive(Clone, Debug)]
pub struct FirstModel {
    /// The model.
    pub model: Model,
    /// The thinking level.
    pub thinking: ThinkingLevel,
    /// Precedence when the log names another model.
    pub choice: ModelChoice,
    /// Precedence when the log names another level.
    pub thinking_choice: ModelChoice,
}

/// Precedence between caller and log for the model and thinking level of a resumed session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// The caller: a model was named on the command line.
    Caller,
    /// The log.
    Log,
}
