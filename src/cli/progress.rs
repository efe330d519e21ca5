//! A progress line on stderr while session files are indexed.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use crate::cli::console::{clear_line, stderr_text};
use crate::session::IndexProgress;
use crate::unit::thousands;

/// Delay before the line appears.
const SHOW_AFTER: Duration = Duration::from_millis(200);

/// A progress line, shown only on a terminal and cleared on drop.
pub(super) struct ProgressLine {
    start: Instant,
    is_terminal: bool,
    is_shown: bool,
}

impl ProgressLine {
    pub(super) fn new() -> Self {
        Self { start: Instant::now(), is_terminal: io::stderr().is_terminal(), is_shown: false }
    }

    pub(super) fn update(&mut self, progress: IndexProgress) {
        if self.is_terminal && self.start.elapsed() >= SHOW_AFTER {
            self.is_shown = true;
            clear_line();
            stderr_text!("{}", format_progress(progress));
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

fn format_progress(progress: IndexProgress) -> String {
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
    fn format_progress_groups_thousands() {
        let progress = IndexProgress { done: 204, files: 10_000, bytes_done: 999_999, bytes: 5_000_000_000 };
        assert_eq!(format_progress(progress), "reading sessions: 204 of 10,000 (0 of 5,000 MB)");
    }
}
