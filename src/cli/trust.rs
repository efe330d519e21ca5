//! Whether a project's own settings, extensions and `.env` take effect: what the user said before, or says now.
//!
//! It is asked in the plain terminal, before there is a screen, once for the files as they are. Where nobody can answer they are
//! passed over, with a notice.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;

use super::CliFailure;
use super::args::CliArgs;
use super::console;
use super::wiring;
use crate::config::{Config, Environment, Folders, Project, TrustAnswer, TrustStore};
use crate::render::{ControlChars, sanitize};
use crate::tui::{TrustService, UntrustedProject};

/// Whether the user can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TrustPrompt {
    /// In this terminal.
    Terminal,
    /// Not now.
    Nobody,
}

/// Reads the configuration, a trusted project's own part included, and that project. What was passed over is among the
/// warnings.
pub(super) fn config(
    arguments: &CliArgs,
    asking: TrustPrompt,
) -> Result<(Config, Option<Project>), CliFailure> {
    let cwd = wiring::cwd(arguments)?;
    let environment = Environment::of_process();
    let folders = Folders::find(&environment)?;
    let Some(project) = Project::find(&cwd, &folders.config) else {
        return Ok((wiring::config(arguments, None)?, None));
    };
    let store = TrustStore::at(folders.state.join("trust.json"));
    let word = decide(&project, &store, arguments, asking)?;
    let load = |trusted: Option<&Project>| wiring::config(arguments, trusted);
    let (mut config, word) = held(&project, word, load)?;
    if word == TrustAnswer::Trusted {
        return Ok((config, Some(project)));
    }
    config.passed_over = Some(passed_over(&project, word));
    Ok((config, None))
}

/// Loads with a trusted project's files, or without them when they are no longer what was trusted once they were read.
fn held<T>(
    project: &Project,
    word: TrustAnswer,
    load: impl Fn(Option<&Project>) -> Result<T, CliFailure>,
) -> Result<(T, TrustAnswer), CliFailure> {
    if word != TrustAnswer::Trusted {
        return Ok((load(None)?, word));
    }
    let loaded = load(Some(project));
    if project.is_unchanged() { Ok((loaded?, word)) } else { Ok((load(None)?, TrustAnswer::Changed)) }
}

