//! Where skills, templates and context files are looked for, according to arguments and settings.

use std::path::{Path, PathBuf};

use super::args::CliArgs;
use super::frontend::FrontEnd;
use super::wiring::Scratch;
use crate::agent::{ResourcePaths, WatchMode};
use crate::config::Config;
use crate::search_path::{ResourceOrigin, SearchPath};
use crate::setting::{self, Setting};
use crate::template::BuiltIn;
use crate::tui;

/// Folder of the built-in skills, in tiller's own folder for state or in one that goes with the process.
const BUILT_IN: &str = "skills";

/// The places that these arguments lead to.
pub(super) fn of(
    arguments: &CliArgs,
    config: &Config,
    (cwd, front): (&Path, FrontEnd),
    scratch: &Scratch,
) -> ResourcePaths {
    let is_on = |setting: &Setting| !config.settings.is(setting, "off");
    let home = config.variable("HOME").map(Path::new);
    let usual = ResourcePaths::usual(cwd, &config.folders.config, home);
    let mut sources = ResourcePaths {
        taken: tui::command_names().map(str::to_owned).collect(),
        watching: if front != FrontEnd::Print && is_on(&setting::WATCH) {
            WatchMode::On
        } else {
            WatchMode::Off
        },
        ..ResourcePaths::default()
    };
    if is_on(&setting::SKILLS) {
        sources.skills = usual.skills;
        sources.built_in_skills = Some(match scratch {
            Scratch::Lasting(_) => config.folders.state.join(BUILT_IN),
            Scratch::Passing(_) => scratch.path().join(BUILT_IN),
        });
    }
    if is_on(&setting::TEMPLATES) {
        sources.templates = usual.templates;
        sources.built_in_templates = BuiltIn::Included;
    }
    if is_on(&setting::CONTEXT_FILES) {
        sources.instructions = usual.instructions;
    }
    sources.skills.extend(given(&arguments.agent.skill, cwd));
    sources.templates.extend(given(&arguments.agent.prompt_template, cwd));
    sources
}

fn given(paths: &[PathBuf], cwd: &Path) -> impl Iterator<Item = SearchPath> {
    paths.iter().map(|path| SearchPath { path: cwd.join(path), origin: ResourceOrigin::Given, bounds: None })
}
