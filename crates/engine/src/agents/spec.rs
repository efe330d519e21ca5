//! The specification of an agent.

use std::sync::Arc;

use tiller_core::message::ThinkingLevel;
use tiller_tools::policy::ApprovalMode;
use tiller_tools::tool::{Tool, Tools};

use super::definition::AgentDefinition;
use super::isolation::Isolation;
use super::middleware::{Middleware, Recovery, Timeout};
use super::tool_selection::ToolSelection;
use super::usage_limits::UsageLimit;

/// The specification of an agent.
#[derive(Clone)]
pub struct AgentSpec {
    /// The agent's name.
    pub name: String,
    /// When to use the agent, read by the delegating model.
    pub description: String,
    /// The agent's instructions, which replace the built-in system prompt. Empty for the delegating session's
    /// instructions.
    pub instructions: String,
    /// The agent's own tools. They replace inherited tools of the same name.
    pub tools: Tools,
    /// Names of the tools and tool sets inherited from the delegating agent; `None` for all.
    pub inherited_tools: Option<Vec<String>>,
    /// Names of the tools and tool sets that aren't inherited.
    pub excluded_tools: Vec<String>,
    /// The model: `[provider/]id[:thinking]`, or part of an id; `None` for the delegating agent's model.
    pub model: Option<String>,
    /// The thinking level; `None` for the delegating agent's level.
    pub thinking: Option<ThinkingLevel>,
    /// Maximum number of requests for one task.
    pub max_turns: Option<u64>,
    /// Limits on the usage of one task.
    pub limit: UsageLimit,
    /// Names of the agent's skills; `None` for the delegating agent's skills.
    pub skills: Option<Vec<String>>,
    /// The approval mode, unless the delegating agent's mode is stricter.
    pub approval: Option<ApprovalMode>,
    /// The directory that the agent works in.
    pub isolation: Isolation,
    /// True if the delegating agent doesn't wait for the answer.
    pub background: bool,
    /// Middleware around the agent's tasks, outermost first.
    pub middleware: Vec<Arc<dyn Middleware>>,
}

impl AgentSpec {
    /// Creates the specification of an agent that inherits everything else from the delegating agent.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        instructions: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            instructions: instructions.into(),
            tools: Tools::default(),
            inherited_tools: None,
            excluded_tools: Vec::new(),
            model: None,
            thinking: None,
            max_turns: None,
            limit: UsageLimit::default(),
            skills: None,
            approval: None,
            isolation: Isolation::None,
            background: false,
            middleware: Vec::new(),
        }
    }

    /// Adds one of the agent's own tools.
    #[must_use]
    pub fn tool(self, tool: Arc<dyn Tool>) -> Self {
        Self { tools: self.tools.with(tool), ..self }
    }

    /// Sets the model.
    #[must_use]
    pub fn model(self, words: impl Into<String>) -> Self {
        Self { model: Some(words.into()), ..self }
    }

    /// Adds middleware; it runs inside the layers added earlier.
    #[must_use]
    pub fn with(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }
}

impl From<&AgentSpec> for ToolSelection {
    fn from(spec: &AgentSpec) -> Self {
        Self {
            own: spec.tools.names().map(str::to_owned).collect(),
            inherited: spec.inherited_tools.clone(),
            excluded: spec.excluded_tools.clone(),
        }
    }
}

impl From<&AgentDefinition> for AgentSpec {
    fn from(definition: &AgentDefinition) -> Self {
        let AgentDefinition { name, description, instructions, .. } = definition;
        let mut spec = Self::new(name, description, instructions).with(Recovery);
        spec.middleware
            .extend(definition.timeout.map(|limit| Arc::new(Timeout(limit)) as Arc<dyn Middleware>));
        Self {
            inherited_tools: definition.tools.clone(),
            excluded_tools: definition.excluded_tools.clone(),
            model: definition.model.clone(),
            thinking: definition.thinking,
            max_turns: definition.max_turns,
            limit: definition.limit,
            skills: definition.skills.clone(),
            approval: definition.approval,
            isolation: definition.isolation,
            background: definition.background,
            ..spec
        }
    }
}
