//! `tiller sessions list`.

use super::{one_line, print_json};
use crate::cli::Failure;
use crate::session::{Scope, SessionManager};

pub(super) fn list(manager: &SessionManager, all: bool, as_json: bool) -> Result<(), Failure> {
    let scope = if all { Scope::Everywhere } else { Scope::ThisDirectory };
    let listing = manager.list(scope)?;
    for error in &listing.unreadable {
        eprintln!("warning: {error}");
    }
    if as_json {
        return print_json(&listing.sessions);
    }
    if listing.sessions.is_empty() {
        eprintln!("no sessions of {}; `--all` shows those of other directories", manager.cwd().display());
    }
    for session in &listing.sessions {
        let title = session.name.as_deref().or(session.first_prompt.as_deref()).unwrap_or("(empty)");
        let modified = session.modified.to_iso();
        let place = if all { format!("  {}", session.cwd) } else { String::new() };
        println!(
            "{}  {} {}  {}{place}",
            session.id.short(),
            &modified[..10],
            &modified[11..16],
            one_line(title)
        );
    }
    Ok(())
}
