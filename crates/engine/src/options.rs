//! Options of an agent session.

use std::path::PathBuf;

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_core::setting::{Settings, Switch, SyncPolicy};
use tiller_core::unit::Tokens;
use tiller_provider::ModelFacts;
use tiller_provider::catalog::thinking_budget;
use tiller_tools::policy::{ApprovalMode, Policy};
use tiller_tools::tool::{OutputLimits, OutputOptions, Tools};

use crate::agents::{UsageLimit, UsageScopes};
use crate::approvals::Approver;
use crate::budget::BudgetOptions;
use crate::compaction::CompactionOptions;
use crate::retry::RetryOptions;
use crate::turn::TurnOptions;

/// Options of an agent session.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Options of the turn machine.
    pub turn: TurnOptions,
    /// Options for retrying failed requests.
    pub retry: RetryOptions,
    /// Names of the models that take over in order, until the end of the run, when the session's model fails.
    pub fallback: Vec<String>,
    /// Cost limits.
    pub budget: BudgetOptions,
    /// Usage limits of the session's requests, for agents.
    pub limits: UsageScopes,
    /// Combined usage limit of all agents of the session.
    pub agent_limit: UsageLimit,
    /// Limits and strategy of compaction.
    pub compaction: CompactionOptions,
    /// When the log is synced to disk.
    pub sync: SyncPolicy,
    /// Options of the model's answers.
    pub answers: AnswerOptions,
    /// The approval policy.
    pub policy: Policy,
    /// The most permissive approval mode that can be set at run time; `None` for any. For an agent, its session's mode.
    pub loosest_approval: Option<ApprovalMode>,
    /// Tells whether an approver is present.
    pub approver: Approver,
    /// Limits of the output of `!` commands, and of the results of tools that don't limit them themselves.
    pub output: OutputOptions,
    /// The tools offered to the model at the start.
    pub offer: ToolOffer,
    /// Behavior at the end of a run while agents are still working in the background.
    pub background_tasks: BackgroundTasks,
    /// Forwarding of agents' deltas and partial output, along with their other events.
    pub agent_deltas: Switch,
    /// The front end recorded in the log: `tui`, `print`.
    pub mode: &'static str,
    /// URL of the Git remote of the working directory's repository, without credentials. It is recorded in
    /// the log so that the session can be found after the project has moved.
    pub remote: Option<String>,
}

/// Behavior at the end of a run while agents are still working in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackgroundTasks {
    /// The run ends and the agents continue. Their completion is logged.
    #[default]
    Continue,
    /// The run waits for the agents and continues with their answers, for a session that closes when its run
    /// ends.
    Await,
}

/// Options of the model's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnswerOptions {
    /// Maximum tokens of one answer. By default the model's limit, at most 32,000.
    pub max_tokens: Option<Tokens>,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
}

impl From<&Settings> for AnswerOptions {
    fn from(settings: &Settings) -> Self {
        Self { max_tokens: settings.max_tokens().map(Tokens), temperature: settings.temperature() }
    }
}

impl AnswerOptions {
    /// Default limit on an answer's tokens, including thinking: more than anyone reads at once, and few
    /// enough to stop a model that repeats itself.
    const MAX_TOKENS: Tokens = Tokens(32_000);

    /// Tokens left for the answer in addition to a thinking budget, by default.
    const BUDGET_WITH_THINKING: Tokens = Tokens(16_000);

    /// Returns the maximum tokens of an answer to a context of this size, including thinking: at most the
    /// free part of the window, but at least `reserve`, the part that compaction keeps free.
    pub(crate) fn max_tokens(
        &self,
        model: &ModelFacts,
        thinking: ThinkingLevel,
        context: Tokens,
        reserve: Tokens,
    ) -> Tokens {
        let reference = ModelRef { provider: model.provider.clone(), id: model.id.clone() };
        let budget = thinking_budget(&reference, thinking);
        let usual =
            Self::MAX_TOKENS.max(budget.map_or(Tokens(0), |budget| budget + Self::BUDGET_WITH_THINKING));
        let requested = self.max_tokens.unwrap_or(usual).min(model.max_output);
        // Covers the error of the estimate, and the system prompt and tools if they aren't counted.
        let margin = model.window.0 / 20;
        let free = model.window.0.saturating_sub(context.0 + margin);
        requested.min(Tokens(free).max(reserve))
    }
}

impl AgentOptions {
    /// Returns the settings' defaults, for a session in a working directory without an approver. Output
    /// beyond the limits is written to files in `scratch`.
    #[must_use]
    pub fn new(work_dir: PathBuf, scratch: PathBuf) -> Self {
        Self {
            turn: TurnOptions::default(),
            retry: RetryOptions::default(),
            fallback: Vec::new(),
            budget: BudgetOptions::default(),
            limits: UsageScopes::default(),
            agent_limit: UsageLimit::default(),
            compaction: CompactionOptions::default(),
            sync: SyncPolicy::Turn,
            answers: AnswerOptions::default(),
            policy: Policy { root: work_dir, ..Policy::default() },
            loosest_approval: None,
            approver: Approver::Absent,
            output: OutputOptions { limits: OutputLimits::default(), scratch },
            offer: ToolOffer::All,
            background_tasks: BackgroundTasks::default(),
            agent_deltas: Switch::Off,
            mode: "embedded",
            remote: None,
        }
    }
}

/// The tools offered to a model at the start. The others can be offered later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolOffer {
    /// All tools.
    #[default]
    All,
    /// The named tools, in this order; unknown names are ignored.
    Only {
        /// The names of tools and tool sets.
        names: Vec<String>,
        /// The list's source, shown to the user: `--tools`, the setting `tools` of a file.
        source: String,
    },
}

impl ToolOffer {
    pub(crate) fn select(&self, tools: &Tools) -> Tools {
        match self {
            Self::All => tools.clone(),
            Self::Only { names, .. } => {
                let mut known = tools.expand_sets(names);
                known.retain(|name| tools.find(name).is_some());
                tools.restrict(&known).unwrap_or_default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_provider::catalog;

    use super::*;

    #[test]
    fn max_tokens_is_limited_by_model_and_window() {
        let limit = |max_tokens, model: &ModelFacts, thinking, context| {
            let options = AnswerOptions { max_tokens, temperature: None };
            options.max_tokens(model, thinking, Tokens(context), Tokens(16_384))
        };
        let opus = catalog::facts("anthropic", "claude-opus-4-5").unwrap();
        assert_eq!(limit(None, &opus, ThinkingLevel::Off, 1_000), Tokens(32_000));
        assert_eq!(limit(None, &opus, ThinkingLevel::High, 1_000), Tokens(20_480 + 16_000));
        assert_eq!(limit(None, &opus, ThinkingLevel::Off, 165_000), Tokens(25_000));
        assert_eq!(limit(None, &opus, ThinkingLevel::Off, 300_000), Tokens(16_384));
        assert_eq!(limit(Some(Tokens(50_000)), &opus, ThinkingLevel::High, 0), Tokens(50_000));
        let unknown = catalog::assumed("openai", "my-model");
        assert_eq!(limit(None, &unknown, ThinkingLevel::Off, 0), Tokens(8_192));
    }
}
