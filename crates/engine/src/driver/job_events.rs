//! Handling of job events.

use serde_json::json;
use tiller_core::ansi::StyledText;
use tiller_core::event::{EventKind, ToolOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{AssistantMessage, StopReason, ToolCall, ToolResultMessage, UserBlock};
use tiller_core::suggest;
use tiller_provider::{FailureKind, ProviderError, StreamEvent};
use tiller_tools::tool::{ArgumentDiagnostic, Tool, describe_malformed, repair};

use super::Driver;
use super::clock::jitter;
use super::commands::send_reply;
use super::job_event::JobEvent;
use crate::foreign_tools::own_name;
use crate::message_builder::MessageUpdate;
use crate::retry::{self, Attempts};
use crate::turn::{AfterFailure, CallDecision, Input, PartialOutput, PlannedCall, TurnNumber};

/// Checks the arguments of a call.
fn check(call: &ToolCall, tool: &dyn Tool) -> Result<(), String> {
    match &call.raw_arguments {
        Some(raw) => Err(describe_malformed(raw)),
        None => tool.check(&call.arguments),
    }
}

fn refuse(reason: String, problems: &[ArgumentDiagnostic]) -> CallDecision {
    CallDecision::Refuse { reason, details: Some(json!({ "diagnostics": problems })) }
}

/// Returns the tool that a call with an unknown name means. Some models put a namespace before a name, leave out the
/// prefix of a server's tool, or know tools of other programs.
fn nearest_tool<'a>(name: &str, names: &[&'a str]) -> Option<&'a str> {
    let plain = name.rsplit('.').next().unwrap_or(name);
    let find = |is_meant: &dyn Fn(&str) -> bool| names.iter().copied().find(|name| is_meant(name));
    let known = own_name(plain).and_then(|own| find(&|name| name == own));
    let without_prefix = || find(&|name| !plain.is_empty() && name.ends_with(&format!("__{plain}")));
    known.or_else(without_prefix).or_else(|| suggest::nearest(plain, names.iter().copied()))
}

/// Returns the call with repaired arguments, if the arguments are invalid and the repair makes them valid.
fn repaired(call: &ToolCall, tool: &dyn Tool) -> ToolCall {
    let given = match &call.raw_arguments {
        Some(raw) => serde_json::from_str(raw).unwrap_or_default(),
        None => call.arguments.clone(),
    };
    let arguments = check(call, tool).err().and_then(|_| repair(&tool.spec().parameters, &given));
    let call = call.clone();
    match arguments.map(|arguments| ToolCall { arguments, raw_arguments: None, ..call.clone() }) {
        Some(repaired) if repaired.arguments.is_object() && check(&repaired, tool).is_ok() => repaired,
        _ => call,
    }
}

