//! Which session `-c` and `-r` go on with, also when the project has moved.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};

use super::frontend::FrontEnd;
use super::progress::ProgressLine;
use super::{CliFailure, sessions};
use crate::cli::console;
use crate::render::{ControlChars, sanitize};
use crate::session::{Catalog, SessionManager, SessionSummary};

/// Most sessions of a moved project that are offered.
const OFFERED: usize = 5;

/// What `-c` or `-r` came to.
#[derive(Debug)]
pub(super) enum Resolution {
    /// This log.
    Log(PathBuf),
    /// This log of a project that has moved, and what the user should know of that.
    Moved(PathBuf, String),
    /// A fresh session, by the user's own choice.
    Fresh,
    /// The user will pick one on the screen.
    Pick,
}

/// Sessions of a project that may have been moved here: which of them is meant somebody at a terminal has to say, and while a screen
/// is there they can't be asked.
#[derive(Debug, thiserror::Error)]
#[error("this directory has no session, and {} of a project that may have moved here", .0.len())]
pub(super) struct MovedProject(Vec<SessionSummary>);

impl MovedProject {
    /// Asks in the plain terminal.
    pub(super) fn ask(&self) -> Result<Resolution, CliFailure> {
        let offered = &self.0[..self.0.len().min(OFFERED)];
        ask_on(offered, &mut io::stdin().lock(), &mut console::stderr())
            .context("can't ask")
            .map_err(CliFailure::run)
    }
}

/// The most recent session of this directory.
pub(super) fn most_recent(
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    let mut catalog = manager.catalog()?;
    match catalog.most_recent()? {
        Some(path) => Ok(Resolution::Log(path)),
        None => moved(&mut catalog, manager, remote, front),
    }
}

/// The session that words mean best; without words the user picks one.
pub(super) fn by_words(
    manager: &SessionManager,
    words: &str,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    let mut catalog = manager.catalog()?;
    if words.trim().is_empty() {
        return pick(&mut catalog, manager, remote, front);
    }
    // A screen says itself that something goes on.
    let mut line = (front != FrontEnd::Tui).then(ProgressLine::new);
    let best = catalog.best(words, |progress| {
        if let Some(line) = &mut line {
            line.tell(progress);
        }
    })?;
    drop(line);
    match best {
        Some(path) => Ok(Resolution::Log(path)),
        None if catalog.most_recent()?.is_none() && !catalog.moved_here(remote)?.is_empty() => {
            moved(&mut catalog, manager, remote, front)
        }
        None => {
            let nothing = anyhow!("no session of {} goes by `{words}`", manager.cwd().display());
            Err(CliFailure::usage(nothing).hint(
                "`tiller -r` opens the list; `tiller sessions search --all WORDS` searches the sessions of all directories",
            ))
        }
    }
}

fn pick(
    catalog: &mut Catalog,
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    if front != FrontEnd::Tui {
        return Err(CliFailure::usage(anyhow!("which session?")).hint(
            "without a screen, name it after -r: a part of its id, its name, or words that were said",
        ));
    }
    if catalog.most_recent()?.is_some() || !io::stdin().is_terminal() {
        return Ok(Resolution::Pick);
    }
    match catalog.moved_here(remote)?.as_slice() {
        [] => Ok(Resolution::Pick),
        [session] if is_at_home(session, manager) => Ok(Resolution::Pick),
        moved => Err(CliFailure::usage(MovedProject(moved.to_vec()))),
    }
}

