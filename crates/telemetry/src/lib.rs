//! Telemetry: runs, requests and tool calls as OpenTelemetry spans, and their tokens and durations as metrics.
//!
//! Names and attributes follow the OpenTelemetry conventions for generative AI, version 1.41
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/>). A [`SessionRecorder`] translates the events of a session;
//! [`Telemetry`] sends the result to a collector over OTLP/HTTP. Without [`ContentExport::Included`], nothing that was typed,
//! answered, read or printed is sent: only names, counts, times and outcomes.

mod agent_spans;
mod collector_client;
mod content;
mod instruments;
mod session_recorder;
mod telemetry;

pub use instruments::ContentExport;
pub use session_recorder::SessionRecorder;
pub use telemetry::{Telemetry, TelemetryError};
