//! The declaration of a tool.

use std::sync::Arc;

use serde_json::Value;

/// The declaration of a tool, for the model and the policy.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// The tool's name, as the model calls it.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub parameters: Arc<Value>,
    /// The tool's access to the machine.
    pub access: Access,
}

/// A tool's access to the machine, by its own declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Only reads; calls may run in parallel.
    Reads,
    /// Changes files in the working directory.
    Writes,
    /// Runs programs, with any effect.
    Executes,
}
