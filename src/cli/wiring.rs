//! Putting a session together: configuration, sessions, models, tools, agent.
//!
//! [`session`] has the log to begin with, [`models`] who is asked, [`options`] what the settings say.

mod models;
mod options;
mod session;

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use tempfile::TempDir;

pub(super) use self::models::{ModelList, connect_provider, key_variables, named_models};
pub(super) use self::options::{output_limits, runner};
pub(super) use self::session::{OpenedLog, SessionChoice, manager, open};

use self::session::SessionStart;
use super::add_dir::{self, AddedFolder};
use super::args::CliArgs;
use super::frontend::FrontEnd;
use super::{CliFailure, first_prompt, resource_paths};
use crate::agent::extension::Extensions;
use crate::agent::{AgentOptions, OutputOptions, Resources, SessionParts, SystemPrompt, ToolOffer};
use crate::config::{Config, Environment, GivenValues, Project};
use crate::protected_path::ProtectedPaths;
use crate::setting::{self, SettingSource};
use crate::tool::{ToolEnvironment, Tools};
use crate::unit::UnixMs;
use crate::workspace::Workspace;

/// Reads the configuration that these arguments lead to, with the part of a project that is trusted.
pub(super) fn config(arguments: &CliArgs, trusted: Option<&Project>) -> Result<Config, CliFailure> {
    let (flags, env_file) = (arguments.settings(), arguments.place.env_file.as_deref());
    Ok(Config::load(Environment::of_process(), GivenValues { flags: &flags, env_file, trusted })?)
}

/// The real path of the directory to work in.
pub(super) fn cwd(arguments: &CliArgs) -> Result<PathBuf, CliFailure> {
    let named = arguments.place.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    let real = named.canonicalize().with_context(|| format!("can't work in {}", named.display()));
    let real = real.map_err(CliFailure::usage)?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(CliFailure::usage(anyhow!("{} is not a directory", real.display())))
    }
}

/// Everything a session is made of, and what the user should be told first.
pub(super) struct Wired {
    pub(super) parts: SessionParts,
    pub(super) notices: Vec<String>,
    /// Whether the user picks a session first.
    pub(super) pick: bool,
    /// To be kept until the session is closed.
    pub(super) scratch: Scratch,
}

/// The folder for outputs that are over the limits.
pub(super) enum Scratch {
    Lasting(PathBuf),
    /// Nothing is to stay on disk: it goes when this is dropped.
    Passing(TempDir),
}

impl Scratch {
    fn choose(arguments: &CliArgs, config: &Config) -> Result<Self, CliFailure> {
        if !arguments.session.no_session {
            return Ok(Self::Lasting(config.folders.state.join("outputs")));
        }
        let made = tempfile::Builder::new().prefix("tiller-").tempdir();
        made.map(Self::Passing).context("can't make a folder for long outputs").map_err(CliFailure::run)
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Lasting(path) => path.clone(),
            Self::Passing(folder) => folder.path().to_owned(),
        }
    }
}

