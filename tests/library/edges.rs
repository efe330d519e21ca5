//! Source rules that types can't enforce: file access, and output to the terminal.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use crate::source_code::{production_code, root};

/// Ways to open a file, each with the files that may use it because the path is tiller's own or nothing is
/// read.
const OPENING: &[(&str, &[&str])] = &[
    (
        "File::open",
        &[
            // Directories, opened to be walked or synced.
            "crates/session/src/fs.rs",
            "crates/session/src/import/output.rs",
            "crates/tui/src/completion/files.rs",
            // The terminal itself.
            "crates/tui/src/input/reader.rs",
        ],
    ),
    (
        "OpenOptions::new",
        &[
            // The functions that all others use.
            "crates/files/src/lib.rs",
            "crates/files/src/open_beneath.rs",
            // Files that tiller makes and appends to in its own directories.
            "src/cli/log.rs",
            "crates/session/src/catalog/database.rs",
            "crates/session/src/fs.rs",
            "crates/session/src/import/output.rs",
            "crates/tui/src/history.rs",
        ],
    ),
    // A log's time of change is set back after it was renamed.
    ("File::options", &["src/cli/sessions/edit.rs", "crates/session/src/manager.rs"]),
    ("File::create", &[]),
    ("fs::copy", &[]),
    ("openat(", &["crates/files/src/open_beneath.rs"]),
    // The kernel's list of processes.
    ("fs::read(", &["crates/tools/src/process/supervisor/process_tree.rs"]),
    // A temporary file that an editor wrote.
    ("fs::read_to_string", &["crates/tui/src/event_loop/suspend.rs"]),
    // It would read ignore files directly; see `files::walk`.
    ("WalkBuilder", &[]),
    ("tokio::fs", &["crates/tools/src/tool/output_capture.rs"]),
];

/// Ways to write to the terminal, each with the files that may use it.
const PRINTING: &[(&str, &[&str])] = &[
    ("println!", &[]),
    ("eprintln!", &[]),
    ("print!(", &[]),
    ("eprint!(", &[]),
    ("dbg!", &[]),
    (
        "io::stdout",
        &[
            // Sanitized there.
            "src/cli/console.rs",
            "crates/tui/src/event_loop/shutdown.rs",
            // Asked whether it is a terminal, and how wide.
            "src/cli/frontend.rs",
            "src/cli/stdout.rs",
            // Pipes of child processes.
            "src/main.rs",
            "crates/tools/src/process/supervisor.rs",
            // The screen itself, whose cells hold no control characters.
            "crates/tui/src/terminal.rs",
            "crates/tui/src/terminal/modes.rs",
        ],
    ),
    (
        "io::stderr",
        &[
            "src/cli/console.rs",
            "crates/tui/src/crash_report.rs",
            "src/cli/progress.rs",
            "src/cli/sessions/import.rs",
            "src/cli/trust.rs",
            "src/main.rs",
            "crates/tools/src/process/supervisor.rs",
        ],
    ),
];

/// The uses that no row of the table allows, and the rows that are no longer needed.
fn violations(table: &[(&str, &[&str])]) -> Vec<String> {
    let code = production_code();
    let uses = |way: &str, code: &str| {
        let is_word = |at: usize| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        code.match_indices(way).any(|(at, _)| is_word(at))
    };
    let mut violations = Vec::new();
    for (way, allowed) in table {
        let users = code.iter().filter(|(_, code)| uses(way, code));
        let names: Vec<String> =
            users.map(|(file, _)| file.strip_prefix(root()).unwrap().display().to_string()).collect();
        violations.extend(
            names.iter().filter(|name| !allowed.contains(&&***name)).map(|name| format!("{name}: {way}")),
        );
        let unused = allowed.iter().filter(|allowed| !names.iter().any(|name| name == *allowed));
        violations.extend(unused.map(|name| format!("{name} no longer uses {way}")));
    }
    violations
}

#[test]
fn files_are_opened_only_by_the_module_for_it() {
    assert_eq!(violations(OPENING), Vec::<String>::new(), "use tiller_files");
}

#[test]
fn terminal_is_written_to_only_by_sanitizing_writers() {
    assert_eq!(violations(PRINTING), Vec::<String>::new(), "use cli::console or render::SanitizingWriter");
}
