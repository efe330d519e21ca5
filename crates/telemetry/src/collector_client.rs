//! Sends the exporter's requests with the process's HTTP client.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::Client;
use tokio::runtime::Handle;

/// The failed exports: their number and the last reason.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExportFailures(Arc<Mutex<(usize, String)>>);

impl ExportFailures {
    fn add(&self, reason: String) {
        let mut failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if failures.0 == 0 {
            tracing::warn!(%reason, "telemetry can't be exported");
        }
        *failures = (failures.0 + 1, reason);
    }

    /// Describes the failures, if there are any.
    pub(crate) fn describe(&self) -> Option<String> {
        let failures = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (count, reason) = &*failures;
        (*count > 0).then(|| format!("{count} export(s) failed: {reason}"))
    }
}

/// The HTTP client of the exporter. The exporter calls it from its own thread, outside the runtime.
#[derive(Debug)]
pub(crate) struct CollectorClient {
    pub(crate) client: Client,
    pub(crate) runtime: Handle,
    pub(crate) failures: ExportFailures,
}

#[async_trait]
impl HttpClient for CollectorClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let sent = self.runtime.spawn(async move { send(&client, request).await });
        let outcome = sent.await.map_err(HttpError::from).flatten();
        match &outcome {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => self.failures.add(format!("HTTP status {}", response.status())),
            Err(error) => self.failures.add(causes(&**error)),
        }
        outcome
    }
}

async fn send(client: &Client, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
    let response = client.execute(request.try_into()?).await?;
    let (status, headers) = (response.status(), response.headers().clone());
    let mut answer = Response::new(response.bytes().await?);
    (*answer.status_mut(), *answer.headers_mut()) = (status, headers);
    Ok(answer)
}

/// An error with its causes, which say more than `error sending request`.
fn causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
