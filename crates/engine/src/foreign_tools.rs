//! Names of Claude Code's tools, used in hooks and agents written for it.

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

/// Returns tiller's name for a tool of Claude Code.
pub(crate) fn own_name(foreign: &str) -> Option<&'static str> {
    FOREIGN_TOOLS.iter().find(|(name, _)| *name == foreign).map(|(_, own)| *own)
}
