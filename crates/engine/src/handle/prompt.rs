//! Options of a prompt.

use serde::{Deserialize, Serialize};
use tiller_core::message::Image;

/// Options of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptOptions {
    /// Delivery during a run; with `None`, a prompt sent during a run is an error.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Expansion of `/skill:name` and `/template` at the start of the prompt.
    pub expand_templates: Expansion,
    /// Attached images.
    pub images: Vec<Image>,
    /// Text blocks that are sent after the message; the session shows the message without them.
    pub attached: String,
    /// The check of the message's length.
    pub length_check: LengthCheck,
}

/// Check that rejects a message whose estimated size exceeds the model's context window by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum LengthCheck {
    /// Rejects the message without sending anything.
    #[default]
    Enforce,
    /// Sends the message anyway.
    Skip,
}

/// Expansion of skills, templates and commands at the start of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expansion {
    /// Expands them.
    #[default]
    Expand,
    /// Sends the text unchanged.
    Verbatim,
}

/// The way in which a prompt is delivered during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StreamingBehavior {
    /// Delivers it as a steering message.
    Steer,
    /// Delivers it as a follow-up.
    FollowUp,
}

/// Decides whether the model gets a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BashContext {
    /// `!`: the model gets the output.
    Include,
    /// `!!`: the output is only logged and shown.
    Exclude,
}
