//! `tiller sessions`: lists, shows, checks, edits, imports, exports and removes sessions.

mod edit;
pub(super) mod export;
mod html_worker;
pub(super) mod import;
mod list;
mod move_dir;
pub(super) mod output;
mod rm;
mod search;
mod show;
mod tree;
mod verify;

use super::args::{CliArgs, SessionsCommand};
use super::failure::{CliFailure, DONE};
use super::{log, startup, wiring};
use crate::cli::console::stderr_line;
use crate::config::{Config, WrongSetting};
use crate::session::{
    DeleteMode, PageRequest, Reader, SessionError, SessionManager, SessionScope, Visibility,
};

/// Opens the manager of all sessions. Project settings aren't loaded, because they can't affect it.
pub(super) fn open_manager(arguments: &CliArgs) -> Result<(Config, SessionManager), CliFailure> {
    let config = startup::config(arguments, None)?;
    let invalid = config.invalid.iter().map(WrongSetting::warning);
    for warning in invalid.chain(log::begin(&config, log::LogTargets::for_command(arguments))) {
        stderr_line!("warning: {warning}");
    }
    let manager = wiring::manager(arguments, &config, startup::cwd(arguments)?);
    Ok((config, manager))
}

pub(super) fn run(arguments: &CliArgs, command: &SessionsCommand) -> Result<u8, CliFailure> {
    run_command(arguments, command).map_err(|failure| match failure.error.downcast_ref() {
        // The hint's other half, a fork, is no help with a change to the session itself.
        Some(SessionError::Locked { .. }) => failure.hint("close the other tiller first"),
        _ => failure,
    })
}

fn run_command(arguments: &CliArgs, command: &SessionsCommand) -> Result<u8, CliFailure> {
    let (config, manager) = open_manager(arguments)?;
    let open = |query: &str| -> Result<Reader, CliFailure> { Ok(Reader::open(&manager.find(query)?)?) };
    match command {
        SessionsCommand::List { all, agents_of, json, limit, offset } => {
            let page = PageRequest { offset: *offset, limit: (*limit > 0).then_some(*limit) };
            match agents_of {
                None => list::list(&manager, list::ListScope::Sessions(scope(*all)), page, *json)?,
                Some(session) => {
                    list::list(
                        &manager.for_agents_of(&open(session)?),
                        list::ListScope::Agents,
                        page,
                        *json,
                    )?;
                }
            }
        }
        SessionsCommand::Search { query, all, json, limit } => {
            search::search(&manager, &query.join(" "), (scope(*all), *limit), *json)?;
        }
        SessionsCommand::Show { session, context: true, json, .. } => show::context(&open(session)?, *json)?,
        SessionsCommand::Show { session, stats: true, json, .. } => show::stats(&open(session)?, *json)?,
        SessionsCommand::Show { session, json, .. } => show::show(&open(session)?, *json)?,
        SessionsCommand::Tree { session, all, json } => tree::tree(&open(session)?, *all, *json)?,
        SessionsCommand::Verify { sessions, json, .. } => return verify::verify(&manager, sessions, *json),
        SessionsCommand::Rename { session, name, json } => edit::rename(&manager, session, name, *json)?,
        SessionsCommand::Label { session, entry, label, json } => {
            edit::label(&manager, (session, entry), label.as_deref(), *json)?;
        }
        SessionsCommand::Hide { session, entry, undo, json } => {
            let visibility = if *undo { Visibility::Shown } else { Visibility::Hidden };
            edit::hide(&manager, (session, entry), visibility, *json)?;
        }
        SessionsCommand::Branch { session, entry, summary, json } => {
            edit::branch(&manager, (session, entry), summary.as_deref(), *json)?;
        }
        SessionsCommand::Move { from, json } => {
            return move_dir::move_sessions(&manager, &config, from, *json);
        }
        SessionsCommand::Rm { sessions, yes, permanently, json } => {
            let delete_mode = if *permanently { DeleteMode::Permanently } else { DeleteMode::ToTrash };
            let confirmation = if *yes { rm::Confirmation::Skip } else { rm::Confirmation::Ask };
            rm::rm(&manager, sessions, (delete_mode, confirmation), *json)?;
        }
        SessionsCommand::Export { session, format, all_branches, entry, output, force, json } => {
            let request = export::ExportRequest {
                format: *format,
                part: export::ExportPart::from_flags(*all_branches, entry.as_deref()),
                output: output.as_deref(),
                force: *force,
                html_worker: None,
            };
            export::export(&open(session)?, manager.cwd(), &request, *json)?;
        }
        SessionsCommand::Import { paths, all, from, dry_run, json } => {
            let selection = import::ImportSelection { paths, all: *all, from: *from, dry_run: *dry_run };
            return import::import(&manager, &config, &selection, *json);
        }
    }
    Ok(DONE)
}

fn scope(all: bool) -> SessionScope {
    if all { SessionScope::Everywhere } else { SessionScope::ThisDirectory }
}
