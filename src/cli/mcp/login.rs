//! `tiller mcp login` and `tiller mcp logout`: logins to servers over HTTP, in the browser.

use std::io::{BufRead as _, stdin};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use tokio::sync::mpsc;

use crate::cli::args::CliArgs;
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE};
use crate::cli::mcp::test::find;
use crate::cli::trust::{self, TrustPrompt};
use crate::config::McpLogins;
use crate::files::web_page::open_web_page;
use crate::mcp::config::Endpoint;
use crate::mcp::{LoginPrompt, LoginStorage, log_in as log_in_at};
use crate::render::{ControlChars, sanitize};

/// Capacity for pasted lines; a person pastes one.
const LINES: usize = 8;

pub(super) fn log_in(arguments: &CliArgs, name: &str) -> Result<u8, CliFailure> {
    let (url, logins) = server(arguments, name)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    let complain = |problem: &str| stderr_line!("{problem}");
    let outcome = runtime.block_on(log_in_at(&url, Arc::new(logins), show, pasted_lines(), complain));
    runtime.shutdown_background();
    outcome.map_err(|reason| {
        let reason = sanitize(&reason, ControlChars::Visible).into_owned();
        CliFailure::run(anyhow!("MCP server {name}: {reason}"))
    })?;
    stderr_line!("logged in to {name}");
    stderr_line!("  hint: in a running session, /reload restarts the server");
    Ok(DONE)
}

pub(super) fn log_out(arguments: &CliArgs, name: &str) -> Result<u8, CliFailure> {
    let (url, logins) = server(arguments, name)?;
    let was_there = logins.store(&url, None).map_err(|reason| CliFailure::run(anyhow!(reason)))?;
    if was_there {
        stderr_line!("logged out of {name}: removed its login from {}", logins.path().display());
    } else {
        stderr_line!("not logged in to {name}");
    }
    Ok(DONE)
}

/// Returns the URL of a server and the file of logins. Servers of an untrusted project are unknown here too.
fn server(arguments: &CliArgs, name: &str) -> Result<(String, McpLogins), CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    for warning in config.notices() {
        stderr_line!("warning: {warning}");
    }
    match &find(&config, name)?.endpoint {
        Endpoint::Http(endpoint) => Ok((endpoint.url.clone(), McpLogins::new(config.dirs.mcp_auth()))),
        Endpoint::Stdio(_) => {
            let error = anyhow!("{name} is a local command; only servers with a URL support login");
            Err(CliFailure::usage(error)
                .hint("a local command takes its key from `env` in its configuration"))
        }
    }
}

fn show(prompt: &LoginPrompt) {
    stderr_line!("Log in on this page:");
    stderr_line!("");
    stderr_line!("  {}", sanitize(&prompt.address, ControlChars::Visible));
    stderr_line!("");
    stderr_line!("If your browser is on another machine, it will be redirected to a page that doesn't load.");
    stderr_line!("Paste that page's URL here ({}?...):", prompt.redirect);
    let address = prompt.address.clone();
    // On a thread, because it may wait for the browser command.
    std::thread::spawn(move || open_web_page(&address));
}

/// Reads the lines of stdin on a thread that ends with the process.
fn pasted_lines() -> mpsc::Receiver<String> {
    let (lines, pasted) = mpsc::channel(LINES);
    std::thread::spawn(move || {
        let typed = stdin().lock().lines().map_while(Result::ok).filter(|line| !line.trim().is_empty());
        for line in typed {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    });
    pasted
}
