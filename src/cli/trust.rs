//! Trust in a project's own settings, extensions and `.env`: stored decisions, and the question at startup.
//!
//! The question is asked on the normal screen, before the TUI starts, and once for the current files. In a
//! non-interactive session the files are ignored, with a notice.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;

use super::args::CliArgs;
use super::console;
use super::failure::CliFailure;
use super::startup;
use super::trusted_project::TrustedProject;
use crate::config::{AppDirs, Config, Environment, Project, TrustAnswer, TrustStore};
use crate::render::{ControlChars, sanitize};
use crate::tui::{TrustService, UntrustedProject};

/// The permission to ask the user for trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrustPrompt {
    /// The user may be asked in this terminal.
    Terminal,
    /// The user can't be asked now.
    Nobody,
}

/// Loads the configuration, including that of a trusted project. The warnings name ignored project files.
pub(super) fn config(
    arguments: &CliArgs,
    prompt: TrustPrompt,
) -> Result<(Config, Option<Project>), CliFailure> {
    let cwd = startup::cwd(arguments)?;
    let environment = Environment::of_process();
    let dirs = AppDirs::find(&environment)?;
    let Some(project) = Project::find(&cwd, &dirs.config) else {
        return Ok((startup::config(arguments, None)?, None));
    };
    let store = TrustStore::new(dirs.state.join("trust.json"));
    let answer = decide(&project, &store, arguments, prompt)?;
    let load = |trusted: Option<&Project>| startup::config(arguments, trusted);
    let (mut config, answer) = load_unchanged(&project, answer, load)?;
    if answer == TrustAnswer::Trusted {
        return Ok((config, Some(project)));
    }
    config.ignored_project = Some(ignored_notice(&project, answer));
    Ok((config, None))
}

/// Loads with a trusted project's files, or without them if they have changed by the time they were read.
fn load_unchanged<T>(
    project: &Project,
    answer: TrustAnswer,
    load: impl Fn(Option<&Project>) -> Result<T, CliFailure>,
) -> Result<(T, TrustAnswer), CliFailure> {
    if answer != TrustAnswer::Trusted {
        return Ok((load(None)?, answer));
    }
    let loaded = load(Some(project));
    if project.is_unchanged() { Ok((loaded?, answer)) } else { Ok((load(None)?, TrustAnswer::Changed)) }
}

