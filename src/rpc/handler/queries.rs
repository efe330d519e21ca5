//! Commands that only read.

use crate::setting::{DeliveryMode, Switch};
use serde_json::{Value, json};

use super::{Handler, HandlerError, HandlerResult, blocking, data};
use crate::agent::{SessionState, SessionStats, Status};
use crate::id::EntryId;
use crate::message::ModelRef;
use crate::provider::catalog;
use crate::rpc::views;
use crate::session::{SearchHit, SessionScope};

/// Most hits of a search.
const MAX_HITS: usize = 50;

impl Handler {
    pub(super) async fn entries(&self, since: Option<EntryId>) -> HandlerResult {
        let reader = self.agent.reader();
        blocking(move || Ok(Some(views::entries(&reader, since.as_ref())?))).await
    }

    pub(super) async fn tree(&self) -> HandlerResult {
        let reader = self.agent.reader();
        blocking(move || Ok(Some(views::tree(&reader)?))).await
    }

    pub(super) async fn fork_messages(&self) -> HandlerResult {
        let reader = self.agent.reader();
        blocking(move || data(&views::fork_messages(&reader))).await
    }

    pub(super) async fn models(&self) -> HandlerResult {
        let models = self.agent.models().await?;
        let models: Vec<Value> =
            models.iter().map(|model| views::model(&model.facts, model.provider.api())).collect();
        data(&json!({"models": models}))
    }

    pub(super) async fn state(&self) -> HandlerResult {
        let status = self.agent.state().await?;
        let model = self.model(&status.state.model).await?;
        let mut view = described(&status, model);
        view["notices"] = json!(self.agent.notices());
        data(&view)
    }

    /// Returns the view of a model, also of one that is in no catalog.
    pub(super) async fn model(&self, reference: &ModelRef) -> Result<Value, HandlerError> {
        let models = self.agent.models().await?;
        let known = models.iter().find(|model| model.reference() == *reference);
        Ok(match known {
            Some(model) => views::model(&model.facts, model.provider.api()),
            None => {
                let (provider, id) = (&reference.provider, &reference.id);
                let facts = catalog::facts(provider, id).unwrap_or_else(|| catalog::assumed(provider, id));
                let served = models.iter().find(|model| model.facts.provider == *provider);
                views::model(&facts, served.map_or("", |model| model.provider.api()))
            }
        })
    }

    pub(super) async fn snapshot(&self) -> HandlerResult {
        let snapshot = self.agent.snapshot().await?;
        let mut view = views::live(&snapshot.in_progress);
        view["seq"] = json!(snapshot.seq);
        view["state"] = session(&snapshot.state);
        data(&view)
    }

    pub(super) async fn stats(&self) -> HandlerResult {
        let (status, stats) = (self.agent.state().await?, self.agent.stats().await?);
        data(&counted(&status.state, &stats))
    }

    pub(super) async fn commands(&self) -> HandlerResult {
        let commands = self.agent.slash_commands().await?;
        let commands: Vec<Value> = commands.iter().map(views::slash_command).collect();
        data(&json!({"commands": commands}))
    }

    pub(super) async fn search(&self, scope: SessionScope, words: String) -> HandlerResult {
        let mut catalog = self.agent.catalog().await?;
        blocking(move || {
            catalog.refresh(scope, |_| {})?;
            let hits = catalog.search(&words, scope, MAX_HITS)?;
            let hit = |hit: &SearchHit| {
                let text: String = hit.snippet.iter().map(|piece| piece.text.as_str()).collect();
                json!({"session": hit.session, "entryId": hit.entry, "text": text})
            };
            data(&json!({"hits": hits.iter().map(hit).collect::<Vec<_>>()}))
        })
        .await
    }
}

fn described(status: &Status, model: Value) -> Value {
    let mut view = session(&status.state);
    let mode = |mode| match mode {
        DeliveryMode::OneAtATime => "one-at-a-time",
        DeliveryMode::All => "all",
    };
    let more = json!({
        "model": model,
        "isStreaming": status.activity.is_running,
        "isCompacting": status.activity.is_compacting,
        "isRetrying": status.activity.is_retrying,
        "steeringMode": mode(status.queue.steering_mode),
        "followUpMode": mode(status.queue.follow_up_mode),
        "autoRetryEnabled": status.auto_retry == Switch::On,
        "messageCount": status.messages,
        "pendingMessageCount": status.queue.items.len(),
        "leafId": status.leaf,
        "autoCompactionEnabled": status.auto_compaction == Switch::On,
    });
    extend(&mut view, more);
    view
}

fn extend(view: &mut Value, more: Value) {
    if let (Value::Object(view), Value::Object(more)) = (view, more) {
        view.extend(more);
    }
}

/// The view of a session. File and name are left out when there is none, like other optional fields.
fn session(state: &SessionState) -> Value {
    let mut view = json!({
        "sessionId": state.session,
        "cwd": state.cwd,
        "model": state.model,
        "thinkingLevel": state.thinking,
        "contextUsage": context(state),
        "approvalMode": state.approval,
    });
    if let Some(path) = &state.path {
        view["sessionFile"] = json!(path);
    }
    if let Some(name) = &state.name {
        view["sessionName"] = json!(name);
    }
    view
}

fn context(state: &SessionState) -> Value {
    let (used, window) = (state.context.used.0, state.context.window.0);
    // A tenth of a percent is as exact as an estimate gets.
    let permille = used.saturating_mul(1_000) / window.max(1);
    let percent: f64 = u32::try_from(permille).map_or(f64::INFINITY, f64::from) / 10.0;
    json!({"tokens": used, "contextWindow": window, "percent": percent})
}

fn counted(state: &SessionState, stats: &SessionStats) -> Value {
    let (all, usage) = (&stats.session, &stats.session.usage);
    let mut view = json!({
        "sessionId": state.session,
        "userMessages": all.user_messages,
        "assistantMessages": all.assistant_messages,
        "toolCalls": all.tool_calls,
        "toolResults": all.tool_results,
        "totalMessages": all.messages(),
        "tokens": {
            "input": usage.input,
            "output": usage.output,
            "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write,
            "total": usage.total(),
        },
        "cost": usage.cost.total,
        "models": all.models,
        "branch": stats.branch,
        "contextUsage": context(state),
    });
    if let Some(path) = &state.path {
        view["sessionFile"] = json!(path);
    }
    view
}
