//! `tiller --mode rpc`: a conversation in JSON lines on stdin and stdout.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::args::ExportFormat;
use super::frontend::FrontEnd;
use super::run::{RunInput, assembled, start, tell_first};
use super::sessions::export::{self, ExportRequest};
use super::settings;
use super::signals::Interruption;
use super::{CliFailure, DONE, INTERRUPTED};
use crate::cli::console;
use crate::process;
use crate::rpc::{self, RpcExporter, RpcOptions};
use crate::session::Reader;

pub(super) async fn run(given: &RunInput, front: FrontEnd) -> Result<u8, CliFailure> {
    if !given.arguments.message.is_empty() {
        return Err(CliFailure::usage(anyhow!("--mode rpc takes no message on the command line"))
            .hint("send it on stdin: {\"type\": \"prompt\", \"message\": \"…\"}"));
    }
    let assembled = assembled(given, front).await?;
    let _scratch = assembled.scratch;
    let agent = start(given, assembled.parts).await?;
    tell_first(&assembled.notices, &agent, "`get_queue` lists them, `release_queued` sends one").await;
    let pages = process::this_program().ok();
    let options = RpcOptions {
        settings: serde_json::json!({"settings": settings::rows(&given.config)}),
        exporter: Some(RpcExporter::new(move |reader, cwd, file| {
            export(reader, cwd, file, pages.as_deref())
        })),
    };
    let interruption = Interruption::watch(agent.clone());
    let served = rpc::run(agent, io::stdin(), console::stdout(), interruption.wait(), options).await;
    served.map_err(CliFailure::run)?;
    Ok(if interruption.happened() { INTERRUPTED } else { DONE })
}

/// What `export_html` does: as `tiller sessions export`, the file's place beginning at the working directory.
fn export(reader: &Reader, cwd: &Path, file: Option<&str>, pages: Option<&Path>) -> Result<PathBuf, String> {
    let output = file.map(|file| cwd.join(file));
    let asked = ExportRequest {
        format: Some(ExportFormat::Html),
        output: output.as_deref(),
        force: true,
        pages,
        ..ExportRequest::default()
    };
    match export::made(reader, cwd, &asked) {
        Ok(path) => Ok(path.unwrap_or_default()),
        Err(failure) => Err(format!("{:#}", failure.error)),
    }
}
