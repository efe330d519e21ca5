//! The limits of delegation.

use super::usage_limits::UsageLimit;

/// Limits of delegation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelegationLimits {
    /// Maximum depth of nested delegation.
    pub depth: usize,
    /// Maximum number of agents that one call runs at once.
    pub parallel: usize,
    /// Limits of what all agents of the session use together.
    pub usage: UsageLimit,
}

impl Default for DelegationLimits {
    /// Three levels, four agents at once.
    fn default() -> Self {
        Self { depth: 3, parallel: 4, usage: UsageLimit::default() }
    }
}
