//! Translates the events of a session into spans and metrics.

use std::collections::HashMap;
use std::sync::Arc;

use tiller_core::event::{Event, EventKind};
use tiller_core::id::SessionId;

use crate::agent_spans::{AgentIdentity, AgentSpans};
use crate::instruments::Instruments;

/// The name of the session's own agent.
const MAIN_AGENT: &str = "tiller";

/// Records a session: a trace for each run, with its requests and tool calls, and the runs of agents below the calls
/// that delegated to them.
pub struct SessionRecorder {
    instruments: Arc<Instruments>,
    conversation: SessionId,
    /// By the agent's session; `None` for the session's own agent.
    agents: HashMap<Option<SessionId>, AgentSpans>,
}

impl SessionRecorder {
    pub(crate) fn new(instruments: Arc<Instruments>, conversation: SessionId) -> Self {
        let agents = HashMap::from([(None, AgentSpans::new(MAIN_AGENT, None))]);
        Self { instruments, conversation, agents }
    }

    /// Records an event.
    pub fn observe(&mut self, event: &Event) {
        let (agent, event) = match &event.kind {
            EventKind::AgentEvent { agent_id, event, .. } => (Some(agent_id.clone()), &**event),
            _ => (None, event),
        };
        match &event.kind {
            EventKind::SessionChanged { session_id, .. } if agent.is_none() => {
                self.conversation = session_id.clone();
            }
            EventKind::AgentTaskStart(task) => {
                let delegator = self.agents.get(&agent);
                let parent = delegator.and_then(|spans| spans.context(task.tool_call_id.as_ref()));
                self.agents.insert(Some(task.agent_id.clone()), AgentSpans::new(&task.name, parent));
            }
            EventKind::AgentTaskEnd(end) => {
                if let Some(spans) = self.agents.remove(&Some(end.agent_id.clone())) {
                    spans.close(event.time);
                }
            }
            _ => {
                if let Some(spans) = self.agents.get_mut(&agent) {
                    let identity = AgentIdentity { conversation: &self.conversation, agent: agent.as_ref() };
                    spans.observe(event, &self.instruments, &identity);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use opentelemetry_sdk::metrics::data::{AggregatedMetrics, MetricData};
    use opentelemetry_sdk::metrics::{InMemoryMetricExporter, SdkMeterProvider};
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
    use serde_json::{Value, json};

    use super::*;
    use crate::ContentExport;

    const SECRET: &str = "top secret";

    /// Records a run of the session that delegates to an agent; times are in milliseconds.
    fn events() -> Vec<Event> {
        let answer = |model: &str, sent: i64, stop_reason: &str| {
            json!({"role": "assistant", "provider": "gemini", "model": model, "stopReason": stop_reason,
                "content": [{"type": "text", "text": SECRET}], "timestamp": sent,
                "usage": {"input": 10, "cacheRead": 5, "cacheWrite": 1, "output": 7}})
        };
        let of_agent = |event: Value| {
            json!({"type": "agent_event", "agentId": "child", "parentId": "main", "name": "explore",
                "event": event})
        };
        let prompt = json!({"role": "user", "content": SECRET});
        let result = json!({"content": [{"type": "text", "text": SECRET}]});
        let call = |kind: &str| {
            json!({"type": kind, "toolCallId": "c1", "toolName": "delegate_to_agent",
                "args": {"task": SECRET}, "result": result, "isError": true})
        };
        let end = |outcome: &str| json!({"type": "agent_end", "messages": [], "willRetry": false, "outcome": outcome});
        let task = json!({"type": "agent_task_start", "agentId": "child", "name": "explore", "task": SECRET,
            "toolCallId": "c1"});
        let start = json!({"type": "agent_start", "seq": 1, "time": 40});
        let message =
            |message: Value| json!({"type": "message_end", "message": message, "seq": 1, "time": 50});
        let kinds = [
            json!({"type": "agent_start"}),
            json!({"type": "message_end", "message": prompt}),
            json!({"type": "message_end", "message": answer("big", 10, "toolUse")}),
            call("tool_execution_start"),
            task,
            of_agent(start),
            of_agent(message(answer("small", 45, "error"))),
            json!({"type": "agent_task_end", "agentId": "child"}),
            call("tool_execution_end"),
            end("completed"),
        ];
        let event = |(at, mut kind): (i64, Value)| {
            kind["seq"] = json!(at);
            kind["time"] = json!(at * 10);
            serde_json::from_value(kind).unwrap()
        };
        (1..).zip(kinds).map(event).collect()
    }

    fn record(content: ContentExport) -> (Vec<SpanData>, InMemoryMetricExporter) {
        let (spans, measurements) = (InMemorySpanExporter::default(), InMemoryMetricExporter::default());
        let traces = SdkTracerProvider::builder().with_simple_exporter(spans.clone()).build();
        let metrics = SdkMeterProvider::builder().with_periodic_exporter(measurements.clone()).build();
        let instruments = Arc::new(Instruments::new(&traces, &metrics, content));
        let mut recorder = SessionRecorder::new(instruments, "main".into());
        events().iter().for_each(|event| recorder.observe(event));
        metrics.force_flush().unwrap();
        (spans.get_finished_spans().unwrap(), measurements)
    }

    fn attributes(span: &SpanData) -> BTreeMap<String, String> {
        let pairs = span.attributes.iter();
        pairs.map(|pair| (pair.key.to_string(), pair.value.to_string())).collect()
    }

    #[test]
    fn recorder_nests_requests_calls_and_agents_below_the_run() {
        let (spans, _) = record(ContentExport::Omitted);
        let name = |span: &SpanData| span.name.to_string();
        let parent = |span: &SpanData| {
            spans.iter().find(|other| other.span_context.span_id() == span.parent_span_id).map(name)
        };
        let milliseconds =
            |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
        let seen: Vec<_> = spans
            .iter()
            .map(|span| {
                let error = attributes(span).get("error.type").cloned();
                (name(span), parent(span), milliseconds(span.start_time), milliseconds(span.end_time), error)
            })
            .collect();
        let row = |name: &str, parent: Option<&str>, start, end, error: Option<&str>| {
            (name.to_owned(), parent.map(str::to_owned), start, end, error.map(str::to_owned))
        };
        let delegation = "execute_tool delegate_to_agent";
        assert_eq!(
            seen,
            [
                row("chat big", Some("invoke_agent tiller"), 10, 30, None),
                row("chat small", Some("invoke_agent explore"), 45, 50, Some("provider_error")),
                row("invoke_agent explore", Some(delegation), 40, 80, Some("aborted")),
                row(delegation, Some("invoke_agent tiller"), 40, 90, Some("tool_error")),
                row("invoke_agent tiller", None, 10, 100, None),
            ]
        );
        let trace = spans[0].span_context.trace_id();
        assert!(spans.iter().all(|span| span.span_context.trace_id() == trace), "one trace for a run");
        let request = attributes(&spans[0]);
        let value = |key: &str| request.get(key).map(String::as_str);
        assert_eq!(value("gen_ai.provider.name"), Some("gcp.gemini"));
        assert_eq!(value("gen_ai.conversation.id"), Some("main"));
        assert_eq!(value("gen_ai.usage.input_tokens"), Some("16"), "cached tokens are input");
        assert_eq!(value("gen_ai.response.finish_reasons"), Some("[\"tool_call\"]"));
        assert_eq!(attributes(&spans[2]).get("gen_ai.agent.id").map(String::as_str), Some("child"));
    }

    #[test]
    fn recorder_sends_content_only_where_asked() {
        let (omitted, _) = record(ContentExport::Omitted);
        assert!(!format!("{omitted:?}").contains(SECRET));
        let (included, _) = record(ContentExport::Included);
        let with = |key: &str| {
            let has_secret =
                |span: &&SpanData| attributes(span).get(key).is_some_and(|value| value.contains(SECRET));
            included.iter().filter(has_secret).map(|span| span.name.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(with("gen_ai.output.messages"), ["chat big", "chat small"]);
        assert_eq!(with("gen_ai.input.messages"), ["invoke_agent tiller"]);
        assert_eq!(with("gen_ai.tool.call.arguments"), ["execute_tool delegate_to_agent"]);
        assert_eq!(with("gen_ai.tool.call.result"), ["execute_tool delegate_to_agent"]);
    }

    #[test]
    fn recorder_counts_tokens_and_seconds_of_each_request() {
        let (_, exporter) = record(ContentExport::Omitted);
        let mut seen = Vec::new();
        // A second export comes with the end of the provider.
        for resource in exporter.get_finished_metrics().unwrap().iter().take(1) {
            for metric in resource.scope_metrics().flat_map(|scope| scope.metrics()) {
                let name = metric.name();
                match metric.data() {
                    AggregatedMetrics::U64(MetricData::Histogram(histogram)) => {
                        seen.extend(histogram.data_points().map(|point| {
                            let kind =
                                point.attributes().find(|pair| pair.key.as_str() == "gen_ai.token.type");
                            format!("{name} {} {}", kind.unwrap().value, point.sum())
                        }));
                    }
                    AggregatedMetrics::F64(MetricData::Histogram(histogram)) => {
                        seen.extend(histogram.data_points().map(|point| format!("{name} {}", point.sum())));
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        seen.sort();
        let tokens = |kind: &str, count: u64| format!("gen_ai.client.token.usage {kind} {count}");
        assert_eq!(
            seen,
            [
                "gen_ai.client.operation.duration 0.005".to_owned(),
                "gen_ai.client.operation.duration 0.02".to_owned(),
                tokens("input", 16),
                tokens("input", 16),
                tokens("output", 7),
                tokens("output", 7),
            ]
        );
    }
}
