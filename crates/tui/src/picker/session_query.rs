//! Queries of the session lists.

use tiller_core::id::EntryId;
use tiller_session::SessionScope;

/// The number of a session search. Results of an older search are dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SessionQueryId(pub(crate) u64);

/// The part of a session shown in its preview.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum SessionExcerpt {
    /// The last exchange.
    #[default]
    End,
    /// An entry's text around the matched words.
    Around(EntryId, String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SearchRequest {
    /// The search number, which results carry.
    pub(crate) query_id: SessionQueryId,
    pub(crate) scope: SessionScope,
    pub(crate) words: String,
}
