//! `tiller serve`: sessions over HTTP.

mod session_starter;
mod token_file;

use std::net::SocketAddr;
use std::path::Path;
use std::process;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use secrecy::ExposeSecret as _;
use tiller_server::{AccessRules, BoundSocket, CookieScope, HttpServer, WorkspaceRoots, tls_config};
use tokio::net::{TcpListener, lookup_host};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::args::ServeArgs;
use super::attach;
use super::console::stderr_line;
use super::failure::{CliFailure, DONE, INTERRUPTED};
use super::run_input::RunInput;
use super::startup;
use super::stdout::print_text;
use crate::files;
use crate::session::host_name;
use session_starter::SessionStarter;

/// Maximum size of a certificate chain and of a key, in bytes.
const MAX_PEM_BYTES: u64 = 1024 * 1024;

/// Maximum number of open files, if the system allows it: each session and each client needs a few.
const OPEN_FILES: u64 = 65_536;

pub(super) async fn run(input: &RunInput, options: &ServeArgs) -> Result<u8, CliFailure> {
    input.config.notices().for_each(|notice| stderr_line!("warning: {notice}"));
    if let Err(error) = raise_file_limit() {
        tracing::warn!(%error, "the limit on open files can't be raised");
    }
    let addresses = addresses(input.config.settings.server_listen(), options).await?;
    let tls = match (&options.cert, &options.key) {
        (Some(certificate), Some(key)) => {
            let config = tls_config(&read_pem(certificate)?, &read_pem(key)?).map_err(CliFailure::usage)?;
            Some(Arc::new(config))
        }
        _ => None,
    };
    let roots = match &*options.root {
        [] => vec![startup::cwd(&input.arguments)?],
        roots => roots.to_vec(),
    };
    let roots = WorkspaceRoots::new(&roots).map_err(CliFailure::usage)?;
    let token = token_file::load_or_create(&input.config.dirs.state.join("server-token"))?;
    let listener = TcpListener::bind(&*addresses).await;
    let listener =
        listener.with_context(|| format!("can't listen on {}", input.config.settings.server_listen()));
    let listener = listener.map_err(CliFailure::run)?;
    let signals = signals().context("can't wait for signals").map_err(CliFailure::run)?;
    let address = listener.local_addr().context("the socket has no address").map_err(CliFailure::run)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let base_path = options.base_path.clone().unwrap_or_default();
    let authority = local_authority(address);
    print_text(&format!("{scheme}://{authority}{base_path}/?token={}\n", token.expose_secret()))?;
    let is_secure = tls.is_some() || options.behind_proxy;
    let cookie = if is_secure { CookieScope::Secure } else { CookieScope::Any };
    let access = AccessRules { token, hosts: options.host.clone(), cookie, base_path };
    let node = input.config.settings.server_node().map_or_else(host_name, str::to_owned);
    let server = HttpServer::new(Arc::new(SessionStarter::new(input)), access, roots, node);
    let _shared = attach::share_sessions(input, Arc::new(server.finder()));
    server.run(BoundSocket { listener, tls }, shutdown(signals)).await;
    Ok(DONE)
}

/// Resolves the address to listen on. Other machines may connect only if that is requested, and only with
/// TLS.
async fn addresses(listen: &str, options: &ServeArgs) -> Result<Vec<SocketAddr>, CliFailure> {
    let found = lookup_host(listen).await.with_context(|| format!("`{listen}` is not a valid ADDRESS:PORT"));
    let found: Vec<SocketAddr> = found.map_err(CliFailure::usage)?.collect();
    if found.iter().all(|address| address.ip().is_loopback()) {
        return Ok(found);
    }
    let refused = |requirement: &str| {
        let error = anyhow!("{listen} would be reachable from other machines, which needs {requirement}");
        CliFailure::usage(error)
    };
    if !options.listen_anywhere {
        return Err(refused("--listen-anywhere").hint("add it, or listen on 127.0.0.1"));
    }
    if options.cert.is_none() && !options.behind_proxy {
        let hint = "add --cert FILE --key FILE, or --behind-proxy if a proxy provides it";
        return Err(refused("TLS").hint(hint));
    }
    Ok(found)
}

/// Returns the host and port by which this machine reaches the address: 0.0.0.0 and [::] name no host.
fn local_authority(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!("localhost:{}", address.port()),
        false => address.to_string(),
    }
}

/// Raises the soft limit on open files, which is 1,024 on most systems.
fn raise_file_limit() -> nix::Result<()> {
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    let wanted = OPEN_FILES.min(hard);
    if soft < wanted { setrlimit(Resource::RLIMIT_NOFILE, wanted, hard) } else { Ok(()) }
}

fn read_pem(path: &Path) -> Result<Vec<u8>, CliFailure> {
    let bytes = files::read(path, MAX_PEM_BYTES).with_context(|| format!("can't read {}", path.display()));
    bytes.map_err(CliFailure::usage)
}

fn signals() -> std::io::Result<[Signal; 2]> {
    Ok([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?])
}

/// Completes at the first signal; a second one ends the process immediately.
async fn shutdown([mut interrupt, mut terminate]: [Signal; 2]) {
    let (start, started) = oneshot::channel();
    tokio::spawn(async move {
        let mut start = Some(start);
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            match start.take() {
                Some(start) => drop(start.send(())),
                None => process::exit(INTERRUPTED.into()),
            }
        }
    });
    // The task sends before it ends.
    let _ = started.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_authority_names_a_host() {
        for (address, shown) in [
            ("127.0.0.1:4747", "127.0.0.1:4747"),
            ("0.0.0.0:80", "localhost:80"),
            ("[::]:80", "localhost:80"),
            ("[::1]:80", "[::1]:80"),
        ] {
            assert_eq!(local_authority(address.parse().unwrap()), shown);
        }
    }
}
