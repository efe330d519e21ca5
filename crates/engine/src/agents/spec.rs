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
    /// The name.
    pub name: String,
    /// Its use, for the model that delegates.
    pub description: String,
    /// Its instructions, in place of the built-in system prompt; empty for those of the delegating session.
    pub instructions: String,
    /// Tools of its own. They replace those of the delegating agent that have the same names.
    pub tools: Tools,
    /// Names of the tools and tool sets that it takes from the delegating agent; `None` for all.
    pub inherited_tools: Option<Vec<String>>,
    /// Names of tools and tool sets that it doesn't take.
    pub excluded_tools: Vec<String>,
    /// Its model: `[provider/]id[:thinking]`, or a part of an id; `None` for that of the delegating agent.
    pub model: Option<String>,
    /// Its thinking level; `None` for that of the delegating agent.
    pub thinking: Option<ThinkingLevel>,
    /// Maximum number of requests for one task.
    pub max_turns: Option<u64>,
    /// Limits of what one task uses.
    pub limit: UsageLimit,
    /// Names of its skills; `None` for those of the delegating agent.
    pub skills: Option<Vec<String>>,
    /// Its approval mode, unless that of the delegating agent is stricter.
    pub approval: Option<ApprovalMode>,
    /// The directory that it works in.
    pub isolation: Isolation,
    /// True if `delegate_to_agent` doesn't wait for its answer.
    pub background: bool,
    /// Middleware around its tasks, outermost first.
    pub middleware: Vec<Arc<dyn Middleware>>,
}

impl AgentSpec {
    /// Creates the specification of an agent that takes everything else from the delegating agent.
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

    /// Adds a tool of its own.
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
