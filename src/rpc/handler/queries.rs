//! Commands that only read.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::{Handler, HandlerError, blocking};
use crate::agent::compaction::Automatic;
use crate::agent::queue::DeliveryMode;
use crate::agent::retry::RetryMode;
use crate::agent::{SessionState, SessionStats, Status};
use crate::message::ModelRef;
use crate::provider::catalog;
use crate::rpc::command::RpcCommand;
use crate::rpc::views;
use crate::session::{SearchHit, SessionList, SessionScope, chain};

/// The data of a response as it will be sent: a long log isn't parsed and encoded again.
type RawResult = Result<Box<RawValue>, HandlerError>;

/// Most hits of a search.
const MAX_HITS: usize = 50;

impl Handler {
    /// Runs a command that only reads; gives back any other.
    pub(super) async fn query(&self, command: RpcCommand) -> Result<RawResult, RpcCommand> {
        let agent = &self.agent;
        Ok(match command {
            RpcCommand::GetState {} => self.state().await,
            RpcCommand::GetSnapshot {} => self.snapshot().await,
            RpcCommand::GetSettings {} => raw(&self.options.settings),
            RpcCommand::GetMessages {} => self.messages().await,
            RpcCommand::GetEntries { since } => {
                let reader = agent.reader();
                blocking(move || Ok(views::entries(&reader, since.as_ref())?)).await
            }
            RpcCommand::GetTree {} => {
                let reader = agent.reader();
                blocking(move || Ok(views::tree(&reader)?)).await
            }
            RpcCommand::GetAvailableModels {} => self.models().await,
            RpcCommand::GetAvailableThinkingLevels {} => self.thinking_levels().await,
            RpcCommand::GetSessionStats {} => self.stats().await,
            RpcCommand::GetForkMessages {} => {
                let reader = agent.reader();
                blocking(move || raw(&views::fork_messages(&reader))).await
            }
            RpcCommand::GetLastAssistantText {} => self.last_assistant_text().await,
            RpcCommand::GetCommands {} => self.commands().await,
            RpcCommand::GetQueue {} => self.queue().await,
            RpcCommand::ListSessions { scope, query: None } => self.sessions(scope.into()).await,
            RpcCommand::ListSessions { scope, query: Some(terms) } => self.search(scope.into(), terms).await,
            command => return Err(command),
        })
    }

    async fn messages(&self) -> RawResult {
        raw(&json!({"messages": self.agent.messages().await?}))
    }

    async fn models(&self) -> RawResult {
        let models = self.agent.models().await?;
        let models: Vec<Value> =
            models.iter().map(|model| views::model(&model.facts, model.provider.api())).collect();
        raw(&json!({"models": models}))
    }

    async fn thinking_levels(&self) -> RawResult {
        raw(&json!({"levels": self.agent.thinking_levels().await?}))
    }

    async fn last_assistant_text(&self) -> RawResult {
        raw(&json!({"text": self.agent.last_answer_text().await?}))
    }

    async fn queue(&self) -> RawResult {
        raw(&views::queue(&self.agent.snapshot().await?.in_progress.queue))
    }

    async fn sessions(&self, scope: SessionScope) -> RawResult {
        raw(&listing(&self.agent.sessions(scope).await?))
    }

    async fn state(&self) -> RawResult {
        let status = self.agent.state().await?;
        let model = self.model(&status.state.model).await?;
        let mut view = described(&status, model);
        view["notices"] = json!(self.agent.notices());
        raw(&view)
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

    async fn snapshot(&self) -> RawResult {
        let snapshot = self.agent.snapshot().await?;
        let mut view = views::live(&snapshot.in_progress);
        view["seq"] = json!(snapshot.seq);
        view["state"] = session(&snapshot.state);
        raw(&view)
    }

    async fn stats(&self) -> RawResult {
        let (status, stats) = (self.agent.state().await?, self.agent.stats().await?);
        raw(&counted(&status.state, &stats))
    }

    async fn commands(&self) -> RawResult {
        let commands = self.agent.slash_commands().await?;
        let commands: Vec<Value> = commands.iter().map(views::slash_command).collect();
        raw(&json!({"commands": commands}))
    }

    async fn search(&self, scope: SessionScope, words: String) -> RawResult {
        let mut catalog = self.agent.catalog().await?;
        blocking(move || {
            catalog.refresh(scope, |_| {})?;
            let hits = catalog.search(&words, scope, MAX_HITS)?;
            let hit = |hit: &SearchHit| {
                let text: String = hit.snippet.iter().map(|piece| piece.text.as_str()).collect();
                json!({"session": hit.session, "entryId": hit.entry, "text": text})
            };
            raw(&json!({"hits": hits.iter().map(hit).collect::<Vec<_>>()}))
        })
        .await
    }
}

fn raw(value: &impl Serialize) -> RawResult {
    to_raw_value(value).map_err(|error| HandlerError::Other(error.to_string()))
}

fn listing(listing: &SessionList) -> Value {
    let unreadable: Vec<String> = listing.unreadable.iter().map(|error| chain(error)).collect();
    json!({"sessions": listing.sessions, "unreadable": unreadable})
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
        "autoRetryEnabled": status.auto_retry == RetryMode::On,
        "messageCount": status.messages,
        "pendingMessageCount": status.queue.items.len(),
        "leafId": status.leaf,
        "autoCompactionEnabled": status.auto_compaction == Automatic::On,
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
