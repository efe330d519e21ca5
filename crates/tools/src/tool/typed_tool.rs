//! Tools whose arguments are a struct: schema, check and reading all come from it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tiller_core::message::{Access, ToolSpec};

use super::{PreviewFuture, RunFuture, Tool, ToolInvocation, ToolOutput, ToolProgress, schema};

/// What a [`Typed`] tool does. The doc comments of the arguments' fields are what the model reads about them.
pub trait TypedTool: Send + Sync + 'static {
    /// The arguments. Unknown ones should be refused (`deny_unknown_fields`), or a model's slip goes unnoticed.
    type Arguments: DeserializeOwned + JsonSchema + Send;
    /// The name the model calls the tool by.
    const NAME: &'static str;
    /// What it may do to the world.
    const ACCESS: Access;

    /// What it does, for the model.
    fn description(&self) -> String;

    /// Checks what the type of the arguments can't say.
    ///
    /// # Errors
    /// A sentence for the model that names the argument and what is expected of it.
    fn check(&self, _arguments: &Self::Arguments) -> Result<(), String> {
        Ok(())
    }

    /// Starts what makes a call quicker, as [`Tool::prepare`].
    fn prepare(&self) {}

    /// Does the work, as [`Tool::run`].
    fn run(
        &self,
        arguments: Self::Arguments,
        progress: ToolProgress,
    ) -> impl Future<Output = ToolOutput> + Send;

    /// What the work would do, as [`Tool::preview`].
    fn preview(&self, _arguments: Self::Arguments) -> Option<PreviewFuture<'_>> {
        None
    }
}

/// A tool made of its [`Work`].
#[derive(Debug)]
pub struct TypedToolAdapter<W> {
    spec: ToolSpec,
    work: W,
}

impl<W: TypedTool> TypedToolAdapter<W> {
    /// Makes a tool.
    pub fn new(work: W) -> Self {
        let spec = ToolSpec {
            name: W::NAME.into(),
            description: work.description(),
            parameters: Arc::new(schema::of::<W::Arguments>()),
            access: W::ACCESS,
        };
        Self { spec, work }
    }

    fn read(&self, arguments: &Value) -> Result<W::Arguments, String> {
        let arguments = schema::read(arguments)?;
        self.work.check(&arguments)?;
        Ok(arguments)
    }
}

impl<W: TypedTool> Tool for TypedToolAdapter<W> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        self.read(arguments).map(drop)
    }

    fn prepare(&self) {
        self.work.prepare();
    }

    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move {
            match self.read(&invocation.arguments) {
                Ok(arguments) => self.work.run(arguments, invocation.progress).await,
                Err(reason) => ToolOutput::error(reason),
            }
        })
    }

    fn preview(&self, arguments: &Value) -> Option<PreviewFuture<'_>> {
        self.work.preview(self.read(arguments).ok()?)
    }
}
