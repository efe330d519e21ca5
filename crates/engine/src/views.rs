//! The JSON of an open session for programs: state, operations in progress, and statistics. Documented in
//! docs/rpc.md.

mod model;

use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use tiller_core::background_job::CommandJob;
use tiller_core::elicitation::ElicitationRequest;
use tiller_core::event::{ApprovalRequest, CompactionReason, QueueItem, QueueKind, ToolOutcome};
use tiller_core::id::{CallId, EntryId, SessionId};
use tiller_core::message::{AssistantMessage, ModelRef, ThinkingLevel};
use tiller_core::setting::Switch;
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_session::{ModelUsage, Totals};

use crate::agents::RunningAgent;
use crate::budget::BudgetStatus;
use crate::handle::{
    BashContext, ContextUse, InFlight, RunningBash, RunningCall, SessionState, SessionStats, Snapshot,
    Status, SummaryInProgress, SummarySubject,
};
use crate::turn::RetryAnnouncement;

pub use model::ModelView;

/// A session. Like other optional fields, file and name are omitted if there is none.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionView<'a, M> {
    session_id: &'a SessionId,
    cwd: &'a Path,
    model: M,
    #[schemars(with = "String")]
    thinking_level: ThinkingLevel,
    context_usage: ContextView,
    approval_mode: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<&'a Path>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<&'a str>,
}

impl<'a, M> SessionView<'a, M> {
    fn new(state: &'a SessionState, model: M) -> Self {
        Self {
            session_id: &state.session,
            cwd: &state.cwd,
            model,
            thinking_level: state.thinking,
            context_usage: state.context.into(),
            approval_mode: &state.approval,
            session_file: state.path.as_deref(),
            session_name: state.name.as_deref(),
        }
    }
}

/// Context window usage.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContextView {
    tokens: Tokens,
    context_window: Tokens,
    percent: f64,
}

impl From<ContextUse> for ContextView {
    fn from(context: ContextUse) -> Self {
        // A tenth of a percent is the precision of the estimate.
        let permille = context.used.0.saturating_mul(1_000) / context.window.0.max(1);
        let percent = u32::try_from(permille).map_or(f64::INFINITY, f64::from) / 10.0;
        Self { tokens: context.used, context_window: context.window, percent }
    }
}

/// The response to `get_state`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateView<'a> {
    #[serde(flatten)]
    session: SessionView<'a, ModelView>,
    is_streaming: bool,
    is_compacting: bool,
    is_retrying: bool,
    steering_mode: &'static str,
    follow_up_mode: &'static str,
    auto_retry_enabled: bool,
    message_count: usize,
    pending_message_count: usize,
    leaf_id: &'a Option<EntryId>,
    auto_compaction_enabled: bool,
    notices: &'a [String],
}

impl<'a> StateView<'a> {
    /// Creates the view; `notices` are the notices of the session's start.
    #[must_use]
    pub fn new(status: &'a Status, model: ModelView, notices: &'a [String]) -> Self {
        Self {
            session: SessionView::new(&status.state, model),
            is_streaming: status.activity.is_running,
            is_compacting: status.activity.is_compacting,
            is_retrying: status.activity.is_retrying,
            steering_mode: status.queue.steering_mode.name(),
            follow_up_mode: status.queue.follow_up_mode.name(),
            auto_retry_enabled: status.auto_retry == Switch::On,
            message_count: status.messages,
            pending_message_count: status.queue.items.len(),
            leaf_id: &status.leaf,
            auto_compaction_enabled: status.auto_compaction == Switch::On,
            notices,
        }
    }
}

/// The response to `get_snapshot`: the operations in progress, and the session.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SnapshotView<'a> {
    running_since: Option<UnixMs>,
    partial: &'a Option<AssistantMessage>,
    calls: Vec<RunningCallView<'a>>,
    queue: &'a [QueueItem],
    approvals: &'a [ApprovalRequest],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    elicitations: &'a [ElicitationRequest],
    bash: Option<RunningBashView<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    background_jobs: &'a [CommandJob],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    agents: &'a [RunningAgent],
    summary: Option<SummaryProgressView<'a>>,
    retry: Option<RetryView<'a>>,
    seq: u64,
    state: SessionView<'a, &'a ModelRef>,
}

impl<'a> From<&'a Snapshot> for SnapshotView<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        let InFlight { running_since, retry, partial, calls, queue, approvals, bash, .. } =
            &snapshot.in_progress;
        let InFlight { summary, background_jobs, agents, elicitations, .. } = &snapshot.in_progress;
        Self {
            running_since: *running_since,
            partial,
            calls: calls.iter().map(RunningCallView::from).collect(),
            queue,
            approvals,
            elicitations,
            bash: bash.as_ref().map(RunningBashView::from),
            background_jobs,
            agents,
            summary: summary.as_ref().map(SummaryProgressView::from),
            retry: retry.as_ref().map(RetryView::from),
            seq: snapshot.seq,
            state: SessionView::new(&snapshot.state, &snapshot.state.model),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RetryView<'a> {
    attempt: u32,
    max_attempts: u32,
    at: UnixMs,
    error_message: &'a str,
}

