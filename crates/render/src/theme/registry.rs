//! All themes that are known: tiller's own, those in folders, and files that were named.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tiller_core::suggest;
use tiller_files as files;
use tiller_files::search_path::{ResourceOrigin, ResourceProblem, SearchPath};

use super::built_in;
use super::error::ThemeError;
use super::{Background, ColorDepth, Theme};

/// Most bytes of a theme's file: many times what all roles written out take.
const MOST_BYTES: u64 = 256 * 1024;

/// A theme with where it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredTheme {
    /// The theme.
    pub theme: Arc<Theme>,
    /// Whose it is.
    pub origin: ResourceOrigin,
    /// Its file; tiller's own have none.
    pub path: Option<PathBuf>,
}

/// The themes that there are, and what is wrong with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeRegistry {
    /// In the order they are offered; of one name there is one.
    known: Vec<RegisteredTheme>,
    problems: Vec<ResourceProblem>,
}

/// What the user wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThemeChoice {
    /// A theme's name, the path of its file, or `auto`: one of the two others, as the ground is.
    pub theme: String,
    /// The theme for dark grounds.
    pub dark: String,
    /// The theme for light grounds.
    pub light: String,
}

/// The word of a [`Wish`] for a theme that follows the ground.
const AUTO: &str = "auto";

/// Whether a theme is named by its file. Names that settings take have neither.
#[must_use]
pub fn is_path(wanted: &str) -> bool {
    wanted.contains('/') || wanted.ends_with(".json")
}

/// A theme as it is known here, from how a setting or a flag names it: its name, or the whole path of its file.
#[must_use]
pub fn placed(wanted: &str, cwd: &Path, home: Option<&Path>) -> String {
    if !is_path(wanted) {
        return wanted.to_owned();
    }
    let path = match (wanted.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(wanted),
    };
    // `.` is no part of it: whoever loads it has none either.
    path.components().collect::<PathBuf>().display().to_string()
}

impl Default for ThemeChoice {
    fn default() -> Self {
        Self { theme: AUTO.to_owned(), dark: built_in::DARK.to_owned(), light: built_in::LIGHT.to_owned() }
    }
}

impl ThemeChoice {
    /// Whether the ground decides.
    #[must_use]
    pub fn is_auto(&self) -> bool {
        self.theme == AUTO
    }

    /// The theme that is wanted on such a ground.
    #[must_use]
    pub fn on(&self, background: Background) -> &str {
        match (self.is_auto(), background) {
            (false, _) => &self.theme,
            (true, Background::Dark) => &self.dark,
            (true, Background::Light) => &self.light,
        }
    }

    /// The same with another theme.
    #[must_use]
    pub fn with(&self, theme: &str) -> Self {
        Self { theme: theme.to_owned(), ..self.clone() }
    }
}

impl Default for ThemeRegistry {
    fn default() -> Self {
        Self::built_in()
    }
}

impl ThemeRegistry {
    /// Tiller's own themes.
    ///
    /// # Panics
    /// When one of them can't be read, which a test rules out.
    #[must_use]
    pub fn built_in() -> Self {
        let known = |text: &&str| {
            let theme = Arc::new(Theme::parse(text).expect("tiller's own themes are sound"));
            RegisteredTheme { theme, origin: ResourceOrigin::BuiltIn, path: None }
        };
        Self { known: built_in::TEXTS.iter().map(known).collect(), problems: Vec::new() }
    }

    /// Reads the themes of these files and folders, `*.json` directly in them. Of two with one name the one of the nearer
    /// origin counts, and of one origin the first. What can't be read is a problem; a theme of that file which `before` knew
    /// stays as it was.
    #[must_use]
    pub fn load(places: &[SearchPath], before: &Self) -> Self {
        let mut library = Self::built_in();
        let mut places: Vec<&SearchPath> = places.iter().collect();
        places.sort_by_key(|place| place.origin);
        for place in places.into_iter().rev() {
            for path in files(place).into_iter().rev() {
                library.take(&path, place, before);
            }
        }
        library.problems.reverse();
        library
    }

