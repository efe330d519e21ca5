//! The findings of a verification.

use crate::lines::LogLine;

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Lost or contradictory data.
    Error,
    /// An irregularity without loss.
    Note,
}

impl Severity {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Note => "note",
        }
    }
}

/// A problem in a log, with its severity.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct GradedFinding {
    /// The line, from 1.
    pub line: u64,
    /// Byte offset of the line.
    pub byte: u64,
    /// The problem, and how tiller handles it.
    pub what: String,
    /// The severity.
    pub severity: Severity,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LineLocation {
    pub(super) line: u64,
    pub(super) byte: u64,
}

impl From<&LogLine<'_>> for LineLocation {
    fn from(line: &LogLine<'_>) -> Self {
        Self { line: line.number, byte: line.offset }
    }
}

#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<GradedFinding>);

impl Findings {
    pub(super) fn error(&mut self, location: LineLocation, what: impl Into<String>) {
        self.add(location, Severity::Error, what.into());
    }

    pub(super) fn note(&mut self, location: LineLocation, what: impl Into<String>) {
        self.add(location, Severity::Note, what.into());
    }

    pub(super) fn add(
        &mut self,
        LineLocation { line, byte }: LineLocation,
        severity: Severity,
        what: String,
    ) {
        self.0.push(GradedFinding { line, byte, what, severity });
    }
}
