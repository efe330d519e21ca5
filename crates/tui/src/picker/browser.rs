//! Additional state of session lists: scope, order and search hits.

use std::path::PathBuf;

use tiller_session::SessionScope;

use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::session_query::SessionQueryId;
use crate::picker::sessions::{Sessions, SortOrder};

/// The state of a session list.
#[derive(Debug)]
pub(crate) struct SessionBrowser {
    pub(crate) scope: SessionScope,
    /// The search that the results belong to.
    pub(super) query_id: SessionQueryId,
    /// Number of indexed logs and of all logs; `None` when indexing is done.
    pub(crate) indexing: Option<(usize, usize)>,
    /// Sessions that contain the search text.
    pub(super) hits: Vec<PickerItem>,
    pub(super) hits_query: String,
    pub(super) sessions: Sessions,
    pub(super) order: SortOrder,
    /// True if a trashed session can be restored.
    pub(super) can_undo: bool,
    /// A session being restored, which is selected when it appears.
    pub(super) awaited: Option<PickerChoice>,
    pub(super) opening: Option<PendingOpen>,
}

/// A session that is being opened.
#[derive(Debug)]
pub(super) struct PendingOpen {
    pub(super) path: PathBuf,
    /// The filter when opening started; text typed later is meant for the session.
    pub(super) filter: String,
}

impl SessionBrowser {
    pub(super) fn new(scope: SessionScope, query_id: SessionQueryId) -> Self {
        let (sessions, order) = (Sessions::default(), SortOrder::default());
        let (hits, hits_query) = (Vec::new(), String::new());
        let (awaited, opening) = (None, None);
        let (indexing, can_undo) = (None, false);
        Self { scope, query_id, indexing, hits, hits_query, sessions, order, can_undo, awaited, opening }
    }

    pub(super) const fn title(&self) -> &'static str {
        match self.scope {
            SessionScope::ThisDirectory => "sessions in this directory",
            SessionScope::Everywhere => "sessions in all directories",
        }
    }
}
