//! Tiller's own log as a page to read.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use tiller_files as files;
use tiller_render::{Line, Role};

use super::app::TaskResult;
use super::tool_call::one_line;

/// The end of the log, newest line first, and where reports on faults are.
pub(super) fn page(log: Option<&Path>, reports: Option<&Path>) -> TaskResult {
    let mut lines = Vec::new();
    match log {
        None => lines
            .push(Line::new("nothing is logged: log.level is off, or nothing is kept on disk", Role::Muted)),
        Some(path) => {
            lines.push(Line::new(path.display().to_string(), Role::Accent));
            match last_lines(path) {
                Ok(logged) if logged.is_empty() => {
                    lines.push(Line::new("nothing was logged yet", Role::Muted))
                }
                Ok(logged) => {
                    lines.extend(logged.iter().rev().map(|line| Line::new(one_line(line), level(line))))
                }
                Err(error) => lines.push(Line::new(format!("can't be read: {error}"), Role::Error)),
            }
        }
    }
    if let Some(folder) = reports.filter(|folder| folder.exists()) {
        lines.push(Line::default());
        lines.push(Line::new(format!("reports on faults: {}", folder.display()), Role::Muted));
    }
    TaskResult::Page { title: "log".to_owned(), lines }
}

/// How grave a line of the log is.
fn level(line: &str) -> Role {
    // A line begins with its time; then comes the level.
    match line.split_whitespace().nth(1) {
        Some("ERROR") => Role::Error,
        Some("WARN") => Role::Warning,
        _ => Role::Text,
    }
}

/// Bytes of the end of a log that are shown.
const LOG_END: u64 = 64 * 1024;

/// The last lines of a log, oldest first; none of one that isn't there.
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
    // The first line is cut where the beginning is left out.
    Ok(text.lines().skip(usize::from(from > 0)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_newest_lines_come_first_and_stand_out_by_level() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiller.log");
        let texts = |report| {
            let TaskResult::Page { lines, .. } = report else { panic!("a page") };
            lines.iter().map(|line| (line.text(), line.spans[0].style.role)).skip(1).collect::<Vec<_>>()
        };
        assert_eq!(texts(page(Some(&path), None)), [("nothing was logged yet".to_owned(), Role::Muted)]);
        let long = "2026-01-01T00:00:00Z  INFO tiller: long ago\n".repeat(2_000);
        fs::write(&path, format!("{long}2026-01-02T00:00:00Z ERROR tiller: a \u{1b}[31mfault\n")).unwrap();
        let shown = texts(page(Some(&path), None));
        assert_eq!(shown[0].1, Role::Error);
        assert!(shown[0].0.ends_with("fault") && !shown[0].0.contains(char::is_control), "{:?}", shown[0]);
        assert_eq!(shown.last().unwrap().0, "2026-01-01T00:00:00Z  INFO tiller: long ago");
        assert!(shown.len() < 1_600, "{}", shown.len());
    }
}
