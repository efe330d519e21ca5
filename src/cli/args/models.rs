//! The subcommands of `tiller models`.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ModelsCommand {
    /// Ask usable providers which models they serve, and remember them
    Refresh {
        /// Only this provider
        provider: Option<String>,
    },
}
