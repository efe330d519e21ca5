//! The danger of a command line.

use tiller_core::protected_path::Protection;

/// The kind of a risk, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::policy) enum RiskKind {
    /// It destroys a whole system, home directory or disk: no general answer covers it, only a rule that spells it out.
    Destroys,
    /// It is dangerous, or nobody can know what it does.
    Dangerous,
    /// It writes to a protected path.
    WritesProtected,
    ReadsCredentials,
    WritesOutside,
}

/// The danger of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct Risk {
    pub kind: RiskKind,
    /// The danger, for the user.
    pub reason: String,
}

impl Risk {
    pub(super) fn new(kind: RiskKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    pub(super) fn dangerous(reason: impl Into<String>) -> Self {
        Self::new(RiskKind::Dangerous, reason)
    }

    pub(super) fn protected(protection: Protection) -> Self {
        Self::new(RiskKind::WritesProtected, protection.reason())
    }
}
