//! `tiller sessions verify`.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::output::print_json;
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE, FAILED};
use crate::cli::stdout::print_text;
use crate::session::verify::{GradedFinding, Severity, VerifyReport, verify as check};
use crate::session::{SessionManager, SessionScope};

/// A finding and its file.
#[derive(serde::Serialize)]
struct LocatedFinding<'a> {
    path: &'a Path,
    #[serde(flatten)]
    finding: GradedFinding,
}

/// Checks the logs that these queries match, or all logs without a query. A query without a match doesn't keep the
/// others from being checked.
pub(super) fn verify(manager: &SessionManager, queries: &[String], as_json: bool) -> Result<u8, CliFailure> {
    let (mut paths, mut unmatched): (Vec<PathBuf>, Vec<CliFailure>) = Default::default();
    if queries.is_empty() {
        paths = manager.logs(SessionScope::Everywhere)?;
    }
    for query in queries {
        match manager.find(query) {
            Ok(path) => paths.push(path),
            Err(error) => unmatched.push(error.into()),
        }
    }
    let mut last_unmatched = unmatched.pop();
    for failure in &unmatched {
        stderr_line!("error: {}", failure.text());
    }
    if let Some(failure) = last_unmatched.take_if(|_| paths.is_empty()) {
        return Err(failure);
    }
    let (mut entries, mut findings) = (0, Vec::new());
    for path in &paths {
        let report = check_file(path);
        entries += report.entries;
        for finding in report.findings {
            if !as_json {
                print_text(&line(path, &finding))?;
            }
            findings.push(LocatedFinding { path, finding });
        }
    }
    let errors = findings.iter().filter(|located| located.finding.severity == Severity::Error).count();
    if as_json {
        print_json(&json!({"files": paths.len(), "entries": entries, "findings": findings}))?;
    } else {
        print_text(&summary((paths.len(), entries), (errors, findings.len() - errors)))?;
    }
    match last_unmatched {
        Some(failure) => Err(failure),
        None => Ok(if errors == 0 { DONE } else { FAILED }),
    }
}

/// Reports a file that can't be read as a finding, so that the other files are still checked.
fn check_file(path: &Path) -> VerifyReport {
    check(path).unwrap_or_else(|error| {
        let what = format!("{:#}; the file was not checked", anyhow::Error::from(error));
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
