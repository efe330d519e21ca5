//! The data that the caller provides once the session is open.

use tiller_core::message::Image;
use tiller_engine::AgentSession;

/// An open session, with data that is known only then.
#[derive(Clone)]
pub struct OpenedSession {
    /// The session.
    pub agent: AgentSession,
    /// Sources of the providers' API keys, if known.
    pub keys: Vec<ProviderKey>,
    /// A prompt to send immediately.
    pub prompt: Option<InitialPrompt>,
    /// A text to paste into the editor.
    pub paste: Option<String>,
    /// Opens the session picker first; the prompt then waits in the editor.
    pub pick: bool,
    /// Lines shown in an empty session; the first is emphasized. They include instructions for connecting a
    /// model. A key binding's name in braces is replaced with its key: `{send} sends`.
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
    /// Text blocks for the model that accompany the prompt: the contents of the mentioned files.
    pub attached: String,
    /// The mentioned images and PDF files.
    pub images: Vec<Image>,
    /// The prompt as typed, for the prompt history.
    pub typed: String,
}
