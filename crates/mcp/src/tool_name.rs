//! Names of MCP tools, as models call them: `mcp__SERVER__TOOL`.

/// The beginning of the names of servers' tools.
pub const TOOL_PREFIX: &str = "mcp__";

/// Maximum length of a tool's name. OpenAI accepts 64 characters (API reference, function tools, November 2026),
/// Anthropic 128.
const MAX_LEN: usize = 64;

/// Returns the beginning of the names of all tools of a server: `mcp__SERVER__`.
#[must_use]
pub fn server_prefix(server: &str) -> String {
    format!("{TOOL_PREFIX}{server}__")
}

/// Returns the name of a tool for models: characters that providers reject become `_`, and a name that is too long ends
/// with a hash.
pub(crate) fn tool_name(server: &str, tool: &str) -> String {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let full = format!("{}{tool}", server_prefix(server));
    let mut name = full.replace(|c| !is_valid(c), "_");
    if name.len() > MAX_LEN {
        name.truncate(MAX_LEN - 9);
        name.push_str(&format!("_{:08x}", hash(full.as_bytes())));
    }
    name
}

/// FNV-1a. A tool's name is in session logs, so the hash must not change between builds.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_name_is_valid_for_every_provider() {
        assert_eq!(tool_name("files", "read_file"), "mcp__files__read_file");
        assert_eq!(tool_name("web", "get.page/größe"), "mcp__web__get_page_gr__e");
        let long = |end: &str| tool_name("server", &format!("{}{end}", "x".repeat(80)));
        assert_eq!(long("a").len(), 64);
        assert_ne!(long("a"), long("b"));
    }
}
