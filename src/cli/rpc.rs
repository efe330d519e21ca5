//! `tiller --mode rpc`: JSON-lines RPC on stdin and stdout.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::args::ExportFormat;
use super::failure::{CliFailure, DONE, INTERRUPTED};
use super::frontend::FrontEnd;
use super::run_input::RunInput;
use super::sessions::export::{self, ExportRequest};
use super::signals::SignalGuard;
use super::start::{print_notices, start, wire};
use super::trusted_project::TrustedProject;
use super::wiring;
use super::{rules, settings};
use crate::cli::console;
use crate::process;
use crate::rpc::{self, RpcExporter, RpcOptions};
use crate::session::Reader;

pub(super) async fn run(input: &RunInput, front: FrontEnd) -> Result<u8, CliFailure> {
    if !input.arguments.message.is_empty() {
        return Err(CliFailure::usage(anyhow!("--mode rpc takes no message on the command line"))
            .hint("send it on stdin: {\"type\": \"prompt\", \"message\": \"…\"}"));
    }
    let wired = wire(input, front).await?;
    let _scratch = wired.scratch;
    let agent = start(input, wired.parts).await?;
    wiring::add_local_models(input, agent.clone());
    print_notices(&wired.notices, &agent, "`get_queue` lists them, `release_queued` sends one").await;
    let html_worker = process::this_program().ok();
    let options = RpcOptions {
        settings: serde_json::json!({"settings": settings::rows(&input.config)}),
        exporter: Some(RpcExporter::new(move |reader, cwd, file| {
            export_html(reader, cwd, file, html_worker.as_deref())
        })),
        rules: Some(rules::rule_store(input, TrustedProject::new(input.project.clone()))),
    };
    let interruption = SignalGuard::watch(agent.clone());
    let result = rpc::run(agent, io::stdin(), console::stdout(), interruption.wait(), options).await;
    result.map_err(CliFailure::run)?;
    Ok(if interruption.was_triggered() { INTERRUPTED } else { DONE })
}

/// Exports a session for `export_html`, like `tiller sessions export`; relative paths start at the working
/// directory.
fn export_html(
    reader: &Reader,
    cwd: &Path,
    file: Option<&str>,
    html_worker: Option<&Path>,
) -> Result<PathBuf, String> {
    let output = file.map(|file| cwd.join(file));
    let request = ExportRequest {
        format: Some(ExportFormat::Html),
        output: output.as_deref(),
        force: true,
        html_worker,
        ..ExportRequest::default()
    };
    match export::export_session(reader, cwd, &request) {
        Ok(path) => Ok(path.unwrap_or_default()),
        Err(failure) => Err(failure.text()),
    }
}