/// Sessions of a project that may have been moved here: asked about where somebody can answer, else gone on with if there is
/// exactly one.
fn moved(
    catalog: &mut Catalog,
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    let moved = catalog.moved_here(remote)?;
    let here = manager.cwd().display();
    match moved.as_slice() {
        [] => Err(CliFailure::usage(anyhow!("there is no session of {here} to continue"))
            .hint("without -c a new one begins; `tiller sessions list --all` shows all")),
        [session] if is_at_home(session, manager) => Ok(Resolution::Log(session.path.clone())),
        several if front == FrontEnd::Tui && io::stdin().is_terminal() => {
            Err(CliFailure::usage(MovedProject(several.to_vec())))
        }
        [session] => Ok(go_on(session)),
        several => {
            let what = anyhow!(
                "there is no session of {here}, and {} of a project that may have moved",
                several.len()
            );
            let id = |session: &SessionSummary| sessions::one_line(session.id.short());
            let ids: Vec<String> = several.iter().take(OFFERED).map(id).collect();
            Err(CliFailure::usage(what).hint(format!("name one with --session: {}", ids.join(", "))))
        }
    }
}

/// Whether a session is of this directory already, as one that was moved here earlier is.
fn is_at_home(session: &SessionSummary, manager: &SessionManager) -> bool {
    session.cwd == manager.cwd().display().to_string()
}

fn go_on(session: &SessionSummary) -> Resolution {
    // What a log says must not move a cursor.
    let (id, cwd) = (sessions::one_line(session.id.short()), sanitize(&session.cwd, ControlChars::Visible));
    let notice = format!(
        "going on with session {id} of {cwd}, which is gone; `tiller sessions move {cwd}` brings all of its sessions here"
    );
    Resolution::Moved(session.path.clone(), notice)
}

/// Asks until the answer is one. Enter takes the newest; the end of the input takes none.
fn ask_on(
    offered: &[SessionSummary],
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Resolution> {
    writeln!(output, "This directory has no session. Was the project moved here from one that is gone?\n")?;
    for (number, session) in (1..).zip(offered) {
        writeln!(output, "  {number}  {}", sessions::row(session, sessions::SessionsScope::Shown))?;
    }
    let last = offered.len();
    let numbers = if last == 1 { "1".to_owned() } else { format!("1-{last}") };
    loop {
        write!(output, "\nGo on with which? [{numbers}, Enter = 1, n = a fresh session] ")?;
        output.flush()?;
        let mut answer = String::new();
        if input.read_line(&mut answer)? == 0 {
            return Ok(Resolution::Fresh);
        }
        let number = match answer.trim() {
            "" => 1,
            "n" | "N" => return Ok(Resolution::Fresh),
            number => number.parse().unwrap_or(0),
        };
        if let Some(session) = offered.get(usize::wrapping_sub(number, 1)) {
            return Ok(go_on(session));
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::unit::{Tokens, UnixMs, Usd};

    pub(in crate::cli) fn session(id: &str) -> SessionSummary {
        SessionSummary {
            path: format!("/s/{id}.jsonl").into(),
            id: id.into(),
            cwd: "/old/x".into(),
            name: Some(format!("name of {id}")),
            first_prompt: None,
            entries: 1,
            messages: 1,
            tokens: Tokens(0),
            cost: Usd(0.0),
            modified: UnixMs(0),
            last_activity: UnixMs(0),
            model: None,
            remote: None,
            parent_session: None,
            bytes: 0,
        }
    }

    fn answered(answers: &str) -> (String, String) {
        let mut output = Vec::new();
        let chosen = ask_on(&[session("one"), session("two")], &mut answers.as_bytes(), &mut output).unwrap();
        let chosen = match chosen {
            Resolution::Moved(path, _) => path.display().to_string(),
            other => format!("{other:?}"),
        };
        (chosen, String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_moved_session_is_chosen_by_number_and_enter_takes_the_newest() {
        assert_eq!(answered("\n").0, "/s/one.jsonl");
        assert_eq!(answered("2\n").0, "/s/two.jsonl");
        assert_eq!(answered("n\n").0, "Fresh");
        assert_eq!(answered("").0, "Fresh");
        let (chosen, asked) = answered("7\n0\nwhat\n1\n");
        assert_eq!((chosen.as_str(), asked.matches("Go on with which?").count()), ("/s/one.jsonl", 4));
        assert!(asked.contains("name of two") && asked.contains("/old/x"), "{asked}");
    }
}
