//! Commands that don't change anything.

use serde_json::json;

use super::{Handler, HandlerError, HandlerResult, blocking, data};
use crate::agent::views::{ModelView, SnapshotView, StateView, StatsView};
use crate::id::{EntryId, SessionId};
use crate::message::ModelRef;
use crate::rpc::views::{CommandView, HitView, log};
use crate::session::{self, SessionScope};

/// Maximum number of search hits.
const MAX_HITS: usize = 50;

impl Handler {
    /// Returns the entries of the session, or of one of its agents.
    pub(super) async fn entries(&self, since: Option<EntryId>, agent_id: Option<SessionId>) -> HandlerResult {
        let reader = match agent_id {
            Some(id) => self.agent.agent_reader(id).await?,
            None => self.agent.reader(),
        };
        blocking(move || Ok(Some(session::entries_json(&reader, since.as_ref())?))).await
    }

    pub(super) async fn tree(&self) -> HandlerResult {
        let reader = self.agent.reader();
        blocking(move || Ok(Some(session::tree_json(&reader)?))).await
    }

    pub(super) async fn fork_messages(&self) -> HandlerResult {
        let reader = self.agent.reader();
        blocking(move || data(&log::fork_messages(&reader))).await
    }

    pub(super) async fn models(&self) -> HandlerResult {
        let models = self.agent.models().await?;
        let models: Vec<ModelView> =
            models.iter().map(|model| ModelView::new(&model.facts, model.provider.api())).collect();
        data(&json!({"models": models}))
    }

    pub(super) async fn agents(&self) -> HandlerResult {
        data(&self.agent.agents().await?)
    }

    pub(super) async fn state(&self) -> HandlerResult {
        let status = self.agent.state().await?;
        let model = self.model(&status.state.model).await?;
        data(&StateView::new(&status, model, self.agent.notices()))
    }

    /// Returns the view of a model, which may be missing from the catalog.
    pub(super) async fn model(&self, reference: &ModelRef) -> Result<ModelView, HandlerError> {
        Ok(ModelView::find(reference, &self.agent.models().await?))
    }

    pub(super) async fn snapshot(&self) -> HandlerResult {
        data(&SnapshotView::from(&*self.agent.snapshot().await?))
    }

    pub(super) async fn stats(&self) -> HandlerResult {
        let (status, stats) = (self.agent.state().await?, self.agent.stats().await?);
        data(&StatsView::new(&status.state, &stats))
    }

    pub(super) async fn commands(&self) -> HandlerResult {
        let commands = self.agent.slash_commands().await?;
        let commands: Vec<CommandView<'_>> = commands.iter().map(CommandView::from).collect();
        data(&json!({"commands": commands}))
    }

    pub(super) async fn search(&self, scope: SessionScope, words: String) -> HandlerResult {
        let mut catalog = self.agent.catalog().await?;
        blocking(move || {
            catalog.refresh(scope, |_| {})?;
            let hits = catalog.search(&words, scope, MAX_HITS)?;
            data(&json!({"hits": hits.iter().map(HitView::from).collect::<Vec<_>>()}))
        })
        .await
    }
}
