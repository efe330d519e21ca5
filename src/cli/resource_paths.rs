//! Search paths of skills, templates, agents and context files, from arguments and settings.

use std::path::{Path, PathBuf};

use super::args::CliArgs;
use super::frontend::FrontEnd;
use super::scratch::ScratchDir;
use crate::agent::slash_command::InteractiveFrontEnd::Tui;
use crate::agent::slash_command::available_commands;
use crate::agent::{ResourcePaths, WatchMode};
use crate::config::Config;
use crate::search_path::{ResourceOrigin, SearchPath};
use crate::setting::Switch;
use crate::template::BuiltIn;

/// Name of the directory for built-in skills, in the state directory or in a temporary one.
const BUILT_IN_SKILLS: &str = "skills";

/// Returns the search paths for these arguments.
pub(super) fn resource_paths(
    arguments: &CliArgs,
    config: &Config,
    (cwd, front): (&Path, FrontEnd),
    scratch: &ScratchDir,
) -> ResourcePaths {
    let settings = &config.settings;
    let home = config.variable("HOME").map(Path::new);
    let defaults = ResourcePaths::usual(cwd, &config.dirs.config, home);
    let mut sources = ResourcePaths {
        reserved_names: available_commands(Tui).map(|row| row.name.to_owned()).collect(),
        watch: if front != FrontEnd::Print && settings.watch() == Switch::On {
            WatchMode::On
        } else {
            WatchMode::Off
        },
        ..ResourcePaths::default()
    };
    if settings.skills() == Switch::On {
        sources.skills = defaults.skills;
        sources.built_in_skills = Some(match scratch {
            ScratchDir::Persistent(_) => config.dirs.state.join(BUILT_IN_SKILLS),
            ScratchDir::Temporary(_) => scratch.path().join(BUILT_IN_SKILLS),
        });
    }
    if settings.templates() == Switch::On {
        sources.templates = defaults.templates;
        sources.built_in_templates = BuiltIn::Included;
    }
    if settings.agents_enabled() == Switch::On {
        sources.agents = trusted_agents(defaults.agents, config.trusted_root.as_deref());
        sources.built_in_agents = BuiltIn::Included;
    }
    if settings.context_files() == Switch::On {
        sources.instructions = defaults.instructions;
    }
    sources.skills.extend(argument_paths(&arguments.agent.skill, cwd));
    sources.templates.extend(argument_paths(&arguments.agent.prompt_template, cwd));
    sources
}

/// Keeps those of the project's directories that are in its trusted root. They may be created later, but not as links
/// that lead out of it.
fn trusted_agents(mut agents: Vec<SearchPath>, trusted_root: Option<&Path>) -> Vec<SearchPath> {
    let root = trusted_root.and_then(|root| root.canonicalize().ok());
    agents.retain_mut(|agents| {
        if agents.origin == ResourceOrigin::Project {
            agents.bounds.clone_from(&root);
        }
        // `ROOT/.tiller/agents` or `ROOT/.claude/agents`.
        let project = agents.path.ancestors().nth(2).and_then(|project| project.canonicalize().ok());
        agents.origin != ResourceOrigin::Project || (root.is_some() && project == root)
    });
    agents
}

fn argument_paths(paths: &[PathBuf], cwd: &Path) -> impl Iterator<Item = SearchPath> {
    paths.iter().map(|path| SearchPath { path: cwd.join(path), origin: ResourceOrigin::Given, bounds: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trusted_agents_may_be_created_later() {
        let dir = tempfile::TempDir::new().unwrap();
        let cwd = dir.path().join("repo/inner");
        std::fs::create_dir_all(dir.path().join("repo/.git")).unwrap();
        std::fs::create_dir(&cwd).unwrap();
        let usual = ResourcePaths::usual(&cwd, Path::new("/config"), None).agents;
        let trusted = |root| -> Vec<PathBuf> {
            trusted_agents(usual.clone(), root).into_iter().map(|agents| agents.path).collect()
        };
        let root = dir.path().join("repo");
        let in_root = [".tiller/agents", ".claude/agents"].map(|name| root.join(name));
        let user = PathBuf::from("/config/agents");
        assert_eq!(trusted(Some(&root)), [in_root.as_slice(), std::slice::from_ref(&user)].concat());
        assert_eq!(trusted(None), [user]);
        let bounds = trusted_agents(usual.clone(), Some(&root)).swap_remove(0).bounds;
        assert_eq!(bounds, Some(root.canonicalize().unwrap()));
    }
}
