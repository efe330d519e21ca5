//! The page of a session, made by another process where somebody goes on who would keep what the grammars of its code take.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, anyhow};
use tempfile::NamedTempFile;

use crate::cli::CliFailure;
use crate::html::{self, SERVICE};
use crate::id::EntryId;
use crate::session::{Reader, export};

/// The page of a session, made by a program, or in this process where there is none.
pub(super) fn page(
    reader: &Reader,
    leaf: Option<&EntryId>,
    program: Option<&Path>,
) -> Result<Vec<u8>, CliFailure> {
    let output = match program {
        Some(program) => made_by(program, reader, leaf)?,
        None => None,
    };
    match output {
        None => Ok(html::page(reader, leaf)?.into_bytes()),
        Some(output) if output.status.success() => Ok(output.stdout),
        Some(output) => {
            let why = String::from_utf8_lossy(&output.stderr);
            let why = why.lines().next().unwrap_or("whoever made it was stopped");
            Err(CliFailure::run(anyhow!("the page was not made: {why}")))
        }
    }
}

/// What a program came to; `None` where it is none that can be started, or there is nothing that it could read.
fn made_by(program: &Path, reader: &Reader, leaf: Option<&EntryId>) -> Result<Option<Output>, CliFailure> {
    if let Some(path) = reader.path().filter(|path| path.exists()) {
        return run(program, path, leaf);
    }
    // A session that is kept nowhere: as long as its page is made it is in a file that is nobody else's.
    let failed = "can't hand the session over";
    let mut copy = NamedTempFile::new().context(failed).map_err(CliFailure::run)?;
    export::whole(reader, &mut copy).map_err(CliFailure::run)?;
    let length = copy.as_file().metadata().context(failed).map_err(CliFailure::run)?.len();
    if length > 0 { run(program, copy.path(), leaf) } else { Ok(None) }
}

fn run(program: &Path, log: &Path, leaf: Option<&EntryId>) -> Result<Option<Output>, CliFailure> {
    let log = std::path::absolute(log).context("can't tell where the session is").map_err(CliFailure::run)?;
    let started = Command::new(program)
        .arg0("tiller")
        .arg(SERVICE)
        .arg(log)
        .args(leaf.map(EntryId::as_str))
        .stdin(Stdio::null())
        .output();
    match started {
        Ok(output) => Ok(Some(output)),
        Err(error) if is_no_program(&error) => Ok(None),
        Err(error) => {
            let failed = format!("the page was not made: {} could not be run", program.display());
            let hint =
                "the system has no room for another process at the moment; end some, or try again later";
            Err(CliFailure::run(anyhow!(error).context(failed)).hint(hint))
        }
    }
}

/// Whether a program can't be started because of what is at its path: it was removed, it is being replaced, it is for another machine.
fn is_no_program(error: &io::Error) -> bool {
    use io::ErrorKind::{ExecutableFileBusy, NotADirectory, NotFound, PermissionDenied};
    let of_file = [NotFound, PermissionDenied, NotADirectory, ExecutableFileBusy].contains(&error.kind());
    of_file || error.raw_os_error() == Some(nix::errno::Errno::ENOEXEC as i32)
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

    fn log(folder: &TempDir) -> Reader {
        let path = folder.path().join("log.jsonl");
        fs::write(&path, LOG).expect("written");
        Reader::open(&path).expect("a log")
    }

    /// Another process writes it: were it open for writing in this one, a child of another test's that has it too would be in the way of
    /// its being run.
    fn program(folder: &TempDir, script: &str) -> PathBuf {
        let (text, path) = (folder.path().join("script"), folder.path().join("page"));
        fs::write(&text, format!("#!/bin/sh\n{script}\n")).expect("written");
        let _ = fs::remove_file(&path);
        let copied = Command::new("cp").args([&text, &path]).status().expect("cp runs");
        assert!(copied.success());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("may be run");
        path
    }

    fn made(reader: &Reader, program: &Path) -> String {
        let leaf = reader.leaf();
        match page(reader, leaf.as_ref(), Some(program)) {
            Ok(page) => String::from_utf8(page).expect("text"),
            Err(failure) => format!("{:#}", failure.error),
        }
    }

    #[test]
    fn a_program_is_given_the_log_and_the_entry_and_says_what_was_wrong() {
        let folder = TempDir::new().expect("a folder");
        let reader = log(&folder);
        let path = folder.path().join("log.jsonl");
        let said = made(&reader, &program(&folder, "echo \"$*\"; cat \"$2\""));
        assert_eq!(said, format!("__page {} e1\n{LOG}", path.display()));
        let said = made(&reader, &program(&folder, "echo 'it is damaged' >&2; exit 1"));
        assert_eq!(said, "the page was not made: it is damaged");
        let said = made(&reader, &program(&folder, "kill -9 $$"));
        assert_eq!(said, "the page was not made: whoever made it was stopped");
    }

    #[test]
    fn a_log_that_is_in_no_file_is_handed_over_in_one_that_goes_again() {
        let folder = TempDir::new().expect("a folder");
        let reader = log(&folder);
        fs::remove_file(folder.path().join("log.jsonl")).expect("gone");
        let said = made(&reader, &program(&folder, "echo \"$2\"; cat \"$2\""));
        let (copy, text) = said.split_once('\n').expect("a path and a log");
        assert_eq!(text, LOG);
        assert!(!Path::new(copy).exists(), "{copy}");
    }

    #[test]
    fn without_a_program_that_can_be_started_the_page_is_made_here() {
        let folder = TempDir::new().expect("a folder");
        let said = made(&log(&folder), Path::new("/nowhere/tiller"));
        assert!(said.starts_with("<!doctype html>") && said.contains("hello"), "{said}");
        let data = folder.path().join("data");
        fs::write(&data, "no program").expect("written");
        let said = made(&log(&folder), &data);
        assert!(said.starts_with("<!doctype html>"), "what may not be run is no program: {said}");
    }

    #[test]
    fn a_program_that_is_there_and_finds_no_room_is_no_reason_to_make_the_page_here() {
        let folder = TempDir::new().expect("a folder");
        // Longer than the arguments of a process may be.
        let leaf = EntryId::new("x".repeat(8 << 20));
        let failure = page(&log(&folder), Some(&leaf), Some(Path::new("/bin/sh"))).expect_err("no room");
        let said = format!("{:#}", failure.error);
        assert!(said.starts_with("the page was not made: /bin/sh could not be run: "), "{said}");
        assert!(failure.hint.is_some_and(|hint| hint.contains("try again")));
    }
}
