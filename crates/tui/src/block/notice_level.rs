//! The importance of a notice.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoticeLevel {
    Note,
    Warning,
    Error,
}
