//! Agents that a session delegates tasks to.
//!
//! A [`Delegation`] gives a session tools to delegate with. The agents come from an [`AgentRegistry`], which an
//! embedding program fills, and from files ([`AgentDefinition`]). Each agent has its own session, which inherits the
//! model, tools, policy and budget of the delegating session; its definition can set the model and restrict the rest.
//! An [`Agent`] can also be started on its own.

mod activity;
mod agent;
mod agent_at_work;
mod answer;
mod built_in;
mod child;
mod definition;
mod delegate_to_agent;
mod delegation;
mod delegation_limits;
mod delegator;
mod interrupted_call;
mod interrupted_tasks;
mod isolation;
mod lane_log;
mod lane_run;
mod link;
mod list_agents;
mod log_entries;
mod logged_use;
mod middleware;
mod owned_worktree;
mod parent;
mod race;
mod race_arguments;
mod race_lane;
mod race_record;
mod registry;
mod reopen;
mod report;
mod spawn;
mod spawn_agents;
mod spec;
mod task_record;
mod task_run;
mod task_states;
mod tool_selection;
mod usage_limits;
mod without_delegation;

use tiller_files::search_path::SearchPath;

pub use tiller_core::delegated_task::CheckOutcome;

use crate::definition_files::{self, LoadedDefinitions};

pub use activity::AgentActivity;
pub use agent::Agent;
pub use answer::{AgentAnswer, AgentFailure};
pub use definition::AgentDefinition;
pub use delegation::Delegation;
pub use delegation_limits::DelegationLimits;
pub(crate) use interrupted_call::describe_tasks;
pub use isolation::Isolation;
pub use link::SessionLink;
pub(crate) use log_entries::{
    BACKGROUND_TYPE, BackgroundNote, END_TYPE, START_TYPE, agent_entry, cost_of, usage_entries,
};
pub(crate) use logged_use::LoggedUse;
pub use middleware::{AgentFuture, AgentTask, Logger, Middleware, Next, OutputGuardrail, Recovery, Timeout};
pub use parent::RunningAgent;
pub(crate) use parent::{EndedTask, ParentSession};
pub use race::{Race, RaceError};
pub use race_arguments::{DEFAULT_LANES, RaceOptions, split_models};
pub use race_lane::{LaneState, RaceLane};
pub use registry::{AgentRegistry, AgentSummary};
pub use reopen::OpenedAgent;
pub use spawn::SpawnOptions;
pub use spec::AgentSpec;
pub use task_record::TaskRecord;
pub(crate) use task_record::TaskRecords;
pub(crate) use tool_selection::ToolSelection;
pub use usage_limits::{UsageLimit, UsageScope, UsageScopes};

/// Loads the definitions from search paths in order of precedence, then the built-in ones. If a file is
/// invalid now, its version in `earlier` is kept.
pub(crate) fn load(
    search_paths: &[SearchPath],
    has_built_in: bool,
    earlier: &[AgentDefinition],
) -> LoadedDefinitions<AgentDefinition> {
    let built_in = has_built_in.then(built_in::definitions).into_iter().flatten();
    definition_files::load(search_paths, built_in, &[], earlier)
}
