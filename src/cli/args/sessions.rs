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
    /// Draw a session's tree
    Tree {
        /// A file, or a part of an id
        session: String,
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
