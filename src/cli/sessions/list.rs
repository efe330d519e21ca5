//! `tiller sessions list`.

use super::output::{DirectoryColumn, print_json, row};
use crate::cli::console::stderr_line;
use crate::cli::failure::CliFailure;
use crate::cli::stdout::print_text;
use crate::session::{PageRequest, SessionManager, SessionScope};

/// The sessions to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListScope {
    Sessions(SessionScope),
    /// The agents of one session. An agent that has a worktree works in another directory.
    Agents,
}

pub(super) fn list(
    manager: &SessionManager,
    list_scope: ListScope,
    page: PageRequest,
    as_json: bool,
) -> Result<(), CliFailure> {
    let scope = match list_scope {
        ListScope::Sessions(scope) => scope,
        ListScope::Agents => SessionScope::Everywhere,
    };
    let listing = manager.catalog()?.page(scope, page)?;
    for error in &listing.unreadable {
        stderr_line!("warning: {error}");
    }
    if as_json {
        print_json(&listing.sessions)?;
    } else {
        let column =
            if scope == SessionScope::Everywhere { DirectoryColumn::Shown } else { DirectoryColumn::Hidden };
        let mut text = String::new();
        for session in &listing.sessions {
            text += &(row(session, column) + "\n");
        }
        print_text(&text)?;
    }
    if listing.more {
        let next = page.offset + listing.sessions.len();
        stderr_line!("more sessions follow: --offset {next} shows them, --limit 0 shows all");
    } else if listing.sessions.is_empty() && page.offset == 0 && !as_json {
        match list_scope {
            ListScope::Sessions(SessionScope::ThisDirectory) => {
                let cwd = manager.cwd().display();
                stderr_line!("{cwd} has no sessions; `--all` includes other directories");
            }
            ListScope::Sessions(SessionScope::Everywhere) => stderr_line!("no sessions yet"),
            ListScope::Agents => stderr_line!("this session has no agents"),
        }
    }
    Ok(())
}
