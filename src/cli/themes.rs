//! Loads themes, resolves the configured one, and watches theme files for changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep_until};

use super::args::CliArgs;
use crate::config::{Config, Project};
use crate::search_path::{ResourceOrigin, ResourceProblem, SearchPath};
use crate::setting::{ColorMode, SettingSource, Settings, Switch, THEME};
use crate::theme::{
    Background, ColorDepth, TerminalHints, ThemeChoice, ThemeRegistry, is_path, resolve_theme,
};
use crate::tui::{ThemeOptions, ThemeQuery};
use crate::watch::FileWatcher;

/// Quiet period before changed files are read: editors save in several steps.
const QUIET_PERIOD: Duration = Duration::from_millis(50);

/// Name of the theme directory in the user's and in a project's configuration.
const DIR: &str = "themes";

/// The themes at startup, and the task that reports changes.
pub(super) struct Themes {
    pub(super) options: ThemeOptions,
    /// Problems with theme files, one sentence each.
    pub(super) notices: Vec<String>,
    /// The file watcher, which stops on drop.
    _watcher: JoinSet<()>,
}

impl Themes {
    /// Loads the themes of all search paths. Relative paths of flags start at `cwd`.
    pub(super) fn load(
        arguments: &CliArgs,
        config: &Config,
        (cwd, project): (&Path, Option<&Project>),
    ) -> Self {
        let choice = choice(config, cwd);
        let search_paths = search_paths(arguments, config, &choice, (cwd, project));
        let registry = Arc::new(ThemeRegistry::load(&search_paths, &ThemeRegistry::built_in()));
        let notices = notices(&registry, &choice, &config.settings);
        notices.iter().for_each(|notice| tracing::warn!("{notice}"));
        let mut watcher = JoinSet::new();
        let updates = (config.settings.watch() == Switch::On).then(|| {
            let (sender, updates) = watch::channel(Arc::clone(&registry));
            watcher.spawn(watch_themes(search_paths, sender));
            updates
        });
        let (depth, background) = (depth(config), background(config));
        let options = ThemeOptions {
            library: registry,
            choice,
            depth,
            background,
            query: theme_query(config, depth),
            updates,
        };
        Self { options, notices, _watcher: watcher }
    }
}

/// Returns the problems with themes, for front ends that don't use them.
pub(super) fn problems(
    arguments: &CliArgs,
    config: &Config,
    (cwd, project): (&Path, Option<&Project>),
) -> Vec<String> {
    let choice = choice(config, cwd);
    let search_paths = search_paths(arguments, config, &choice, (cwd, project));
    notices(&ThemeRegistry::load(&search_paths, &ThemeRegistry::built_in()), &choice, &config.settings)
}

fn notices(registry: &ThemeRegistry, choice: &ThemeChoice, settings: &Settings) -> Vec<String> {
    let problems = registry.problems().iter().map(|problem| format!("theme {problem}"));
    let theme_origin = match settings.value(&THEME).1 {
        SettingSource::Flag(flag) => flag,
        _ => THEME.name,
    };
    problems.chain(missing_themes(registry, choice, theme_origin)).collect()
}

fn choice(config: &Config, cwd: &Path) -> ThemeChoice {
    let settings = &config.settings;
    let resolve = |text| resolve_theme(text, cwd, config.variable("HOME").map(Path::new));
    ThemeChoice {
        theme: resolve(settings.theme()),
        dark: resolve(settings.theme_dark()),
        light: resolve(settings.theme_light()),
    }
}

/// Returns the search paths of themes. A project's themes are loaded only if it is trusted, because a theme
/// can hide the effect of a call.
fn search_paths(
    arguments: &CliArgs,
    config: &Config,
    choice: &ThemeChoice,
    (cwd, project): (&Path, Option<&Project>),
) -> Vec<SearchPath> {
    let from_flag = |path: PathBuf| SearchPath { path, origin: ResourceOrigin::Given, bounds: None };
    let home = config.variable("HOME").map(Path::new);
    let flag_themes = arguments.environment.theme.iter().map(|theme| resolve_theme(theme, cwd, home));
    let configured = [&choice.theme, &choice.dark, &choice.light].into_iter().cloned();
    let mut search_paths: Vec<SearchPath> = Vec::new();
    for path in flag_themes.chain(configured).filter(|theme| is_path(theme)).map(PathBuf::from) {
        if !search_paths.iter().any(|search_path| search_path.path == path) {
            search_paths.push(from_flag(path));
        }
    }
    if let Some(project) = project {
        let bounds = Some(project.root().to_owned());
        search_paths.push(SearchPath { path: project.themes(), origin: ResourceOrigin::Project, bounds });
    }
    search_paths.push(SearchPath {
        path: config.dirs.config.join(DIR),
        origin: ResourceOrigin::User,
        bounds: None,
    });
    search_paths
}

