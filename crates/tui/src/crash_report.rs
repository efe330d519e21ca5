//! What is left of a fault of tiller's own: the terminal as it was, a report in a file, and a word on where it is.
//!
//! A panic of the loop ends the program; one of a thread beside it does not, so the screen stays and only the report is written. The
//! report holds what happened and where in the program, and nothing that was typed or said.

use std::backtrace::Backtrace;
use std::fs;
use std::io::{self, Write as _};
use std::panic::PanicHookInfo;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};
use std::thread;

use tiller_files as files;
use tiller_render::SanitizingWriter;

use super::terminal::give_back;

/// Reports that are kept; the oldest go.
const KEPT: usize = 20;

/// Where the newest report of this process is.
static NEWEST: Mutex<Option<PathBuf>> = Mutex::new(None);

/// From here on a panic gives the terminal back, if it ends the program, and leaves a report in `folder`; without a folder it is printed.
pub(super) fn on_panic(folder: Option<PathBuf>) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // Asked of the thread that draws: its end is the program's.
        let screen = thread::current().id();
        std::panic::set_hook(Box::new(move |info| {
            let ends = thread::current().id() == screen;
            if ends {
                give_back();
            }
            let report = report(info);
            let kept = folder.as_deref().and_then(|folder| store(folder, &report));
            tracing::error!("{}", report.lines().next().unwrap_or_default());
            if ends {
                let _ =
                    writeln!(SanitizingWriter::new(io::stderr()), "{}", farewell(kept.as_deref(), &report));
            }
            *NEWEST.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        }));
    });
}

/// Where the report of the last fault is, if there was one since it was asked last.
pub(super) fn newest() -> Option<PathBuf> {
    NEWEST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn farewell(kept: Option<&Path>, report: &str) -> String {
    let known = match kept {
        Some(path) => format!(
            "What is known of it is in {}; please send it to whoever maintains tiller.",
            path.display()
        ),
        None => report.to_owned(),
    };
    format!(
        "tiller had to stop because of a fault of its own.\n{known}\nWhat was said is in the session's log: `tiller -c` goes on with it."
    )
}

fn report(info: &PanicHookInfo<'_>) -> String {
    let what = info.payload_as_str().unwrap_or("something that is no text");
    let place = info.location().map(ToString::to_string).unwrap_or_default();
    let thread = thread::current();
    format!(
        "{what} ({place})\n\ntiller {}, {} {}, thread {}\n{}\n\n{}",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        thread.name().unwrap_or("without a name"),
        jiff::Timestamp::now(),
        Backtrace::force_capture()
    )
}

/// Writes a report; `None` when that fails: nobody is left to tell.
fn store(folder: &Path, report: &str) -> Option<PathBuf> {
    files::make_private_folder(folder).ok()?;
    forget_oldest(folder);
    let name = jiff::Timestamp::now().strftime("%Y-%m-%dT%H-%M-%S").to_string();
    let path = folder.join(format!("{name}-{}.txt", std::process::id()));
    fs::write(&path, report).ok().map(|()| path)
}

fn forget_oldest(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "txt"));
    paths.sort();
    for path in paths.iter().take(paths.len().saturating_sub(KEPT - 1)) {
        // One that can't be removed is one too many, no more.
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_newest_reports_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for day in 1..=25 {
            fs::write(folder.path().join(format!("2026-01-{day:02}T00-00-00-1.txt")), "old").unwrap();
        }
        fs::write(folder.path().join("notes.md"), "the user's own").unwrap();
        let path = store(folder.path(), "what happened").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "what happened");
        let count = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count, KEPT + 1, "the reports and the note");
        assert!(!folder.path().join("2026-01-06T00-00-00-1.txt").exists());
        assert!(folder.path().join("2026-01-07T00-00-00-1.txt").exists());
    }
}
