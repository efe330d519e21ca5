//! Telemetry: runs, requests and tool calls as OpenTelemetry spans, and their tokens and durations as metrics.
//!
//! Names and attributes follow the OpenTelemetry conventions for generative AI, version 1.41
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>). A [`SessionRecorder`] translates the events of a session;
//! [`Telemetry`] sends the result to a collector over OTLP/HTTP. Without [`ContentExport::Included`], nothing that was
//! typed, answered, read or printed is sent: only names, counts, times and outcomes.

#[cfg(not(feature = "otlp"))]
mod absent;
#[cfg(feature = "otlp")]
mod agent_spans;
#[cfg(feature = "otlp")]
mod collector_client;
#[cfg(feature = "otlp")]
mod content;
#[cfg(feature = "otlp")]
mod instruments;
#[cfg(feature = "otlp")]
mod session_recorder;
#[cfg(feature = "otlp")]
mod telemetry;

#[cfg(not(feature = "otlp"))]
pub use absent::{SessionRecorder, Telemetry, TelemetryError};
#[cfg(feature = "otlp")]
pub use session_recorder::SessionRecorder;
#[cfg(feature = "otlp")]
pub use telemetry::{Telemetry, TelemetryError};

/// The text of prompts, answers, arguments and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContentExport {
    /// It is part of the spans.
    Included,
    /// It stays in the process.
    Omitted,
}
