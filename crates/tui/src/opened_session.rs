//! The data that the caller provides once the session is open.

use tiller_core::message::Image;
use tiller_engine::AgentSession;

/// An open session, with the data that is known only once it is open.
#[derive(Clone)]
pub struct OpenedSession {
    /// The session.
    pub agent: AgentSession,
    /// Sources of the providers' API keys, as far as known.
    pub keys: Vec<ProviderKey>,
    /// A prompt to send immediately.
    pub prompt: Option<InitialPrompt>,
    /// A text to paste into the editor.
    pub paste: Option<String>,
    /// Opens the session picker first; the prompt then waits in the editor.
    pub pick: bool,
    /// Lines that an empty session shows; the first is emphasized. Instructions for connecting a model belong
    /// here. A key binding's name in braces is replaced with its key: `{send} sends`.
    pub banner: Vec<String>,
    /// Warnings to show at the start, one sentence each.
    pub notices: Vec<String>,
}

/// The source of a provider's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderKey {
    /// The provider's name.
    pub provider: String,
    /// A short description: `key from auth.json`.
    pub source: String,
}

/// A prompt from the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialPrompt {
    /// The text to send.
    pub text: String,
    /// Text blocks for the model that accompany the prompt: the contents of the files it names.
    pub attached: String,
    /// The images and PDF files it names.
    pub images: Vec<Image>,
    /// The prompt as typed, for the prompt history.
    pub typed: String,
}
