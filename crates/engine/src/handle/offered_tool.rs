//! A tool of the session, and whether it is offered to the model.

use tiller_core::tool_spec::ToolSpec;
use tiller_tools::tool::ToolSource;

/// A tool of the session.
#[derive(Clone, Debug)]
pub struct OfferedTool {
    /// The specification for the model.
    pub spec: ToolSpec,
    /// The tool's origin.
    pub source: ToolSource,
    /// Offered to the model, or not, and why.
    pub offer: OfferState,
}

/// States whether a tool is offered to the model, and if not, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OfferState {
    /// Offered to the model.
    Offered,
    /// Excluded at the start by this source, such as a flag or a setting.
    LeftOut(String),
    /// Removed by [`AgentSession::offer_tools`](super::AgentSession::offer_tools).
    Removed,
}

impl OfferedTool {
    /// Returns whether the tool is offered to the model.
    #[must_use]
    pub fn is_offered(&self) -> bool {
        self.offer == OfferState::Offered
    }
}