/// Builds the service of `/trust`: it finds the project as it is now, whatever was decided before, and trusts it as found.
pub(super) fn desk(arguments: &Arc<CliArgs>, trusted: Arc<Mutex<Option<Project>>>) -> TrustService {
    let found = Arc::new(Mutex::new(None));
    let (asked, answered) = (Arc::clone(&found), found);
    let (finds, keeps, known) = (Arc::clone(arguments), Arc::clone(arguments), Arc::clone(&trusted));
    let find = move || {
        let project = find_untrusted(&finds, locked(&known).as_ref())?;
        let files = project.acting().iter().map(|path| shown(path)).collect();
        let root = shown(project.root());
        *locked(&asked) = Some(project);
        Ok(UntrustedProject { root, files })
    };
    let trust = move || {
        let project = locked(&answered).take().ok_or("nothing to trust: ask with /trust first")?;
        if !project.is_unchanged() {
            return Err("its files have changed since you were asked; /trust asks again".to_owned());
        }
        remember(&project, &keeps).map_err(|failure| format!("{:#}", failure.error))?;
        *locked(&trusted) = Some(project);
        Ok(())
    };
    TrustService::new(find, trust)
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn find_untrusted(arguments: &CliArgs, trusted: Option<&Project>) -> Result<Project, String> {
    let told = |failure: CliFailure| format!("{:#}", failure.error);
    let cwd = wiring::cwd(arguments).map_err(told)?;
    let folders = Folders::find(&Environment::of_process()).map_err(|error| error.to_string())?;
    let project = Project::find(&cwd, &folders.config);
    let project = project.ok_or("nothing to trust: the project has no settings, .env or extensions")?;
    match project.hindrance() {
        Some(why) => Err(format!("it can't be trusted: {why}")),
        None if trusted == Some(&project) => Err("it is trusted already".to_owned()),
        None => Ok(project),
    }
}

fn remember(project: &Project, arguments: &CliArgs) -> Result<(), CliFailure> {
    // Without a session nothing is kept on disk, and that goes for this too.
    if arguments.session.no_session {
        return Ok(());
    }
    let folders = Folders::find(&Environment::of_process())?;
    let store = TrustStore::at(folders.state.join("trust.json"));
    Ok(store.remember(project, TrustAnswer::Trusted, wiring::now())?)
}

/// Reads the configuration anew while tiller runs: with a trusted project's files only as long as they are what was trusted, or
/// without them, and with a sentence that says so.
pub(super) fn anew(
    arguments: &CliArgs,
    trusted: Option<&Project>,
) -> Result<(Config, Option<String>), CliFailure> {
    still(trusted, |project| wiring::config(arguments, project))
}

fn still<T>(
    trusted: Option<&Project>,
    load: impl Fn(Option<&Project>) -> Result<T, CliFailure>,
) -> Result<(T, Option<String>), CliFailure> {
    let Some(project) = trusted else { return Ok((load(None)?, None)) };
    let (loaded, word) = held(project, TrustAnswer::Trusted, load)?;
    let root = shown(project.root());
    let notice = (word != TrustAnswer::Trusted).then(|| {
        format!("the project {root} has changed since it was trusted, so nothing of it counts before you are asked at the next start")
    });
    Ok((loaded, notice))
}

fn decide(
    project: &Project,
    store: &TrustStore,
    arguments: &CliArgs,
    asking: TrustPrompt,
) -> Result<TrustAnswer, CliFailure> {
    if project.hindrance().is_some() {
        return Ok(TrustAnswer::Unasked);
    }
    let before = store.word(project);
    let word = match (before, asking) {
        _ if arguments.place.trust_project => TrustAnswer::Trusted,
        (TrustAnswer::Unasked | TrustAnswer::Changed, TrustPrompt::Terminal)
            if io::stdin().is_terminal() && io::stderr().is_terminal() =>
        {
            ask(project, before, (&mut io::stdin().lock(), &mut console::stderr()))
                .context("can't ask about the project")
                .map_err(CliFailure::run)?
        }
        _ => before,
    };
    // Without a session nothing is kept on disk, and that goes for this too.
    if word != before && !arguments.session.no_session {
        store.remember(project, word, wiring::now())?;
    }
    Ok(word)
}

/// Asks until the answer is one. Enter is no; the end of the input is no answer, and leaves things as they were before.
fn ask(
    project: &Project,
    before: TrustAnswer,
    (input, output): (&mut impl BufRead, &mut impl Write),
) -> io::Result<TrustAnswer> {
    if before == TrustAnswer::Changed {
        writeln!(output, "Files of this project have changed since you trusted them.\n")?;
    }
    writeln!(output, "Files of this project change how tiller works, or run programs of their own:\n")?;
    for path in project.acting() {
        writeln!(output, "  {}", shown(path))?;
    }
    writeln!(output, "\nTrust them only if you trust who wrote them. Without trust they are ignored.")?;
    loop {
        write!(output, "Trust them? You are asked again when one of them changes. [y/N] ")?;
        output.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Ok(before);
        }
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(TrustAnswer::Trusted),
            "" | "n" | "no" => return Ok(TrustAnswer::Refused),
            _ => writeln!(output, "Please type y or n, and Enter.")?,
        }
    }
}

/// A path with what a terminal would act on made visible: nothing of a name is to be hidden from whoever decides on it.
fn shown(path: &Path) -> String {
    sanitize(&path.display().to_string(), ControlChars::Visible).replace('\n', "␊")
}

