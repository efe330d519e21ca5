//! A tool of the session, and whether the model gets it.

use tiller_core::tool_spec::ToolSpec;
use tiller_tools::tool::ToolSource;

/// A tool of the session.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// Its specification for the model.
    pub spec: ToolSpec,
    /// Its origin.
    pub source: ToolSource,
    /// The state of its offer to the model.
    pub offer: OfferState,
}

/// Offer state of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferState {
    /// Offered to the model.
    Offered,
    /// Left out since the start by this source: a flag, a setting.
    LeftOut(String),
    /// Left out by [`AgentSession::offer_tools`](super::AgentSession::offer_tools).
    Removed,
}

impl OfferedTool {
    /// Returns whether the tool is offered to the model.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.offer == OfferState::Offered
    }
}
