//! The attempts for a request.

/// Attempts for the current request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RetryState {
    /// Number of retries.
    pub(super) retries: u32,
    /// True if the context was compacted for this request.
    pub(super) has_compacted: bool,
    /// True if another model has already failed.
    pub(super) is_other_model: bool,
}
