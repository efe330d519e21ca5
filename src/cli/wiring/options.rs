//! Translates settings into options of the agent, of commands and of tools.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;

use crate::agent::compaction::{Automatic, CompactionOptions, Strategy};
use crate::agent::queue::DeliveryMode;
use crate::agent::retry::{RetryMode, RetryOptions};
use crate::agent::{AgentOptions, AnswerOptions, OutputOptions, SyncPolicy, ToolOffer, turn};
use crate::cli::CliFailure;
use crate::cli::args::CliArgs;
use crate::cli::frontend::FrontEnd;
use crate::config::{self, Config};
use crate::policy::{ApprovalMode, AskBehavior, Policy};
use crate::process::Runner;
use crate::protected_path::ProtectedPaths;
use crate::setting;
use crate::tool::{BashTimes, OutputLimits};
use crate::unit::Tokens;

/// Default maximum of requests for a run that nobody watches.
const UNWATCHED_TURNS: u64 = 100;

/// The runner of child processes.
pub(in crate::cli) fn runner() -> Result<Runner, CliFailure> {
    Runner::this_program().context("can't find tiller's own program").map_err(CliFailure::run)
}

pub(in crate::cli) fn output_limits(config: &Config) -> OutputLimits {
    let count =
        |setting| usize::try_from(config.settings.count(setting).unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    OutputLimits {
        max_lines: count(&setting::TOOL_OUTPUT_MAX_LINES),
        max_chars: count(&setting::TOOL_OUTPUT_MAX_CHARS),
    }
}

fn compaction(config: &Config) -> CompactionOptions {
    let settings = &config.settings;
    let tokens = |setting| settings.count(setting).map(Tokens);
    let messages =
        |setting| settings.count(setting).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    CompactionOptions {
        strategy: match settings.text(&setting::COMPACTION_STRATEGY) {
            Some("truncate") => Strategy::Truncate,
            Some("off") => Strategy::Off,
            Some(_) | None => Strategy::Summarize,
        },
        automatic: if settings.is(&setting::COMPACTION_ENABLED, "off") {
            Automatic::Off
        } else {
            Automatic::On
        },
        reserve: tokens(&setting::COMPACTION_RESERVE_TOKENS),
        keep: tokens(&setting::COMPACTION_KEEP_TOKENS),
        max_messages: messages(&setting::COMPACTION_MAX_MESSAGES),
        keep_messages: messages(&setting::COMPACTION_KEEP_MESSAGES),
    }
}

fn retry(config: &Config) -> RetryOptions {
    let count = |setting| config.settings.count(setting).unwrap_or_default();
    RetryOptions {
        mode: if config.settings.is(&setting::RETRY_ENABLED, "off") { RetryMode::Off } else { RetryMode::On },
        max: u32::try_from(count(&setting::RETRY_MAX)).unwrap_or(u32::MAX),
        base: Duration::from_millis(count(&setting::RETRY_BASE_MS)),
        cap: Duration::from_millis(count(&setting::RETRY_CAP_MS)),
    }
}

/// The runner of the user's and the model's commands.
pub(super) fn command_runner(config: &Config) -> Result<Runner, CliFailure> {
    let settings = &config.settings;
    let mut runner = runner()?;
    if let Some(shell) = settings.text(&setting::BASH_SHELL) {
        runner = runner.with_shell(shell).map_err(CliFailure::usage)?;
    }
    if let Some(prefix) = settings.text(&setting::BASH_PREFIX) {
        runner = runner.with_prefix(prefix);
    }
    if settings.is(&setting::BASH_INHERIT_KEYS, "off") {
        runner = runner.without_variables(config::key_names());
    }
    Ok(runner)
}

pub(super) fn bash_times(config: &Config) -> BashTimes {
    let seconds = |setting| config.settings.count(setting).unwrap_or_default();
    BashTimes {
        timeout_s: seconds(&setting::BASH_TIMEOUT_S),
        max_timeout_s: seconds(&setting::BASH_MAX_TIMEOUT_S),
    }
}

pub(super) fn options(
    arguments: &CliArgs,
    config: &Config,
    (front, cwd, protected): (FrontEnd, PathBuf, ProtectedPaths),
    output: OutputOptions,
) -> AgentOptions {
    let settings = &config.settings;
    let delivery = |setting| {
        if settings.is(setting, "all") { DeliveryMode::All } else { DeliveryMode::OneAtATime }
    };
    let turn = turn::TurnOptions {
        steering_point: match settings.is(&setting::STEERING_POINT, "after-answer") {
            true => turn::SteeringPoint::AfterAnswer,
            false => turn::SteeringPoint::BetweenTools,
        },
        steering_mode: delivery(&setting::STEERING_MODE),
        follow_up_mode: delivery(&setting::FOLLOW_UP_MODE),
        groups: if settings.is(&setting::PARALLEL_TOOLS, "off") {
            turn::Groups::Off
        } else {
            turn::Groups::On
        },
        max_turns: settings.count(&setting::MAX_TURNS).or((!front.has_person()).then_some(UNWATCHED_TURNS)),
    };
    AgentOptions {
        turn,
        retry: retry(config),
        compaction: compaction(config),
        sync: match settings.text(&setting::SYNC) {
            Some("always") => SyncPolicy::Always,
            Some("never") => SyncPolicy::Never,
            Some(_) | None => SyncPolicy::Turn,
        },
        answers: AnswerOptions {
            max_tokens: settings.count(&setting::MAX_TOKENS).map(Tokens),
            temperature: settings.number(&setting::TEMPERATURE),
        },
        policy: Policy {
            mode: settings.text(&setting::APPROVAL).and_then(ApprovalMode::parse).unwrap_or_default(),
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
