//! stub
use super::Tool;
use crate::message::ToolSpec;
use std::sync::Arc;
pub struct ToolEnvironment {
    pub workspace: crate::workspace::Workspace,
    pub runner: crate::process::Runner,
    pub limits: super::truncation::OutputLimits,
    pub bash_timeout: std::time::Duration,
    pub bash_max_timeout: std::time::Duration,
}
pub struct Tools {
    tools: Vec<Arc<dyn Tool>>,
    specs: Arc<[ToolSpec]>,
}
#[derive(Debug, thiserror::Error)]
#[error("unknown tool")]
pub struct UnknownTool;
impl Tools {
    pub fn built_in(_e: &ToolEnvironment) -> Self {
        Self { tools: vec![], specs: Arc::from([]) }
    }
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|t| t.spec().name == name)
    }
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        Arc::clone(&self.specs)
    }
    pub fn restricted_to(self, _n: &[String]) -> Result<Self, UnknownTool> {
        Ok(self)
    }
}
