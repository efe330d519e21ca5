//! Options of a prompt.

use serde::{Deserialize, Serialize};
use tiller_core::message::Image;

/// Options of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptOptions {
    /// The treatment during a run; `None` makes that an error.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Expansion of `/skill:name` and `/template` at its beginning.
    pub expand_templates: Expansion,
    /// Attached images.
    pub images: Vec<Image>,
    /// Text blocks that the model gets after the message; the session shows the message without them.
    pub attached: String,
    /// The treatment of a message that is longer than the model's window.
    pub length_check: LengthCheck,
}

/// The treatment of a message that alone is longer than the model's window, by estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LengthCheck {
    /// The message is rejected, and nothing is sent.
    #[default]
    Enforce,
    /// The message is sent anyway.
    Skip,
}

/// Expansion of skills, templates and commands at a prompt's beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expansion {
    /// They are expanded.
    #[default]
    Expand,
    /// The text is sent unchanged.
    Verbatim,
}

/// The treatment of a prompt during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamingBehavior {
    /// It becomes a steering message.
    Steer,
    /// It becomes a follow-up.
    FollowUp,
}

/// Use of a command's output in the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BashContext {
    /// `!`: the model gets it.
    Include,
    /// `!!`: it is only logged and shown.
    Exclude,
}
