//! The page of tiller's own log.

use std::io;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use tiller_files as files;
use tiller_render::{Line, Role};

use crate::message::TaskResult;
use crate::text::one_line;

/// Returns the end of the log, newest line first, and the directory of crash reports.
pub(super) fn page(log: Option<&Path>, reports: Option<&Path>) -> TaskResult {
    let mut lines = Vec::new();
    match log {
        None => {
            lines.push(Line::new("nothing is logged: log.level is off, or there is no log file", Role::Muted))
        }
        Some(path) => {
            lines.push(Line::new(path.display().to_string(), Role::Accent));
            match last_lines(path) {
                Ok(logged) if logged.is_empty() => lines.push(Line::new("the log is empty", Role::Muted)),
                Ok(logged) => {
                    lines.extend(logged.iter().rev().map(|line| Line::new(one_line(line), level(line))))
                }
                Err(error) => lines.push(Line::new(format!("can't be read: {error}"), Role::Error)),
            }
        }
    }
    if let Some(dir) = reports.filter(|dir| dir.exists()) {
        lines.push(Line::default());
        lines.push(Line::new(format!("crash reports: {}", dir.display()), Role::Muted));
    }
    TaskResult::Page { title: "log, newest first".to_owned(), lines }
}

/// Returns the role of a log line by its level.
fn level(line: &str) -> Role {
    // A line starts with the time, followed by the level.
    match line.split_whitespace().nth(1) {
        Some("ERROR") => Role::Error,
        Some("WARN") => Role::Warning,
        _ => Role::Text,
    }
}

/// Number of bytes shown from the end of the log.
const LOG_END: u64 = 64 * 1024;

/// The last lines of a log, oldest first; empty if the file doesn't exist.
fn last_lines(path: &Path) -> io::Result<Vec<String>> {
    let mut file = match files::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let from = file.metadata()?.len().saturating_sub(LOG_END);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    // The first line is incomplete if the start was skipped.
    Ok(text.lines().skip(usize::from(from > 0)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn logs_page_newest_lines_first_with_level_roles() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tiller.log");
        let texts = |report| {
            let TaskResult::Page { lines, .. } = report else { panic!("a page") };
            lines.iter().map(|line| (line.text(), line.spans[0].style.role)).skip(1).collect::<Vec<_>>()
        };
        assert_eq!(texts(page(Some(&path), None)), [("the log is empty".to_owned(), Role::Muted)]);
        let long = "2026-01-01T00:00:00Z  INFO tiller: long ago\n".repeat(2_000);
        fs::write(&path, format!("{long}2026-01-02T00:00:00Z ERROR tiller: a \u{1b}[31mfault\n")).unwrap();
        let shown = texts(page(Some(&path), None));
        assert_eq!(shown[0].1, Role::Error);
        assert!(shown[0].0.ends_with("fault") && !shown[0].0.contains(char::is_control), "{:?}", shown[0]);
        assert_eq!(shown.last().unwrap().0, "2026-01-01T00:00:00Z  INFO tiller: long ago");
        assert!(shown.len() < 1_600, "{}", shown.len());
    }
}
