//! The worker process for pages, which renders a page to stdout and exits, so that the memory of the loaded
//! grammars is freed.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use super::page;
use crate::id::EntryId;
use crate::session::Reader;

/// The argument that starts the worker ([`run_worker`]).
pub const WORKER_ARGUMENT: &str = "__page";

/// Writes the page of a log to `output`. `arguments` are the path of the log and the leaf of the open branch,
/// or only the path. An error is written to `errors` as one line.
pub fn run_worker(
    mut arguments: impl Iterator<Item = OsString>,
    mut output: impl Write,
    mut errors: impl Write,
) -> ExitCode {
    let path = arguments.next().unwrap_or_default();
    let leaf = arguments.next().map(|leaf| EntryId::new(leaf.to_string_lossy()));
    let rendered = Reader::open(Path::new(&path)).and_then(|reader| page(&reader, leaf.as_ref()));
    match rendered {
        Ok(page) if output.write_all(page.as_bytes()).and_then(|()| output.flush()).is_ok() => {
            ExitCode::SUCCESS
        }
        // The parent has exited.
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // As above.
            let _ = writeln!(errors, "{error}");
            ExitCode::FAILURE
        }
    }
}
