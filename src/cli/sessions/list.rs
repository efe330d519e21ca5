//! `tiller sessions list`.

use super::{SessionsScope, print_json, row, say};
use crate::cli::CliFailure;
use crate::cli::console::stderr_line;
use crate::session::{PageRequest, SessionManager, SessionScope};

pub(super) fn list(
    manager: &SessionManager,
    scope: SessionScope,
    page: PageRequest,
    as_json: bool,
) -> Result<(), CliFailure> {
    let listing = manager.catalog()?.page(scope, page)?;
    for error in &listing.unreadable {
        stderr_line!("warning: {error}");
    }
    if as_json {
        print_json(&listing.sessions)?;
    } else {
        let place =
            if scope == SessionScope::Everywhere { SessionsScope::Shown } else { SessionsScope::Known };
        let mut text = String::new();
        for session in &listing.sessions {
            text += &(row(session, place) + "\n");
        }
        say(&text)?;
    }
    if listing.more {
        let next = page.offset + listing.sessions.len();
        stderr_line!("there are more: --offset {next} goes on, --limit 0 shows all");
    } else if listing.sessions.is_empty() && page.offset == 0 && !as_json {
        match scope {
            SessionScope::ThisDirectory => {
                let cwd = manager.cwd().display();
                stderr_line!("no sessions of {cwd}; `--all` shows those of other directories");
            }
            SessionScope::Everywhere => stderr_line!("there are no sessions yet"),
        }
    }
    Ok(())
}
