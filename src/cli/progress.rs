//! How far the reading of logs is, on one line of stderr.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::cli::console::{clear_line, stderr_text};
use crate::session::IndexProgress;
use crate::unit::thousands;

/// Time after which it is worth a line.
const SOON: Duration = Duration::from_millis(200);

/// Tells a person how far it is; nobody else. The line goes when it is dropped.
pub(super) struct ProgressLine {
    began: Instant,
    is_terminal: bool,
    is_shown: bool,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), is_terminal: io::stderr().is_terminal(), is_shown: false }
    }

    pub(super) fn tell(&mut self, progress: IndexProgress) {
        if self.is_terminal && self.began.elapsed() >= SOON {
            self.is_shown = true;
            clear_line();
            stderr_text!("{}", words(progress));
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.is_shown {
            clear_line();
        }
    }
}

fn words(progress: IndexProgress) -> String {
    let megabytes = |bytes: u64| thousands(usize::try_from(bytes / 1_000_000).unwrap_or(usize::MAX));
    format!(
        "reading sessions: {} of {} ({} of {} MB)",
        thousands(progress.done),
        thousands(progress.files),
        megabytes(progress.bytes_done),
        megabytes(progress.bytes)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        let progress = IndexProgress { done: 204, files: 10_000, bytes_done: 999_999, bytes: 5_000_000_000 };
        assert_eq!(words(progress), "reading sessions: 204 of 10,000 (0 of 5,000 MB)");
    }
}
