//! A session that another tiller process has locked: attach to it, fork it, follow it, or quit.
//!
//! The question appears on the normal screen, before the TUI starts. Following never writes to the file.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::failure::{CliFailure, DONE, INTERRUPTED};
use super::login::disable_echo;
use super::transcript::transcript;
use crate::cli::console::{self, stderr_line, stderr_text};
use crate::cli::sessions::output::branch;
use crate::session::entry::TillerEntry;
use crate::session::{Entry, Reader, SessionError, is_locked};

/// Poll interval while following: short enough to seem immediate, and each poll is one `stat`.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Number of polls between two checks of the lock: one second.
const POLLS_PER_LOCK_CHECK: u32 = 5;

/// The user's choice for a locked session.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LockedChoice {
    /// Attach to the process that has this session open.
    Attach(PathBuf),
    /// Continue in a copy of this session.
    Fork(PathBuf),
    /// Follow this session's file.
    Follow(PathBuf),
    Quit,
}

/// The ability of the process that has the session open to accept other front ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttachSupport {
    Supported,
    Unsupported,
}

impl AttachSupport {
    /// Returns the question, and the reply to an invalid answer.
    const fn question(self) -> (&'static str, &'static str) {
        match self {
            Self::Supported => ("[a]ttach, [f]ork, [r]ead-only, [q]uit? ", "Type a, f, r or q, then Enter."),
            Self::Unsupported => ("[f]ork, [r]ead-only, [q]uit? ", "Type f, r or q, then Enter."),
        }
    }
}

/// Asks the user what to do if a session couldn't be opened because another tiller process has locked it.
/// Other failures are returned, and so is this one if stdin isn't a terminal.
pub(super) fn offer(failure: CliFailure, attaching: AttachSupport) -> Result<LockedChoice, CliFailure> {
    let (question, advice) = attaching.question();
    let path = match failure.error.downcast_ref() {
        Some(SessionError::Locked { path, .. }) if io::stdin().is_terminal() => path.clone(),
        _ => return Err(failure),
    };
    stderr_line!("{}", failure.text());
    loop {
        stderr_text!("{question}");
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer).context("can't read the answer");
        if read.map_err(CliFailure::run)? == 0 {
            return Ok(LockedChoice::Quit);
        }
        match answer.trim().to_lowercase().as_str() {
            "a" | "attach" if attaching == AttachSupport::Supported => return Ok(LockedChoice::Attach(path)),
            "f" | "fork" => return Ok(LockedChoice::Fork(path)),
            "r" | "read" | "read-only" => return Ok(LockedChoice::Follow(path)),
            "q" | "quit" => return Ok(LockedChoice::Quit),
            _ => stderr_line!("{advice}"),
        }
    }
}

/// Prints the current branch of a session, then new entries as they are written, until Ctrl+C or until the
/// lock is released.
pub(super) async fn follow(path: &Path) -> Result<u8, CliFailure> {
    let interrupt = signal(SignalKind::interrupt()).context("can't watch for ctrl+c");
    let mut interrupt = interrupt.map_err(CliFailure::run)?;
    let mut follower = Follower { path: path.to_owned(), length: 0, entries: 0 };
    // Typed input has no effect, so it isn't echoed. If echo can't be disabled, the output only looks worse.
    let _echo_off = disable_echo();
    stderr_line!("Following {}; Ctrl+C ends.\n", path.display());
    follower.begin()?;
    stderr_line!("\n--- end of the session so far; new entries follow, Ctrl+C ends ---");
    let mut polls = 0_u32;
    loop {
        tokio::select! {
            _ = interrupt.recv() => return Ok(INTERRUPTED),
            () = sleep(POLL_INTERVAL) => {}
        }
        polls += 1;
        // Checking acquires the lock for a moment, so it isn't done at every poll.
        let is_over = polls.is_multiple_of(POLLS_PER_LOCK_CHECK) && !is_locked(path);
        follower.poll()?;
        if is_over {
            stderr_line!(
                "\n--- the other process closed it; `tiller --session {}` opens it ---",
                path.display()
            );
            return Ok(DONE);
        }
    }
}

/// The read position in a log that another process writes.
struct Follower {
    path: PathBuf,
    length: u64,
    entries: usize,
}

impl Follower {
    fn begin(&mut self) -> Result<(), CliFailure> {
        self.length = self.measure()?;
        let reader = Reader::open(&self.path)?;
        self.entries = reader.entry_count();
        show(&transcript(&branch(&reader)?))
    }

    /// Prints the entries since the last poll.
    fn poll(&mut self) -> Result<(), CliFailure> {
        let length = self.measure()?;
        if length == self.length {
            return Ok(());
        }
        let reader = Reader::open(&self.path)?;
        let count = reader.entry_count();
        let mut text = String::new();
        if count < self.entries {
            text.push_str("\n--- the file was truncated ---\n");
            self.entries = count;
        }
        reader.visit(self.entries, |entry| match entry {
            Ok(entry) => text.push_str(&format_entry(entry)),
            Err(finding) => text.push_str(&format!("\n--- line {}: {} ---\n", finding.line, finding.what)),
        })?;
        (self.length, self.entries) = (length, count);
        show(&text)
    }

    fn measure(&self) -> Result<u64, CliFailure> {
        match fs::metadata(&self.path) {
            Ok(facts) => Ok(facts.len()),
            Err(error) => {
                let error =
                    anyhow!(error).context(format!("can't read session file {}", self.path.display()));
                Err(CliFailure::run(error)
                    .hint("if it was moved or removed, find it with `tiller sessions list --all`"))
            }
        }
    }
}

/// Formats a new entry with a blank line before it; empty for entries that a transcript omits.
fn format_entry(entry: Entry) -> String {
    if entry.body.as_tiller() == Some(TillerEntry::Leaf {}) {
        return "\n--- back to an earlier entry: another branch ---\n".to_owned();
    }
    match transcript(&[entry]) {
        text if text.is_empty() => text,
        text => format!("\n{text}"),
    }
}

fn show(text: &str) -> Result<(), CliFailure> {
    let mut out = console::stdout();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("can't write to stdout").map_err(CliFailure::run)
}
