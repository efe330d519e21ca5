//! The subcommands of `tiller models`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ModelsCommand {
    /// Fetch and cache the model lists of usable providers
    Refresh {
        /// Only this provider
        provider: Option<String>,
    },
}
