//! Resolution of `-c` and `-r` to a session, including sessions of a project that has moved.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;

use anyhow::{Context, anyhow};

use super::failure::CliFailure;
use super::frontend::FrontEnd;
use super::progress::ProgressLine;
use super::sessions::output;
use crate::cli::console;
use crate::render::{ControlChars, sanitize};
use crate::session::{Catalog, SessionManager, SessionSummary};

/// Maximum number of a moved project's sessions to offer.
const MAX_OFFERED: usize = 5;

/// The result of resolving `-c` or `-r`.
#[derive(Debug)]
pub(super) enum Resolution {
    Log(PathBuf),
    /// A moved project's log, with a notice for the user.
    Moved(PathBuf, String),
    /// A new session, at the user's request.
    Fresh,
    /// The user picks a session in the TUI.
    Pick,
}

/// Sessions of a project that may have been moved here. The user chooses one on the normal screen, before the
/// TUI starts.
#[derive(Debug, thiserror::Error)]
#[error("this directory has no sessions; {} belong to a project that may have moved here", .0.len())]
pub(super) struct MovedProject(Vec<SessionSummary>);

impl MovedProject {
    /// Asks on the normal screen.
    pub(super) fn ask(&self) -> Result<Resolution, CliFailure> {
        let candidates = &self.0[..self.0.len().min(MAX_OFFERED)];
        ask_user(candidates, &mut io::stdin().lock(), &mut console::stderr())
            .context("can't ask")
            .map_err(CliFailure::run)
    }
}

pub(super) fn most_recent(
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    let mut catalog = manager.catalog()?;
    match catalog.most_recent()? {
        Some(path) => Ok(Resolution::Log(path)),
        None => resolve_moved(&mut catalog, manager, remote, front),
    }
}

/// Finds the best match for a query; without a query, the user picks a session.
pub(super) fn find_by_query(
    manager: &SessionManager,
    query: &str,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    let mut catalog = manager.catalog()?;
    if query.trim().is_empty() {
        return pick(&mut catalog, manager, remote, front);
    }
    // The TUI shows its own progress.
    let mut line = (front != FrontEnd::Tui).then(ProgressLine::new);
    let best = catalog.best_match(query, |progress| {
        if let Some(line) = &mut line {
            line.update(progress);
        }
    })?;
    drop(line);
    match best {
        Some(path) => Ok(Resolution::Log(path)),
        None if catalog.most_recent()?.is_none() && !catalog.moved_projects(remote)?.is_empty() => {
            resolve_moved(&mut catalog, manager, remote, front)
        }
        None => {
            let no_match = anyhow!("no session in {} matches `{query}`", manager.cwd().display());
            Err(CliFailure::usage(no_match).hint(
                "`tiller -r` opens the list; `tiller sessions search --all TERMS` searches all directories",
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
        return Err(CliFailure::usage(anyhow!("no session given"))
            .hint("outside the TUI, -r needs a query: a session's name, text in it, or at least 4 characters from the start or end of its id"));
    }
    if catalog.most_recent()?.is_some() || !io::stdin().is_terminal() {
        return Ok(Resolution::Pick);
    }
    match catalog.moved_projects(remote)?.as_slice() {
        [] => Ok(Resolution::Pick),
        [session] if is_of_this_directory(session, manager) => Ok(Resolution::Pick),
        moved => Err(CliFailure::usage(MovedProject(moved.to_vec()))),
    }
}

/// Resolves sessions of a project that may have been moved here: asks in an interactive session, otherwise
/// continues if there is exactly one.
fn resolve_moved(
    catalog: &mut Catalog,
    manager: &SessionManager,
    remote: Option<&str>,
    front: FrontEnd,
) -> Result<Resolution, CliFailure> {
    let moved = catalog.moved_projects(remote)?;
    let directory = manager.cwd().display();
    match moved.as_slice() {
        [] => Err(CliFailure::usage(anyhow!("{directory} has no session to continue"))
            .hint("`tiller` starts a new session; `tiller sessions list --all` lists all sessions")),
        [session] if is_of_this_directory(session, manager) => Ok(Resolution::Log(session.path.clone())),
        several if front == FrontEnd::Tui && io::stdin().is_terminal() => {
            Err(CliFailure::usage(MovedProject(several.to_vec())))
        }
        [session] => Ok(continue_moved(session)),
        several => {
            let error = anyhow!(
                "{directory} has no session, and {} belong to a project that may have moved here",
                several.len()
            );
            let id = |session: &SessionSummary| output::one_line(session.id.short());
            let ids: Vec<String> = several.iter().take(MAX_OFFERED).map(id).collect();
            Err(CliFailure::usage(error).hint(format!("choose one with --session: {}", ids.join(", "))))
        }
    }
}

/// Returns true if a session belongs to this directory, such as after an earlier move.
fn is_of_this_directory(session: &SessionSummary, manager: &SessionManager) -> bool {
    session.cwd == manager.cwd().display().to_string()
}

fn continue_moved(session: &SessionSummary) -> Resolution {
    // Text from a log must not move the cursor.
    let (id, cwd) = (output::one_line(session.id.short()), sanitize(&session.cwd, ControlChars::Visible));
    let notice = format!(
        "continuing session {id} of {cwd}, which no longer exists; `tiller sessions move {cwd}` reassigns all of its sessions to this directory"
    );
    Resolution::Moved(session.path.clone(), notice)
}

/// Asks until the answer is valid. Enter takes the newest session; end of input starts a new one.
fn ask_user(
    candidates: &[SessionSummary],
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Resolution> {
    writeln!(output, "This directory has no sessions. Was the project moved here?\n")?;
    for (number, session) in (1..).zip(candidates) {
        writeln!(output, "  {number}  {}", output::row(session, output::DirectoryColumn::Shown))?;
    }
    let last = candidates.len();
    let numbers = if last == 1 { "1".to_owned() } else { format!("1-{last}") };
    loop {
        write!(output, "\nContinue which session? [{numbers}, Enter = 1, n = new session] ")?;
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
        if let Some(session) = candidates.get(usize::wrapping_sub(number, 1)) {
            return Ok(continue_moved(session));
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

    fn ask(answers: &str) -> (String, String) {
        let mut output = Vec::new();
        let chosen =
            ask_user(&[session("one"), session("two")], &mut answers.as_bytes(), &mut output).unwrap();
        let chosen = match chosen {
            Resolution::Moved(path, _) => path.display().to_string(),
            other => format!("{other:?}"),
        };
        (chosen, String::from_utf8(output).unwrap())
    }

    #[test]
    fn ask_user_number_chooses_and_enter_takes_newest() {
        assert_eq!(ask("\n").0, "/s/one.jsonl");
        assert_eq!(ask("2\n").0, "/s/two.jsonl");
        assert_eq!(ask("n\n").0, "Fresh");
        assert_eq!(ask("").0, "Fresh");
        let (chosen, output) = ask("7\n0\nwhat\n1\n");
        assert_eq!((chosen.as_str(), output.matches("Continue which session?").count()), ("/s/one.jsonl", 4));
        assert!(output.contains("name of two") && output.contains("/old/x"), "{output}");
    }
}
