//! A tool that runs in another process.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_core::tool_spec::{ToolSpec, ToolTraits};
use tiller_tools::tool::{ArgumentSchema, RunFuture, Tool, ToolInvocation, ToolOutput};

use super::protocol::{self, DeclaredTool};
use super::shared_process::SharedProcess;

/// A tool of an extension's process.
pub(super) struct RemoteTool {
    spec: ToolSpec,
    schema: ArgumentSchema,
    process: Arc<SharedProcess>,
}

impl RemoteTool {
    /// # Errors
    /// If the JSON Schema of its arguments is invalid.
    pub(super) fn new(declared: &DeclaredTool, process: Arc<SharedProcess>) -> Result<Self, String> {
        let empty_schema = || json!({"type": "object", "properties": {}});
        let parameters = declared.parameters.clone().unwrap_or_else(empty_schema);
        if parameters.get("type") != Some(&json!("object")) {
            return Err("the schema of its parameters is not of type object".to_owned());
        }
        let schema = ArgumentSchema::compile(&parameters)?;
        let spec = ToolSpec {
            name: declared.name.clone(),
            description: declared.description.clone(),
            parameters: Arc::new(parameters),
            traits: ToolTraits::new(declared.access.into()),
        };
        Ok(Self { spec, schema, process })
    }
}

impl Tool for RemoteTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.schema.check(arguments)
    }

    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move {
            let params = json!({"toolName": self.spec.name, "args": invocation.arguments});
            let answer = self.process.ask("tool", params, Some(invocation.progress)).await;
            match answer.and_then(protocol::tool_output) {
                Ok(output) => output,
                Err(error) => {
                    ToolOutput::error(format!("the extension {} failed: {error}", self.process.name()))
                }
            }
        })
    }
}
