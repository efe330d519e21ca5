//! A page that another process makes: it is given a log and an entry, writes the page on its stdout, and gives back what the grammars
//! of the page's code took when it ends.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use super::page;
use crate::id::EntryId;
use crate::session::Reader;

/// The argument that makes our binary write a page ([`serve`]) and do nothing else.
pub const SERVICE: &str = "__page";

/// Writes the page of a log on `output`: `arguments` are its path and, if the log has any, the entry whose branch is open. Why there is none
/// is a line on `trouble`.
pub fn serve(
    mut arguments: impl Iterator<Item = OsString>,
    mut output: impl Write,
    mut trouble: impl Write,
) -> ExitCode {
    let path = arguments.next().unwrap_or_default();
    let leaf = arguments.next().map(|leaf| EntryId::new(leaf.to_string_lossy()));
    let made = Reader::open(Path::new(&path)).and_then(|reader| page(&reader, leaf.as_ref()));
    match made {
        Ok(page) if output.write_all(page.as_bytes()).and_then(|()| output.flush()).is_ok() => {
            ExitCode::SUCCESS
        }
        // Whoever asked is gone.
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            // As above.
            let _ = writeln!(trouble, "{error}");
            ExitCode::FAILURE
        }
    }
}
