//! Templates: files with prompts that are typed often; `/NAME arguments` expands to the file's body with the
//! arguments.
//!
//! Files are `NAME.md` directly in a folder. The caller chooses the folders. Begin with [`load`];
//! [`Template::expand`] inserts the arguments.

mod arguments;
mod built_in;
mod expand;
mod parse;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tiller_files::search_path::{self, ResourceOrigin, ResourceProblem, SearchPath};

use parse::parse;
pub use parse::{MAX_BYTES, Template};

/// Most templates that are loaded.
pub(crate) const MAX_TEMPLATES: usize = 500;

/// The loaded templates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadedTemplates {
    /// In order of precedence; names are unique.
    pub templates: Vec<Template>,
    /// Problems of files.
    pub problems: Vec<ResourceProblem>,
    /// The folders that were read.
    pub folders: Vec<PathBuf>,
}

/// Use of the built-in templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BuiltIn {
    /// After all others.
    Included,
    /// They are left out.
    #[default]
    LeftOut,
}

/// Reserved names.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReservedNames<'a> {
    /// The names.
    pub names: &'a [String],
}

/// Loads the templates of search paths in order of precedence, then the built-in ones. A file that is broken now
/// keeps its version from `earlier`.
#[must_use]
pub fn load(
    search_paths: &[SearchPath],
    built_in: BuiltIn,
    reserved: ReservedNames<'_>,
    earlier: &[Template],
) -> LoadedTemplates {
    let mut loader =
        TemplateLoader { loaded: LoadedTemplates::default(), names: HashMap::new(), reserved, earlier };
    for search_path in search_paths {
        loader.load_path(search_path);
    }
    if built_in == BuiltIn::Included {
        built_in::templates().for_each(|template| loader.add(template));
    }
    loader.loaded
}

struct TemplateLoader<'a> {
    loaded: LoadedTemplates,
    /// Position of each name in `templates`.
    names: HashMap<String, usize>,
    reserved: ReservedNames<'a>,
    earlier: &'a [Template],
}

impl TemplateLoader<'_> {
    fn load_path(&mut self, search_path: &SearchPath) {
        match fs::metadata(&search_path.path) {
            Ok(loaded) if loaded.is_dir() => self.load_folder(search_path),
            Ok(_) => {
                self.loaded.folders.extend(search_path.path.parent().map(Path::to_owned));
                self.load_file(&search_path.path, search_path);
            }
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && search_path.origin != ResourceOrigin::Given => {
            }
            Err(error) => self.problem(&search_path.path, format!("can't load templates: {error}"), 0),
        }
    }

    fn load_folder(&mut self, search_path: &SearchPath) {
        self.loaded.folders.push(search_path.path.clone());
        match files(&search_path.path) {
            Ok(files) => files.iter().for_each(|file| self.load_file(file, search_path)),
            Err(error) => self.problem(&search_path.path, format!("can't load templates: {error}"), 0),
        }
    }

    fn load_file(&mut self, path: &Path, search_path: &SearchPath) {
        let read = search_path.read(path, MAX_BYTES);
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.keep_earlier(path, &error.to_string(), 0),
        };
        match parse(&bytes, path, search_path.origin) {
            Ok(template) => self.add(template),
            Err(reason) => self.keep_earlier(path, &reason, search_path::content_hash(&bytes)),
        }
    }

    fn keep_earlier(&mut self, path: &Path, reason: &str, state: u64) {
        let earlier = self.earlier.iter().find(|template| template.path == path).cloned();
        let message = match earlier {
            Some(_) => format!("{reason}; its previous version stays in use"),
            None => format!("template not used: {reason}"),
        };
        self.problem(path, message, state);
        if let Some(template) = earlier {
            self.add(template);
        }
    }

    fn add(&mut self, template: Template) {
        let name = &template.name;
        let existing = self.names.get(name).map(|at| &self.loaded.templates[*at]);
        let reason = match existing {
            Some(existing) if existing.path == template.path => return,
            Some(existing) => Some(format!("{} has that name already", existing.path.display())),
            None if self.reserved.names.contains(name) => Some(format!("/{name} is a command")),
            None if self.loaded.templates.len() >= MAX_TEMPLATES => {
                Some(format!("the limit of {MAX_TEMPLATES} templates is reached"))
            }
            None => None,
        };
        match reason {
            // A user's template takes precedence over a built-in one of the same name.
            Some(_) if template.origin == ResourceOrigin::BuiltIn => {}
            Some(reason) => {
                let message = format!("template `{name}` not used: {reason}");
                self.problem(&template.path, message, 0);
            }
            None => {
                self.names.insert(name.clone(), self.loaded.templates.len());
                self.loaded.templates.push(template);
            }
        }
    }

    fn problem(&mut self, path: &Path, message: String, state: u64) {
        self.loaded.problems.push(ResourceProblem { path: path.to_owned(), message, state });
    }
}

/// Returns the template files in a folder, sorted by name.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_template =
            name.ends_with(".md") && !name.starts_with('.') && !name.eq_ignore_ascii_case("readme.md");
        if is_template && !entry.path().is_dir() {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests;
