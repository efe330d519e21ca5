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
    /// Draw a session's tree
    Tree {
        /// A file, or a part of an id
        session: String,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}
