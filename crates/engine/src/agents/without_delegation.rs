//! The configuration of an agent that can't delegate.

use tiller_tools::tool::{Tools, TypedTool};

use super::delegate_to_agent::DelegateToAgent;
use super::link::{ChildDelegation, SessionLink};
use super::list_agents::ListAgents;
use super::spawn_agents::SpawnAgents;

/// Returns no tools. This omits the delegation tools of the session above, which would delegate on its
/// behalf.
pub(super) fn without_delegation() -> ChildDelegation {
    let all_names = [ListAgents::NAME, DelegateToAgent::NAME, SpawnAgents::NAME].map(str::to_owned).into();
    ChildDelegation { tools: Tools::default(), all_names, link: SessionLink::default() }
}
