//! The formats of requests and answers that tiller supports. Each has a module such as `openai_chat`, which
//! `connect` calls.

mod connect;

use serde::{Deserialize, Serialize};

use crate::http::KeyHeader;

/// The format of requests and answers. Its names in `models.json` and in logs are pi's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum WireFormat {
    /// Anthropic's Messages.
    #[serde(rename = "anthropic-messages")]
    AnthropicMessages,
    /// Google's `generateContent`.
    #[serde(rename = "google-generative-ai")]
    Gemini,
    /// OpenAI's Chat Completions.
    #[serde(rename = "openai-completions")]
    OpenAiChat,
    /// OpenAI's Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
}

impl WireFormat {
    /// All wire formats.
    pub const ALL: [Self; 4] =
        [Self::AnthropicMessages, Self::OpenAiChat, Self::OpenAiResponses, Self::Gemini];

    /// Returns the header in which servers with this format expect a key.
    #[must_use]
    pub const fn key_header(self) -> KeyHeader {
        match self {
            Self::AnthropicMessages => KeyHeader::XApiKey,
            Self::OpenAiChat | Self::OpenAiResponses => KeyHeader::Bearer,
            Self::Gemini => KeyHeader::XGoogApiKey,
        }
    }
}
