//! Assembles a session: configuration, log, models, tools, agent.
//!
//! [`session`] opens the log, [`models`] selects providers and the first model, [`options`] converts
//! settings.

mod endpoint;
mod github;
mod key_command;
mod local_models;
mod models;
pub(super) mod options;
mod session;

use std::path::Path;

pub(super) use self::endpoint::{key_provider, proxy_use};
pub(super) use self::local_models::{add_local_models, find_local_models, renew_local_windows};
pub(super) use self::models::{
    ModelList, NoModel, connect_provider, has_flag_key, key_variables, list_servers, misconfigured_notices,
    named_models, no_provider,
};
pub(super) use self::options::{command_runner, output_limits, policy, runner, sandbox};
pub(super) use self::session::{OpenedLog, SessionChoice, manager, open};

use self::models::LocalProbe;
use self::session::SessionStart;
use super::add_dir::{self, AddedDir};
use super::args::CliArgs;
use super::failure::CliFailure;
use super::frontend::FrontEnd;
use super::scratch::ScratchDir;
use super::startup::now;
use super::{first_prompt, resource_paths, tool_servers};
use crate::agent::agents::{AgentRegistry, Delegation, DelegationLimits};
use crate::agent::extension::Extensions;
use crate::agent::{AgentOptions, Resources, SessionParts, SystemPrompt, ToolOffer};
use crate::config::Config;
use crate::policy::SandboxStrength;
use crate::protected_path::ProtectedPaths;
use crate::provider::demo;
use crate::sandbox::Sandbox;
use crate::setting::{self, SettingSource, Switch};
use crate::tool::{OutputOptions, ToolEnvironment, Tools};
use crate::workspace::Workspace;

/// The parts of a session, with notices for the user.
pub(super) struct SessionSetup {
    pub(super) parts: SessionParts,
    pub(super) notices: Vec<String>,
    /// True if the user first picks a session.
    pub(super) pick: bool,
    /// Kept until the session is closed.
    pub(super) scratch: ScratchDir,
}

/// Assembles a session from an open log and its extensions.
pub(super) fn assemble(
    OpenedLog { manager, start, remote }: OpenedLog,
    arguments: &CliArgs,
    config: &Config,
    front: FrontEnd,
    mut extensions: Extensions,
) -> Result<SessionSetup, CliFailure> {
    let cwd = manager.cwd().to_owned();
    let mut notices: Vec<String> = config.notices().collect();
    notices.extend(start.notices(&cwd));
    // Resolving the paths requires several lookups of links, so it is done once.
    let protected = config.protected_paths(&cwd);
    notices.extend(home_notice(&protected, &cwd));
    let SessionStart { writer, pick, .. } = start;
    let providers = models::providers(arguments, config, LocalProbe::IfNeeded)?;
    let providers = models::scoped(providers, config, &mut notices);
    let added = add_dir::dirs(&arguments.environment.add_dir, &cwd)?;
    let chosen = models::model(arguments, config, &providers, front)?;
    notices.extend(chosen.notice);
    let runner = options::command_runner(config)?;
    let limits = output_limits(config);
    let scratch = ScratchDir::choose(arguments, config)?;
    let github = github::repository(remote.as_deref(), config);
    let sandbox = options::sandbox_with_caches(config, &cwd);
    let strength = policy_strength(&sandbox, &chosen.first.model.facts.provider);
    let environment = |workspace| ToolEnvironment {
        github,
        limits,
        sandbox: sandbox.clone(),
        bash: options::bash_times(config),
        ..ToolEnvironment::new(workspace, runner.clone(), scratch.path())
    };
    let mut sources = resource_paths::resource_paths(arguments, config, (&cwd, front), &scratch);
    notices.extend(extensions.unreachable_commands(&sources.reserved_names));
    extensions.add_resource_paths(&mut sources);
    let resources = Resources::load(sources);
    let workspace = workspace(&resources, (&cwd, &added), config, &protected)?;
    let tools = Tools::built_in(environment(workspace));
    let (tools, delegation) = with_delegation(tools, config);
    let tools = extensions.add_tools(tools, &mut notices);
    let profile = tools.workspace().and_then(|workspace| sandbox.profile(workspace));
    let servers = tool_servers::start(config, arguments, profile, &cwd, front.audience())?;
    let offer = offer(arguments, config, &tools)?;
    let parts = SessionParts {
        manager,
        writer,
        providers,
        first: chosen.first,
        tools,
        extensions,
        tool_servers: servers,
        agent_link: delegation.map(|delegation| delegation.link()),
        runner,
        system_prompt: system_prompt(arguments, &cwd, &added)?,
        resources,
        options: AgentOptions {
            remote,
            offer,
            ..options::options(
                arguments,
                config,
                (front, cwd, protected, (strength, sandbox.listed().to_vec())),
                OutputOptions { limits, scratch: scratch.path() },
            )
        },
    };
    // The agent logs its own notices itself.
    notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    Ok(SessionSetup { parts, notices, pick, scratch })
}

