//! Which themes there are, which one is wanted, and word of their files when those change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::args::CliArgs;
use crate::config::{Config, Project};
use crate::search_path::{ResourceOrigin, ResourceProblem, SearchPath};
use crate::setting;
use crate::theme::{Background, ColorDepth, TerminalHints, ThemeChoice, ThemeRegistry, is_path, placed};
use crate::tui::{ThemeOptions, ThemeQuery};
use crate::watch::FileWatcher;

/// How long it has to be quiet before files are read: editors write in several steps.
const QUIET: Duration = Duration::from_millis(50);

/// The folder of themes, in the user's configuration and in a project's.
const FOLDER: &str = "themes";

/// The themes as they are at the start, and whoever tells when they change.
pub(super) struct Themes {
    pub(super) options: ThemeOptions,
    /// What is wrong with their files, one sentence each.
    pub(super) notices: Vec<String>,
    /// It tells until this is dropped.
    _watcher: JoinSet<()>,
}

impl Themes {
    /// Reads the themes of all places. The directory is where paths of flags begin.
    pub(super) fn load(
        arguments: &CliArgs,
        config: &Config,
        (cwd, project): (&Path, Option<&Project>),
    ) -> Self {
        let wish = wish(config, cwd);
        let places = places(arguments, config, &wish, (cwd, project));
        let library = Arc::new(ThemeRegistry::load(&places, &ThemeRegistry::built_in()));
        let mut notices: Vec<String> =
            library.problems().iter().map(|problem| format!("theme {problem}")).collect();
        notices.extend(missing(&library, &wish));
        notices.iter().for_each(|notice| tracing::warn!("{notice}"));
        let mut watcher = JoinSet::new();
        let news = (!config.settings.is(&setting::WATCH, "off")).then(|| {
            let (news, told) = watch::channel(Arc::clone(&library));
            watcher.spawn(tell(places, news));
            told
        });
        let (depth, background) = (depth(config), background(config));
        let options = ThemeOptions { library, wish, depth, background, asking: asking(config, depth), news };
        Self { options, notices, _watcher: watcher }
    }
}

fn wish(config: &Config, cwd: &Path) -> ThemeChoice {
    let usual = ThemeChoice::default();
    let placed = |text| placed(text, cwd, config.variable("HOME").map(Path::new));
    let text = |setting, usual: String| config.settings.text(setting).map_or(usual, placed);
    ThemeChoice {
        theme: text(&setting::THEME, usual.theme),
        dark: text(&setting::THEME_DARK, usual.dark),
        light: text(&setting::THEME_LIGHT, usual.light),
    }
}

/// Where themes are looked for. A project's only if it is trusted: a theme can make invisible what a call is about to do.
fn places(
    arguments: &CliArgs,
    config: &Config,
    wish: &ThemeChoice,
    (cwd, project): (&Path, Option<&Project>),
) -> Vec<SearchPath> {
    let given = |path: PathBuf| SearchPath { path, origin: ResourceOrigin::Given, bounds: None };
    let home = config.variable("HOME").map(Path::new);
    let named = arguments.place.theme.iter().map(|theme| placed(theme, cwd, home));
    let wanted = [&wish.theme, &wish.dark, &wish.light].into_iter().cloned();
    let mut places: Vec<SearchPath> = Vec::new();
    for path in named.chain(wanted).filter(|theme| is_path(theme)).map(PathBuf::from) {
        if !places.iter().any(|place| place.path == path) {
            places.push(given(path));
        }
    }
    if let Some(project) = project {
        let bounds = Some(project.root().to_owned());
        places.push(SearchPath { path: project.themes(), origin: ResourceOrigin::Project, bounds });
    }
    places.push(SearchPath {
        path: config.folders.config.join(FOLDER),
        origin: ResourceOrigin::User,
        bounds: None,
    });
    places
}

