//! Tools with a typed argument struct, from which the schema and the checks are derived.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tiller_core::tool_spec::{ToolSpec, ToolTraits};

use super::{PreviewFuture, RunFuture, Tool, ToolInvocation, ToolOutput, ToolProgress, schema};

/// A tool with typed arguments. The model reads the doc comments of the arguments' fields.
pub trait TypedTool: Send + Sync + 'static {
    /// The arguments. They should reject unknown fields (`deny_unknown_fields`); otherwise a misspelled
    /// argument is silently ignored.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// The name that the model uses.
    const NAME: &'static str;
    /// The tool's access, and the display of its calls.
    const TRAITS: ToolTraits;

    /// Returns the description for the model.
    fn description(&self) -> String;

    /// Checks constraints that the argument type can't express.
    ///
    /// # Errors
    /// A sentence for the model that names the argument and the expected value.
    fn check(&self, _arguments: &Self::Arguments) -> Result<(), String> {
        Ok(())
    }

    /// Prepares for a call like [`Tool::prepare`].
    fn prepare(&self) {}

    /// Runs the call like [`Tool::run`].
    fn run(
        &self,
        arguments: Self::Arguments,
        progress: ToolProgress,
    ) -> impl Future<Output = ToolOutput> + Send;

    /// Previews the call like [`Tool::preview`].
    fn preview(&self, _arguments: Self::Arguments) -> Option<PreviewFuture<'_>> {
        None
    }
}

/// An adapter from [`TypedTool`] to [`Tool`].
#[derive(Debug)]
pub struct TypedToolAdapter<T> {
    spec: ToolSpec,
    tool: T,
}

impl<T: TypedTool> TypedToolAdapter<T> {
    /// Creates a tool.
    pub fn new(tool: T) -> Self {
        let spec = ToolSpec {
            name: T::NAME.into(),
            description: tool.description(),
            parameters: Arc::new(schema::for_type::<T::Arguments>()),
            traits: T::TRAITS,
        };
        Self { spec, tool }
    }

    fn parse(&self, arguments: &Value) -> Result<T::Arguments, String> {
        let arguments = schema::parse(arguments)?;
        self.tool.check(&arguments)?;
        Ok(arguments)
    }
}

impl<T: TypedTool> Tool for TypedToolAdapter<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.parse(arguments).map(drop)
    }

    fn prepare(&self) {
        self.tool.prepare();
    }

    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move {
            match self.parse(&invocation.arguments) {
                Ok(arguments) => self.tool.run(arguments, invocation.progress).await,
                Err(reason) => ToolOutput::error(reason),
            }
        })
    }

    fn preview(&self, arguments: &Value) -> Option<PreviewFuture<'_>> {
        self.tool.preview(self.parse(arguments).ok()?)
    }
}
