//! Command handlers. Each command calls the session's handle, and its response is built from the result.

mod queries;

use crate::setting::Switch;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};
use tokio::time::timeout;

use super::command::{RpcCommand, RuleScopeParam};
use super::options::RpcOptions;
use super::params::{ImageParam, SummaryParam};
use super::response::ResponseOutcome;
use super::views::{SessionListView, SwitchedView};
use crate::agent::queue::QueueEdit;
use crate::agent::views::QueueView;
use crate::agent::{
    AgentError, AgentSession, Approver, BashContext, BranchSummary, CycleDirection, CycleScope,
    PromptOptions, SessionSwitched, StreamingBehavior,
};
use crate::elicitation::{ElicitationAction, ElicitationAnswer};
use crate::event::QueueKind;
use crate::id::CallId;
use crate::message::Image;
use crate::proposed_rules::ProposedRules;
use crate::session::{Visibility, chain};

/// Maximum time between two checks whether all work has ended, if no event arrives in between.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Runs commands on a session.
#[derive(Clone)]
pub(super) struct Handler {
    agent: AgentSession,
    options: RpcOptions,
}

/// The reason a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HandlerError {
    #[error(transparent)]
    Agent(#[from] AgentError),
    #[error(transparent)]
    Session(#[from] crate::session::SessionError),
    #[error("{0}")]
    Other(String),
}

impl HandlerError {
    /// Returns the message of the response, including the commands that help.
    fn text(&self) -> String {
        match self {
            Self::Agent(AgentError::Running) => {
                "can't do that while the agent is running; `abort` stops it".to_owned()
            }
            Self::Agent(AgentError::Busy) => {
                "the agent is running; set `streamingBehavior` to `steer` or `followUp`".to_owned()
            }
            Self::Agent(AgentError::Summarizing) => {
                "a summary is being generated; `abort` or `abort_compaction` stops it".to_owned()
            }
            Self::Agent(_) | Self::Session(_) | Self::Other(_) => chain(self),
        }
    }
}

/// The data of a response, already encoded, so that a long log isn't encoded twice. `None` if there is no
/// data.
type HandlerResult = Result<Option<Box<RawValue>>, HandlerError>;

fn data(value: &impl Serialize) -> HandlerResult {
    to_raw_value(value).map(Some).map_err(|error| HandlerError::Other(error.to_string()))
}

fn no_data(result: Result<(), AgentError>) -> HandlerResult {
    Ok(result.map(|()| None)?)
}

fn switched(result: Result<SessionSwitched, AgentError>) -> HandlerResult {
    let SessionSwitched { editor, session, .. } = result?;
    data(&SwitchedView { cancelled: false, text: editor.unwrap_or_default(), session_id: session })
}

fn images(params: Vec<ImageParam>) -> Vec<Image> {
    params.into_iter().map(|image| image.0).collect()
}

fn prompt_options(images: Vec<ImageParam>, kind: Option<QueueKind>) -> PromptOptions {
    let streaming_behavior = kind.map(|kind| match kind {
        QueueKind::Steer => StreamingBehavior::Steer,
        QueueKind::FollowUp => StreamingBehavior::FollowUp,
    });
    PromptOptions { streaming_behavior, images: self::images(images), ..PromptOptions::default() }
}

fn switch(enabled: bool) -> Switch {
    if enabled { Switch::On } else { Switch::Off }
}

fn branch_summary(summary: Option<SummaryParam>, instructions: Option<String>) -> BranchSummary {
    match summary {
        None | Some(SummaryParam::Generate(false)) => BranchSummary::None,
        Some(SummaryParam::Generate(true)) => BranchSummary::Made { instructions },
        Some(SummaryParam::Text(text)) => BranchSummary::Text(text),
    }
}

fn elicitation_answer(action: ElicitationAction, content: Map<String, Value>) -> ElicitationAnswer {
    match action {
        ElicitationAction::Accept => ElicitationAnswer::Accept(content),
        ElicitationAction::Decline => ElicitationAnswer::Decline,
        ElicitationAction::Cancel => ElicitationAnswer::Cancel,
    }
}

impl Handler {
    pub(super) fn new(agent: AgentSession, options: RpcOptions) -> Self {
        Self { agent, options }
    }

    pub(super) async fn handle(&self, command: RpcCommand) -> ResponseOutcome {
        self.run(command).await.map_err(|error| error.text())
    }

    #[allow(clippy::too_many_lines, reason = "one arm a command, so that none is without an action")]
    async fn run(&self, command: RpcCommand) -> HandlerResult {
        let agent = &self.agent;
        match command {
            RpcCommand::Prompt { message, images, streaming_behavior } => {
                no_data(agent.prompt(message, prompt_options(images, streaming_behavior)).await)
            }
            RpcCommand::Steer { message, images } => {
                no_data(agent.prompt(message, prompt_options(images, Some(QueueKind::Steer))).await)
            }
            RpcCommand::FollowUp { message, images } => {
                no_data(agent.prompt(message, prompt_options(images, Some(QueueKind::FollowUp))).await)
            }
            RpcCommand::SteerNow { message: Some(message), images } => {
                no_data(agent.steer_now(message, prompt_options(images, Some(QueueKind::Steer))).await)
            }
            RpcCommand::SteerNow { message: None, .. } => no_data(agent.deliver_steering_now().await),
            RpcCommand::GetState {} => self.state().await,
            RpcCommand::GetSnapshot {} => self.snapshot().await,
            RpcCommand::GetSettings {} => data(&self.options.settings),
            RpcCommand::GetMessages {} => data(&json!({"messages": agent.messages().await?})),
            RpcCommand::GetEntries { since, agent_id } => self.entries(since, agent_id).await,
            RpcCommand::GetTree {} => self.tree().await,
            RpcCommand::GetAvailableModels {} => self.models().await,
            RpcCommand::GetAvailableThinkingLevels {} => {
                data(&json!({"levels": agent.thinking_levels().await?}))
            }
            RpcCommand::GetSessionStats {} => self.stats().await,
            RpcCommand::GetForkMessages {} => self.fork_messages().await,
            RpcCommand::GetLastAssistantText {} => data(&json!({"text": agent.last_answer_text().await?})),
            RpcCommand::GetCommands {} => self.commands().await,
            RpcCommand::ListSessions { scope, query: None } => {
                data(&SessionListView::from(&agent.sessions(scope.into()).await?))
            }
            RpcCommand::ListSessions { scope, query: Some(terms) } => self.search(scope.into(), terms).await,
            RpcCommand::SetModel { provider, model_id } => {
                let model = agent.set_model(format!("{provider}/{model_id}")).await?;
                data(&self.model(&model).await?)
            }
            RpcCommand::CycleModel {} => self.cycle_model().await,
            RpcCommand::SetThinkingLevel { level } => {
                data(&json!({"level": agent.set_thinking(level).await?}))
            }
            RpcCommand::CycleThinkingLevel {} => {
                data(&agent.cycle_thinking().await?.map(|level| json!({"level": level})))
            }
            RpcCommand::SetSteeringMode { mode } => no_data(agent.set_steering_mode(mode.into()).await),
            RpcCommand::SetFollowUpMode { mode } => no_data(agent.set_follow_up_mode(mode.into()).await),
            RpcCommand::SetAutoCompaction { enabled } => {
                no_data(agent.set_auto_compaction(switch(enabled)).await)
            }
            RpcCommand::SetAutoRetry { enabled } => no_data(agent.set_auto_retry(switch(enabled)).await),
            RpcCommand::SetApprovals { enabled } => {
                no_data(agent.set_approver(if enabled { Approver::Present } else { Approver::Absent }).await)
            }
            RpcCommand::SetApprovalMode { mode } => no_data(agent.set_approval(mode.0).await),
            RpcCommand::TogglePlan {} => self.toggle_plan().await,
            RpcCommand::SetAgentDeltas { enabled } => no_data(agent.set_agent_deltas(switch(enabled)).await),
            // The outbox handles it, because it writes the events.
            RpcCommand::SetDeltas { .. } => Ok(None),
            RpcCommand::GetQueue {} => data(&QueueView::from(&*agent.snapshot().await?.in_progress.queue)),
            RpcCommand::EditQueued { queue_id, message, images, kind, place } => {
                let images = images.map(self::images);
                let edit = QueueEdit { text: message, images, kind, place };
                data(&agent.edit_queued(queue_id, edit).await?)
            }
            RpcCommand::RemoveQueued { queue_id } => data(&agent.remove_queued(queue_id).await?),
            RpcCommand::ReleaseQueued { queue_id } => no_data(agent.release_queued(queue_id).await),
            RpcCommand::ClearQueue { kind } => data(&QueueView::from(&*agent.clear_queue(kind).await?)),
            RpcCommand::NewSession { parent_session: None } => switched(agent.new_session().await),
            RpcCommand::NewSession { parent_session: Some(parent) } => {
                switched(agent.new_session_after(parent).await)
            }
            RpcCommand::SwitchSession { session_path } => switched(agent.open_session(session_path).await),
            RpcCommand::Fork { entry_id } => switched(agent.fork(entry_id).await),
            RpcCommand::Clone {} => switched(agent.clone_session().await),
            RpcCommand::Navigate { entry_id, summary, instructions } => {
                switched(agent.navigate(entry_id, branch_summary(summary, instructions)).await)
            }
            RpcCommand::SetLabel { entry_id, label } => {
                no_data(agent.label(entry_id, label.filter(|label| !label.is_empty())).await)
            }
            RpcCommand::Hide { entry_id, hidden } => {
                let visibility = if hidden.unwrap_or(true) { Visibility::Hidden } else { Visibility::Shown };
                no_data(agent.hide(entry_id, visibility).await)
            }
            RpcCommand::SetSessionName { name } => no_data(agent.rename(name.0.trim().to_owned()).await),
            RpcCommand::ExportHtml { output_path } => self.export(output_path).await,
            RpcCommand::Abort {} => data(&json!({"queue": QueueView::from(&*agent.abort().await?)})),
            RpcCommand::AbortRetry {} => no_data(agent.abort_retry().await),
            RpcCommand::AbortBash {} => no_data(agent.abort_bash().await),
            RpcCommand::GetJobs {} => data(&json!({"jobs": agent.background_jobs().await?})),
            RpcCommand::StopJob { job_id } => no_data(agent.stop_background_job(job_id).await),
            RpcCommand::MoveToBackground {} => no_data(agent.move_to_background().await),
            RpcCommand::GetAgents {} => self.agents().await,
            RpcCommand::SteerAgent { agent_id, message } => {
                no_data(agent.running_agent(agent_id).await?.steer(message.0).await)
            }
            RpcCommand::AbortAgent { agent_id } => {
                no_data(agent.running_agent(agent_id).await?.interrupt().await)
            }
            RpcCommand::Bash { command, exclude_from_context } => {
                let context = if exclude_from_context { BashContext::Exclude } else { BashContext::Include };
                data(&agent.execute_bash(command.0, context).await?)
            }
            RpcCommand::Truncate {} => data(&agent.truncate().await?),
            RpcCommand::Compact { custom_instructions } => data(&agent.compact(custom_instructions).await?),
            RpcCommand::AbortCompaction {} => no_data(agent.abort_compaction().await),
            RpcCommand::ResolveCompaction { choice } => no_data(agent.resolve_compaction(choice).await),
            RpcCommand::Approve { call_id, decision, reason, patterns, scope } => {
                match decision.with_reason(reason) {
                    Some(decision) => no_data(agent.decide(call_id, decision).await),
                    None => self.save_rules(&call_id, patterns, scope.unwrap_or_default()).await,
                }
            }
            RpcCommand::AnswerElicitation { elicitation_id, action, content } => {
                let answer = elicitation_answer(action, content);
                no_data(agent.answer_elicitation(elicitation_id, answer).await)
            }
            RpcCommand::Reload {} => self.reload().await,
        }
    }

    async fn toggle_plan(&self) -> HandlerResult {
        let plan = self.agent.toggle_plan().await?;
        let mode = self.agent.state().await?.state.approval;
        data(&json!({"approvalMode": mode, "plan": plan}))
    }

    /// Reads the resources and the rules again.
    async fn reload(&self) -> HandlerResult {
        let resources = self.agent.reload().await?;
        if let Some(store) = &self.options.rules {
            self.agent.reload_rules(store).await?;
        }
        data(&json!({
            "skills": resources.skills,
            "templates": resources.templates,
            "contextFiles": resources.context_files,
            "problems": resources.problems,
        }))
    }

    /// Saves rules that allow a pending call: the given ones, or else the proposed ones.
    async fn save_rules(
        &self,
        call: &CallId,
        patterns: Option<Vec<String>>,
        scope: RuleScopeParam,
    ) -> HandlerResult {
        let requests = self.agent.snapshot().await?.in_progress.approvals;
        let request = requests.into_iter().find(|request| request.tool_call_id == *call);
        let request = request.ok_or(AgentError::NotFound("pending approval request for that call"))?;
        let other = |text: &str| HandlerError::Other(text.to_owned());
        let proposed = request.proposed.ok_or_else(|| other("no rule can allow this call"))?;
        let patterns = patterns.unwrap_or_else(|| proposed.patterns.clone());
        if patterns.is_empty() && !proposed.patterns.is_empty() {
            return Err(other("`match` is empty: the rule would cover every call of the tool"));
        }
        let store = self.options.rules.as_ref().ok_or_else(|| other("rules can't be saved here"))?;
        let waiting =
            self.agent.save_rules(store, scope.into(), ProposedRules { patterns, ..proposed }).await?;
        data(&json!({"isPending": waiting.contains(call)}))
    }

    async fn cycle_model(&self) -> HandlerResult {
        let Some(chosen) = self.agent.cycle_model(CycleDirection::Forward).await? else {
            return data(&Value::Null);
        };
        data(&json!({
            "model": self.model(&chosen.model).await?,
            "thinkingLevel": chosen.thinking,
            "isScoped": chosen.scope == CycleScope::Listed,
        }))
    }

    /// Stops running work and waits for its end. Queued messages stay in the session's log, on hold.
    pub(super) async fn stop_work(&self) -> Result<(), AgentError> {
        let mut events = self.agent.subscribe();
        let mut interrupted = false;
        loop {
            let live = self.agent.snapshot().await?.in_progress;
            if live.running_since.is_none() && live.bash.is_none() && live.summary.is_none() {
                return Ok(());
            }
            if !std::mem::replace(&mut interrupted, true) {
                self.agent.interrupt().await?;
            }
            // Every end has an event, except that of a summary nobody waits for.
            let _ = timeout(CHECK_INTERVAL, events.next()).await;
        }
    }

    async fn export(&self, output: Option<String>) -> HandlerResult {
        let Some(exporter) = self.options.exporter.clone() else {
            return Err(HandlerError::Other("export is not available here".to_owned()));
        };
        // Before any await, because the next command may open another session.
        let reader = self.agent.reader();
        let cwd = self.agent.snapshot().await?.state.cwd;
        let path =
            blocking(move || exporter.export(&reader, &cwd, output.as_deref()).map_err(HandlerError::Other));
        data(&json!({"path": path.await?}))
    }
}

/// Runs heavy file work on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HandlerError> + Send + 'static,
) -> Result<T, HandlerError> {
    let outcome = tokio::task::spawn_blocking(work).await;
    outcome.unwrap_or_else(|error| Err(HandlerError::Other(error.to_string())))
}
