//! The providers that tiller knows, each with a [`ProviderDescriptor`]. The command line, `/login`, hints,
//! the registry and the tables in the documentation are built from these lists. The rows are in `table`.

mod entry;
mod table;

pub use entry::ProviderDescriptor;
pub use table::{LOCAL_SERVERS, PROVIDERS};

/// Returns the names of all providers that need a key.
pub fn names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().map(|provider| provider.name)
}

impl ProviderDescriptor {
    /// Returns the provider of this name: one with a key, or a local server.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Self> {
        PROVIDERS.iter().chain(LOCAL_SERVERS).find(|provider| provider.name == name)
    }

    /// Returns true for a server that runs on the user's machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        LOCAL_SERVERS.iter().any(|server| server.name == self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire_format::WireFormat;

    #[test]
    fn wire_format_depends_on_the_host() {
        let openai = ProviderDescriptor::find("openai").unwrap();
        let format = |url: &str| openai.wire_format_at(&openai.endpoint(Some(url)));
        for url in ["https://api.openai.com/v1/", "https://eu.api.openai.com/v1"] {
            assert_eq!(format(url), WireFormat::OpenAiResponses, "{url}");
        }
        for url in
            ["http://localhost:8080/v1", "https://fakeapi.openai.com.example/v1", "https://notapi.openai.com"]
        {
            assert_eq!(format(url), WireFormat::OpenAiChat, "{url}");
        }
    }

    #[test]
    fn descriptor_names_and_variables_are_unique() {
        let all: Vec<_> = PROVIDERS.iter().chain(LOCAL_SERVERS).collect();
        for (at, provider) in all.iter().enumerate() {
            for other in &all[..at] {
                assert_ne!(provider.name, other.name);
                assert_ne!(provider.key_variable, other.key_variable);
                assert_ne!(provider.base_url_variable, other.base_url_variable);
            }
            assert!(provider.base_url_variable.ends_with("_BASE_URL"), "{}", provider.name);
            let has_scheme = provider.base_url.starts_with("http");
            assert!(has_scheme || provider.base_url.is_empty(), "{}", provider.name);
            assert_eq!(provider.window_advice.is_empty(), !provider.is_local(), "{}", provider.name);
        }
    }
}