fn passed_over(project: &Project, word: TrustAnswer) -> String {
    /// More names than these say nothing more.
    const NAMED: usize = 4;

    let name = |path: &std::path::PathBuf| {
        let path = path.strip_prefix(project.root()).unwrap_or(path);
        shown(path)
    };
    let mut names: Vec<String> = project.acting().iter().take(NAMED).map(name).collect();
    if let Some(more) = project.acting().len().checked_sub(NAMED).filter(|more| *more > 0) {
        names.push(format!("{more} more"));
    }
    let (names, root) = (names.join(", "), project.root().display());
    match project.hindrance() {
        Some(hindrance) => {
            format!("ignored, because the project {root} can't be trusted: {names}; {hindrance}")
        }
        None => {
            let why = match word {
                TrustAnswer::Changed => "has changed since it was trusted",
                TrustAnswer::Trusted | TrustAnswer::Refused | TrustAnswer::Unasked => "is not trusted",
            };
            format!("ignored, because the project {root} {why}: {names}; --trust-project trusts it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answers: &str) -> (TrustAnswer, String) {
        let folder = tempfile::TempDir::new().unwrap();
        let extensions = folder.path().join(".tiller/extensions");
        std::fs::create_dir_all(&extensions).unwrap();
        for number in 1..=6 {
            std::fs::write(extensions.join(format!("{number}\u{1b}[2J")), "").unwrap();
        }
        let project = Project::find(folder.path(), folder.path()).unwrap();
        let mut output = Vec::new();
        let word = ask(&project, TrustAnswer::Unasked, (&mut answers.as_bytes(), &mut output)).unwrap();
        let notice = passed_over(&project, TrustAnswer::Unasked);
        assert!(notice.contains("4␛[2J, 2 more; --trust-project trusts it"), "{notice}");
        (word, String::from_utf8(output).unwrap())
    }

    #[test]
    fn files_that_change_while_they_are_read_have_no_effect() {
        let folder = tempfile::TempDir::new().unwrap();
        let settings = folder.path().join(".tiller/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, "1").unwrap();
        let project = Project::find(folder.path(), folder.path()).unwrap();
        let read =
            |trusted: Option<&Project>| Ok(trusted.map(|_| std::fs::read_to_string(&settings).unwrap()));
        let (read_in_peace, word) = held(&project, TrustAnswer::Trusted, read).unwrap();
        assert_eq!((read_in_peace.as_deref(), word), (Some("1"), TrustAnswer::Trusted));
        let disturbed = |trusted: Option<&Project>| {
            std::fs::write(&settings, "2").unwrap();
            read(trusted)
        };
        let (read_then, word) = held(&project, TrustAnswer::Trusted, disturbed).unwrap();
        assert_eq!((read_then, word), (None, TrustAnswer::Changed));
        let notice = passed_over(&project, word);
        assert!(notice.contains(" has changed since it was trusted: .tiller/settings.json;"), "{notice}");
    }

    #[test]
    fn a_trusted_project_that_was_changed_since_the_start_is_not_read_anew() {
        let folder = tempfile::TempDir::new().unwrap();
        let settings = folder.path().join(".tiller/settings.json");
        std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
        std::fs::write(&settings, "asks").unwrap();
        let project = Project::find(folder.path(), folder.path()).unwrap();
        let read =
            |trusted: Option<&Project>| Ok(trusted.map(|_| std::fs::read_to_string(&settings).unwrap()));
        assert_eq!(still(Some(&project), read).unwrap(), (Some("asks".to_owned()), None));
        assert_eq!(still(None, read).unwrap(), (None, None), "what was never trusted is nothing new");
        std::fs::write(&settings, "asks no more").unwrap();
        let (read_then, notice) = still(Some(&project), read).unwrap();
        assert_eq!(read_then, None);
        assert!(notice.unwrap().contains(" has changed since it was trusted"));
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        assert_eq!(answered("\n").0, TrustAnswer::Refused);
        assert_eq!(answered("no\n").0, TrustAnswer::Refused);
        assert_eq!(answered("").0, TrustAnswer::Unasked);
        let (word, asked) = answered("yeah\n Y \n");
        assert_eq!((word, asked.matches("Trust them?").count()), (TrustAnswer::Trusted, 2));
        assert!(asked.contains("/.tiller/extensions/6␛[2J\n") && !asked.contains('\u{1b}'), "{asked}");
    }
}
