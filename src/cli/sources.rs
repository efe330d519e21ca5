//! Where skills, templates and context files are looked for, according to arguments and settings.

use std::path::{Path, PathBuf};

use super::args::Arguments;
use super::assemble::Scratch;
use super::front::Front;
use crate::agent::{Sources, Watching};
use crate::config::Config;
use crate::resource::{Origin, Place};
use crate::setting::{self, Setting};
use crate::template::BuiltIn;
use crate::tui;

/// Folder of the built-in skills, in tiller's own folder for state or in one that goes with the process.
const BUILT_IN: &str = "skills";

/// The places that these arguments lead to.
pub(super) fn of(
    arguments: &Arguments,
    config: &Config,
    (cwd, front): (&Path, Front),
    scratch: &Scratch,
) -> Sources {
    let is_on = |setting: &Setting| !config.settings.is(setting, "off");
    let home = config.variable("HOME").map(Path::new);
    let usual = Sources::usual(cwd, &config.folders.config, home);
    let mut sources = Sources {
        taken: tui::command_names().map(str::to_owned).collect(),
        watching: if front != Front::Print && is_on(&setting::WATCH) { Watching::On } else { Watching::Off },
        ..Sources::default()
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

fn given(paths: &[PathBuf], cwd: &Path) -> impl Iterator<Item = Place> {
    paths.iter().map(|path| Place { path: cwd.join(path), origin: Origin::Given, bounds: None })
}
