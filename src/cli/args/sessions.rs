//! What can be typed after `tiller sessions`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SessionsCommand {
    /// List the sessions of this directory, the newest first
    List {
        /// Those of all directories
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// At most so many; 0 for all
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Pass over so many of the newest
        #[arg(long, value_name = "N", default_value_t = 0)]
        offset: usize,
    },
    /// Find what was said: prompts, answers, summaries, names and `!` commands
    Search {
        /// The words; all of them must occur, and the last may go on
        #[arg(required = true)]
        query: Vec<String>,
        /// In all directories
        #[arg(long)]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// At most so many
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Print the transcript of a session's current branch
    Show {
        /// A file, or a part of an id
        session: String,
        /// The messages as a model would get them
        #[arg(long, conflicts_with = "stats")]
        context: bool,
        /// The facts
        #[arg(long)]
        stats: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring sessions of Claude Code, Codex and pi here, as often as you like
    Import {
        /// Logs, or folders of them
        paths: Vec<PathBuf>,
        /// All logs in the places where these programs keep them
        #[arg(long, conflicts_with = "paths")]
        all: bool,
        /// Only logs of this program
        #[arg(long, value_enum)]
        from: Option<ForeignProgram>,
        /// Say what would be done, and do nothing
        #[arg(long)]
        dry_run: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw a session's tree
    Tree {
        /// A file, or a part of an id
        session: String,
        /// Hidden branches too
        #[arg(long)]
        all: bool,
        /// As JSON: every entry as it stands in the file
        #[arg(long)]
        json: bool,
    },
    /// Check every line and every entry of logs; exit code 1 if something is lost or contradicts itself
    Verify {
        /// Files, or parts of ids
        #[arg(value_name = "SESSION", required_unless_present = "all")]
        sessions: Vec<String>,
        /// Every log of every directory
        #[arg(long, conflicts_with = "sessions")]
        all: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Name a session
    Rename {
        /// A file, or a part of an id
        session: String,
        /// The name; an empty one takes the name away
        name: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Label an entry, so that it is found again in the tree
    Label {
        /// A file, or a part of an id
        session: String,
        /// An entry's id, or a part of it
        entry: String,
        /// The label; without one the entry loses the one it has
        label: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Take an entry and all that follows it out of the drawn tree; nothing is deleted
    Hide {
        /// A file, or a part of an id
        session: String,
        /// An entry's id, or a part of it
        entry: String,
        /// Bring them back
        #[arg(long)]
        undo: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Let a session go on from an earlier entry; what followed it stays as another branch
    Branch {
        /// A file, or a part of an id
        session: String,
        /// An entry's id, or a part of it; `root` for before the first one
        #[arg(value_name = "ENTRY|root")]
        entry: String,
        /// What the model is told of the branch that is left
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Move sessions to the trash
    Rm {
        /// Files, or parts of ids
        #[arg(value_name = "SESSION", required = true)]
        sessions: Vec<String>,
        /// Don't ask
        #[arg(short, long)]
        yes: bool,
        /// Delete them for good
        #[arg(long)]
        permanently: bool,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Let the sessions of a directory that is gone be this one's: the project was moved here
    Move {
        /// The directory they are of, as `sessions list --all` shows it
        from: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Write a session to a file: a page for a browser, Markdown, or the log itself
    Export {
        /// A file, or a part of an id
        session: String,
        /// What to write [default: by the file's ending, else html]
        #[arg(long, value_enum)]
        format: Option<ExportFormat>,
        /// Every branch; a page has them anyway, and opens the current one
        #[arg(long, conflicts_with = "entry")]
        all_branches: bool,
        /// The branch up to this entry, or a part of its id, instead of the current one
        #[arg(long, value_name = "ENTRY")]
        entry: Option<String>,
        /// The file, or - for stdout [default: the session's name in the working directory]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Replace the file if there is one
        #[arg(long)]
        force: bool,
        /// Say as JSON which file was made
        #[arg(long)]
        json: bool,
    },
}

/// What a session is exported as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExportFormat {
    /// The log: one JSON object a line
    Jsonl,
    /// A transcript in Markdown
    Md,
    /// A page for a browser
    Html,
}

/// A program whose logs can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ForeignProgram {
    /// Claude Code
    Claude,
    /// Codex CLI
    Codex,
    /// The pi coding agent
    Pi,
}
