//! What `/help` says.

/// Lines, and what they do.
const LINES: &[(&str, &str)] = &[
    ("TEXT", "say it; while the agent works it steers: delivered between two tool calls"),
    ("> TEXT", "say it when the agent has finished (also /followup TEXT)"),
    ("/now TEXT", "stop what is in flight, keep what was said, and go on with this"),
    ("!COMMAND", "run it in the shell; the model reads what it prints"),
    ("!!COMMAND", "run it in the shell; the model never sees it"),
    ("/stop", "stop what runs (also Ctrl+C)"),
    ("/queue", "the messages that wait; /send N lets a held one go, /drop N takes one out"),
    ("/permissions", "what you allowed in this session; /permissions revoke N takes it back"),
    ("/add-dir PATH[:ro]", "let tools reach another folder in this session; :ro to read only"),
    ("/model [NAME]", "the models there are, or choose one"),
    ("/thinking [LEVEL]", "how much the model thinks, or choose a level"),
    ("/compact [WORDS]", "put a summary in the place of the older part; the words say what matters"),
    ("/session", "what this session is and what it cost"),
    ("/context", "the parts of the context window that are in use"),
    ("/name NAME", "name it"),
    ("/label [LABEL]", "label the newest message, or take its label away"),
    ("/tree", "the whole session with its branches; /go ID goes on from an entry"),
    ("/fork [ID]", "what was said, or a new session from just before one of it"),
    ("/clone", "go on in a copy of this session"),
    ("/new", "a fresh session"),
    ("/resume [ID]", "the sessions of this directory, or open one"),
    ("/login [PROVIDER]", "the providers and their keys, or give one: the next line, which isn't shown"),
    ("/logout PROVIDER", "take a key away again"),
    ("/reload", "read skills, templates and context files again"),
    ("/quit", "leave (also Ctrl+D, or Ctrl+C twice)"),
];

/// Every line that means something.
pub(super) fn text() -> String {
    let line = |(line, what): &(&str, &str)| format!("{line:<18} {what}\n");
    let lines: String = LINES.iter().map(line).collect();
    format!(
        "{lines}A line that ends in a backslash goes on in the next. A question is answered by the next line.\n"
    )
}
