//! The selection of an agent's tools. Pure.

use tiller_tools::tool::Tools;

/// The selection of an agent's tools: its own tools and the inherited ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ToolSelection {
    /// Names of the agent's own tools.
    pub own: Vec<String>,
    /// Names of inherited tools and sets; `None` for all.
    pub inherited: Option<Vec<String>>,
    /// Names of tools and sets that aren't inherited.
    pub excluded: Vec<String>,
}

impl ToolSelection {
    /// Returns the names of the selected tools.
    pub(crate) fn names(&self, all: &Tools) -> Vec<String> {
        let inherited = self.inherited.as_ref().map(|names| all.expand_sets(names));
        let excluded = all.expand_sets(&self.excluded);
        let is_selected = |name: &str| {
            let is_among = |names: &[String]| names.iter().any(|other| other == name);
            is_among(&self.own) || (inherited.as_deref().is_none_or(is_among) && !is_among(&excluded))
        };
        all.names().filter(|name| is_selected(name)).map(str::to_owned).collect()
    }

    /// Returns the names of inherited and excluded tools that don't exist.
    pub(crate) fn unknown(&self, all: &Tools) -> Vec<String> {
        let named = self.inherited.iter().chain([&self.excluded]);
        let mut names: Vec<String> = named.flat_map(|names| all.expand_sets(names)).collect();
        names.retain(|name| all.find(name).is_none());
        names
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tiller_core::tool_spec::{Access, ToolSet, ToolSpec, ToolTraits};
    use tiller_tools::tool::{RunFuture, Tool, ToolInvocation};

    use super::*;

    struct Named(ToolSpec);

    impl Tool for Named {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        fn check(&self, _: &Value) -> Result<(), String> {
            Ok(())
        }

        fn run(&self, _: ToolInvocation) -> RunFuture<'_> {
            unreachable!("not called")
        }
    }

    #[test]
    fn names_include_sets_and_the_tools_of_a_server() {
        let tools =
            [("bash", ToolSet::Bash), ("mcp__web__get", ToolSet::Mcp), ("mcp__db__query", ToolSet::Mcp)];
        let tools = tools.into_iter().fold(Tools::default(), |tools, (name, set)| {
            let traits = ToolTraits { set: Some(set), ..ToolTraits::new(Access::Executes) };
            let (name, parameters) = (name.into(), Arc::new(json!({})));
            tools.with(Arc::new(Named(ToolSpec { name, description: String::new(), parameters, traits })))
        });
        let names = |inherited: Option<&str>, excluded: &str| {
            let inherited = inherited.map(|name| vec![name.to_owned()]);
            let selection = ToolSelection { inherited, excluded: vec![excluded.to_owned()], own: Vec::new() };
            selection.names(&tools)
        };
        assert_eq!(names(None, "mcp__web__*"), ["bash", "mcp__db__query"]);
        assert_eq!(names(Some("mcp__web__*"), "bash"), ["mcp__web__get"]);
        assert_eq!(names(Some("mcp"), "mcp__web__*"), ["mcp__db__query"]);
        assert_eq!(names(None, "mcp"), ["bash"]);
    }
}
