//! A session that another tiller has open: what can be done instead of writing to it.
//!
//! It is asked in the plain terminal, before there is a screen. Reading along never writes to the file.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::sleep;

use super::login::unechoed;
use super::sessions::branch;
use super::transcript::transcript;
use super::{CliFailure, DONE, INTERRUPTED};
use crate::cli::console::{self, stderr_line, stderr_text};
use crate::session::entry::TillerEntry;
use crate::session::{Entry, Reader, SessionError, is_held};

/// Between two looks at the file that is read along: soon enough to feel live, and one `stat` each.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// Looks at the file between two questions whether somebody has it open still: a second.
const LOOKS_PER_QUESTION: u32 = 5;

/// What to do about a session that another tiller has open.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LockedChoice {
    /// Go on in a copy of this one.
    Fork(PathBuf),
    /// Watch what the other one writes to this one.
    ReadAlong(PathBuf),
    Quit,
}

/// Asks what to do when a session could not be opened because another tiller has it; any other failure, and one that nobody is
/// there to decide about, is passed on.
pub(super) fn offer(failure: CliFailure) -> Result<LockedChoice, CliFailure> {
    let path = match failure.error.downcast_ref() {
        Some(SessionError::Held { path, .. }) if io::stdin().is_terminal() => path.clone(),
        _ => return Err(failure),
    };
    stderr_line!("{:#}", failure.error);
    loop {
        stderr_text!("[f]ork it, [r]ead along, [q]uit? ");
        let mut answer = String::new();
        let read = io::stdin().read_line(&mut answer).context("can't read the answer");
        if read.map_err(CliFailure::run)? == 0 {
            return Ok(LockedChoice::Quit);
        }
        match answer.trim().to_lowercase().as_str() {
            "f" | "fork" => return Ok(LockedChoice::Fork(path)),
            "r" | "read" | "read along" => return Ok(LockedChoice::ReadAlong(path)),
            "q" | "quit" => return Ok(LockedChoice::Quit),
            _ => stderr_line!("Please type f, r or q, and Enter."),
        }
    }
}

/// Prints the current branch of a session, then whatever is written to it, until Ctrl+C or until the other one leaves it.
pub(super) async fn read_along(path: &Path) -> Result<u8, CliFailure> {
    let interrupt = signal(SignalKind::interrupt()).context("can't watch for ctrl+c");
    let mut interrupt = interrupt.map_err(CliFailure::run)?;
    let mut follower = Follower { path: path.to_owned(), length: 0, entries: 0 };
    // What is typed goes nowhere, so it isn't shown. Where that can't be had it only looks worse.
    let _unechoed = unechoed();
    stderr_line!("Reading along in {}; Ctrl+C ends.\n", path.display());
    follower.begin()?;
    stderr_line!("\n--- that is all so far; what comes is shown as it comes, Ctrl+C ends ---");
    let mut looks = 0_u32;
    loop {
        tokio::select! {
            _ = interrupt.recv() => return Ok(INTERRUPTED),
            () = sleep(LOOK_AGAIN) => {}
        }
        looks += 1;
        // Asking takes the lock for a moment, in which nobody else gets it: not at every look.
        let is_over = looks.is_multiple_of(LOOKS_PER_QUESTION) && !is_held(path);
        follower.look()?;
        if is_over {
            stderr_line!(
                "\n--- the other tiller has left it; `tiller --session {}` opens it ---",
                path.display()
            );
            return Ok(DONE);
        }
    }
}

/// How far a log has been read that somebody else writes to.
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

    /// Prints what is new since the last look.
    fn look(&mut self) -> Result<(), CliFailure> {
        let length = self.measure()?;
        if length == self.length {
            return Ok(());
        }
        let reader = Reader::open(&self.path)?;
        let count = reader.entry_count();
        let mut text = String::new();
        if count < self.entries {
            text.push_str("\n--- the file was cut short ---\n");
            self.entries = count;
        }
        reader.visit(self.entries, |entry| match entry {
            Ok(entry) => text.push_str(&told(entry)),
            Err(finding) => text.push_str(&format!("\n--- line {}: {} ---\n", finding.line, finding.what)),
        })?;
        (self.length, self.entries) = (length, count);
        show(&text)
    }

    fn measure(&self) -> Result<u64, CliFailure> {
        match fs::metadata(&self.path) {
            Ok(facts) => Ok(facts.len()),
            Err(error) => {
                let gone =
                    anyhow!(error).context(format!("session file {}: can't be read", self.path.display()));
                Err(CliFailure::run(gone)
                    .hint("if it was moved or removed, `tiller sessions list` shows what there is"))
            }
        }
    }
}

/// One new entry, with a line before it; nothing for one that a transcript doesn't show.
fn told(entry: Entry) -> String {
    if entry.body.as_own() == Some(TillerEntry::Leaf {}) {
        return "\n--- back to an earlier entry: another branch ---\n".to_owned();
    }
    match transcript(&[entry]) {
        text if text.is_empty() => text,
        text => format!("\n{text}"),
    }
}

fn show(text: &str) -> Result<(), CliFailure> {
    let mut out = console::stdout();
    let shown = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    shown.context("can't write to stdout").map_err(CliFailure::run)
}