/// Reports configured themes that don't exist; `theme_origin` is the setting or flag of [`ThemeChoice::theme`]. The
/// registry reports files that are missing or invalid.
fn missing_themes(registry: &ThemeRegistry, choice: &ThemeChoice, theme_origin: &str) -> Vec<String> {
    let configured =
        [(theme_origin, &choice.theme), ("theme_dark", &choice.dark), ("theme_light", &choice.light)];
    let is_missing = |name: &str, configured: &str| {
        let is_broken =
            |problem: &ResourceProblem| problem.path.file_stem().is_some_and(|stem| stem == configured);
        !(is_path(configured)
            || registry.problems().iter().any(is_broken)
            || name == theme_origin && choice.is_auto())
            && registry.find(configured).is_none()
    };
    let missing = configured.into_iter().filter(|(name, configured)| is_missing(name, configured));
    missing
        .map(|(name, theme)| {
            let suggestion = registry.nearest(theme).map(|name| format!("; did you mean `{name}`?"));
            format!("{name}: no theme named `{theme}`{}", suggestion.unwrap_or_default())
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
    match config.settings.color_mode() {
        ColorMode::Auto => ColorDepth::choose(&hints),
        ColorMode::TrueColor => ColorDepth::Millions,
        ColorMode::TwoHundredFiftySix => ColorDepth::TwoHundredFiftySix,
        ColorMode::Sixteen => ColorDepth::Sixteen,
        ColorMode::None => ColorDepth::None,
    }
}

fn background(config: &Config) -> Background {
    config.variable("COLORFGBG").and_then(Background::parse_colorfgbg).unwrap_or_default()
}

/// Chooses when to query the terminal's background. The Linux console would print the response on the screen,
/// and without colors the background doesn't matter.
fn theme_query(config: &Config, depth: ColorDepth) -> ThemeQuery {
    match (config.variable("TERM"), depth) {
        (Some("linux") | None, _) | (_, ColorDepth::None) => ThemeQuery::Never,
        _ => ThemeQuery::AfterFirstFrame,
    }
}

/// Sends a new registry when theme files change, until the receiver is dropped.
async fn watch_themes(search_paths: Vec<SearchPath>, sender: watch::Sender<Arc<ThemeRegistry>>) {
    let (changed, mut changes) = mpsc::channel(1);
    // A pending notification also covers later changes.
    let started = FileWatcher::start(move || _ = changed.try_send(()));
    let mut files = match started {
        Ok(watch) => watch,
        Err(error) => return tracing::warn!(%error, "can't watch theme files"),
    };
    loop {
        let paths: Vec<PathBuf> = search_paths.iter().map(|search_path| search_path.path.clone()).collect();
        for problem in files.follow(&paths) {
            tracing::warn!(%problem, "can't watch theme files");
        }
        if changes.recv().await.is_none() {
            return;
        }
        wait_until_quiet(&mut changes).await;
        // End the borrow before the send, which would deadlock.
        let previous = Arc::clone(&sender.borrow());
        let (search_paths, earlier) = (search_paths.clone(), Arc::clone(&previous));
        let Ok(registry) = spawn_blocking(move || ThemeRegistry::load(&search_paths, &earlier)).await else {
            return;
        };
        for problem in registry.problems().iter().filter(|problem| !previous.problems().contains(problem)) {
            tracing::warn!("theme {problem}");
        }
        if registry != *previous && sender.send(Arc::new(registry)).is_err() {
            return;
        }
    }
}

async fn wait_until_quiet(changes: &mut mpsc::Receiver<()>) {
    let mut deadline = Instant::now() + QUIET_PERIOD;
    loop {
        tokio::select! {
            biased;
            Some(()) = changes.recv() => deadline = Instant::now() + QUIET_PERIOD,
            () = sleep_until(deadline) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_themes_excludes_broken_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("mine.json"), "{").unwrap();
        let search_path =
            SearchPath { path: dir.path().to_owned(), origin: ResourceOrigin::User, bounds: None };
        let registry = ThemeRegistry::load(&[search_path], &ThemeRegistry::built_in());
        let choice = |theme: &str| ThemeChoice { theme: theme.to_owned(), ..ThemeChoice::default() };
        assert_eq!(registry.problems().len(), 1);
        assert_eq!(missing_themes(&registry, &choice("mine"), "theme"), [""; 0]);
        assert_eq!(missing_themes(&registry, &choice("yours"), "theme").len(), 1);
    }
}