/// Says which of the themes that are wanted there isn't. A file that is missing, or can't be understood, is a problem already.
fn missing(library: &ThemeRegistry, wish: &ThemeChoice) -> Vec<String> {
    let wanted = [("theme", &wish.theme), ("theme_dark", &wish.dark), ("theme_light", &wish.light)];
    let is_missing = |name: &str, wanted: &str| {
        let is_broken =
            |problem: &ResourceProblem| problem.path.file_stem().is_some_and(|stem| stem == wanted);
        !(is_path(wanted) || library.problems().iter().any(is_broken) || name == "theme" && wish.is_auto())
            && library.find(wanted).is_none()
    };
    let gone = wanted.into_iter().filter(|(name, wanted)| is_missing(name, wanted));
    gone.map(|(name, wanted)| {
        let instead = library.nearest(wanted).map(|name| format!("; did you mean {name}?"));
        format!("{name}: there is no theme `{wanted}`{}", instead.unwrap_or_default())
    })
    .collect()
}

fn depth(config: &Config) -> ColorDepth {
    let hints = TerminalHints {
        no_color: config.variable("NO_COLOR"),
        colorterm: config.variable("COLORTERM"),
        term: config.variable("TERM"),
        term_program: config.variable("TERM_PROGRAM"),
        tmux: config.variable("TMUX"),
        windows_terminal: config.variable("WT_SESSION"),
    };
    let set = config.settings.text(&setting::COLOURS).and_then(ColorDepth::parse);
    set.unwrap_or_else(|| ColorDepth::choose(&hints))
}

fn background(config: &Config) -> Background {
    config.variable("COLORFGBG").and_then(Background::of_variable).unwrap_or_default()
}

/// The console of Linux writes the question on the screen; and where there are no colours the ground doesn't matter.
fn asking(config: &Config, depth: ColorDepth) -> ThemeQuery {
    match (config.variable("TERM"), depth) {
        (Some("linux") | None, _) | (_, ColorDepth::None) => ThemeQuery::Never,
        _ => ThemeQuery::AfterFirstFrame,
    }
}

/// Tells of themes whose files changed, until nobody listens.
async fn tell(places: Vec<SearchPath>, news: watch::Sender<Arc<ThemeRegistry>>) {
    let (changed, mut changes) = mpsc::channel(1);
    // A change that isn't taken yet stands for all that come meanwhile.
    let started = FileWatcher::start(move || _ = changed.try_send(()));
    let mut files = match started {
        Ok(watch) => watch,
        Err(error) => return tracing::warn!(%error, "changed themes are not noticed"),
    };
    loop {
        let paths: Vec<PathBuf> = places.iter().map(|place| place.path.clone()).collect();
        for problem in files.follow(&paths) {
            tracing::warn!(%problem, "a theme that changes is not noticed");
        }
        if changes.recv().await.is_none() {
            return;
        }
        settle(&mut changes).await;
        // Nothing is borrowed while it is sent: that would wait for itself.
        let before = Arc::clone(&news.borrow());
        let (places, known) = (places.clone(), Arc::clone(&before));
        let Ok(library) = spawn_blocking(move || ThemeRegistry::load(&places, &known)).await else { return };
        for problem in library.problems().iter().filter(|problem| !before.problems().contains(problem)) {
            tracing::warn!("theme {problem}");
        }
        if library != *before && news.send(Arc::new(library)).is_err() {
            return;
        }
    }
}

/// Waits until it is quiet.
async fn settle(changes: &mut mpsc::Receiver<()>) {
    let mut until = Instant::now() + QUIET;
    loop {
        tokio::select! {
            biased;
            Some(()) = changes.recv() => until = Instant::now() + QUIET,
            () = sleep_until(until) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_theme_whose_file_is_broken_it_is_not_said_that_there_is_none() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("mine.json"), "{").unwrap();
        let place = SearchPath { path: folder.path().to_owned(), origin: ResourceOrigin::User, bounds: None };
        let library = ThemeRegistry::load(&[place], &ThemeRegistry::built_in());
        let wish = |theme: &str| ThemeChoice { theme: theme.to_owned(), ..ThemeChoice::default() };
        assert_eq!(library.problems().len(), 1);
        assert_eq!(missing(&library, &wish("mine")), [""; 0]);
        assert_eq!(missing(&library, &wish("yours")).len(), 1);
    }
}
