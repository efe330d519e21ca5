//! Descriptions of the approval modes.

use tiller_engine::ApprovalMode;

/// A short description of a mode.
pub(crate) const fn mode_about(mode: ApprovalMode) -> &'static str {
    match mode {
        ApprovalMode::Ask => "only safe commands run without approval",
        ApprovalMode::Auto => "only dangerous commands need approval",
        ApprovalMode::Plan => "read-only; the model presents a plan",
        ApprovalMode::ReadOnly => "commands and changes are denied",
    }
}

/// The effect of a mode on each kind of call.
pub(crate) const fn mode_effects(mode: ApprovalMode) -> [(&'static str, &'static str); 4] {
    let reading = ("reading", "allowed here; needs approval elsewhere");
    match mode {
        ApprovalMode::Ask => [
            reading,
            ("editing", "allowed here; needs approval in .git, startup and credential files"),
            ("commands", "need approval, except read-only ones, sandboxed ones and those you allowed"),
            ("dangerous", "need approval; the prompt shows why"),
        ],
        ApprovalMode::Auto => [
            reading,
            ("editing", "allowed here; needs approval in .git, startup and credential files"),
            ("commands", "run freely"),
            ("dangerous", "need approval: sudo, git push, writes outside this directory, reading keys"),
        ],
        ApprovalMode::Plan => [
            reading,
            ("editing", "denied; the model presents a plan"),
            ("commands", "denied, except those that only read here"),
            ("dangerous", "denied"),
        ],
        ApprovalMode::ReadOnly => [
            ("reading", "allowed here; denied elsewhere"),
            ("editing", "denied; the model is told why"),
            ("commands", "denied"),
            ("dangerous", "denied"),
        ],
    }
}
