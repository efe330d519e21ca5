//! The theme registry: built-in themes, themes in directories, and files given by path.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::suggest;
use tiller_files as files;
use tiller_files::search_path::{ResourceOrigin, ResourceProblem, SearchPath};

use super::built_in;
use super::error::ThemeError;
use super::{Background, ColorDepth, Theme};

/// Maximum size of a theme file, in bytes: many times that of a complete theme.
const MAX_BYTES: u64 = 256 * 1024;

/// A theme and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredTheme {
    /// The theme.
    pub theme: Arc<Theme>,
    /// The kind of its search path.
    pub origin: ResourceOrigin,
    /// Its file; `None` for built-in themes.
    pub path: Option<PathBuf>,
}

/// The available themes, and the problems with theme files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeRegistry {
    /// The themes in display order; their names are unique.
    themes: Vec<RegisteredTheme>,
    problems: Vec<ResourceProblem>,
}

/// The user's choice of themes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeChoice {
    /// A theme's name, the path of its file, or `auto`: `dark` or `light`, depending on the background.
    pub theme: String,
    /// The theme for dark backgrounds.
    pub dark: String,
    /// The theme for light backgrounds.
    pub light: String,
}

/// The value of [`ThemeChoice::theme`] that follows the background.
const AUTO: &str = "auto";

/// Returns true if a theme is given by a path.
#[must_use]
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".json")
}

/// Normalizes the theme from a setting or a flag: a name, or the absolute path of a file.
#[must_use]
pub fn resolve_theme(name: &str, cwd: &Path, home: Option<&Path>) -> String {
    if !is_path(name) {
        return name.to_owned();
    }
    let path = match (name.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(name),
    };
    // `.` components are removed, as in the paths of loaded files.
    path.components().collect::<PathBuf>().display().to_string()
}

impl Default for ThemeChoice {
    fn default() -> Self {
        Self { theme: AUTO.to_owned(), dark: built_in::DARK.to_owned(), light: built_in::LIGHT.to_owned() }
    }
}

impl ThemeChoice {
    /// Returns true if the theme follows the background.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.theme == AUTO
    }

    /// Returns the chosen theme for a background.
    #[must_use]
    pub(crate) fn for_background(&self, background: Background) -> &str {
        match (self.is_auto(), background) {
            (false, _) => &self.theme,
            (true, Background::Dark) => &self.dark,
            (true, Background::Light) => &self.light,
        }
    }

    /// Replaces the chosen theme.
    #[must_use]
    pub fn with_theme(&self, theme: &str) -> Self {
        Self { theme: theme.to_owned(), ..self.clone() }
    }
}

impl Default for ThemeRegistry {
    fn default() -> Self {
        Self::built_in()
    }
}

impl ThemeRegistry {
    /// Returns the built-in themes.
    ///
    /// # Panics
    /// If one of them is invalid, which a test excludes.
    #[must_use]
    pub fn built_in() -> Self {
        let known = |text: &&str| {
            let theme = Arc::new(Theme::parse(text).expect("tiller's own themes are sound"));
            RegisteredTheme { theme, origin: ResourceOrigin::BuiltIn, path: None }
        };
        Self { themes: built_in::TEXTS.iter().map(known).collect(), problems: Vec::new() }
    }

    /// Loads the themes in these files and directories (`*.json` directly in them). Of several themes with
    /// the same name, the one whose origin has precedence is used, and of one origin the first. An unreadable
    /// file is reported as a problem, and its theme is taken from `before`.
    #[must_use]
    pub fn load(search_paths: &[SearchPath], before: &Self) -> Self {
        let mut registry = Self::built_in();
        let mut search_paths: Vec<&SearchPath> = search_paths.iter().collect();
        search_paths.sort_by_key(|search_path| search_path.origin);
        for search_path in search_paths.into_iter().rev() {
            for path in files(search_path).into_iter().rev() {
                registry.add_file(&path, search_path, before);
            }
        }
        registry.problems.reverse();
        registry
    }

