//! `github_create_comment`: comments on an issue or a pull request.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tiller_core::tool_spec::{Access, ShownArgument, ToolSet, ToolTraits};

use super::{GithubRepository, text};
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(in crate::tool) struct GithubCreateComment {
    repository: Option<GithubRepository>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// Number of the issue or pull request.
    number: u64,
    /// The comment, in Markdown.
    body: String,
}

impl From<&ToolEnvironment> for GithubCreateComment {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { repository: environment.github.clone() }
    }
}

impl TypedTool for GithubCreateComment {
    type Arguments = Arguments;
    const NAME: &'static str = "github_create_comment";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::Named("body"),
        set: Some(ToolSet::Github),
        ..ToolTraits::new(Access::Publishes)
    };

    fn description(&self) -> String {
        "Comments on an issue or a pull request of this repository on GitHub, in the user's name.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.body.trim().is_empty() {
            Err("argument `body`: must not be empty".into())
        } else {
            Ok(())
        }
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        match self.comment(&arguments).await {
            Ok(comment) => ToolOutput::text(format!("commented: {}", text(&comment, "/html_url"))),
            Err(reason) => ToolOutput::error(reason),
        }
    }
}

impl GithubCreateComment {
    async fn comment(&self, Arguments { number, body }: &Arguments) -> Result<Value, String> {
        let github = self.repository.as_ref().ok_or("no repository on GitHub")?.connect().await?;
        github.post(&format!("issues/{number}/comments"), &json!({ "body": body })).await
    }
}