    fn take(&mut self, path: &Path, place: &SearchPath, before: &Self) {
        let theme = match read(path, place) {
            Ok(theme) => Arc::new(theme),
            Err(error) => {
                self.problems.push(ResourceProblem::new(path, error.full()));
                match before.of_file(path) {
                    Some(known) => Arc::clone(&known.theme),
                    None => return,
                }
            }
        };
        let known = RegisteredTheme { theme, origin: place.origin, path: Some(path.to_owned()) };
        match self.known.iter_mut().find(|other| other.theme.name == known.theme.name) {
            Some(other) => *other = known,
            None => self.known.push(known),
        }
    }

    /// Every theme, in the order they are offered.
    pub fn known(&self) -> impl ExactSizeIterator<Item = &RegisteredTheme> {
        self.known.iter()
    }

    /// What is wrong with files, in the order they were read.
    #[must_use]
    pub fn problems(&self) -> &[ResourceProblem] {
        &self.problems
    }

    /// The theme of that name, or of that file.
    #[must_use]
    pub fn find(&self, wanted: &str) -> Option<&RegisteredTheme> {
        let named = self.known.iter().find(|known| known.theme.name == wanted);
        named.or_else(|| self.of_file(Path::new(wanted)))
    }

    fn of_file(&self, path: &Path) -> Option<&RegisteredTheme> {
        self.known.iter().find(|known| known.path.as_deref() == Some(path))
    }

    /// The name that may have been meant by one that there isn't.
    #[must_use]
    pub fn nearest(&self, wanted: &str) -> Option<&str> {
        suggest::nearest(wanted, self.known.iter().map(|known| known.theme.name.as_str()))
    }

    /// The theme that is wanted on such a ground; if there is none of that name, tiller's own for it.
    ///
    /// # Panics
    /// Never: tiller's own themes are always among those that are known.
    #[must_use]
    pub fn choose(&self, wish: &ThemeChoice, background: Background, depth: ColorDepth) -> &Arc<Theme> {
        let usual = match background {
            Background::Dark => built_in::DARK,
            Background::Light => built_in::LIGHT,
        };
        let wanted = match depth {
            ColorDepth::None => built_in::COLOURLESS,
            ColorDepth::Sixteen | ColorDepth::TwoHundredFiftySix | ColorDepth::Millions => {
                wish.on(background)
            }
        };
        let found = self.find(wanted).or_else(|| self.find(usual)).expect("tiller's own themes are known");
        &found.theme
    }
}

/// The files of a place, by name.
fn files(place: &SearchPath) -> Vec<PathBuf> {
    if !place.path.is_dir() {
        let is_wanted = place.origin == ResourceOrigin::Given || place.path.exists();
        return if is_wanted { vec![place.path.clone()] } else { Vec::new() };
    }
    let entries = fs::read_dir(&place.path).into_iter().flatten().flatten().map(|entry| entry.path());
    // The schema may lie beside the themes it is for.
    let is_theme = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".json") && !name.ends_with(".schema.json") && !name.starts_with('.')
    };
    let mut files: Vec<PathBuf> = entries.filter(is_theme).collect();
    files.sort();
    files
}