/// Builds the service behind `/trust`, which finds the project in its current state, regardless of earlier
/// decisions, and trusts that state.
pub(super) fn trust_service(arguments: &Arc<CliArgs>, trusted: TrustedProject) -> TrustService {
    let found = Arc::new(Mutex::new(None));
    let (asked, answered) = (Arc::clone(&found), found);
    let (find_arguments, trust_arguments, known) =
        (Arc::clone(arguments), Arc::clone(arguments), trusted.clone());
    let find = move || {
        let project = find_untrusted(&find_arguments, known.current().as_ref())?;
        let files = project.active_files().iter().map(|path| visible_path(path)).collect();
        let root = visible_path(project.root());
        *lock(&asked) = Some(project);
        Ok(UntrustedProject { root, files })
    };
    let trust = move || {
        let project = lock(&answered).take().ok_or("nothing to trust yet: run /trust first")?;
        if !project.is_unchanged() {
            return Err("the files have changed since the prompt; run /trust again".to_owned());
        }
        remember(&project, &trust_arguments).map_err(|failure| failure.text())?;
        trusted.set(project);
        Ok(())
    };
    TrustService::new(find, trust)
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find_untrusted(arguments: &CliArgs, trusted: Option<&Project>) -> Result<Project, String> {
    let describe = |failure: CliFailure| failure.text();
    let cwd = startup::cwd(arguments).map_err(describe)?;
    let dirs = AppDirs::find(&Environment::of_process()).map_err(|error| error.to_string())?;
    let project = Project::find(&cwd, &dirs.config);
    let project = project.ok_or("nothing to trust: this project has no files that need trust")?;
    match project.trust_obstacle() {
        Some(reason) => Err(format!("can't trust the project: {reason}")),
        None if trusted == Some(&project) => Err("the project is already trusted".to_owned()),
        None => Ok(project),
    }
}

/// Stores that the project is trusted in its current state.
pub(super) fn remember(project: &Project, arguments: &CliArgs) -> Result<(), CliFailure> {
    // `--no-session` stores nothing on disk, trust included.
    if arguments.session.no_session {
        return Ok(());
    }
    let dirs = AppDirs::find(&Environment::of_process())?;
    let store = TrustStore::new(dirs.state.join("trust.json"));
    Ok(store.remember(project, TrustAnswer::Trusted, startup::now())?)
}

/// Reloads the configuration at runtime: with a trusted project's files if they are unchanged, otherwise
/// without them and with a notice.
pub(super) fn reload(
    arguments: &CliArgs,
    trusted: Option<&Project>,
) -> Result<(Config, Option<String>), CliFailure> {
    reload_with(trusted, |project| startup::config(arguments, project))
}

fn reload_with<T>(
    trusted: Option<&Project>,
    load: impl Fn(Option<&Project>) -> Result<T, CliFailure>,
) -> Result<(T, Option<String>), CliFailure> {
    let Some(project) = trusted else { return Ok((load(None)?, None)) };
    let (loaded, answer) = load_unchanged(project, TrustAnswer::Trusted, load)?;
    let root = visible_path(project.root());
    let notice = (answer != TrustAnswer::Trusted).then(|| {
        format!("the project {root} has changed since it was trusted; its settings and .env are ignored until you trust it again at the next start")
    });
    Ok((loaded, notice))
}

fn decide(
    project: &Project,
    store: &TrustStore,
    arguments: &CliArgs,
    prompt: TrustPrompt,
) -> Result<TrustAnswer, CliFailure> {
    if project.trust_obstacle().is_some() {
        return Ok(TrustAnswer::Undecided);
    }
    let stored = store.answer(project);
    let answer = match (stored, prompt) {
        _ if arguments.environment.trust_project => TrustAnswer::Trusted,
        (TrustAnswer::Undecided | TrustAnswer::Changed, TrustPrompt::Terminal)
            if io::stdin().is_terminal() && io::stderr().is_terminal() =>
        {
            ask(project, stored, (&mut io::stdin().lock(), &mut console::stderr()))
                .context("can't ask about the project")
                .map_err(CliFailure::run)?
        }
        _ => stored,
    };
    // `--no-session` stores nothing on disk, trust included.
    if answer != stored && !arguments.session.no_session {
        store.remember(project, answer, startup::now())?;
    }
    Ok(answer)
}

/// Asks until the answer is valid. Enter means no; end of input gives no answer and leaves the state
/// unchanged.
fn ask(
    project: &Project,
    stored: TrustAnswer,
    (input, output): (&mut impl BufRead, &mut impl Write),
) -> io::Result<TrustAnswer> {
    if stored == TrustAnswer::Changed {
        writeln!(output, "Files of this project have changed since you trusted them.\n")?;
    }
    writeln!(output, "This project has files that change tiller's settings or run programs:\n")?;
    for path in project.active_files() {
        writeln!(output, "  {}", visible_path(path))?;
    }
    writeln!(output, "\nOnly trust files whose authors you trust. Untrusted files are ignored.")?;
    loop {
        write!(output, "Trust these files? tiller prompts again when one changes. [y/N] ")?;
        output.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Ok(stored);
        }
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(TrustAnswer::Trusted),
            "" | "n" | "no" => return Ok(TrustAnswer::Refused),
            _ => writeln!(output, "Type y or n, then Enter.")?,
        }
    }
}

/// Formats a path with control characters made visible, so that no part of a name is hidden from the user who
/// decides.
fn visible_path(path: &Path) -> String {
    sanitize(&path.display().to_string(), ControlChars::Visible).replace('\n', "␊")
}

