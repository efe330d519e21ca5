//! The page of a session, made by another process where somebody goes on who would keep what the grammars of its code take.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, anyhow};
use tempfile::NamedTempFile;

use crate::cli::Failure;
use crate::html::{self, SERVICE};
use crate::id::EntryId;
use crate::session::{Reader, export};

/// The page of a session, made by a program, or in this process where there is none.
pub(super) fn page(
    reader: &Reader,
    leaf: Option<&EntryId>,
    program: Option<&Path>,
) -> Result<Vec<u8>, Failure> {
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
            Err(Failure::run(anyhow!("the page was not made: {why}")))
        }
    }
}

/// What a program came to; `None` where it can't be started, or there is nothing that it could read.
fn made_by(program: &Path, reader: &Reader, leaf: Option<&EntryId>) -> Result<Option<Output>, Failure> {
    if let Some(path) = reader.path().filter(|path| path.exists()) {
        return Ok(run(program, path, leaf).ok());
    }
    // A session that is kept nowhere: as long as its page is made it is in a file that is nobody else's.
    let failed = "can't hand the session over";
    let mut copy = NamedTempFile::new().context(failed).map_err(Failure::run)?;
    export::whole(reader, &mut copy).map_err(Failure::run)?;
    let length = copy.as_file().metadata().context(failed).map_err(Failure::run)?.len();
    Ok(if length > 0 { run(program, copy.path(), leaf).ok() } else { None })
}

fn run(program: &Path, log: &Path, leaf: Option<&EntryId>) -> io::Result<Output> {
    Command::new(program)
        .arg0("tiller")
        .arg(SERVICE)
        .arg(std::path::absolute(log)?)
        .args(leaf.map(EntryId::as_str))
        .stdin(Stdio::null())
        .output()
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

    fn program(folder: &TempDir, script: &str) -> PathBuf {
        let path = folder.path().join("page");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
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
    }
}
