//! The same items in a build without the feature `otlp`.

use reqwest::Client;
use tiller_core::event::Event;
use tiller_core::id::SessionId;

use crate::ContentExport;

/// The export, which can't be started in this build.
#[derive(Debug)]
pub struct Telemetry(());

/// A recorder that records nothing.
#[derive(Debug)]
pub struct SessionRecorder(());

/// This build has no export.
#[derive(Debug, thiserror::Error)]
#[error("this build has no telemetry; build tiller with the feature `otlp`")]
pub struct TelemetryError;

impl Telemetry {
    /// Refuses to start.
    ///
    /// # Errors
    /// Always.
    pub fn start(_url: &str, _content: ContentExport, _client: Client) -> Result<Self, TelemetryError> {
        Err(TelemetryError)
    }

    /// Returns a recorder for a session.
    #[must_use]
    pub fn recorder(&self, _session: SessionId) -> SessionRecorder {
        SessionRecorder(())
    }

    /// Sends nothing.
    #[expect(clippy::unused_async, reason = "callers await the export of other builds")]
    pub async fn finish(&self) -> Option<String> {
        None
    }
}

impl SessionRecorder {
    /// Ignores an event.
    pub fn observe(&mut self, _event: &Event) {}
}
