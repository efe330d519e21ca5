//! `github_list_issues`: lists issues and pull requests.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits};

use super::{GithubList, GithubRepository, issue_line};
use crate::tool::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool};

/// Default limit of issues.
const DEFAULT_LIMIT: usize = 30;

/// Maximum limit of issues.
const MAX_LIMIT: usize = 500;

#[derive(Debug)]
pub(in crate::tool) struct GithubListIssues {
    repository: Option<GithubRepository>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::tool) struct Arguments {
    /// State of the issues: `open`, `closed` or `all`. Default: open.
    #[serde(default)]
    state: IssueState,
    /// List only those with all of these labels, separated by commas.
    #[serde(default)]
    labels: Option<String>,
    /// Maximum number of issues. Default: 30.
    #[serde(default)]
    #[schemars(range(max = 500))]
    limit: Option<NonZeroUsize>,
}

/// The state of the listed issues.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum IssueState {
    #[default]
    Open,
    Closed,
    All,
}

impl IssueState {
    const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
            Self::All => "all",
        }
    }
}

impl From<&ToolEnvironment> for GithubListIssues {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { repository: environment.github.clone() }
    }
}

impl TypedTool for GithubListIssues {
    type Arguments = Arguments;
    const NAME: &'static str = "github_list_issues";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::FirstOf(&["labels", "state"]),
        output: OutputKind::Listing,
        set: Some(ToolSet::Github),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        "Lists the issues and pull requests of this repository on GitHub, newest first.".into()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        match arguments.limit {
            Some(limit) if limit.get() > MAX_LIMIT => Err(format!("argument `limit`: at most {MAX_LIMIT}")),
            _ => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        match self.list(&arguments).await {
            Ok(output) => output,
            Err(reason) => ToolOutput::error(reason),
        }
    }
}

impl GithubListIssues {
    async fn list(&self, arguments: &Arguments) -> Result<ToolOutput, String> {
        let github = self.repository.as_ref().ok_or("no repository on GitHub")?.connect().await?;
        let mut query = vec![("state", arguments.state.name().to_owned())];
        query.extend(arguments.labels.iter().map(|labels| ("labels", labels.clone())));
        let limit = arguments.limit.map_or(DEFAULT_LIMIT, NonZeroUsize::get);
        let GithubList { entries: issues, has_more, problem } = github.list("issues", &query, limit).await?;
        let mut text: String = issues.iter().map(|issue| issue_line(issue) + "\n").collect();
        if issues.is_empty() {
            text.push_str("[no issues]");
        } else if has_more {
            text.push_str(&format!("[there are more than these {limit}; raise limit or narrow it down]"));
        }
        let mut output = ToolOutput::text(text);
        problem.iter().for_each(|problem| output.push_notice(problem));
        Ok(output)
    }
}
