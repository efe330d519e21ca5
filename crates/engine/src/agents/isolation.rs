//! The directory that an agent works in.

use schemars::JsonSchema;
use serde::Deserialize;

/// The directory that an agent works in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Isolation {
    /// The working directory.
    #[default]
    None,
    /// A separate git worktree.
    Worktree,
}

impl Isolation {
    /// Returns the name in definitions.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Worktree => "worktree",
        }
    }
}
