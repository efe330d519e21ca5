//! The arguments of `tiller serve`.

use std::path::PathBuf;

use clap::Args;
use tiller_server::BasePath;

#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct ServeArgs {
    /// Listen on this address (overrides the setting server.listen)
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(in crate::cli) listen: Option<String>,
    /// Name of this machine in its sessions (overrides the setting server.node; default: the host name)
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) node: Option<String>,
    /// Allow sessions in this directory and its subdirectories (repeatable; default: the working directory)
    #[arg(long, value_name = "DIR")]
    pub(in crate::cli) root: Vec<PathBuf>,
    /// Accept requests for this host name in addition to localhost and IP addresses (repeatable)
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(in crate::cli) host: Vec<String>,
    /// Allow --listen to use an address that other machines can reach; needs --cert and --key, or --behind-proxy
    #[arg(long)]
    pub(in crate::cli) listen_anywhere: bool,
    /// Certificate chain for TLS (PEM)
    #[arg(long, value_name = "FILE", requires = "key")]
    pub(in crate::cli) cert: Option<PathBuf>,
    /// Private key for the certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(in crate::cli) key: Option<PathBuf>,
    /// A proxy in front of the server provides TLS
    #[arg(long, conflicts_with = "cert")]
    pub(in crate::cli) behind_proxy: bool,
    /// Serve under this path, such as /a, for a proxy that routes by path
    #[arg(long, value_name = "PATH")]
    pub(in crate::cli) base_path: Option<BasePath>,
}

/// Parses a host name as in a request's `Host`, without its port.
fn host_name(text: &str) -> Result<String, &'static str> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    if text.is_empty() || !text.chars().all(is_valid) {
        return Err("not a host name; use letters, digits, `-` and `.`, without a port");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_name_rejects_what_no_request_names() {
        assert_eq!(host_name("build-1.example.com").as_deref(), Ok("build-1.example.com"));
        for text in ["", "a b", "https://a", "a:80", "bücher.example"] {
            assert!(host_name(text).is_err(), "{text}");
        }
    }
}
