//! The open spans of one agent: the session's own, or one that works for it.

use std::collections::HashMap;

use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, SpanKind, Status, TraceContextExt as _, Tracer as _,
};
use opentelemetry::{Array, Context, KeyValue, StringValue, Value};
use opentelemetry_sdk::trace::Span;
use tiller_core::event::{Event, EventKind, RunOutcome};
use tiller_core::id::{CallId, SessionId};
use tiller_core::message::{AssistantMessage, Message};
use tiller_core::unit::UnixMs;

use crate::ContentExport;
use crate::content::{finish_reason, input_messages, output_messages, result_text};
use crate::instruments::{Instruments, error_type, input_tokens, provider_name, system_time};

/// An agent and the session that it works in, as attributes.
pub(crate) struct AgentIdentity<'a> {
    pub(crate) conversation: &'a SessionId,
    /// The agent's own session, if it works for another one.
    pub(crate) agent: Option<&'a SessionId>,
}

/// The open spans of an agent: `invoke_agent` for a run, below it `execute_tool` for each call.
pub(crate) struct AgentSpans {
    name: String,
    /// The call that delegated to the agent.
    parent: Option<SpanContext>,
    run: Option<Span>,
    calls: HashMap<CallId, Span>,
    compaction: Option<Span>,
}

impl AgentSpans {
    pub(crate) fn new(name: &str, parent: Option<SpanContext>) -> Self {
        Self { name: name.to_owned(), parent, run: None, calls: HashMap::new(), compaction: None }
    }

    /// The span of a call, or of the run: the parent of an agent that the call delegates to.
    pub(crate) fn context(&self, call: Option<&CallId>) -> Option<SpanContext> {
        let span = call.and_then(|call| self.calls.get(call)).or(self.run.as_ref());
        span.map(|span| span.span_context().clone())
    }

