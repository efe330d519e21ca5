//! `--otlp URL`: exports the agents' runs, requests and tool calls to an OpenTelemetry collector.

use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use tiller_telemetry::{ContentExport, Telemetry};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::console::stderr_line;
use super::failure::CliFailure;
use super::wiring;
use crate::agent::{AgentSession, Subscription, SubscriptionItem};
use crate::config::Config;
use crate::provider::{base_url_fault, http_client};
use crate::setting::{SettingSource, Switch, TELEMETRY_OTLP};

/// Timeout for connecting to the collector.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for the recorders to receive the last events of closed sessions.
const LAST_EVENTS_TIMEOUT: Duration = Duration::from_secs(1);

/// The export of this process, with the tasks that record its sessions.
pub(super) struct TelemetryExport {
    telemetry: Telemetry,
    recorders: Mutex<JoinSet<()>>,
}

impl TelemetryExport {
    /// Starts the export to the collector in the settings, if there is one.
    pub(super) fn start(config: &Config) -> Result<Option<Arc<Self>>, CliFailure> {
        let Some(url) = config.settings.telemetry_otlp() else { return Ok(None) };
        let name = match config.settings.value(&TELEMETRY_OTLP).1 {
            SettingSource::Flag(flag) => flag.clone(),
            _ => TELEMETRY_OTLP.name.to_owned(),
        };
        if base_url_fault(url).is_some() {
            return Err(CliFailure::usage(anyhow!("{name}: `{url}` is not an http:// or https:// URL"))
                .hint("give the collector's address, such as http://localhost:4318"));
        }
        let client =
            http_client(url, CONNECT_TIMEOUT, config.certificates.as_deref(), &wiring::proxy_use(url));
        let client = client.map_err(|problem| CliFailure::usage(anyhow!(problem)))?;
        let content = match config.settings.telemetry_content() {
            Switch::On => ContentExport::Included,
            Switch::Off => ContentExport::Omitted,
        };
        let telemetry = Telemetry::start(url, content, client).with_context(|| format!("{name}: `{url}`"));
        let telemetry = telemetry.map_err(CliFailure::usage)?;
        Ok(Some(Arc::new(Self { telemetry, recorders: Mutex::default() })))
    }

    /// Starts a task that records the agent's events until the session ends.
    pub(super) fn record(&self, agent: &AgentSession) {
        let mut recorder = self.telemetry.recorder(agent.reader().header().id.clone());
        let mut events = Subscription::new(agent).buffered();
        let mut recorders = self.recorders.lock().unwrap_or_else(PoisonError::into_inner);
        while recorders.try_join_next().is_some() {}
        recorders.spawn(async move {
            while let Some(received) = events.next().await {
                if let SubscriptionItem::Event(event) = received {
                    recorder.observe(&event);
                }
            }
        });
    }

    /// Exports the remaining data after the sessions are closed; reports a failure on stderr.
    pub(super) async fn finish(&self) {
        let recorders = mem::take(&mut *self.recorders.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = timeout(LAST_EVENTS_TIMEOUT, recorders.join_all()).await;
        if let Some(problem) = self.telemetry.finish().await {
            stderr_line!("warning: --otlp: spans or metrics are missing: {problem}");
        }
    }
}