    fn add_file(&mut self, path: &Path, search_path: &SearchPath, before: &Self) {
        let theme = match read(path, search_path) {
            Ok(theme) => Arc::new(theme),
            Err(error) => {
                self.problems.push(ResourceProblem::new(path, error.full()));
                match before.find_file(path) {
                    Some(known) => Arc::clone(&known.theme),
                    None => return,
                }
            }
        };
        let known = RegisteredTheme { theme, origin: search_path.origin, path: Some(path.to_owned()) };
        match self.themes.iter_mut().find(|other| other.theme.name == known.theme.name) {
            Some(other) => *other = known,
            None => self.themes.push(known),
        }
    }

    /// Returns all themes in display order.
    pub fn known(&self) -> impl ExactSizeIterator<Item = &RegisteredTheme> {
        self.themes.iter()
    }

    /// Returns the problems with files, in the order read.
    #[must_use]
    pub fn problems(&self) -> &[ResourceProblem] {
        &self.problems
    }

    /// Finds a theme by name or file.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&RegisteredTheme> {
        let named = self.themes.iter().find(|known| known.theme.name == name);
        named.or_else(|| self.find_file(Path::new(name)))
    }

    fn find_file(&self, path: &Path) -> Option<&RegisteredTheme> {
        self.themes.iter().find(|known| known.path.as_deref() == Some(path))
    }

    /// Returns the known name that is most similar to an unknown one.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&str> {
        suggest::nearest(name, self.themes.iter().map(|known| known.theme.name.as_str()))
    }

    /// Returns the chosen theme for a background; the default if there is no theme with that name.
    ///
    /// # Panics
    /// Never: the built-in themes are always registered.
    #[must_use]
    pub fn choose(&self, choice: &ThemeChoice, background: Background, depth: ColorDepth) -> &Arc<Theme> {
        let default = match background {
            Background::Dark => built_in::DARK,
            Background::Light => built_in::LIGHT,
        };
        let name = match depth {
            ColorDepth::None => built_in::COLORLESS,
            ColorDepth::Sixteen | ColorDepth::TwoHundredFiftySix | ColorDepth::Millions => {
                choice.for_background(background)
            }
        };
        let theme_found =
            self.find(name).or_else(|| self.find(default)).expect("tiller's own themes are known");
        &theme_found.theme
    }
}

/// Returns the theme files of a search path, sorted by name.
fn files(search_path: &SearchPath) -> Vec<PathBuf> {
    if !search_path.path.is_dir() {
        let is_used = search_path.origin == ResourceOrigin::Given || search_path.path.exists();
        return if is_used { vec![search_path.path.clone()] } else { Vec::new() };
    }
    let entries = fs::read_dir(&search_path.path).into_iter().flatten().flatten().map(|entry| entry.path());
    // The schema may be in the same directory.
    let is_theme = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".json") && !name.ends_with(".schema.json") && !name.starts_with('.')
    };
    let mut files: Vec<PathBuf> = entries.filter(is_theme).collect();
    files.sort();
    files
}

