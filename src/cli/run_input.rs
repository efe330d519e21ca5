//! The inputs of a session.

use std::sync::Arc;

use super::args::CliArgs;
use super::telemetry::TelemetryExport;
use super::trace::EventTrace;
use crate::agent::AgentSession;
use crate::config::{Config, Project};

/// The inputs of a session. Shared, because the TUI opens sessions on other threads.
#[derive(Clone)]
pub(super) struct RunInput {
    pub(super) arguments: Arc<CliArgs>,
    pub(super) config: Arc<Config>,
    pub(super) project: Option<Project>,
    pub(super) trace: Option<Arc<EventTrace>>,
    pub(super) telemetry: Option<Arc<TelemetryExport>>,
}

impl RunInput {
    /// Writes the agent's events to the file of `--trace`, if there is one, and exports them with `--otlp`.
    pub(super) fn record_events(&self, agent: &AgentSession) {
        self.trace.iter().for_each(|trace| trace.attach(agent));
        self.telemetry.iter().for_each(|telemetry| telemetry.record(agent));
    }
}