fn read(path: &Path, place: &SearchPath) -> Result<Theme, ThemeError> {
    let text = match &place.bounds {
        Some(bounds) => files::read_text_within(bounds, path, MOST_BYTES)?,
        None => files::read_text(path, MOST_BYTES)?,
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

    fn place(path: &Path, origin: ResourceOrigin) -> SearchPath {
        SearchPath { path: path.to_owned(), origin, bounds: None }
    }

    #[test]
    fn the_nearer_of_two_themes_with_one_name_counts() {
        let (user, project) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fs::write(user.path().join("a.json"), theme("mine", "red")).unwrap();
        fs::write(user.path().join("dark.json"), theme("dark", "red")).unwrap();
        fs::write(project.path().join("b.json"), theme("mine", "blue")).unwrap();
        fs::write(project.path().join("notes.md"), "no theme").unwrap();
        let places =
            [place(user.path(), ResourceOrigin::User), place(project.path(), ResourceOrigin::Project)];
        let library = ThemeRegistry::load(&places, &ThemeRegistry::built_in());
        assert_eq!(library.problems(), []);
        let origin = |name| library.find(name).unwrap().origin;
        assert_eq!(
            (origin("mine"), origin("dark"), origin("light")),
            (ResourceOrigin::Project, ResourceOrigin::User, ResourceOrigin::BuiltIn)
        );
        assert_eq!(library.known().len(), ThemeRegistry::built_in().known().len() + 1);
    }

    #[test]
    fn a_file_that_breaks_is_told_and_its_theme_stays_as_it_was() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("mine.json");
        fs::write(&path, theme("mine", "red")).unwrap();
        let places = [place(folder.path(), ResourceOrigin::User)];
        let before = ThemeRegistry::load(&places, &ThemeRegistry::built_in());
        fs::write(&path, theme("mine", "#ff00zz")).unwrap();
        let after = ThemeRegistry::load(&places, &before);
        assert_eq!(after.find("mine").unwrap().theme, before.find("mine").unwrap().theme);
        let what = "at roles.accent: `#ff00zz` is no colour and no variable (a colour is #rrggbb, 0 to 255, a name such as blue or bright-blue, or a variable of `vars`)";
        assert_eq!(after.problems(), [ResourceProblem::new(&path, what)]);
        assert!(ThemeRegistry::load(&places, &ThemeRegistry::built_in()).find("mine").is_none());
    }

    #[test]
    fn a_file_that_was_named_is_missed_and_a_folder_that_is_not_there_is_not() {
        let folder = TempDir::new().unwrap();
        let (named, usual) = (folder.path().join("x.json"), folder.path().join("themes"));
        let places = [place(&named, ResourceOrigin::Given), place(&usual, ResourceOrigin::User)];
        let library = ThemeRegistry::load(&places, &ThemeRegistry::built_in());
        assert_eq!(library.problems().len(), 1);
        assert!(library.problems()[0].what.starts_with("can't be read: No such file"), "{library:?}");
    }

    #[test]
    fn a_projects_link_out_of_it_is_not_followed() {
        let (project, elsewhere) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let real = elsewhere.path().join("x.json");
        fs::write(&real, theme("x", "red")).unwrap();
        std::os::unix::fs::symlink(&real, project.path().join("x.json")).unwrap();
        let bounds = Some(project.path().to_owned());
        let place = SearchPath { path: project.path().to_owned(), origin: ResourceOrigin::Project, bounds };
        let library = ThemeRegistry::load(&[place], &ThemeRegistry::built_in());
        assert!(library.find("x").is_none());
        assert_eq!(library.problems()[0].what, format!("can't be read: {}", files::OUTSIDE));
    }

    #[test]
    fn the_ground_decides_where_the_user_does_not() {
        let library = ThemeRegistry::built_in();
        let wish = ThemeChoice { dark: "gruvbox".into(), ..ThemeChoice::default() };
        let name =
            |wish: &ThemeChoice, background, depth| library.choose(wish, background, depth).name.clone();
        assert_eq!(name(&wish, Background::Dark, ColorDepth::Millions), "gruvbox");
        assert_eq!(name(&wish, Background::Light, ColorDepth::Millions), "light");
        assert_eq!(
            name(&wish.with("high-contrast"), Background::Light, ColorDepth::Sixteen),
            "high-contrast"
        );
        assert_eq!(name(&wish.with("gone"), Background::Light, ColorDepth::Sixteen), "light");
        assert_eq!(name(&wish.with("gruvbox"), Background::Light, ColorDepth::None), "no-colour");
    }

    #[test]
    fn a_theme_is_found_by_its_file_and_a_mistyped_name_suggests_one() {
        let folder = TempDir::new().unwrap();
        let path = folder.path().join("x.json");
        fs::write(&path, theme("mine", "red")).unwrap();
        let library = ThemeRegistry::load(&[place(&path, ResourceOrigin::Given)], &ThemeRegistry::built_in());
        assert_eq!(library.find(path.to_str().unwrap()).unwrap().theme.name, "mine");
        assert_eq!(library.nearest("grubox"), Some("gruvbox"));
    }
}
