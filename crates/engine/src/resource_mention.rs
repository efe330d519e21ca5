//! Mentions of server resources in a prompt, as `@SERVER:URI`. Pure.

use std::fmt;

/// Punctuation that may follow a URI and isn't part of it.
const TRAILING: [char; 8] = ['.', ',', ';', ':', '!', '?', ')', '\''];

/// Maximum number of resources attached to one prompt; pasted text may name many.
const MAX_MENTIONS: usize = 20;

/// A resource that a prompt names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResourceMention {
    pub(crate) server: String,
    pub(crate) uri: String,
}

impl fmt::Display for ResourceMention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}:{}", self.server, self.uri)
    }
}

impl ResourceMention {
    /// Returns the block with the resource's text for the model.
    pub(crate) fn block(&self, text: &str) -> String {
        let Self { server, uri } = self;
        let uri = uri.replace('&', "&amp;").replace('"', "&quot;");
        format!("<resource server=\"{server}\" uri=\"{uri}\">\n{text}\n</resource>")
    }
}

/// Finds the resources of these servers that a text mentions, each once.
pub(crate) fn find_mentions(text: &str, servers: &[String]) -> Vec<ResourceMention> {
    let mut found = Vec::new();
    for word in
        text.split_whitespace().filter_map(|word| word.trim_start_matches(['(', '"', '\'']).strip_prefix('@'))
    {
        let Some((server, uri)) = word.trim_end_matches(TRAILING).split_once(':') else { continue };
        let mention = ResourceMention { server: server.to_owned(), uri: uri.to_owned() };
        if uri.contains("://") && servers.iter().any(|known| known == server) && !found.contains(&mention) {
            found.push(mention);
        }
    }
    found.truncate(MAX_MENTIONS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_mentions_takes_uris_of_known_servers() {
        let servers = ["docs".to_owned(), "db".to_owned()];
        let text = "Compare @docs:file:///a.md, (@db:pg://t/1) and @docs:file:///a.md with @web:http://x and @docs:a, a@db:pg://t";
        let found: Vec<String> = find_mentions(text, &servers).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["@docs:file:///a.md", "@db:pg://t/1"]);
    }
}
