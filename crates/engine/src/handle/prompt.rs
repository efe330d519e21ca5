//! Options of a prompt.

use serde::{Deserialize, Serialize};
use tiller_core::message::Image;

/// Options of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptOptions {
    /// How to deliver the prompt during a run; `None` rejects it with an error.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Whether to expand `/skill:name` and `/template` at the start of the prompt.
    pub expand_templates: Expansion,
    /// Attached images.
    pub images: Vec<Image>,
    /// Text blocks that are sent after the message; the session shows the message without them.
    pub attached: String,
    /// What to do with a message that is longer than the model's window.
    pub length_check: LengthCheck,
}

/// What to do with a message that exceeds the model's window even without the rest of the context, by estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LengthCheck {
    /// Rejects the message without sending anything.
    #[default]
    Enforce,
    /// Sends the message anyway.
    Skip,
}

/// Whether to expand skills, templates and commands at the start of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expansion {
    /// Expands them.
    #[default]
    Expand,
    /// Sends the text unchanged.
    Verbatim,
}

/// How to deliver a prompt during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamingBehavior {
    /// Delivers it as a steering message.
    Steer,
    /// Delivers it as a follow-up.
    FollowUp,
}

/// Whether the model gets a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BashContext {
    /// `!`: the model gets the output.
    Include,
    /// `!!`: the output is only logged and shown.
    Exclude,
}
