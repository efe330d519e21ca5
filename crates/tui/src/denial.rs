//! The reason of a denial.

/// The reason of a denial, for the model, if the user gives none.
pub(crate) const DENIED: &str = "the user rejected it";

/// Separates it from the user's own reason.
pub(crate) const REASON_SEPARATOR: &str = ": ";

/// Returns the reason of a denial, with the user's text if there is one.
pub(crate) fn denial_reason(text: &str) -> String {
    match text.trim() {
        "" => DENIED.to_owned(),
        text => format!("{DENIED}{REASON_SEPARATOR}{text}"),
    }
}

/// Returns the part of a denial's reason that the user typed.
pub(crate) fn user_reason(reason: &str) -> Option<&str> {
    reason.strip_prefix(DENIED)?.strip_prefix(REASON_SEPARATOR)
}
