//! The limits of delegation.

/// Limits of delegation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelegationLimits {
    /// Maximum depth of nested delegation.
    pub depth: usize,
    /// Maximum number of agents that work concurrently for a session.
    pub parallel: usize,
}

impl Default for DelegationLimits {
    /// Returns three levels of delegation and four parallel agents.
    fn default() -> Self {
        Self { depth: 3, parallel: 4 }
    }
}
