//! The text of `/help`.

/// Input lines and their effects.
const LINES: &[(&str, &str)] = &[
    ("TEXT", "send a prompt; while the agent works, steer it between two tool calls"),
    ("> TEXT", "send it after the agent has finished (also /followup TEXT)"),
    ("/now TEXT", "interrupt the current request, keep its text, and continue with this"),
    ("!COMMAND", "run it in the shell; the model sees the output"),
    ("!!COMMAND", "run it in the shell; the model doesn't see it"),
    ("/stop", "stop the run (also Ctrl+C)"),
    ("/queue", "list queued messages; /send N delivers a held one, /drop N removes one"),
    ("/permissions", "list this session's permissions; /permissions revoke N revokes one"),
    ("/add-dir PATH[:ro]", "let tools access another folder in this session; :ro is read-only"),
    ("/model [NAME]", "list the models, or choose one"),
    ("/thinking [LEVEL]", "show the thinking level, or set it"),
    ("/compact [TEXT]", "replace older messages by a summary; TEXT says what matters"),
    ("/session", "show the session's facts and cost"),
    ("/context", "show the parts of the context window"),
    ("/name NAME", "name the session"),
    ("/label [LABEL]", "label the newest message, or remove its label"),
    ("/tree", "show the session's tree; /go ID continues from an entry"),
    ("/fork [ID]", "list your messages, or start a new session before one of them"),
    ("/clone", "continue in a copy of this session"),
    ("/new", "start a new session"),
    ("/resume [ID]", "list this directory's sessions, or open one"),
    ("/login [PROVIDER]", "list the providers and their keys, or enter a key (hidden, on the next line)"),
    ("/logout PROVIDER", "remove a stored key"),
    ("/reload", "reload skills, templates and context files"),
    ("/quit", "quit (also Ctrl+D, or Ctrl+C twice)"),
];

/// Formats the help text.
pub(super) fn text() -> String {
    let line = |(line, effect): &(&str, &str)| format!("{line:<18} {effect}\n");
    let lines: String = LINES.iter().map(line).collect();
    format!(
        "{lines}A line that ends in a backslash continues on the next one. The next line answers a pending question.\n"
    )
}
