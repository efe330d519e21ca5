//! Names of Claude Code's tools, for hooks and agents that were written for it.

/// Its names (November 2026) and tiller's, where there is a tool for the same purpose.
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
