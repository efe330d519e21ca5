//! Translates settings into options of the agent, of commands and of tools.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use crate::agent::compaction::CompactionOptions;
use crate::agent::retry::RetryOptions;
use crate::agent::{AgentOptions, AnswerOptions, OutputOptions, ToolOffer, turn};
use crate::cli::CliFailure;
use crate::cli::args::CliArgs;
use crate::cli::frontend::FrontEnd;
use crate::config::{self, Config};
use crate::policy::{AskBehavior, Policy};
use crate::process::Runner;
use crate::protected_path::ProtectedPaths;
use crate::setting::{Settings, Switch};
use crate::tool::{BashTimes, OutputLimits};
use crate::unit::Tokens;

/// Default maximum of requests for a run that nobody watches.
const UNWATCHED_TURNS: u64 = 100;

/// The runner of child processes.
pub(in crate::cli) fn runner() -> Result<Runner, CliFailure> {
    Runner::this_program().context("can't find tiller's own program").map_err(CliFailure::run)
}

pub(in crate::cli) fn output_limits(config: &Config) -> OutputLimits {
    let settings = &config.settings;
    OutputLimits { max_lines: settings.tool_output_max_lines(), max_chars: settings.tool_output_max_chars() }
}

fn compaction(settings: &Settings) -> CompactionOptions {
    CompactionOptions {
        strategy: settings.compaction_strategy(),
        automatic: settings.compaction_enabled(),
        reserve: settings.compaction_reserve_tokens().map(Tokens),
        keep: settings.compaction_keep_tokens().map(Tokens),
        max_messages: settings.compaction_max_messages(),
        keep_messages: settings.compaction_keep_messages(),
    }
}

fn retry(settings: &Settings) -> RetryOptions {
    RetryOptions {
        mode: settings.retry_enabled(),
        max: settings.retry_max(),
        base: Duration::from_millis(settings.retry_base_ms()),
        cap: Duration::from_millis(settings.retry_cap_ms()),
    }
}

/// The runner of the user's and the model's commands.
pub(super) fn command_runner(config: &Config) -> Result<Runner, CliFailure> {
    let settings = &config.settings;
    let mut runner = runner()?;
    if let Some(shell) = settings.bash_shell() {
        runner = runner.with_shell(shell).map_err(CliFailure::usage)?;
    }
    if let Some(prefix) = settings.bash_prefix() {
        runner = runner.with_prefix(prefix);
    }
    if settings.bash_inherit_keys() == Switch::Off {
        runner = runner.without_variables(config::key_names());
    }
    Ok(runner)
}

pub(super) fn bash_times(config: &Config) -> BashTimes {
    let settings = &config.settings;
    BashTimes { timeout_s: settings.bash_timeout_s(), max_timeout_s: settings.bash_max_timeout_s() }
}

pub(super) fn options(
    arguments: &CliArgs,
    config: &Config,
    (front, cwd, protected): (FrontEnd, PathBuf, ProtectedPaths),
    output: OutputOptions,
) -> AgentOptions {
    let settings = &config.settings;
    let turn = turn::TurnOptions {
        steering_point: settings.steering_point(),
        steering_mode: settings.steering_mode(),
        follow_up_mode: settings.follow_up_mode(),
        groups: settings.parallel_tools(),
        max_turns: settings.max_turns().or((!front.has_person()).then_some(UNWATCHED_TURNS)),
    };
    AgentOptions {
        turn,
        retry: retry(settings),
        compaction: compaction(settings),
        sync: settings.sync_policy(),
        answers: AnswerOptions {
            max_tokens: settings.max_tokens().map(Tokens),
            temperature: settings.temperature(),
        },
        policy: Policy {
            mode: settings.approval_mode(),
            asking: if arguments.agent.yes { AskBehavior::Yes } else { AskBehavior::User },
            protected,
            root: cwd,
            ..Policy::default()
        },
        approver: front.audience(),
        output,
        mode: front.name(),
        offer: ToolOffer::All,
        remote: None,
    }
}
