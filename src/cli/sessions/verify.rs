//! `tiller sessions verify`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::{print_json, say};
use crate::cli::{CliFailure, DONE, FAILED};
use crate::session::verify::{GradedFinding, Severity, VerifyReport, verify as check};
use crate::session::{SessionManager, SessionScope};

/// A finding with the file it is in.
#[derive(serde::Serialize)]
struct Located<'a> {
    path: &'a Path,
    #[serde(flatten)]
    finding: GradedFinding,
}

/// Checks the logs that these words name, or all of them if there are no words.
pub(super) fn verify(manager: &SessionManager, words: &[String], as_json: bool) -> Result<u8, CliFailure> {
    let paths: Vec<PathBuf> = if words.is_empty() {
        manager.logs(SessionScope::Everywhere)?
    } else {
        words.iter().map(|words| manager.find(words)).collect::<Result<_, _>>()?
    };
    let (mut entries, mut all) = (0, Vec::new());
    for path in &paths {
        let checked = checked(path);
        entries += checked.entries;
        for finding in checked.findings {
            if !as_json {
                say(&line(path, &finding))?;
            }
            all.push(Located { path, finding });
        }
    }
    let errors = all.iter().filter(|located| located.finding.severity == Severity::Error).count();
    if as_json {
        print_json(&json!({"files": paths.len(), "entries": entries, "findings": all}))?;
    } else {
        say(&summary((paths.len(), entries), (errors, all.len() - errors)))?;
    }
    Ok(if errors == 0 { DONE } else { FAILED })
}

/// A file that can't be read is an error like those in it, so that the others are checked too.
fn checked(path: &Path) -> VerifyReport {
    check(path).unwrap_or_else(|error| {
        let what = format!("{:#}; nothing of it was checked", anyhow::Error::from(error));
        VerifyReport {
            entries: 0,
            findings: vec![GradedFinding { line: 1, byte: 0, what, severity: Severity::Error }],
        }
    })
}

fn line(path: &Path, finding: &GradedFinding) -> String {
    let GradedFinding { line, byte, what, severity } = finding;
    format!("{}:{line} (byte {byte}): {}: {what}\n", path.display(), severity.name())
}

fn summary((files, entries): (usize, usize), (errors, notes): (usize, usize)) -> String {
    let count = |count: usize, one: &str, several: &str| match count {
        0 => format!("no {several}"),
        1 => format!("1 {one}"),
        count => format!("{count} {several}"),
    };
    format!(
        "{} with {}: {}, {}\n",
        count(files, "file", "files"),
        count(entries, "entry", "entries"),
        count(errors, "error", "errors"),
        count(notes, "note", "notes")
    )
}
