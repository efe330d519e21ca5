//! Converts settings to options for the agent, commands and tools.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::agent::RetryOptions;
use crate::agent::agents::{UsageLimit, UsageScopes};
use crate::agent::compaction::CompactionOptions;
use crate::agent::{AgentOptions, AnswerOptions, BackgroundTasks, BudgetOptions, ToolOffer, TurnOptions};
use crate::cli::args::CliArgs;
use crate::cli::failure::CliFailure;
use crate::cli::frontend::FrontEnd;
use crate::config::Config;
use crate::policy::{AskBehavior, Policy, SandboxStrength};
use crate::process::{NetworkAccess, Runner, SandboxSupport};
use crate::protected_path::ProtectedPaths;
use crate::sandbox::{Sandbox, SandboxMode, SandboxOptions, create_caches};
use crate::setting::Switch;
use crate::tool::{BashTimes, OutputLimits, OutputOptions};

/// Default maximum number of requests in a non-interactive run.
const UNWATCHED_TURNS: u64 = 100;

/// Returns the runner of child processes.
pub(in crate::cli) fn runner() -> Result<Runner, CliFailure> {
    Runner::this_program().context("can't find tiller's own program").map_err(CliFailure::run)
}

pub(in crate::cli) fn output_limits(config: &Config) -> OutputLimits {
    OutputLimits::from(&config.settings)
}

/// Returns the runner of the user's and the model's commands.
pub(in crate::cli) fn command_runner(config: &Config) -> Result<Runner, CliFailure> {
    let settings = &config.settings;
    let mut runner = runner()?;
    if let Some(shell) = settings.bash_shell() {
        runner = runner.with_shell(shell).map_err(CliFailure::usage)?;
    }
    if let Some(prefix) = settings.bash_prefix() {
        runner = runner.with_prefix(prefix);
    }
    if settings.bash_inherit_keys() == Switch::Off {
        runner = runner.without_variables(config.key_variables());
    }
    Ok(runner)
}

/// Returns the sandbox for the model's commands.
pub(in crate::cli) fn sandbox(config: &Config, cwd: &Path) -> Sandbox {
    let settings = &config.settings;
    let network = match settings.sandbox_network() {
        Switch::On => NetworkAccess::Allowed,
        Switch::Off => NetworkAccess::Denied,
    };
    let homes = config.home_dirs();
    let options = SandboxOptions {
        mode: settings.sandbox_mode(),
        network,
        home: homes.first().map(PathBuf::as_path),
        temporary: config.variable("TMPDIR").map(Path::new).filter(|path| path.is_absolute()),
        writable: settings.sandbox_writable().unwrap_or_default(),
    };
    Sandbox::new(&options, cwd, SandboxSupport::detect())
}

/// Like [`sandbox`], after creating the caches that commands need.
pub(super) fn sandbox_with_caches(config: &Config, cwd: &Path) -> Sandbox {
    let sandbox = sandbox(config, cwd);
    if sandbox.mode() == SandboxMode::Workspace
        && let (Some(home), Some(path)) = (config.home_dirs().first(), config.variable("PATH"))
    {
        create_caches(home, path.as_ref());
    }
    sandbox
}

pub(super) fn bash_times(config: &Config) -> BashTimes {
    BashTimes::from(&config.settings)
}

pub(super) fn options(
    arguments: &CliArgs,
    config: &Config,
    (front, cwd, protected, (sandbox, sandbox_writable)): (
        FrontEnd,
        PathBuf,
        ProtectedPaths,
        (SandboxStrength, Vec<PathBuf>),
    ),
    output: OutputOptions,
) -> AgentOptions {
    let settings = &config.settings;
    let unwatched = (!front.has_person()).then_some(UNWATCHED_TURNS);
    let turn = TurnOptions { max_turns: settings.max_turns().or(unwatched), ..TurnOptions::from(settings) };
    AgentOptions {
        turn,
        retry: RetryOptions::from(settings),
        fallback: settings.fallback().unwrap_or_default().to_vec(),
        budget: BudgetOptions::from(settings),
        limits: UsageScopes::default(),
        agent_limit: UsageLimit::from(settings),
        compaction: CompactionOptions::from(settings),
        sync: settings.sync_policy(),
        answers: AnswerOptions::from(settings),
        policy: policy(arguments, config, (cwd, protected), (sandbox, sandbox_writable)),
        loosest_approval: None,
        approver: front.audience(),
        agent_deltas: if arguments.print.agent_deltas { Switch::On } else { Switch::Off },
        background_tasks: match front {
            FrontEnd::Print => BackgroundTasks::Await,
            _ => BackgroundTasks::Continue,
        },
        output,
        mode: front.name(),
        offer: ToolOffer::All,
        remote: None,
    }
}

/// Returns the policy of a session in a working directory.
pub(in crate::cli) fn policy(
    arguments: &CliArgs,
    config: &Config,
    (root, protected): (PathBuf, ProtectedPaths),
    (sandbox, sandbox_writable): (SandboxStrength, Vec<PathBuf>),
) -> Policy {
    Policy {
        mode: config.settings.approval_mode(),
        ask_behavior: if arguments.agent.yes { AskBehavior::Yes } else { AskBehavior::User },
        protected,
        root,
        sandbox,
        sandbox_writable,
        rules: config.rules.clone(),
        ..Policy::default()
    }
}
