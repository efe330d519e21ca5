//! Tools of other programs, by the names in their logs.

use tiller_core::tool_spec::{Access, OutputKind, ToolTraits, TouchedPaths};

/// Tools that run commands, of Claude Code, Codex and pi.
const COMMAND_TOOLS: [&str; 5] = ["Bash", "bash", "exec_command", "local_shell", "shell"];

/// Checks whether the results of a tool are command output.
pub(super) fn prints_command_output(tool: &str) -> bool {
    COMMAND_TOOLS.contains(&tool)
}

/// Returns the traits of foreign tools whose results are files: pi's `read`, with the file's path in `path`.
#[must_use]
pub fn foreign_file_tools() -> [(String, ToolTraits); 1] {
    let traits =
        ToolTraits { output: OutputKind::File, paths: TouchedPaths::File, ..ToolTraits::new(Access::Reads) };
    [("read".to_owned(), traits)]
}