impl<'a> From<&'a RetryAnnouncement> for RetryView<'a> {
    fn from(retry: &'a RetryAnnouncement) -> Self {
        let RetryAnnouncement { attempt, max_attempts, due, error } = retry;
        Self { attempt: *attempt, max_attempts: *max_attempts, at: *due, error_message: error }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunningCallView<'a> {
    tool_call_id: &'a CallId,
    tool_name: &'a str,
    args: &'a Value,
    since: UnixMs,
    partial_result: &'a ToolOutcome,
}

impl<'a> From<&'a RunningCall> for RunningCallView<'a> {
    fn from(call: &'a RunningCall) -> Self {
        Self {
            tool_call_id: &call.id,
            tool_name: &call.name,
            args: &call.arguments,
            since: call.since,
            partial_result: &call.partial,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SummaryProgressView<'a> {
    of: &'static str,
    reason: Option<CompactionReason>,
    since: UnixMs,
    retry: Option<RetryView<'a>>,
    failed: Option<&'a str>,
}

impl<'a> From<&'a SummaryInProgress> for SummaryProgressView<'a> {
    fn from(summary: &'a SummaryInProgress) -> Self {
        let (of, reason) = match summary.of {
            SummarySubject::Context(reason) => ("context", Some(reason)),
            SummarySubject::Branch => ("branch", None),
        };
        let retry = summary.retry.as_ref().map(RetryView::from);
        Self { of, reason, since: summary.since, retry, failed: summary.failed.as_deref() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RunningBashView<'a> {
    entry_id: &'a EntryId,
    command: &'a str,
    exclude_from_context: bool,
    since: UnixMs,
    output: String,
}

impl<'a> From<&'a RunningBash> for RunningBashView<'a> {
    fn from(bash: &'a RunningBash) -> Self {
        Self {
            entry_id: &bash.id,
            command: &bash.line,
            exclude_from_context: bash.context == BashContext::Exclude,
            since: bash.since,
            output: bash.last_lines().text,
        }
    }
}

/// The queued messages: texts by kind, and the items themselves.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct QueueView<'a> {
    steering: Vec<&'a str>,
    follow_up: Vec<&'a str>,
    /// The messages in the order of the queue, with `id`, `kind`, `text` and `held`. Steering messages are delivered
    /// before the others.
    items: &'a [QueueItem],
}

impl<'a> From<&'a [QueueItem]> for QueueView<'a> {
    fn from(items: &'a [QueueItem]) -> Self {
        let texts = |kind: QueueKind| -> Vec<&str> {
            items.iter().filter(|item| item.kind == kind).map(|item| item.text.as_str()).collect()
        };
        Self { steering: texts(QueueKind::Steer), follow_up: texts(QueueKind::FollowUp), items }
    }
}

/// The response to `get_session_stats`.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatsView<'a> {
    session_id: &'a SessionId,
    user_messages: usize,
    assistant_messages: usize,
    tool_calls: usize,
    tool_results: usize,
    total_messages: usize,
    tokens: TokensView,
    /// US dollars.
    cost: Usd,
    /// The usage of each model.
    models: &'a [ModelUsage],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    budgets: &'a [BudgetStatus],
    /// The same numbers for the current branch.
    branch: &'a Totals,
    context_usage: ContextView,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<&'a Path>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TokensView {
    input: Tokens,
    output: Tokens,
    cache_read: Tokens,
    cache_write: Tokens,
    total: Tokens,
}

impl<'a> StatsView<'a> {
    /// Creates the view.
    #[must_use]
    pub fn new(state: &'a SessionState, stats: &'a SessionStats) -> Self {
        let (totals, usage) = (&stats.session, &stats.session.usage);
        Self {
            session_id: &state.session,
            user_messages: totals.user_messages,
            assistant_messages: totals.assistant_messages,
            tool_calls: totals.tool_calls,
            tool_results: totals.tool_results,
            total_messages: totals.messages(),
            tokens: TokensView {
                input: usage.input,
                output: usage.output,
                cache_read: usage.cache_read,
                cache_write: usage.cache_write,
                total: usage.total(),
            },
            cost: usage.cost.total,
            models: &totals.models,
            budgets: &stats.budgets,
            branch: &stats.branch,
            context_usage: state.context.into(),
            session_file: state.path.as_deref(),
        }
    }
}
