//! A server's tool.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest, ServerResult};
use serde_json::{Map, Value};
use tiller_core::message::UserBlock;
use tiller_core::tool_spec::{Access, ToolSet, ToolSpec, ToolTraits};
use tiller_tools::tool::{ArgumentSchema, ProgramReview, RunFuture, Tool, ToolInvocation, ToolOutput};

use crate::link::Link;
use crate::requests::{RequestAnswer, RequestExchange};
use crate::result;
use crate::tool_name::tool_name;

/// A tool of a server. It outlives restarts of the server.
pub(crate) struct McpTool {
    spec: ToolSpec,
    /// The name at the server.
    remote_name: String,
    schema: ArgumentSchema,
    hints: Vec<&'static str>,
    server: ToolServer,
}

/// The server of a tool.
#[derive(Clone)]
pub(crate) struct ToolServer {
    pub(crate) name: String,
    /// Time limit of a call without progress.
    pub(crate) call_timeout: Duration,
    pub(crate) link: Link,
    /// The working directory, if the project configures the server: changes of hooks there are reported.
    pub(crate) reviewed: Option<PathBuf>,
}

impl McpTool {
    /// # Errors
    /// If the JSON Schema of its arguments is invalid.
    pub(crate) fn new(declared: rmcp::model::Tool, server: ToolServer) -> Result<Self, String> {
        let mut parameters = Arc::unwrap_or_clone(declared.input_schema);
        // Providers reject an object's schema without these.
        parameters.entry("type").or_insert_with(|| "object".into());
        parameters.entry("properties").or_insert_with(|| Map::new().into());
        if parameters["type"] != "object" {
            return Err("the schema of its arguments is not of type object".to_owned());
        }
        let parameters = Value::Object(parameters);
        let schema = ArgumentSchema::compile(&parameters)?;
        let annotations = declared.annotations.unwrap_or_default();
        let hints = [
            (annotations.read_only_hint == Some(true), "read-only"),
            (annotations.destructive_hint == Some(true), "destructive"),
            (annotations.idempotent_hint == Some(true), "idempotent"),
        ];
        let title = declared.title.or(annotations.title).unwrap_or_default();
        let spec = ToolSpec {
            name: tool_name(&server.name, &declared.name),
            description: declared.description.map_or(title, |description| description.into_owned()),
            parameters: Arc::new(parameters),
            // The server's hints permit nothing: its tools need approval like commands.
            traits: ToolTraits { set: Some(ToolSet::Mcp), ..ToolTraits::new(Access::Executes) },
        };
        Ok(Self {
            spec,
            remote_name: declared.name.into_owned(),
            schema,
            hints: hints.into_iter().filter(|(is_set, _)| *is_set).map(|(_, hint)| hint).collect(),
            server,
        })
    }

    pub(crate) fn name(&self) -> &str {
        &self.spec.name
    }

    pub(crate) fn hints(&self) -> &[&'static str] {
        &self.hints
    }

    async fn call(&self, invocation: ToolInvocation) -> Result<ToolOutput, String> {
        let live = self.server.link.wait_until_live().await?;
        let arguments = invocation.arguments.as_object().cloned().unwrap_or_default();
        let exchange =
            RequestExchange { live: &live, limit: self.server.call_timeout, progress: invocation.progress };
        let answered = exchange.perform(|input, state| {
            let mut params =
                CallToolRequestParams::new(self.remote_name.clone()).with_arguments(arguments.clone());
            (params.input_responses, params.request_state) = (input, state);
            ClientRequest::CallToolRequest(CallToolRequest::new(params))
        });
        let RequestAnswer { result, notes } = answered.await?;
        // The next request offers the tools that the call has added.
        live.lists_changed.wait_until_read().await;
        let ServerResult::CallToolResult(result) = result else {
            return Err("its response is not the result of a call".to_owned());
        };
        let mut output = result::tool_output(result);
        output.content.extend(notes.into_iter().map(|text| UserBlock::Text { text }));
        Ok(output)
    }
}

impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.schema.check(arguments)
    }

    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move {
            let review = self.server.reviewed.as_deref().map(ProgramReview::start);
            let mut output = match self.call(invocation).await {
                Ok(output) => output,
                Err(error) => ToolOutput::error(format!("MCP server {}: {error}", self.server.name)),
            };
            let author = format!("the MCP server {}", self.server.name);
            if let Some(change) = review.and_then(|review| review.find_changes(&author)) {
                output.push_notice(&change);
                output.push_warning(change);
            }
            output
        })
    }
}
