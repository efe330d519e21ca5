//! The arguments of `tiller sessions`.

use std::path::PathBuf;

use clap::{Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum SessionsCommand {
    /// List the sessions in this directory, newest first
    List {
        /// Include all directories
        #[arg(long)]
        all: bool,
        /// List the sessions of agents that this session delegated tasks to
        #[arg(long, value_name = "SESSION", conflicts_with = "all")]
        agents_of: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Maximum results (0 = all)
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
        /// Skip the N newest
        #[arg(long, value_name = "N", default_value_t = 0)]
        offset: usize,
    },
    /// Search prompts, answers, summaries, names and `!` commands
    Search {
        /// Search terms; all must match, the last one as a prefix
        #[arg(required = true)]
        query: Vec<String>,
        /// Search all directories
        #[arg(long)]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Maximum results
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// Print the transcript of a session's current branch
    Show {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// Show the messages as sent to the model
        #[arg(long, conflicts_with = "stats")]
        context: bool,
        /// Show the session's statistics
        #[arg(long)]
        stats: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Import sessions from Claude Code, Codex and pi; rerunning adds only new data
    Import {
        /// Log files, or directories that contain them
        paths: Vec<PathBuf>,
        /// Import all logs in these programs' default locations
        #[arg(long, conflicts_with = "paths")]
        all: bool,
        /// Only logs of this program
        #[arg(long, value_enum)]
        from: Option<ForeignProgram>,
        /// Report what would be imported without writing
        #[arg(long)]
        dry_run: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Draw a session's tree
    Tree {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// Include hidden branches
        #[arg(long)]
        all: bool,
        /// Print every entry as JSON, as stored in the file
        #[arg(long)]
        json: bool,
    },
    /// Check every line and entry of session files; exit code 1 on errors
    Verify {
        /// Session files, or at least 4 characters from the start or end of each id
        #[arg(value_name = "SESSION", required_unless_present = "all")]
        sessions: Vec<String>,
        /// Verify the sessions in all directories
        #[arg(long, conflicts_with = "sessions")]
        all: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Name a session
    Rename {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// New name; empty removes the name
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Label an entry in the tree
    Label {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// Entry id, or at least 4 characters from its start or end
        entry: String,
        /// Label; without one, the entry's label is removed
        label: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Hide an entry and its descendants in the tree; nothing is deleted
    Hide {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// Entry id, or at least 4 characters from its start or end
        entry: String,
        /// Show them again
        #[arg(long)]
        undo: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Continue a session from an earlier entry; later entries are kept as another branch
    Branch {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// Entry id, or at least 4 characters from its start or end; `root` is the point before the first entry
        #[arg(value_name = "ENTRY|root")]
        entry: String,
        /// Summary of the abandoned branch for the model
        #[arg(long, value_name = "TEXT")]
        summary: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Move sessions to the trash
    Rm {
        /// Session files, or at least 4 characters from the start or end of each id
        #[arg(value_name = "SESSION", required = true)]
        sessions: Vec<String>,
        /// Don't ask for confirmation
        #[arg(short, long)]
        yes: bool,
        /// Delete permanently instead
        #[arg(long)]
        permanently: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Reassign the sessions of a moved project to this directory
    Move {
        /// The project's old directory, as `sessions list --all` shows it
        from: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Export a session as an HTML page, Markdown or JSON lines
    Export {
        /// Session file, or at least 4 characters from the start or end of an id
        session: String,
        /// Output format [default: from the file extension, else html]
        #[arg(long, value_enum)]
        format: Option<ExportFormat>,
        /// Export every branch; HTML always contains every branch and opens the current one
        #[arg(long, conflicts_with = "entry")]
        all_branches: bool,
        /// Export the branch up to this entry: an id, or at least 4 characters from its start or end
        #[arg(long, value_name = "ENTRY")]
        entry: Option<String>,
        /// Output file, or - for stdout [default: a file in the working directory, named after the session]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Overwrite an existing file
        #[arg(long)]
        force: bool,
        /// Print the file's path as JSON
        #[arg(long)]
        json: bool,
    },
}

/// The output format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum ExportFormat {
    /// The log, one JSON object per line
    Jsonl,
    /// Markdown transcript
    Md,
    /// Web page
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
