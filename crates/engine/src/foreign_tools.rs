//! Names of Claude Code's tools, used in hooks and agents written for it.

use tiller_core::tool_spec::ToolSet;

/// Claude Code's tool names (November 2026) and tiller's, if a tool has the same purpose.
pub(crate) const FOREIGN_TOOLS: [(&str, &str); 14] = [
    ("Agent", "delegate_to_agent"),
    ("Bash", "bash"),
    ("BashOutput", "job"),
    ("Edit", "edit_file"),
    ("Glob", "find_files"),
    ("Grep", "grep"),
    ("KillShell", "job"),
    ("LS", "list_files"),
    ("MultiEdit", "edit_file"),
    ("Read", "read_file"),
    ("Task", "delegate_to_agent"),
    ("TodoWrite", "update_plan"),
    ("WebFetch", "web_fetch"),
    ("Write", "write_file"),
];

/// Returns the name that selects the same tools as a name in an agent file of Claude Code: that of a tool, a set of
/// tools, or all tools of an MCP server.
pub(crate) fn translate_selection(foreign: &str) -> String {
    let is_server = foreign.strip_prefix("mcp__").is_some_and(|server| !server.contains("__"));
    match foreign {
        "Agent" | "Task" => ToolSet::Agents.name().to_owned(),
        server if is_server => format!("{server}__*"),
        name => own_name(name).unwrap_or(name).to_owned(),
    }
}

/// Returns tiller's name for a tool of Claude Code.
pub(crate) fn own_name(foreign: &str) -> Option<&'static str> {
    FOREIGN_TOOLS.iter().find(|(name, _)| *name == foreign).map(|(_, own)| *own)
}
