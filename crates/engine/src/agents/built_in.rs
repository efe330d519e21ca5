//! The agents that are built into the binary.

use std::path::Path;

use tiller_files::search_path::ResourceOrigin;

use super::definition::AgentDefinition;
use crate::definition_files::FileDefinition;

/// File name and text of each agent.
const TEXTS: [(&str, &str); 3] = [
    ("<built-in>/explore.md", include_str!("../../../../prompts/agents/explore.md")),
    ("<built-in>/reviewer.md", include_str!("../../../../prompts/agents/reviewer.md")),
    ("<built-in>/worker.md", include_str!("../../../../prompts/agents/worker.md")),
];

pub(super) fn definitions() -> impl Iterator<Item = AgentDefinition> {
    TEXTS.iter().map(|(path, text)| {
        let parsed = AgentDefinition::parse(text.as_bytes(), Path::new(path), ResourceOrigin::BuiltIn);
        parsed.expect("a test reads every built-in agent")
    })
}

#[cfg(test)]
mod tests {
    use tiller_tools::policy::ApprovalMode;

    use super::*;

    #[test]
    fn built_in_agents_can_be_parsed() {
        let names: Vec<String> = definitions().map(|definition| definition.name).collect();
        assert_eq!(names, ["explore", "reviewer", "worker"]);
        let modes: Vec<Option<ApprovalMode>> = definitions().map(|definition| definition.approval).collect();
        assert_eq!(modes, [Some(ApprovalMode::ReadOnly), Some(ApprovalMode::ReadOnly), None]);
    }
}
