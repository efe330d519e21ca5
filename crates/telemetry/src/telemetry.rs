//! The exporter of a process.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::KeyValue;
use opentelemetry_otlp::{
    ExporterBuildError, MetricExporter, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use reqwest::Client;
use tiller_core::id::SessionId;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::ContentExport;
use crate::collector_client::{CollectorClient, ExportFailures};
use crate::instruments::Instruments;
use crate::session_recorder::SessionRecorder;

/// Time for the last spans and metrics to reach the collector at the end.
const FINISH_TIMEOUT: Duration = Duration::from_secs(3);

/// Exports the sessions of a process to a collector. Spans are sent in batches every few seconds, metrics every minute,
/// and both when [`Telemetry::finish`] is called.
#[derive(Debug)]
pub struct Telemetry {
    traces: SdkTracerProvider,
    metrics: SdkMeterProvider,
    instruments: Arc<Instruments>,
    failures: ExportFailures,
}

/// A collector's URL that can't be used.
#[derive(Debug, thiserror::Error)]
#[error("the URL can't be used: {0}")]
pub struct TelemetryError(#[from] ExporterBuildError);

impl Telemetry {
    /// Starts to export to a collector with this base URL, such as `http://localhost:4318`; the paths `/v1/traces` and
    /// `/v1/metrics` are appended. Further headers, such as a key, come from `OTEL_EXPORTER_OTLP_HEADERS`, and further
    /// attributes of the process from `OTEL_RESOURCE_ATTRIBUTES`. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// If the URL is invalid.
    pub fn start(url: &str, content: ContentExport, client: Client) -> Result<Self, TelemetryError> {
        let failures = ExportFailures::default();
        let client =
            Arc::new(CollectorClient { client, runtime: Handle::current(), failures: failures.clone() });
        let endpoint = |path: &str| format!("{}/{path}", url.trim_end_matches('/'));
        let spans = SpanExporter::builder()
            .with_http()
            .with_shared_http_client(client.clone())
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint("v1/traces"))
            .build()?;
        let measurements = MetricExporter::builder()
            .with_http()
            .with_shared_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint("v1/metrics"))
            .build()?;
        let resource = resource();
        let traces =
            SdkTracerProvider::builder().with_batch_exporter(spans).with_resource(resource.clone()).build();
        let metrics =
            SdkMeterProvider::builder().with_periodic_exporter(measurements).with_resource(resource).build();
        let instruments = Arc::new(Instruments::new(&traces, &metrics, content));
        Ok(Self { traces, metrics, instruments, failures })
    }

    /// Returns a recorder for a session.
    #[must_use]
    pub fn recorder(&self, session: SessionId) -> SessionRecorder {
        SessionRecorder::new(self.instruments.clone(), session)
    }

    /// Sends the spans and metrics that are left, for at most three seconds. Returns a description of the failed
    /// exports, if there are any.
    pub async fn finish(&self) -> Option<String> {
        let (traces, metrics) = (self.traces.clone(), self.metrics.clone());
        let shutdown = spawn_blocking(move || {
            // A failed export is known to the client; a second shutdown does nothing.
            let _ = (traces.shutdown(), metrics.shutdown());
        });
        let is_late = timeout(FINISH_TIMEOUT, shutdown).await.is_err();
        self.failures.describe().or_else(|| is_late.then(|| "the collector isn't responding".to_owned()))
    }
}

/// The attributes of the process.
fn resource() -> Resource {
    let resource =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    match std::env::var_os("OTEL_SERVICE_NAME") {
        Some(_) => resource.build(),
        None => resource.with_service_name("tiller").build(),
    }
}