impl Driver {
    pub(super) fn handle_job_event(&mut self, report: JobEvent) {
        match report {
            JobEvent::StreamPart { turn, part } if self.turn.streaming() == Some(turn) => match part {
                Ok(part) => self.stream_event(turn, part),
                Err(error) => self.request_failed(turn, &error),
            },
            JobEvent::StreamEnded { turn } if self.turn.streaming() == Some(turn) => {
                let provider = self.active.requested_model.provider.clone();
                let message = "the stream ended before the answer was complete".to_owned();
                self.request_failed(
                    turn,
                    &ProviderError { provider, failure: FailureKind::Interrupted, message, hint: None },
                );
            }
            JobEvent::RequestOpened { turn, tool_choice, before, after } => {
                self.request_opened((turn, tool_choice), &before, *after);
            }
            JobEvent::AgentLogsRead { session, logged, reply } => {
                self.agent_logs_read(&session, &logged, reply);
            }
            JobEvent::Spending { turn, tool_choice, event } => self.spending_event(turn, tool_choice, event),
            JobEvent::Previewed(request) => self.previewed(request),
            JobEvent::CallsReviewed { turn, reviewed } => self.calls_reviewed(turn, reviewed),
            JobEvent::SessionStarted { number, texts } => self.session_started(number, texts),
            JobEvent::PromptReviewed { number, verdict } => self.prompt_reviewed(number, verdict),
            JobEvent::PromptDelayed => self.announce_delay(),
            JobEvent::EndReviewed { turn, instruction } => {
                let verdict = self.end_verdict(instruction);
                self.apply(Input::EndReviewed { turn, verdict });
            }
            JobEvent::CommandEnded { id, outcome } => self.command_ended(id, outcome),
            JobEvent::AgentEvent { agent, event } => self.agent_event(&agent, &event),
            JobEvent::AgentMissed { agent, snapshot } => self.agent_missed_events(&agent, &snapshot),
            JobEvent::AgentEnded { task, reply } => {
                let result = self.agent_ended(task);
                send_reply(reply, result);
            }
            JobEvent::BackgroundJobsChanged => self.background_jobs_changed(),
            JobEvent::ExtensionWarning(warning) => self.bus.warn_unlogged(warning),
            JobEvent::ToolServers(event) => self.tool_servers_event(event),
            JobEvent::ServerQuestion(question) => self.elicit(question),
            JobEvent::ElicitationEnded(id) => self.elicitation_ended(&id),
            JobEvent::ResourcesAttached { number, blocks } => self.resources_attached(number, blocks),
            JobEvent::RetryDue { turn } => self.apply(Input::RetryDue { turn }),
            JobEvent::Summary { number, event } => self.summary_event(number, event),
            JobEvent::StreamPart { .. } | JobEvent::StreamEnded { .. } => {}
            JobEvent::ToolProgress { call, printed } => self.tool_progress(&call, printed),
            JobEvent::ToolEnded { turn, result, warning } => self.handle_tool_end(turn, result, warning),
            JobEvent::BashOutput { id, delta, output } => self.bash_output(&id, delta, *output),
            JobEvent::BashEnded { id, end } => self.bash_ended(&id, end),
            JobEvent::ResourcesRead(read) => self.resources_read(read),
            JobEvent::Synced(result) => self.synced(result),
        }
    }

    fn stream_event(&mut self, turn: TurnNumber, part: StreamEvent) {
        let Some(partial) = &mut self.partial else { return };
        if let StreamEvent::Call { name, .. } = &part
            && let Some(tool) = self.services.tools.find(name)
        {
            tool.prepare();
        }
        for update in partial.apply(part) {
            match update {
                MessageUpdate::Delta(delta) => {
                    let usage =
                        self.partial.as_ref().map(|partial| partial.usage().clone()).unwrap_or_default();
                    self.bus.emit(EventKind::MessageUpdate { usage, assistant_message_event: delta });
                }
                MessageUpdate::Trace(name, data) => {
                    self.bus.emit(EventKind::Trace { name: name.to_owned(), data })
                }
                MessageUpdate::Finished(stop_reason) => {
                    let mut answer = self.partial_answer();
                    answer.stop_reason = stop_reason;
                    self.request_answered(turn, answer);
                }
            }
        }
    }

    fn request_failed(&mut self, turn: TurnNumber, error: &ProviderError) {
        self.lower_window(error);
        let mut answer = self.partial_answer();
        answer.stop_reason = StopReason::Error;
        let has_compacted = self.turn.has_compacted() || !self.summaries.machine.options().is_automatic();
        let tried = Attempts { retries: self.turn.retries(), has_compacted };
        let (action, notice) = retry::decide(error.failure, tried, &self.retry, jitter());
        let action = if action == AfterFailure::GiveUp { self.switch_or_give_up(error) } else { action };
        let notice = notice.map(|notice| format!("; {notice}")).unwrap_or_default();
        answer.error_message = Some(format!("{}{notice}", error.message_with_hint()));
        self.jobs.stop_stream();
        self.partial = None;
        self.apply(Input::Failed { turn, answer, action });
    }

    /// Returns the partial answer with its cost.
    pub(super) fn partial_answer(&self) -> AssistantMessage {
        let mut answer = self.partial.as_ref().map(|partial| partial.message()).unwrap_or_default();
        answer.usage.cost = self.active.requested_model.cost(&answer.usage);
        answer.usage.total_tokens = answer.usage.total();
        answer
    }

