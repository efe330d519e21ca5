//! Questions that change nothing.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::{Handler, HandlerError, beside};
use crate::agent::compaction::Automatic;
use crate::agent::queue::DeliveryMode;
use crate::agent::retry::RetryMode;
use crate::agent::{SessionState, SessionStats, Status};
use crate::message::ModelRef;
use crate::provider::catalog;
use crate::rpc::command::Query;
use crate::rpc::views;
use crate::session::{SearchHit, SessionList, SessionScope, chain};

/// An answer's data as it will be sent: a long log isn't taken apart and put together again.
type Told = Result<Box<RawValue>, HandlerError>;

/// Sessions that a search answers with at most.
const FOUND: usize = 50;

impl Handler {
    pub(super) async fn ask(&self, ask: Query) -> Told {
        let agent = &self.agent;
        match ask {
            Query::State => self.state().await,
            Query::Snapshot => self.snapshot().await,
            Query::Settings => raw(&self.options.settings),
            Query::Messages => raw(&json!({"messages": agent.messages().await?})),
            Query::Entries { since } => {
                let reader = agent.reader();
                beside(move || Ok(views::entries(&reader, since.as_ref())?)).await
            }
            Query::Tree => {
                let reader = agent.reader();
                beside(move || Ok(views::tree(&reader)?)).await
            }
            Query::Models => {
                let models = agent.models().await?;
                let models: Vec<Value> =
                    models.iter().map(|model| views::model(&model.facts, model.provider.api())).collect();
                raw(&json!({"models": models}))
            }
            Query::ThinkingLevels => raw(&json!({"levels": agent.thinking_levels().await?})),
            Query::Stats => self.stats().await,
            Query::ForkMessages => {
                let reader = agent.reader();
                beside(move || raw(&views::fork_messages(&reader))).await
            }
            Query::LastAssistantText => raw(&json!({"text": agent.last_answer_text().await?})),
            Query::Commands => self.commands().await,
            Query::Sessions { scope, query: None } => raw(&listing(&agent.sessions(scope).await?)),
            Query::Sessions { scope, query: Some(words) } => self.search(scope, words).await,
        }
    }

    async fn state(&self) -> Told {
        let status = self.agent.state().await?;
        let model = self.model(&status.state.model).await?;
        let mut told = described(&status, model);
        told["notices"] = json!(self.agent.notices());
        raw(&told)
    }

    /// What is known of a model that may be one that was only named.
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

    async fn snapshot(&self) -> Told {
        let snapshot = self.agent.snapshot().await?;
        let mut told = views::live(&snapshot.live);
        told["seq"] = json!(snapshot.seq);
        told["state"] = session(&snapshot.state);
        raw(&told)
    }

    async fn stats(&self) -> Told {
        let (status, stats) = (self.agent.state().await?, self.agent.stats().await?);
        raw(&counted(&status.state, &stats))
    }

    async fn commands(&self) -> Told {
        let commands = self.agent.slash_commands().await?;
        let commands: Vec<Value> = commands.iter().map(views::slash_command).collect();
        raw(&json!({"commands": commands}))
    }

    async fn search(&self, scope: SessionScope, words: String) -> Told {
        let mut catalog = self.agent.catalog().await?;
        beside(move || {
            catalog.refresh(scope, |_| {})?;
            let hits = catalog.search(&words, scope, FOUND)?;
            let hit = |hit: &SearchHit| {
                let said: String = hit.snippet.iter().map(|piece| piece.text.as_str()).collect();
                json!({"session": hit.session, "entryId": hit.entry, "text": said})
            };
            raw(&json!({"hits": hits.iter().map(hit).collect::<Vec<_>>()}))
        })
        .await
    }
}

fn raw(value: &impl Serialize) -> Told {
    to_raw_value(value).map_err(|error| HandlerError::Other(error.to_string()))
}

fn listing(listing: &SessionList) -> Value {
    let unreadable: Vec<String> = listing.unreadable.iter().map(|error| chain(error)).collect();
    json!({"sessions": listing.sessions, "unreadable": unreadable})
}

fn described(status: &Status, model: Value) -> Value {
    let mut told = session(&status.state);
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
    extend(&mut told, more);
    told
}

fn extend(told: &mut Value, more: Value) {
    if let (Value::Object(told), Value::Object(more)) = (told, more) {
        told.extend(more);
    }
}

/// What a session is. Like other optional fields, file and name are left out when there is none.
fn session(state: &SessionState) -> Value {
    let mut told = json!({
        "sessionId": state.session,
        "cwd": state.cwd,
        "model": state.model,
        "thinkingLevel": state.thinking,
        "contextUsage": context(state),
        "approvalMode": state.approval,
    });
    if let Some(path) = &state.path {
        told["sessionFile"] = json!(path);
    }
    if let Some(name) = &state.name {
        told["sessionName"] = json!(name);
    }
    told
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
    let mut told = json!({
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
        told["sessionFile"] = json!(path);
    }
    told
}
