//! The tracer and the metrics that every session of a process shares.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry::KeyValue;
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use tiller_core::message::{AssistantMessage, StopReason};
use tiller_core::unit::{Tokens, UnixMs};

use crate::ContentExport;

/// The instrumentation's name.
const SCOPE: &str = "tiller";

/// Bucket boundaries that the conventions advise for tokens.
const TOKEN_BOUNDARIES: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];

/// Bucket boundaries that the conventions advise for durations, in seconds.
const DURATION_BOUNDARIES: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// The tracer and the metrics.
#[derive(Debug)]
pub(crate) struct Instruments {
    pub(crate) tracer: SdkTracer,
    pub(crate) content: ContentExport,
    token_usage: Histogram<u64>,
    duration: Histogram<f64>,
}

impl Instruments {
    pub(crate) fn new(
        traces: &SdkTracerProvider,
        metrics: &SdkMeterProvider,
        content: ContentExport,
    ) -> Self {
        let meter = metrics.meter(SCOPE);
        let token_usage = meter
            .u64_histogram("gen_ai.client.token.usage")
            .with_unit("{token}")
            .with_description("Number of input and output tokens used")
            .with_boundaries(TOKEN_BOUNDARIES.to_vec());
        let duration = meter
            .f64_histogram("gen_ai.client.operation.duration")
            .with_unit("s")
            .with_description("Duration of a request to a model")
            .with_boundaries(DURATION_BOUNDARIES.to_vec());
        Self {
            tracer: traces.tracer(SCOPE),
            content,
            token_usage: token_usage.build(),
            duration: duration.build(),
        }
    }

    /// Adds a request to the metrics.
    pub(crate) fn count_request(&self, answer: &AssistantMessage, end: UnixMs) {
        let common = [
            KeyValue::new("gen_ai.operation.name", "chat"),
            KeyValue::new("gen_ai.provider.name", provider_name(&answer.provider)),
            KeyValue::new("gen_ai.request.model", answer.model.clone()),
        ];
        let with = |more: Option<KeyValue>| common.iter().cloned().chain(more).collect::<Vec<_>>();
        let error = error_type(answer.stop_reason).map(|error| KeyValue::new("error.type", error));
        let seconds = u64::try_from(end.0 - answer.timestamp.0).unwrap_or_default() as f64 / 1_000.0;
        self.duration.record(seconds, &with(error));
        let usage = &answer.usage;
        for (kind, tokens) in [("input", input_tokens(answer)), ("output", usage.output)] {
            if tokens > Tokens(0) {
                self.token_usage.record(tokens.0, &with(Some(KeyValue::new("gen_ai.token.type", kind))));
            }
        }
    }
}

/// The input tokens as the conventions count them: cached ones included.
pub(crate) fn input_tokens(answer: &AssistantMessage) -> Tokens {
    answer.usage.input + answer.usage.cache_read + answer.usage.cache_write
}

/// The conventions' name of a provider; tiller's own where they have none.
pub(crate) fn provider_name(provider: &str) -> String {
    match provider {
        "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "bedrock" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "xai" => "x_ai",
        "mistral" => "mistral_ai",
        provider => provider,
    }
    .to_owned()
}

/// The kind of error of an answer that isn't complete.
pub(crate) const fn error_type(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::Error => Some("provider_error"),
        StopReason::Aborted => Some("aborted"),
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => None,
    }
}

/// Converts a time of an event.
pub(crate) fn system_time(time: UnixMs) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(time.0).unwrap_or_default())
}