/// Puts everything together around a session and the extensions that take part in it.
pub(super) fn assemble_around(
    OpenedLog { manager, begun, remote }: OpenedLog,
    arguments: &CliArgs,
    config: &Config,
    front: FrontEnd,
    mut extensions: Extensions,
) -> Result<Wired, CliFailure> {
    let cwd = manager.cwd().to_owned();
    let mut notices: Vec<String> = config.notices().collect();
    notices.extend(begun.notices(&cwd));
    // Each is several look-ups of links, so it is made once.
    let protected = config.protected_paths(&cwd);
    notices.extend(home_notice(&protected, &cwd));
    let SessionStart { writer, pick, .. } = begun;
    let providers = models::scoped(models::providers(arguments, config)?, config, &mut notices);
    let added = add_dir::folders(&arguments.place.add_dir, &cwd)?;
    let chosen = models::model(arguments, config, &providers, front)?;
    notices.extend(chosen.notice);
    let runner = options::command_runner(config)?;
    let limits = output_limits(config);
    let scratch = Scratch::choose(arguments, config)?;
    let environment = |workspace| ToolEnvironment {
        limits,
        bash: options::bash_times(config),
        ..ToolEnvironment::new(workspace, runner.clone(), scratch.path())
    };
    let mut sources = resource_paths::of(arguments, config, (&cwd, front), &scratch);
    notices.extend(extensions.unreachable_commands(&sources.taken));
    extensions.contribute(&mut sources);
    let resources = Resources::load(sources);
    let workspace = workspace(&resources, (&cwd, &added), config, &protected)?;
    let tools = Tools::built_in(environment(workspace));
    let tools = extensions.equip(tools, &mut notices);
    let offer = offer(arguments, config, &tools)?;
    let folders = added.iter().map(add_dir::told).collect();
    let system_prompt = SystemPrompt { folders, ..system_prompt(arguments, &cwd)? };
    let parts = SessionParts {
        manager,
        writer,
        providers,
        first: chosen.first,
        tools,
        extensions,
        runner,
        system_prompt,
        resources,
        options: AgentOptions {
            remote,
            offer,
            ..options::options(
                arguments,
                config,
                (front, cwd, protected),
                OutputOptions { limits, scratch: scratch.path() },
            )
        },
    };
    // What the agent finds it logs itself.
    notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    Ok(Wired { parts, notices, pick, scratch })
}

pub(super) fn now() -> UnixMs {
    std::time::SystemTime::now().into()
}

fn workspace(
    resources: &Resources,
    (cwd, added): (&Path, &[AddedFolder]),
    config: &Config,
    protected: &ProtectedPaths,
) -> Result<Workspace, CliFailure> {
    let readable = resources.readable(cwd).into_iter();
    let workspace = Workspace::new(cwd).map_err(CliFailure::usage)?;
    let workspace =
        added.iter().fold(workspace, |workspace, (path, purpose)| workspace.with_folder(path, *purpose));
    Ok(readable
        .fold(workspace, Workspace::with_readable)
        .with_protected(config.private_folders(cwd))
        .with_approved_paths(protected.clone()))
}

/// A warning for sessions whose working directory holds what other programs are configured with.
fn home_notice(protected: &ProtectedPaths, cwd: &Path) -> Option<String> {
    if protected.is_private(cwd) {
        return Some(
            "the working directory is one of tiller's own folders, which tools can't access".to_owned(),
        );
    }
    // The last of its names has no links, as `cwd` has none.
    let home = protected.homes.last()?;
    home.starts_with(cwd).then(|| {
        let which = if home == cwd { "is" } else { "holds" };
        format!(
            "the working directory {which} your home folder, so tools reach all files in it but tiller's own; \
             writing startup files such as .bashrc asks first"
        )
    })
}

/// Which of all tools, those of extensions among them, the model is told of.
fn offer(arguments: &CliArgs, config: &Config, tools: &Tools) -> Result<ToolOffer, CliFailure> {
    if arguments.agent.no_tools {
        return Ok(ToolOffer::Only { names: Vec::new(), says: "--no-tools".to_owned() });
    }
    let Some(names) = config.settings.list(&setting::TOOLS) else { return Ok(ToolOffer::All) };
    tools.restrict(names).map_err(CliFailure::usage)?;
    let says = match config.settings.value(&setting::TOOLS).1 {
        source @ (SettingSource::File(_) | SettingSource::Project(_)) => {
            format!("the setting tools in {source}")
        }
        source => source.to_string(),
    };
    Ok(ToolOffer::Only { names: names.to_vec(), says })
}

fn system_prompt(arguments: &CliArgs, cwd: &Path) -> Result<SystemPrompt, CliFailure> {
    let text = |given: &Option<String>| {
        given.as_deref().map(|text| first_prompt::text_or_file(text, cwd)).transpose()
    };
    Ok(SystemPrompt {
        replaced_by: text(&arguments.agent.system_prompt)?,
        appended: text(&arguments.agent.append_system_prompt)?,
        date: now().to_iso()[..10].to_owned(),
        folders: Vec::new(),
    })
}