    /// Returns the partial output of all work in progress.
    pub(super) fn partial_output(&self) -> PartialOutput {
        PartialOutput {
            answer: self.partial.as_ref().map(|_| self.partial_answer()),
            calls: self.jobs.partial_results(),
        }
    }

    fn request_answered(&mut self, turn: TurnNumber, answer: AssistantMessage) {
        self.services.options.limits.add(&answer.usage);
        self.agents.all.add(&answer.usage);
        let facts = &self.active.requested_model;
        if retry::is_silent_overflow(&answer, facts.window) {
            let message =
                format!("no room for an answer: the conversation fills the context window of {}", facts.id);
            let provider = facts.provider.clone();
            let error = ProviderError { provider, failure: FailureKind::Overflow, message, hint: None };
            return self.request_failed(turn, &error);
        }
        self.jobs.stop_stream();
        self.partial = None;
        self.apply(Input::Answered { turn, answer });
    }

    /// Decides on a call: the tool must exist, the arguments must be valid, then the policy decides.
    pub(super) fn plan(&mut self, call: &ToolCall) -> PlannedCall {
        let Some(tool) = self.offered_tools().find(&call.name) else {
            let decision = self.refuse_unknown(&call.name);
            return PlannedCall { call: call.clone(), decision };
        };
        let call = repaired(call, &*tool);
        let decision = match check(&call, &*tool) {
            Ok(()) => {
                let source = self.offered_tools().source(&call.name).cloned();
                let decision = self.approvals.plan(&call, tool.spec(), source.as_ref());
                if tool.spec().traits.never_parallel { decision.alone() } else { decision }
            }
            Err(reason) => {
                let problems = match &call.raw_arguments {
                    Some(raw) => vec![ArgumentDiagnostic::malformed(raw)],
                    None => ArgumentDiagnostic::list(&tool.spec().parameters, &call.arguments, &reason),
                };
                refuse(format!("invalid arguments: {reason}"), &problems)
            }
        };
        PlannedCall { call, decision }
    }

    /// Returns the refusal of a call whose tool doesn't exist.
    fn refuse_unknown(&self, name: &str) -> CallDecision {
        let specs = self.offered_tools().specs();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
        let hint = nearest_tool(name, &names)
            .map(|nearest| format!("did you mean `{nearest}`? "))
            .unwrap_or_default();
        let reason = format!("unknown tool `{name}`; {hint}available: {}", names.join(", "));
        refuse(reason, &[ArgumentDiagnostic::unknown_tool(name, &names)])
    }

    fn tool_progress(&mut self, call: &CallId, StyledText { text, style_runs }: StyledText) {
        let Some(running) = self.jobs.call_mut(call) else { return };
        let details = (!style_runs.is_empty()).then(|| json!({ "strokes": style_runs }));
        running.partial = ToolOutcome { content: vec![UserBlock::Text { text }], details };
        let update = EventKind::ToolExecutionUpdate {
            tool_call_id: call.clone(),
            tool_name: running.name.clone(),
            args: running.arguments.clone(),
            partial_result: running.partial.clone(),
        };
        self.bus.emit(update);
    }

    fn handle_tool_end(&mut self, turn: TurnNumber, mut result: ToolResultMessage, warning: Option<String>) {
        let arguments = self.jobs.call_mut(&result.tool_call_id).map(|running| running.arguments.clone());
        self.note_rewrite(&mut result, arguments);
        self.approvals.open_outside_path(&[]);
        if let Some(warning) = warning {
            self.bus.warn(warning);
        }
        self.apply(Input::ToolEnded { turn, result });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_tool_ignores_namespaces_and_finds_missing_prefixes() {
        let names = ["bash", "mcp__math__calc", "mcp__other__calc"];
        for (name, expected) in [
            ("bsh", Some("bash")),
            ("functions.bash", Some("bash")),
            ("Bash", Some("bash")),
            ("calc", Some("mcp__math__calc")),
            ("math__calc", Some("mcp__math__calc")),
            ("other__calc", Some("mcp__other__calc")),
            ("tools.", None),
            ("magic", None),
        ] {
            assert_eq!(nearest_tool(name, &names), expected, "{name}");
        }
    }
}
