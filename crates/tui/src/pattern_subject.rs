//! The part of a call that the patterns of its rules are compared with.

use tiller_core::event::ApprovalRequest;
use tiller_core::proposed_rules::ProposedRules;

/// The part of a call that the patterns of its rules are compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatternSubject {
    Command,
    Path,
    /// A host, or nothing: the rule covers every call.
    Other,
}

impl PatternSubject {
    /// Finds the subject of the rules proposed for a request, in the order in which the policy looks for it.
    pub(crate) fn find(request: &ApprovalRequest, rules: &ProposedRules) -> Self {
        let has = |argument: &str| request.args[argument].is_string();
        match rules.patterns.as_slice() {
            [] => Self::Other,
            _ if has("command") => Self::Command,
            _ if has("url") && !has("path") => Self::Other,
            // A tool that searches a directory needs no path.
            _ => Self::Path,
        }
    }

    /// Returns lines about the syntax of the patterns.
    pub(crate) const fn syntax(self) -> &'static [&'static str] {
        match self {
            Self::Command => &[
                "* matches any text within a word; a trailing * matches all remaining words.",
                "Use && to separate rules for several commands.",
            ],
            Self::Path => &["* matches within a path component, ** across components."],
            Self::Other => &[],
        }
    }
}
