//! How what the user says is to be taken.

use tiller_core::message::Image;

/// How a prompt is to be taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptOptions {
    /// What to do when the agent is at work; without it that is an error.
    pub streaming_behavior: Option<StreamingBehavior>,
    /// Whether `/skill:name` and `/template` at its beginning mean something.
    pub expand_templates: Expansion,
    /// What is shown with it.
    pub images: Vec<Image>,
    /// Blocks of text that go to the model behind the message; the session shows the message without them.
    pub attached: String,
    /// The treatment of a message that is longer than the model's window.
    pub length: Length,
}

/// The treatment of a message that alone is longer than the model's window, by estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Length {
    /// It is refused, and nothing is sent.
    #[default]
    Checked,
    /// It is sent all the same.
    Any,
}

/// Whether skills, templates and commands at a prompt's beginning mean something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expansion {
    /// They do.
    #[default]
    Expand,
    /// The text goes to the model as it stands.
    Verbatim,
}

/// What a prompt becomes when the agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamingBehavior {
    /// A steering message.
    Steer,
    /// A follow-up.
    FollowUp,
}

/// Whether a command's output reaches the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BashContext {
    /// `!`: it does.
    Include,
    /// `!!`: it is logged and shown only.
    Exclude,
}
