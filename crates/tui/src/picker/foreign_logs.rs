//! `/import`: the list of logs of other programs.

use std::path::{Path, PathBuf};

use tiller_core::unit::UnixMs;
use tiller_render::Role;

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::fuzzy::MatchMode;
use crate::import::ForeignLog;
use crate::list_kind::ListKind;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::{age, one_line};

/// The logs of other programs; Enter imports one.
#[derive(Debug)]
pub(super) struct ForeignLogList;

impl ListSource for ForeignLogList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "sessions from other programs",
            kind: Some(ListKind::ForeignLogs),
            match_mode: MatchMode::Prose,
            accept_hint: "import",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        let PickerChoice::Import(path) = choice else { return ListResponse::none() };
        let import = Action::List(ListAction::Import(path.display().to_string()));
        ListResponse::stay_with("importing…", import)
    }
}

/// Returns the list items of logs.
pub(crate) fn foreign_logs(logs: &[ForeignLog], now: UnixMs) -> Vec<PickerItem> {
    let item = |log: &ForeignLog| {
        let program = log.peek.from.map_or("?", |from| from.name());
        let words = log.peek.first_prompt.as_deref().map(one_line);
        let name = || one_line(&log.path.file_name().unwrap_or_default().to_string_lossy());
        let dir = log.peek.cwd.as_deref().map(|cwd| Path::new(cwd).file_name().unwrap_or_default());
        let dir = dir.map(|dir| format!("{} · ", one_line(&dir.to_string_lossy())));
        let note = format!("{}{}", dir.unwrap_or_default(), age(log.modified, now));
        PickerItem::new(words.unwrap_or_else(name), PickerChoice::Import(log.path.clone()))
            .with_lead(format!("{program:<7}"))
            .with_note(note)
    };
    logs.iter().map(item).collect()
}

/// Returns the list items of searched directories without logs.
pub(crate) fn searched_places(looked_in: &[(&str, PathBuf)], home: Option<&Path>) -> Vec<PickerItem> {
    let reason = "no logs found; /import PATH imports a log or directory";
    let item = |(program, path): &(&str, PathBuf)| {
        let short = home.and_then(|home| path.strip_prefix(home).ok());
        let name = short.map_or(path.display().to_string(), |short| format!("~/{}", short.display()));
        PickerItem::new(one_line(&name), PickerChoice::Unavailable(reason.to_owned()))
            .with_lead(format!("{program:<7}"))
            .with_note("no logs")
            .in_role(Role::Muted)
    };
    looked_in.iter().map(item).collect()
}
