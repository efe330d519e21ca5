//! Agents that a session delegates tasks to.

mod built_in;
mod definition;

use tiller_files::search_path::SearchPath;

use crate::definition_files::{self, LoadedDefinitions};

pub use definition::AgentDefinition;

/// Loads the definitions of search paths in order of precedence, then the built-in ones. A file that is broken now keeps
/// its version from `earlier`.
pub(crate) fn load(
    search_paths: &[SearchPath],
    has_built_in: bool,
    earlier: &[AgentDefinition],
) -> LoadedDefinitions<AgentDefinition> {
    let built_in = has_built_in.then(built_in::definitions).into_iter().flatten();
    definition_files::load(search_paths, built_in, &[], earlier)
}
