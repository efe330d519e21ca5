//! `tiller --mode rpc`: a conversation in JSON lines on stdin and stdout.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::anyhow;

use super::args::ExportFormat;
use super::front::Front;
use super::run::{Given, assembled, start, tell_first};
use super::sessions::export::{self, Asked};
use super::settings;
use super::signals::Interruption;
use super::{DONE, Failure, INTERRUPTED};
use crate::cli::console;
use crate::process;
use crate::rpc::{self, Exporter, RpcOptions};
use crate::session::Reader;

pub(super) async fn run(given: &Given, front: Front) -> Result<u8, Failure> {
    if !given.arguments.message.is_empty() {
        return Err(Failure::usage(anyhow!("--mode rpc takes no message on the command line"))
            .hint("send it on stdin: {\"type\": \"prompt\", \"message\": \"…\"}"));
    }
    let assembled = assembled(given, front).await?;
    let _scratch = assembled.scratch;
    let agent = start(given, assembled.parts).await?;
    tell_first(&assembled.notices, &agent, "`get_queue` lists them, `release_queued` sends one").await;
    let pages = process::this_program().ok();
    let options = RpcOptions {
        settings: serde_json::json!({"settings": settings::rows(&given.config)}),
        exporter: Some(Exporter::new(move |reader, cwd, file| export(reader, cwd, file, pages.as_deref()))),
    };
    let interruption = Interruption::watch(agent.clone());
    let served = rpc::run(agent, io::stdin(), console::stdout(), interruption.wait(), options).await;
    served.map_err(Failure::run)?;
    Ok(if interruption.happened() { INTERRUPTED } else { DONE })
}

/// What `export_html` does: as `tiller sessions export`, the file's place beginning at the working directory.
fn export(reader: &Reader, cwd: &Path, file: Option<&str>, pages: Option<&Path>) -> Result<PathBuf, String> {
    let output = file.map(|file| cwd.join(file));
    let asked = Asked {
        format: Some(ExportFormat::Html),
        output: output.as_deref(),
        force: true,
        pages,
        ..Asked::default()
    };
    match export::made(reader, cwd, &asked) {
        Ok(path) => Ok(path.unwrap_or_default()),
        Err(failure) => Err(format!("{:#}", failure.error)),
    }
}
