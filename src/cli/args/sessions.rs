//! What can be typed after `tiller sessions`.

use clap::Subcommand;

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
}
