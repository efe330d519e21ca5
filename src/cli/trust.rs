//! Whether a project's own settings, extensions and `.env` take effect: what the user said before, or says now.
//!
//! It is asked in the plain terminal, before there is a screen, once for the files as they are. Where nobody can answer they are
//! passed over, with a notice.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::Context;

use super::Failure;
use super::args::Arguments;
use super::assemble;
use crate::config::{Config, Environment, Folders, Project, TrustStore, Word};

/// Whether the user can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    /// In this terminal.
    Terminal,
    /// Not now.
    Nobody,
}

/// Reads the configuration, a trusted project's own part included, and that project. What was passed over is among the
/// warnings.
pub(super) fn config(arguments: &Arguments, asking: Asking) -> Result<(Config, Option<Project>), Failure> {
    let cwd = assemble::cwd(arguments)?;
    let environment = Environment::of_process();
    let folders = Folders::find(&environment)?;
    let Some(project) = Project::find(&cwd, &folders.config) else {
        return Ok((assemble::config(arguments, None)?, None));
    };
    let store = TrustStore::at(folders.state.join("trust.json"));
    let is_trusted = decide(&project, &store, arguments, asking)? == Word::Trusted;
    let mut config = assemble::config(arguments, is_trusted.then_some(&project))?;
    if is_trusted {
        return Ok((config, Some(project)));
    }
    config.warnings.push(passed_over(&project));
    Ok((config, None))
}

fn decide(
    project: &Project,
    store: &TrustStore,
    arguments: &Arguments,
    asking: Asking,
) -> Result<Word, Failure> {
    if project.hindrance().is_some() {
        return Ok(Word::Unasked);
    }
    let before = store.word(project);
    let word = match (before, asking) {
        _ if arguments.place.trust_project => Word::Trusted,
        (Word::Unasked, Asking::Terminal) if io::stdin().is_terminal() && io::stderr().is_terminal() => {
            ask(project, &mut io::stdin().lock(), &mut io::stderr())
                .context("can't ask about the project")
                .map_err(Failure::run)?
        }
        _ => before,
    };
    // Without a session nothing is kept on disk, and that goes for this too.
    if word != before && !arguments.session.no_session {
        store.remember(project, word, assemble::now())?;
    }
    Ok(word)
}

/// Asks until the answer is one. Enter is no; the end of the input is no answer.
fn ask(project: &Project, input: &mut impl BufRead, output: &mut impl Write) -> io::Result<Word> {
    writeln!(output, "This project has files that change how tiller works, or run programs of their own:\n")?;
    for path in project.acting() {
        writeln!(output, "  {}", shown(path))?;
    }
    writeln!(output, "\nOnly trust them if you trust whoever wrote them. Without trust they are ignored.")?;
    loop {
        write!(output, "Trust them? You are asked again when one of them changes. [y/N] ")?;
        output.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Ok(Word::Unasked);
        }
        match answer.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Word::Trusted),
            "" | "n" | "no" => return Ok(Word::Refused),
            _ => writeln!(output, "Please type y or n, and Enter.")?,
        }
    }
}

/// A path with what a terminal would act on made visible: nothing of a name is to be hidden from whoever decides on it.
fn shown(path: &Path) -> String {
    let visible = |c: char| match u32::from(c) {
        code @ 0..0x20 => char::from_u32(0x2400 + code).unwrap_or('\u{fffd}'),
        0x7f => '\u{2421}',
        0x80..0xa0 => '\u{fffd}',
        _ => c,
    };
    path.display().to_string().chars().map(visible).collect()
}

fn passed_over(project: &Project) -> String {
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
            format!("ignored, because the project {root} is not trusted: {names}; --trust-project trusts it")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(answers: &str) -> (Word, String) {
        let folder = tempfile::TempDir::new().unwrap();
        let extensions = folder.path().join(".tiller/extensions");
        std::fs::create_dir_all(&extensions).unwrap();
        for number in 1..=6 {
            std::fs::write(extensions.join(format!("{number}\u{1b}[2J")), "").unwrap();
        }
        let project = Project::find(folder.path(), folder.path()).unwrap();
        let mut output = Vec::new();
        let word = ask(&project, &mut answers.as_bytes(), &mut output).unwrap();
        let notice = passed_over(&project);
        assert!(notice.contains("4␛[2J, 2 more; --trust-project trusts it"), "{notice}");
        (word, String::from_utf8(output).unwrap())
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        assert_eq!(answered("\n").0, Word::Refused);
        assert_eq!(answered("no\n").0, Word::Refused);
        assert_eq!(answered("").0, Word::Unasked);
        let (word, asked) = answered("yeah\n Y \n");
        assert_eq!((word, asked.matches("Trust them?").count()), (Word::Trusted, 2));
        assert!(asked.contains("/.tiller/extensions/6␛[2J\n") && !asked.contains('\u{1b}'), "{asked}");
    }
}