    pub(crate) fn observe(&mut self, event: &Event, instruments: &Instruments, identity: &AgentIdentity<'_>) {
        match &event.kind {
            EventKind::AgentStart if self.run.is_none() => self.start_run(event.time, instruments, identity),
            EventKind::AgentEnd { outcome, will_retry: false, .. } => self.end_run(*outcome, event.time),
            EventKind::MessageEnd { message } => match &**message {
                Message::Assistant(answer) => self.record_request(answer, event.time, instruments, identity),
                Message::User(prompt) => {
                    if let (Some(run), ContentExport::Included) = (&mut self.run, instruments.content) {
                        run.set_attribute(KeyValue::new("gen_ai.input.messages", input_messages(prompt)));
                    }
                }
                Message::ToolResult(_) | Message::BashExecution(_) | Message::System(_) => {}
            },
            EventKind::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let mut attributes = vec![
                    KeyValue::new("gen_ai.operation.name", "execute_tool"),
                    KeyValue::new("gen_ai.tool.name", tool_name.clone()),
                    KeyValue::new("gen_ai.tool.type", "function"),
                    KeyValue::new("gen_ai.tool.call.id", tool_call_id.to_string()),
                ];
                if instruments.content == ContentExport::Included {
                    attributes.push(KeyValue::new("gen_ai.tool.call.arguments", args.to_string()));
                }
                let builder = builder(format!("execute_tool {tool_name}"), SpanKind::Internal, event.time);
                let span = self.start(builder.with_attributes(attributes), instruments);
                self.calls.insert(tool_call_id.clone(), span);
            }
            EventKind::ToolExecutionEnd { tool_call_id, result, is_error, .. } => {
                let Some(mut span) = self.calls.remove(tool_call_id) else { return };
                if instruments.content == ContentExport::Included {
                    span.set_attribute(KeyValue::new("gen_ai.tool.call.result", result_text(result)));
                }
                end(span, is_error.then_some("tool_error"), event.time);
            }
            EventKind::CompactionStart { .. } => {
                let builder = builder("compact_context".to_owned(), SpanKind::Internal, event.time);
                self.compaction = Some(self.start(builder, instruments));
            }
            EventKind::CompactionEnd { error_message, aborted, .. } => {
                let Some(span) = self.compaction.take() else { return };
                let error = error_message.is_some().then_some("compaction_error");
                end(span, aborted.then_some("aborted").or(error), event.time);
            }
            _ => {}
        }
    }

    /// Ends the open spans of an agent that ended without an end event.
    pub(crate) fn close(mut self, time: UnixMs) {
        let calls = self.calls.into_values();
        calls.chain(self.compaction).chain(self.run.take()).for_each(|span| end(span, Some("aborted"), time));
    }

    fn start_run(&mut self, time: UnixMs, instruments: &Instruments, identity: &AgentIdentity<'_>) {
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "invoke_agent"),
            KeyValue::new("gen_ai.agent.name", self.name.clone()),
            KeyValue::new("gen_ai.conversation.id", identity.conversation.to_string()),
        ];
        attributes.extend(identity.agent.map(|id| KeyValue::new("gen_ai.agent.id", id.to_string())));
        let builder = builder(format!("invoke_agent {}", self.name), SpanKind::Internal, time);
        self.run = Some(self.start(builder.with_attributes(attributes), instruments));
    }

    fn end_run(&mut self, outcome: RunOutcome, time: UnixMs) {
        let Some(span) = self.run.take() else { return };
        let error = match outcome {
            RunOutcome::Completed => None,
            RunOutcome::Failed => Some("provider_error"),
            RunOutcome::Aborted => Some("aborted"),
            RunOutcome::MaxTurns => Some("max_turns"),
        };
        end(span, error, time);
    }

    /// Records the request that an answer ends; the answer has the time at which it was sent.
    fn record_request(
        &self,
        answer: &AssistantMessage,
        time: UnixMs,
        instruments: &Instruments,
        identity: &AgentIdentity<'_>,
    ) {
        let count = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
        let usage = &answer.usage;
        let reasons = Array::String(vec![StringValue::from(finish_reason(answer.stop_reason))]);
        let mut attributes = vec![
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", provider_name(&answer.provider)),
            KeyValue::new("gen_ai.request.model", answer.model.clone()),
            KeyValue::new("gen_ai.conversation.id", identity.conversation.to_string()),
            KeyValue::new("gen_ai.response.finish_reasons", Value::Array(reasons)),
            KeyValue::new("gen_ai.usage.input_tokens", count(input_tokens(answer).0)),
            KeyValue::new("gen_ai.usage.output_tokens", count(usage.output.0)),
            KeyValue::new("gen_ai.usage.cache_read.input_tokens", count(usage.cache_read.0)),
            KeyValue::new("gen_ai.usage.cache_creation.input_tokens", count(usage.cache_write.0)),
            KeyValue::new("tiller.usage.cost_usd", usage.cost.total.0),
        ];
        if instruments.content == ContentExport::Included {
            attributes.push(KeyValue::new("gen_ai.output.messages", output_messages(answer)));
        }
        let builder = builder(format!("chat {}", answer.model), SpanKind::Client, answer.timestamp);
        let span = self.start(builder.with_attributes(attributes), instruments);
        end(span, error_type(answer.stop_reason), time);
        instruments.count_request(answer, time);
    }

    /// Starts a span below the run, or a run below the call that delegated to the agent.
    fn start(&self, builder: SpanBuilder, instruments: &Instruments) -> Span {
        let parent = self.context(None).or_else(|| self.parent.clone());
        let context =
            parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent));
        instruments.tracer.build_with_context(builder, &context)
    }
}

fn builder(name: String, kind: SpanKind, start: UnixMs) -> SpanBuilder {
    SpanBuilder::from_name(name).with_kind(kind).with_start_time(system_time(start))
}

/// Ends a span, with the kind of error if it failed.
fn end(mut span: Span, error: Option<&'static str>, time: UnixMs) {
    if let Some(error) = error {
        span.set_attribute(KeyValue::new("error.type", error));
        span.set_status(Status::error(error));
    }
    span.end_with_timestamp(system_time(time));
}