/// Adds the tools that delegate to agents from files, unless they are disabled.
fn with_delegation(tools: Tools, config: &Config) -> (Tools, Option<Delegation>) {
    let settings = &config.settings;
    if settings.agents_enabled() == Switch::Off {
        return (tools, None);
    }
    let limits =
        DelegationLimits { depth: settings.agents_max_depth(), parallel: settings.agents_parallel() };
    let delegation = Delegation::new(AgentRegistry::default(), limits);
    (delegation.add_tools(tools), Some(delegation))
}

/// Returns the sandbox strength that the policy assumes. In the demo, which shows approval requests, commands
/// need approval as if TCP weren't blocked; they still run in the sandbox.
fn policy_strength(sandbox: &Sandbox, provider: &str) -> SandboxStrength {
    match sandbox.strength() {
        SandboxStrength::WritesAndTcp if provider == demo::NAME => SandboxStrength::Writes,
        strength => strength,
    }
}

fn workspace(
    resources: &Resources,
    (cwd, added): (&Path, &[AddedDir]),
    config: &Config,
    protected: &ProtectedPaths,
) -> Result<Workspace, CliFailure> {
    let readable = resources.readable(cwd).into_iter();
    let workspace = Workspace::new(cwd).map_err(CliFailure::usage)?;
    let workspace =
        added.iter().fold(workspace, |workspace, (path, access)| workspace.with_dir(path, *access));
    Ok(readable
        .fold(workspace, Workspace::with_readable)
        .with_protected(config.private_dirs(cwd))
        .with_approved_paths(protected.clone()))
}

/// Returns a warning if the working directory contains other programs' configuration.
fn home_notice(protected: &ProtectedPaths, cwd: &Path) -> Option<String> {
    if protected.is_private(cwd) {
        return Some(
            "the working directory is one of tiller's own directories, which tools can't access".to_owned(),
        );
    }
    // The last of the home directory's paths is canonical, like `cwd`.
    let home = protected.homes.last()?;
    home.starts_with(cwd).then(|| {
        let verb = if home == cwd { "is" } else { "contains" };
        format!(
            "the working directory {verb} your home directory, so tools can access all files in it except tiller's \
             own; writing startup files such as .bashrc needs approval"
        )
    })
}

/// Chooses the tools to offer to the model, including those of extensions.
fn offer(arguments: &CliArgs, config: &Config, tools: &Tools) -> Result<ToolOffer, CliFailure> {
    if arguments.agent.no_tools {
        return Ok(ToolOffer::Only { names: Vec::new(), source: "--no-tools".to_owned() });
    }
    let Some(names) = config.settings.tools() else { return Ok(ToolOffer::All) };
    // MCP tools aren't known yet.
    let mut known = tools.expand_sets(names);
    known.retain(|name| !name.starts_with(crate::mcp::TOOL_PREFIX));
    tools.restrict(&known).map_err(CliFailure::usage)?;
    let source = match config.settings.value(&setting::TOOLS).1 {
        source @ (SettingSource::File(_) | SettingSource::Project(_)) => {
            format!("the setting tools in {source}")
        }
        source => source.to_string(),
    };
    Ok(ToolOffer::Only { names: names.to_vec(), source })
}

fn system_prompt(arguments: &CliArgs, cwd: &Path, added: &[AddedDir]) -> Result<SystemPrompt, CliFailure> {
    let text = |argument: &Option<String>| {
        argument.as_deref().map(|text| first_prompt::text_or_file(text, cwd)).transpose()
    };
    Ok(SystemPrompt {
        replacement: text(&arguments.agent.system_prompt)?,
        appended: text(&arguments.agent.append_system_prompt)?,
        date: now().to_iso()[..10].to_owned(),
        dirs: added.iter().map(add_dir::describe_for_model).collect(),
    })
}
