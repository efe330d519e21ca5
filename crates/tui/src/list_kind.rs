//! The lists whose items are loaded in the background.

/// The list in a picker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Models,
    Thinking,
    Approval,
    Permissions,
    Trust,
    Tools,
    Settings,
    Themes,
    Logins,
    Logouts,
    /// Logs of other programs.
    ForeignLogs,
}
