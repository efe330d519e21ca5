//! A tool that another process runs.

use std::sync::Arc;

use serde_json::{Value, json};
use tiller_core::message::UserBlock;
use tiller_core::tool_spec::{ToolSpec, ToolTraits};
use tiller_tools::tool::{OutputLimits, RunFuture, Tool, ToolInvocation, ToolOutput};

use super::argument_schema::ArgumentSchema;
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
    /// When the JSON Schema of its arguments is invalid.
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
                Ok(output) => truncate_output(output, self.process.limits()),
                Err(error) => {
                    ToolOutput::error(format!("the extension {} failed: {error}", self.process.name()))
                }
            }
        })
    }
}

/// Truncates a result to the limits of the built-in tools.
fn truncate_output(mut output: ToolOutput, limits: OutputLimits) -> ToolOutput {
    for block in &mut output.content {
        let UserBlock::Text { text } = block else { continue };
        let kept_bytes = limits.head(text).text.len();
        if kept_bytes < text.len() {
            let left_out = text.len() - kept_bytes;
            text.truncate(kept_bytes);
            text.push_str(&format!("\n[cut: {left_out} bytes more were left out]"));
            output.warning = Some("a result of an extension's tool was over the limit and is cut".to_owned());
        }
    }
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truncate_output_long_result_has_a_notice() {
        let limits = OutputLimits { max_lines: 2, max_chars: 100 };
        let cut = truncate_output(ToolOutput::text("one\ntwo\nthree\n"), limits);
        assert_eq!(cut.content, ToolOutput::text("one\ntwo\n\n[cut: 6 bytes more were left out]").content);
        assert!(cut.warning.is_some());
        assert_eq!(truncate_output(ToolOutput::text("one\ntwo\n"), limits), ToolOutput::text("one\ntwo\n"));
    }
}
