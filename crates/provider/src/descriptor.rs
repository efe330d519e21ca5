//! The providers with a public server: one [`ProviderDescriptor`] each. The command line, `/login`, hints, the registry and
//! the README's table read this list.

use crate::Endpoint;
use crate::compat::Compat;

/// The format of requests and answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireFormat {
    /// Anthropic's Messages.
    AnthropicMessages,
    /// OpenAI's Chat Completions.
    OpenAiChat,
}

/// A provider with a public server.
#[derive(Debug, PartialEq, Eq)]
pub struct ProviderDescriptor {
    /// The name in settings, logs and model references: `anthropic`.
    pub name: &'static str,
    /// The name for people: `Anthropic`.
    pub display_name: &'static str,
    /// The environment variable of the API key.
    pub key_variable: &'static str,
    /// The environment variable that names another server.
    pub base_url_variable: &'static str,
    /// The public server.
    pub base_url: &'static str,
    /// The format of requests and answers.
    pub wire_format: WireFormat,
    /// What its server accepts, where that is Chat Completions.
    pub compat: Compat,
}

/// All of them, in the order in which models are searched and listed.
pub const PROVIDERS: &[ProviderDescriptor] = &[
    ProviderDescriptor {
        name: "anthropic",
        display_name: "Anthropic",
        key_variable: "ANTHROPIC_API_KEY",
        base_url_variable: "ANTHROPIC_BASE_URL",
        base_url: "https://api.anthropic.com",
        wire_format: WireFormat::AnthropicMessages,
        compat: Compat::COMMON,
    },
    ProviderDescriptor {
        name: "openai",
        display_name: "OpenAI",
        key_variable: "OPENAI_API_KEY",
        base_url_variable: "OPENAI_BASE_URL",
        base_url: "https://api.openai.com/v1",
        wire_format: WireFormat::OpenAiChat,
        compat: Compat::OPENAI,
    },
];

/// Returns the names of all providers with a public server.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

impl ProviderDescriptor {
    /// Returns the provider of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().find(|provider| provider.name == name)
    }

    /// Returns the endpoint at a server, or at the public one, without a key.
    #[must_use]
    pub fn endpoint(&self, base_url: Option<&str>) -> Endpoint {
        Endpoint::new(self.name, base_url.unwrap_or(self.base_url), self.key_variable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptor_variables_follow_the_name() {
        // `auth.json` and messages build on it.
        for provider in PROVIDERS {
            let name = provider.name.to_uppercase();
            assert_eq!(provider.key_variable, format!("{name}_API_KEY"));
            assert_eq!(provider.base_url_variable, format!("{name}_BASE_URL"));
        }
    }
}
