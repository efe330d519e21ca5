//! Crash reports: on a panic, restores the terminal, writes a report to a file and prints its path.
//!
//! A panic in the main loop ends the program. A panic in another thread doesn't, so the screen stays and only
//! the report is written. The report contains the panic's message and location, and no text from the session
//! or the user.

use std::backtrace::Backtrace;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, thread};

use tiller_files as files;
use tiller_render::SanitizingWriter;

use super::terminal::modes::TerminalModes;

/// Maximum number of reports; older ones are deleted.
const MAX_REPORTS: usize = 20;

/// The path of the newest report, shared by the panic hook and the tasks that go on after a crash.
#[derive(Clone, Debug, Default)]
pub(super) struct NewestReport(Arc<Mutex<Option<PathBuf>>>);

impl NewestReport {
    /// Takes the path, if a report was written since the last call.
    pub(super) fn take(&self) -> Option<PathBuf> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn set(&self, path: Option<PathBuf>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }
}

/// Installs the panic hook. It restores the terminal if the panic ends the program, and writes a report to
/// `dir`, or prints it if `dir` is `None`.
pub(super) fn install_panic_hook(dir: Option<PathBuf>, modes: Arc<TerminalModes>) -> NewestReport {
    let newest = NewestReport::default();
    let written = newest.clone();
    // A panic of the thread that draws ends the program.
    let screen = thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        let ends = thread::current().id() == screen;
        if ends {
            modes.restore();
        }
        let report = report(info);
        let path = dir.as_deref().and_then(|dir| write_report(dir, &report));
        tracing::error!("{}", report.lines().next().unwrap_or_default());
        if ends {
            let _ =
                writeln!(SanitizingWriter::new(io::stderr()), "{}", exit_message(path.as_deref(), &report));
        }
        written.set(path);
    }));
    newest
}

fn exit_message(path: Option<&Path>, report: &str) -> String {
    let details = match path {
        Some(path) => format!("The crash report is in {}; please attach it to a bug report.", path.display()),
        None => report.to_owned(),
    };
    format!(
        "tiller crashed because of an internal error.\n{details}\nThe session's log is intact: `tiller -c` continues it."
    )
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let message = info.payload_as_str().unwrap_or("panic without a message");
    let location = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = thread::current();
    format!(
        "{message} ({location})\n\ntiller {}, {} {}, thread {}\n{}\n\n{}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        thread.name().unwrap_or("unnamed"),
        jiff::Timestamp::now(),
        Backtrace::force_capture()
    )
}

/// Writes a report; `None` on failure, which can't be reported.
fn write_report(dir: &Path, report: &str) -> Option<PathBuf> {
    files::make_private_dir(dir).ok()?;
    remove_oldest(dir);
    let name = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let path = dir.join(format!("{name}-{}.txt", std::process::id()));
    fs::write(&path, report).ok().map(|()| path)
}

fn remove_oldest(dir: &Path) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    for path in paths.iter().take(paths.len().saturating_sub(MAX_REPORTS - 1)) {
        // A failure only leaves one report too many.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crash_reports_keep_only_the_newest() {
        let dir = tempfile::tempdir().unwrap();
        for day in 1..=25 {
            fs::write(dir.path().join(format!("2026-01-{day:02}T00-00-00-1.txt")), "old").unwrap();
        }
        fs::write(dir.path().join("notes.md"), "the user's own").unwrap();
        let path = write_report(dir.path(), "what happened").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "what happened");
        let count = fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(count, MAX_REPORTS + 1, "the reports and the note");
        assert!(!dir.path().join("2026-01-06T00-00-00-1.txt").exists());
        assert!(dir.path().join("2026-01-07T00-00-00-1.txt").exists());
    }
}