fn read(path: &Path, search_path: &SearchPath) -> Result<Theme, ThemeError> {
    let text = match &search_path.bounds {
        Some(bounds) => files::read_text_within(bounds, path, MAX_BYTES)?,
        None => files::read_text(path, MAX_BYTES)?,
    };
    Theme::parse(&text)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn theme(name: &str, accent: &str) -> String {
        format!(r#"{{"name": "{name}", "kind": "dark", "roles": {{"accent": "{accent}"}}}}"#)
    }

    fn search_path(path: &Path, origin: ResourceOrigin) -> SearchPath {
        SearchPath { path: path.to_owned(), origin, bounds: None }
    }

    #[test]
    fn registry_nearer_origin_wins() {
        let (user, project) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(user.path().join("a.json"), theme("mine", "red")).unwrap();
        fs::write(user.path().join("dark.json"), theme("dark", "red")).unwrap();
        fs::write(project.path().join("b.json"), theme("mine", "blue")).unwrap();
        fs::write(project.path().join("notes.md"), "no theme").unwrap();
        let search_paths = [
            search_path(user.path(), ResourceOrigin::User),
            search_path(project.path(), ResourceOrigin::Project),
        ];
        let registry = ThemeRegistry::load(&search_paths, &ThemeRegistry::built_in());
        assert_eq!(registry.problems(), []);
        let origin = |name| registry.find(name).unwrap().origin;
        assert_eq!(
            (origin("mine"), origin("dark"), origin("light")),
            (ResourceOrigin::Project, ResourceOrigin::User, ResourceOrigin::BuiltIn)
        );
        assert_eq!(registry.known().len(), ThemeRegistry::built_in().known().len() + 1);
    }

    #[test]
    fn registry_broken_file_keeps_previous_theme() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("mine.json");
        fs::write(&path, theme("mine", "red")).unwrap();
        let search_paths = [search_path(dir.path(), ResourceOrigin::User)];
        let before = ThemeRegistry::load(&search_paths, &ThemeRegistry::built_in());
        fs::write(&path, theme("mine", "#ff00zz")).unwrap();
        let after = ThemeRegistry::load(&search_paths, &before);
        assert_eq!(after.find("mine").unwrap().theme, before.find("mine").unwrap().theme);
        let message = "at roles.accent: `#ff00zz` is neither a color nor a variable (a color is #rrggbb, 0 to 255, a name such as blue or bright-blue, or a variable of `vars`)";
        assert_eq!(after.problems(), [ResourceProblem::new(&path, message)]);
        assert!(ThemeRegistry::load(&search_paths, &ThemeRegistry::built_in()).find("mine").is_none());
    }

    #[test]
    fn registry_missing_named_file_is_a_problem() {
        let dir = TempDir::new().unwrap();
        let (named, default) = (dir.path().join("x.json"), dir.path().join("themes"));
        let search_paths =
            [search_path(&named, ResourceOrigin::Given), search_path(&default, ResourceOrigin::User)];
        let registry = ThemeRegistry::load(&search_paths, &ThemeRegistry::built_in());
        assert_eq!(registry.problems().len(), 1);
        assert!(
            registry.problems()[0].message.starts_with("can't read the file: No such file"),
            "{registry:?}"
        );
    }

    #[test]
    fn registry_project_link_to_outside_is_rejected() {
        let (project, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let real_path = outside.path().join("x.json");
        fs::write(&real_path, theme("x", "red")).unwrap();
        std::os::unix::fs::symlink(&real_path, project.path().join("x.json")).unwrap();
        let bounds = Some(project.path().to_owned());
        let search_path =
            SearchPath { path: project.path().to_owned(), origin: ResourceOrigin::Project, bounds };
        let registry = ThemeRegistry::load(&[search_path], &ThemeRegistry::built_in());
        assert!(registry.find("x").is_none());
        assert_eq!(registry.problems()[0].message, format!("can't read the file: {}", files::OUTSIDE));
    }

    #[test]
    fn theme_choice_auto_follows_background() {
        let registry = ThemeRegistry::built_in();
        let choice = ThemeChoice { dark: "gruvbox".into(), ..ThemeChoice::default() };
        let name =
            |choice: &ThemeChoice, background, depth| registry.choose(choice, background, depth).name.clone();
        assert_eq!(name(&choice, Background::Dark, ColorDepth::Millions), "gruvbox");
        assert_eq!(name(&choice, Background::Light, ColorDepth::Millions), "light");
        assert_eq!(
            name(&choice.with_theme("high-contrast"), Background::Light, ColorDepth::Sixteen),
            "high-contrast"
        );
        assert_eq!(name(&choice.with_theme("gone"), Background::Light, ColorDepth::Sixteen), "light");
        assert_eq!(name(&choice.with_theme("gruvbox"), Background::Light, ColorDepth::None), "no-color");
    }

    #[test]
    fn registry_finds_by_file_and_suggests_names() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("x.json");
        fs::write(&path, theme("mine", "red")).unwrap();
        let registry =
            ThemeRegistry::load(&[search_path(&path, ResourceOrigin::Given)], &ThemeRegistry::built_in());
        assert_eq!(registry.find(path.to_str().unwrap()).unwrap().theme.name, "mine");
        assert_eq!(registry.nearest("grubox"), Some("gruvbox"));
    }
}
