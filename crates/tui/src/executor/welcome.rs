//! Collects the data of the welcome screen.

use tiller_core::id::SessionId;
use tiller_core::unit::UnixMs;
use tiller_engine::AgentSession;
use tiller_session::{Catalog, PageRequest, SessionScope};

use crate::message::TaskResult;
use crate::session_model::Welcome;
use crate::text::one_line;

pub(crate) async fn gather(agent: &AgentSession) -> TaskResult {
    let breakdown = agent.context_breakdown().await;
    let files = breakdown.map(|breakdown| breakdown.files().cloned().collect()).unwrap_or_default();
    let current = agent.reader().id().clone();
    let last = match agent.catalog().await {
        Ok(catalog) => tokio::task::spawn_blocking(move || last_session(catalog, &current)).await,
        Err(_) => Ok(None),
    };
    TaskResult::Welcome(Welcome { files, last: last.unwrap_or_default() })
}

pub(crate) fn last_session(mut catalog: Catalog, current: &SessionId) -> Option<(String, UnixMs)> {
    let page = PageRequest { offset: 0, limit: Some(2) };
    let sessions = catalog.page(SessionScope::ThisDirectory, page).ok()?.sessions;
    let last = sessions.into_iter().find(|session| session.id != *current)?;
    Some((one_line(last.title()?), last.modified))
}
