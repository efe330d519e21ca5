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
        /// As JSON
        #[arg(long)]
        json: bool,
    },
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