fn ignored_notice(project: &Project, answer: TrustAnswer) -> String {
    /// Maximum number of file names in the notice.
    const MAX_NAMES: usize = 4;

    let name = |path: &std::path::PathBuf| {
        let path = path.strip_prefix(project.root()).unwrap_or(path);
        visible_path(path)
    };
    let mut names: Vec<String> = project.active_files().iter().take(MAX_NAMES).map(name).collect();
    if let Some(hidden_count) =
        project.active_files().len().checked_sub(MAX_NAMES).filter(|hidden_count| *hidden_count > 0)
    {
        names.push(format!("{hidden_count} more"));
    }
    let (names, root) = (names.join(", "), project.root().display());
    match project.trust_obstacle() {
        Some(obstacle) => {
            format!("project {root} can't be trusted: {obstacle}; ignored: {names}")
        }
        None => {
            let reason = match answer {
                TrustAnswer::Changed => "has changed since it was trusted",
                TrustAnswer::Trusted | TrustAnswer::Refused | TrustAnswer::Undecided => "is not trusted",
            };
            format!(
                "project {root} {reason}; ignored: {names}; to trust it, use /trust in the TUI or --trust-project"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer_question(answers: &str) -> (TrustAnswer, String) {
        let dir = tempfile::TempDir::new().unwrap();
        let extensions = dir.path().join(".tiller/extensions");
        std::fs::create_dir_all(&extensions).unwrap();
        for number in 1..=6 {
            std::fs::write(extensions.join(format!("{number}\u{1b}[2J")), "").unwrap();
        }
        let project = Project::find(dir.path(), dir.path()).unwrap();
        let mut output = Vec::new();
        let answer = ask(&project, TrustAnswer::Undecided, (&mut answers.as_bytes(), &mut output)).unwrap();
        let notice = ignored_notice(&project, TrustAnswer::Undecided);
        assert!(
            notice.contains("4␛[2J, 2 more; to trust it, use /trust in the TUI or --trust-project"),
            "{notice}"
        );
        (answer, String::from_utf8(output).unwrap())
    }

    #[test]
    fn load_unchanged_ignores_files_changed_while_read() {
        let dir = tempfile::TempDir::new().unwrap();
        let settings = dir.path().join(".tiller/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, "1").unwrap();
        let project = Project::find(dir.path(), dir.path()).unwrap();
        let read =
            |trusted: Option<&Project>| Ok(trusted.map(|_| std::fs::read_to_string(&settings).unwrap()));
        let (unchanged, answer) = load_unchanged(&project, TrustAnswer::Trusted, read).unwrap();
        assert_eq!((unchanged.as_deref(), answer), (Some("1"), TrustAnswer::Trusted));
        let disturbed = |trusted: Option<&Project>| {
            std::fs::write(&settings, "2").unwrap();
            read(trusted)
        };
        let (after_change, answer) = load_unchanged(&project, TrustAnswer::Trusted, disturbed).unwrap();
        assert_eq!((after_change, answer), (None, TrustAnswer::Changed));
        let notice = ignored_notice(&project, answer);
        assert!(
            notice.contains(" has changed since it was trusted; ignored: .tiller/settings.json;"),
            "{notice}"
        );
    }

    #[test]
    fn reload_ignores_project_changed_since_trusted() {
        let dir = tempfile::TempDir::new().unwrap();
        let settings = dir.path().join(".tiller/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, "asks").unwrap();
        let project = Project::find(dir.path(), dir.path()).unwrap();
        let read =
            |trusted: Option<&Project>| Ok(trusted.map(|_| std::fs::read_to_string(&settings).unwrap()));
        assert_eq!(reload_with(Some(&project), read).unwrap(), (Some("asks".to_owned()), None));
        assert_eq!(reload_with(None, read).unwrap(), (None, None), "without trust there is no notice");
        std::fs::write(&settings, "asks no more").unwrap();
        let (after_change, notice) = reload_with(Some(&project), read).unwrap();
        assert_eq!(after_change, None);
        assert!(notice.unwrap().contains(" has changed since it was trusted"));
    }

    #[test]
    fn ask_only_yes_trusts() {
        assert_eq!(answer_question("\n").0, TrustAnswer::Refused);
        assert_eq!(answer_question("no\n").0, TrustAnswer::Refused);
        assert_eq!(answer_question("").0, TrustAnswer::Undecided);
        let (answer, output) = answer_question("yeah\n Y \n");
        assert_eq!((answer, output.matches("Trust these files?").count()), (TrustAnswer::Trusted, 2));
        assert!(output.contains("/.tiller/extensions/6␛[2J\n") && !output.contains('\u{1b}'), "{output}");
    }
}
