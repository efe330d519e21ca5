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
