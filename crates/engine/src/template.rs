//! Templates: files with prompts that are used often; `/NAME arguments` expands to the file's body with the
//! arguments.
//!
//! The caller chooses the directories. Start with [`load`]; [`Template::expand`] inserts the arguments.

mod arguments;
mod built_in;
mod expand;
mod parse;

use std::path::{Path, PathBuf};

use tiller_files::search_path::{ResourceOrigin, ResourceProblem, SearchPath};

use crate::definition_files::{self, FileDefinition};

use parse::parse;
pub use parse::{MAX_BYTES, Template};

/// Maximum number of loaded templates.
pub(crate) const MAX_TEMPLATES: usize = 500;

/// The loaded templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedTemplates {
    /// In order of precedence; names are unique.
    pub templates: Vec<Template>,
    /// Problems with files.
    pub problems: Vec<ResourceProblem>,
    /// The directories that were read.
    pub dirs: Vec<PathBuf>,
}

/// Use of the built-in templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// Loaded after all others.
    Included,
    /// Omitted.
    #[default]
    LeftOut,
}

/// Reserved names.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReservedNames<'a> {
    /// The names.
    pub names: &'a [String],
}

/// Loads the templates from search paths in order of precedence, then the built-in ones. If a file is invalid
/// now, its version in `earlier` is kept.
#[must_use]
pub fn load(
    search_paths: &[SearchPath],
    built_in: BuiltIn,
    reserved: ReservedNames<'_>,
    earlier: &[Template],
) -> LoadedTemplates {
    let built_in = (built_in == BuiltIn::Included).then(built_in::templates).into_iter().flatten();
    let loaded = definition_files::load(search_paths, built_in, reserved.names, earlier);
    LoadedTemplates { templates: loaded.definitions, problems: loaded.problems, dirs: loaded.dirs }
}

impl FileDefinition for Template {
    const NOUN: &'static str = "template";
    const MAX_BYTES: usize = MAX_BYTES;
    const MAX_COUNT: usize = MAX_TEMPLATES;

    fn parse(bytes: &[u8], path: &Path, origin: ResourceOrigin) -> Result<Self, String> {
        parse(bytes, path, origin)
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn origin(&self) -> ResourceOrigin {
        self.origin
    }
}

#[cfg(test)]
mod tests;
