//! The lists whose items are loaded in the background.

/// The list in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Models,
    Thinking,
    Approval,
    Permissions,
    /// Settings files that rules can be saved to.
    RuleFiles,
    /// The session's agents, and those that tasks can be delegated to.
    Agents,
    /// The lanes of the race.
    Race,
    /// The agent's background jobs.
    Jobs,
    Trust,
    Tools,
    Settings,
    Themes,
    Logins,
    Logouts,
    /// Logs of other programs.
    ForeignLogs,
}

impl ListKind {
    /// Returns true if the items change over time while the list is open.
    pub(crate) const fn is_live(self) -> bool {
        matches!(self, Self::Agents | Self::Race | Self::Jobs)
    }
}
