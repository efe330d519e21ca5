//! `github_get_issue`: shows an issue or a pull request with its comments.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits};

use super::{GithubList, GithubRepository, issue_line, text};
use crate::tool::{OutputOptions, ToolEnvironment, ToolOutput, ToolProgress, TypedTool, limit_output};

/// Maximum number of comments.
const MAX_COMMENTS: usize = 300;

#[derive(Debug)]
pub(in crate::tool) struct GithubGetIssue {
    repository: Option<GithubRepository>,
    output: OutputOptions,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// Number of the issue or pull request.
    number: u64,
}

impl From<&ToolEnvironment> for GithubGetIssue {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { repository: environment.github.clone(), output: environment.output_options() }
    }
}

impl TypedTool for GithubGetIssue {
    type Arguments = Arguments;
    const NAME: &'static str = "github_get_issue";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::Listing,
        set: Some(ToolSet::Github),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Shows an issue or a pull request of this repository on GitHub, with its comments.".into()
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        match self.show(arguments.number).await {
            Ok(output) => output,
            Err(reason) => ToolOutput::error(reason),
        }
    }
}

impl GithubGetIssue {
    async fn show(&self, number: u64) -> Result<ToolOutput, String> {
        let github = self.repository.as_ref().ok_or("no repository on GitHub")?.connect().await?;
        let issue = github.get(&format!("issues/{number}")).await?;
        let GithubList { entries: comments, has_more, problem } =
            github.list(&format!("issues/{number}/comments"), &[], MAX_COMMENTS).await?;
        let mut page = format!("{}\n\n{}\n", issue_line(&issue), text(&issue, "/body").trim_end());
        for comment in &comments {
            let (author, date) = (text(comment, "/user/login"), text(comment, "/created_at"));
            page.push_str(&format!("\n--- {author}, {date}\n{}\n", text(comment, "/body").trim_end()));
        }
        if has_more {
            page.push_str(&format!("\n[only the first {MAX_COMMENTS} comments are shown]\n"));
        }
        let page = page.replace("\r\n", "\n");
        let mut output = limit_output(ToolOutput::text(page), Self::NAME, &self.output);
        problem.iter().for_each(|problem| output.push_notice(problem));
        Ok(output)
    }
}
