//! The risk of a command line.

use tiller_core::protected_path::Protection;

use super::super::configured_rule::ConfiguredRule;

/// The kind of a risk, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) enum RiskKind {
    /// Destroys a whole system, home directory or disk: only a rule that spells it out covers it.
    Destroys,
    /// Is dangerous, or has unknown effects.
    Dangerous,
    /// Writes to a protected path.
    WritesProtected,
    ReadsCredentials,
    WritesOutside,
}

/// The risk of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct Risk {
    pub kind: RiskKind,
    /// The reason, for the user.
    pub reason: String,
    /// The settings rules that allow it; empty if none do.
    pub covered_by: Vec<ConfiguredRule>,
}

impl Risk {
    pub(in crate::policy) fn new(kind: RiskKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into(), covered_by: Vec::new() }
    }

    /// Returns true if settings rules allow it.
    pub(in crate::policy) const fn is_covered(&self) -> bool {
        !self.covered_by.is_empty()
    }

    pub(super) fn dangerous(reason: impl Into<String>) -> Self {
        Self::new(RiskKind::Dangerous, reason)
    }

    pub(in crate::policy) fn protected(protection: Protection) -> Self {
        Self::new(RiskKind::WritesProtected, protection.reason())
    }
}
