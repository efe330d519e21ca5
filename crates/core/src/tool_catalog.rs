//! The traits of tools by name, for calls whose tools aren't available: in logs, events and exports.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::tool_spec::ToolTraits;

/// The known tools by name. A clone is cheap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCatalog {
    tools: Arc<BTreeMap<String, ToolTraits>>,
}

impl ToolCatalog {
    /// Adds tools, replacing known ones with the same names.
    #[must_use]
    pub fn with(self, tools: impl IntoIterator<Item = (String, ToolTraits)>) -> Self {
        let mut known = Arc::unwrap_or_clone(self.tools);
        known.extend(tools);
        Self { tools: Arc::new(known) }
    }

    /// Iterates over the names and traits of the tools, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, ToolTraits)> {
        self.tools.iter().map(|(name, traits)| (name.as_str(), *traits))
    }

    /// Returns the traits of a known tool.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<ToolTraits> {
        self.tools.get(name).copied()
    }

    /// Returns the traits of a tool, or the default ones if it is unknown.
    #[must_use]
    pub fn traits(&self, name: &str) -> ToolTraits {
        self.find(name).unwrap_or_default()
    }
}

impl FromIterator<(String, ToolTraits)> for ToolCatalog {
    fn from_iter<T: IntoIterator<Item = (String, ToolTraits)>>(tools: T) -> Self {
        Self { tools: Arc::new(tools.into_iter().collect()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool_spec::Access;

    #[test]
    fn tool_catalog_later_tools_replace_known_ones() {
        let tool = |name: &str, access| (name.to_owned(), ToolTraits::new(access));
        let catalog = ToolCatalog::from_iter([tool("a", Access::Reads), tool("b", Access::Reads)])
            .with([tool("b", Access::Writes), tool("c", Access::Writes)]);
        let accesses = ["a", "b", "c", "d"].map(|name| catalog.find(name).map(|traits| traits.access));
        assert_eq!(accesses, [Some(Access::Reads), Some(Access::Writes), Some(Access::Writes), None]);
        assert_eq!(catalog.traits("d"), ToolTraits::default());
    }
}
