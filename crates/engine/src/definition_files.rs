//! Loading of files that each define one named thing: templates as `NAME.md` directly in a directory, agents
//! also in subdirectories.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tiller_core::os_error::without_code;
use tiller_files::search_path::{self, ResourceOrigin, ResourceProblem, SearchPath};

/// A definition that is stored in a file.
pub(crate) trait FileDefinition: Clone {
    /// The noun for messages.
    const NOUN: &'static str;
    /// Maximum size of a file.
    const MAX_BYTES: usize;
    /// Maximum number of loaded definitions.
    const MAX_COUNT: usize;
    /// Maximum depth of subdirectories.
    const MAX_DEPTH: usize = 0;

    /// Parses a file.
    ///
    /// # Errors
    /// The reason the definition can't be used.
    fn parse(bytes: &[u8], path: &Path, origin: ResourceOrigin) -> Result<Self, String>;

    fn name(&self) -> &str;

    fn path(&self) -> &Path;

    fn origin(&self) -> ResourceOrigin;

    /// Returns a problem that doesn't prevent the use of the definition.
    fn problem(&self) -> Option<String> {
        None
    }
}

/// The loaded definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadedDefinitions<T> {
    /// In order of precedence; names are unique.
    pub definitions: Vec<T>,
    /// Problems found in the files.
    pub problems: Vec<ResourceProblem>,
    /// The directories that were read.
    pub dirs: Vec<PathBuf>,
}

/// Loads the definitions from search paths in order of precedence, then the built-in ones. If a file is
/// invalid now, its version in `earlier` is kept. Definitions with a name in `commands` are omitted.
pub(crate) fn load<T: FileDefinition>(
    search_paths: &[SearchPath],
    built_in: impl IntoIterator<Item = T>,
    commands: &[String],
    earlier: &[T],
) -> LoadedDefinitions<T> {
    let loaded = LoadedDefinitions { definitions: Vec::new(), problems: Vec::new(), dirs: Vec::new() };
    let mut loader = Loader { loaded, names: HashMap::new(), commands, earlier };
    for search_path in search_paths {
        loader.load_path(search_path);
    }
    built_in.into_iter().for_each(|definition| loader.add(definition));
    loader.loaded
}

struct Loader<'a, T> {
    loaded: LoadedDefinitions<T>,
    /// Position of each name in `definitions`.
    names: HashMap<String, usize>,
    commands: &'a [String],
    earlier: &'a [T],
}

impl<T: FileDefinition> Loader<'_, T> {
    fn load_path(&mut self, search_path: &SearchPath) {
        match fs::metadata(&search_path.path) {
            Ok(metadata) if metadata.is_dir() => self.load_dir(search_path),
            Ok(_) => {
                self.loaded.dirs.extend(search_path.path.parent().map(Path::to_owned));
                self.load_file(&search_path.path, search_path);
            }
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && search_path.origin != ResourceOrigin::Given => {
            }
            Err(error) => self.path_problem(&search_path.path, &error),
        }
    }

    fn load_dir(&mut self, search_path: &SearchPath) {
        let mut dirs = vec![(search_path.path.clone(), 0)];
        while let Some((dir, depth)) = dirs.pop() {
            self.loaded.dirs.push(dir.clone());
            match list(&dir) {
                Ok(listing) => {
                    listing.files.iter().for_each(|file| self.load_file(file, search_path));
                    if depth < T::MAX_DEPTH && self.loaded.dirs.len() + dirs.len() < MAX_DIRS {
                        dirs.extend(listing.dirs.into_iter().rev().map(|dir| (dir, depth + 1)));
                    }
                }
                Err(error) => self.path_problem(&dir, &error),
            }
        }
    }

    fn load_file(&mut self, path: &Path, search_path: &SearchPath) {
        let bytes = match search_path.read(path, T::MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.keep_earlier(path, &without_code(&error.to_string()), 0),
        };
        match T::parse(&bytes, path, search_path.origin) {
            Ok(definition) => self.add(definition),
            Err(reason) => self.keep_earlier(path, &reason, search_path::content_hash(&bytes)),
        }
    }

    fn keep_earlier(&mut self, path: &Path, reason: &str, state: u64) {
        let earlier = self.earlier.iter().find(|definition| definition.path() == path).cloned();
        let message = match earlier {
            Some(_) => format!("{reason}; its previous version stays in use"),
            None => format!("{} ignored: {reason}", T::NOUN),
        };
        self.problem(path, message, state);
        if let Some(definition) = earlier {
            self.add(definition);
        }
    }

    fn add(&mut self, definition: T) {
        let name = definition.name();
        let existing = self.names.get(name).map(|at| &self.loaded.definitions[*at]);
        let reason = match existing {
            Some(existing) if existing.path() == definition.path() => return,
            Some(existing) => Some(format!("{} already has that name", existing.path().display())),
            None if self.commands.iter().any(|command| command == name) => {
                Some(format!("/{name} is a command"))
            }
            None if self.loaded.definitions.len() >= T::MAX_COUNT => {
                Some(format!("the limit of {} {}s is reached", T::MAX_COUNT, T::NOUN))
            }
            None => None,
        };
        match reason {
            // A user's definition takes precedence over a built-in one of the same name.
            Some(_) if definition.origin() == ResourceOrigin::BuiltIn => {}
            Some(reason) => {
                let message = format!("{} `{name}` ignored: {reason}", T::NOUN);
                self.problem(definition.path(), message, 0);
            }
            None => {
                if let Some(problem) = definition.problem() {
                    self.problem(definition.path(), problem, 0);
                }
                self.names.insert(name.to_owned(), self.loaded.definitions.len());
                self.loaded.definitions.push(definition);
            }
        }
    }

    fn path_problem(&mut self, path: &Path, error: &io::Error) {
        let reason = without_code(&error.to_string());
        self.problem(path, format!("can't load {}s: {reason}", T::NOUN), 0);
    }

    fn problem(&mut self, path: &Path, message: String, state: u64) {
        self.loaded.problems.push(ResourceProblem { path: path.to_owned(), message, state });
    }
}

/// Maximum number of directories to read.
const MAX_DIRS: usize = 200;

/// The definition files and the subdirectories of a directory, both sorted by name.
#[derive(Default)]
struct DirListing {
    files: Vec<PathBuf>,
    dirs: Vec<PathBuf>,
}

fn list(dir: &Path) -> io::Result<DirListing> {
    let mut listing = DirListing::default();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_definition =
            name.ends_with(".md") && !name.starts_with('.') && !name.eq_ignore_ascii_case("readme.md");
        // A link to a directory could lead back to this one.
        if entry.file_type()?.is_dir() && !name.starts_with('.') {
            listing.dirs.push(entry.path());
        } else if is_definition && !entry.path().is_dir() {
            listing.files.push(entry.path());
        }
    }
    listing.files.sort();
    listing.dirs.sort();
    Ok(listing)
}
