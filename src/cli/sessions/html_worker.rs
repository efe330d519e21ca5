//! Renders the HTML page of a session in a child process, so that a long-running process doesn't keep the
//! memory of the loaded grammars.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, anyhow};
use tempfile::NamedTempFile;

use crate::cli::failure::CliFailure;
use crate::html::{self, WORKER_ARGUMENT};
use crate::id::EntryId;
use crate::session::{Reader, export};

/// Renders the page with this program, or in this process if `program` is `None`.
pub(super) fn render_page(
    reader: &Reader,
    leaf: Option<&EntryId>,
    program: Option<&Path>,
) -> Result<Vec<u8>, CliFailure> {
    let output = match program {
        Some(program) => run_worker(program, reader, leaf)?,
        None => None,
    };
    match output {
        None => Ok(html::page(reader, leaf)?.into_bytes()),
        Some(output) if output.status.success() => Ok(output.stdout),
        Some(output) => {
            let reason = String::from_utf8_lossy(&output.stderr);
            let reason = reason.lines().next().unwrap_or("the worker was killed");
            Err(CliFailure::run(anyhow!("can't render the page: {reason}")))
        }
    }
}

/// Runs the program and returns its output; `None` if it can't be started or the log is empty.
fn run_worker(program: &Path, reader: &Reader, leaf: Option<&EntryId>) -> Result<Option<Output>, CliFailure> {
    if let Some(path) = reader.path().filter(|path| path.exists()) {
        return run(program, path, leaf);
    }
    // The session is only in memory, so its log is passed in a private temporary file.
    let failed = "can't write the session to a temporary file";
    let mut copy = NamedTempFile::new().context(failed).map_err(CliFailure::run)?;
    export::export_log(reader, &mut copy).map_err(CliFailure::run)?;
    let length = copy.as_file().metadata().context(failed).map_err(CliFailure::run)?.len();
    if length > 0 { run(program, copy.path(), leaf) } else { Ok(None) }
}

fn run(program: &Path, log: &Path, leaf: Option<&EntryId>) -> Result<Option<Output>, CliFailure> {
    let log = std::path::absolute(log).context("can't find the session file").map_err(CliFailure::run)?;
    let started = Command::new(program)
        .arg0("tiller")
        .arg(WORKER_ARGUMENT)
        .arg(log)
        .args(leaf.map(EntryId::as_str))
        .stdin(Stdio::null())
        .output();
    match started {
        Ok(output) => Ok(Some(output)),
        Err(error) if is_unusable_program(&error) => Ok(None),
        Err(error) => {
            let failed = format!("can't render the page: can't run {}", program.display());
            let hint = "the system can't start another process at the moment; stop some, or try again later";
            Err(CliFailure::run(anyhow!(error).context(failed)).hint(hint))
        }
    }
}

/// Returns true if the failure is due to the file at the program's path: it was removed, is being replaced,
/// or is for another machine.
fn is_unusable_program(error: &io::Error) -> bool {
    use io::ErrorKind::{ExecutableFileBusy, NotADirectory, NotFound, PermissionDenied};
    let is_file_error =
        [NotFound, PermissionDenied, NotADirectory, ExecutableFileBusy].contains(&error.kind());
    is_file_error || error.raw_os_error() == Some(nix::errno::Errno::ENOEXEC as i32)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use tempfile::TempDir;

    use super::*;

    const LOG: &str = concat!(
        r#"{"type":"session","version":3,"id":"s1","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/p"}"#,
        "\n",
        r#"{"type":"message","id":"e1","parentId":null,"timestamp":"2026-11-21T03:16:58.249Z","message":{"role":"user","content":"hello","timestamp":1}}"#,
        "\n",
    );

    fn log(dir: &TempDir) -> Reader {
        let path = dir.path().join("log.jsonl");
        fs::write(&path, LOG).expect("written");
        Reader::open(&path).expect("a log")
    }

    /// Written by another process: a child of another test could inherit a file that this process has open
    /// for writing, and running it would fail.
    fn program(dir: &TempDir, script: &str) -> PathBuf {
        let (text, path) = (dir.path().join("script"), dir.path().join("page"));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).expect("written");
        let _ = fs::remove_file(&path);
        let copied = Command::new("cp").args([&text, &path]).status().expect("cp runs");
        assert!(copied.success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("may be run");
        path
    }

    fn render(reader: &Reader, program: &Path) -> String {
        let leaf = reader.leaf();
        match render_page(reader, leaf.as_ref(), Some(program)) {
            Ok(page) => String::from_utf8(page).expect("text"),
            Err(failure) => failure.text(),
        }
    }

    #[test]
    fn render_page_worker_gets_log_and_entry_and_reports_error() {
        let dir = TempDir::new().expect("a directory");
        let reader = log(&dir);
        let path = dir.path().join("log.jsonl");
        let output = render(&reader, &program(&dir, "echo \"$*\"; cat \"$2\""));
        assert_eq!(output, format!("__page {} e1\n{LOG}", path.display()));
        let output = render(&reader, &program(&dir, "echo 'it is damaged' >&2; exit 1"));
        assert_eq!(output, "can't render the page: it is damaged");
        let output = render(&reader, &program(&dir, "kill -9 $$"));
        assert_eq!(output, "can't render the page: the worker was killed");
    }

    #[test]
    fn render_page_unsaved_log_is_passed_in_temporary_file() {
        let dir = TempDir::new().expect("a directory");
        let reader = log(&dir);
        fs::remove_file(dir.path().join("log.jsonl")).expect("gone");
        let output = render(&reader, &program(&dir, "echo \"$2\"; cat \"$2\""));
        let (copy, text) = output.split_once('\n').expect("a path and a log");
        assert_eq!(text, LOG);
        assert!(!Path::new(copy).exists(), "{copy}");
    }

    #[test]
    fn render_page_without_usable_program_renders_in_process() {
        let dir = TempDir::new().expect("a directory");
        let output = render(&log(&dir), Path::new("/nowhere/tiller"));
        assert!(output.starts_with("<!doctype html>") && output.contains("hello"), "{output}");
        let data = dir.path().join("data");
        fs::write(&data, "no program").expect("written");
        let output = render(&log(&dir), &data);
        assert!(
            output.starts_with("<!doctype html>"),
            "a file without execute permission is not run: {output}"
        );
    }

    #[test]
    fn render_page_other_start_failure_is_an_error() {
        let dir = TempDir::new().expect("a directory");
        // Longer than an argument of a process may be.
        let leaf = EntryId::new("x".repeat(8 << 20));
        let failure = render_page(&log(&dir), Some(&leaf), Some(Path::new("/bin/sh"))).expect_err("no room");
        let output = failure.text();
        assert!(output.starts_with("can't render the page: can't run /bin/sh: "), "{output}");
        assert!(failure.hint.is_some_and(|hint| hint.contains("try again")));
    }
}
