//! Failures of requests: connections, timeouts, and the [`ProviderError`] that is reported.

use std::error::Error as _;

use reqwest::Url;

use super::endpoint::{Endpoint, Timeouts};
use crate::error::{ConnectionFailure, FailureKind, ProviderError, ProviderFault, Stage, hints};

/// A timeout while waiting for the server.
#[derive(Clone, Copy)]
pub(super) enum ResponseTimeout {
    /// Before the first byte of an answer.
    FirstByte,
    /// During an answer, without data.
    Data,
    /// During an answer that continues without content: pings, comments, empty deltas.
    Content,
}

impl ResponseTimeout {
    pub(super) fn fault(self, timeouts: Timeouts) -> ProviderFault {
        let (description, limit, setting) = match self {
            Self::FirstByte => ("no response", timeouts.first_byte, "request.first_byte_s"),
            Self::Data => ("the answer stalled: nothing", timeouts.stall, "request.stall_s"),
            Self::Content => {
                ("the answer stalled: no content", timeouts.without_content(), "request.first_byte_s")
            }
        };
        ProviderFault::new(
            FailureKind::Interrupted,
            format!("{description} within {} s", limit.as_secs_f64()),
        )
        .with_hint(hints::for_timeout(setting))
    }
}

/// Joins the messages of an error's sources; reqwest's own message says little, so it is used only without a
/// source.
pub(super) fn causes(error: &reqwest::Error) -> String {
    let mut texts: Vec<String> = Vec::new();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !texts.iter().any(|earlier| earlier.contains(&text)) {
            texts.push(text);
        }
        cause = error.source();
    }
    if texts.is_empty() { error.to_string() } else { texts.join(": ") }
}

/// Returns the server's host, with its port if the URL has one.
pub(super) fn host(endpoint: &Endpoint) -> String {
    let url = Url::parse(&endpoint.base_url).ok();
    let host = url.as_ref().and_then(|url| Some((url.host_str()?, url.port())));
    match host {
        Some((host, Some(port))) => format!("{host}:{port}"),
        Some((host, None)) => host.to_owned(),
        None => endpoint.base_url.clone(),
    }
}

/// Returns the fault of a failed connection; the libraries' own messages go to the log.
pub(super) fn connection_fault(endpoint: &Endpoint, error: &reqwest::Error, stage: Stage) -> ProviderFault {
    let (provider, host) = (&*endpoint.name, host(endpoint));
    tracing::debug!(provider, host, error = causes(error), "connection failed");
    let cause = ConnectionFailure::from_error(error);
    let setting = hints::server_setting(provider);
    let advice = match cause {
        // A server with TLS hangs up when it gets a plain request.
        ConnectionFailure::Reset | ConnectionFailure::Closed
            if stage == Stage::BeforeAnswer && endpoint.base_url.starts_with("http:") =>
        {
            format!("check whether {setting} must begin with https://, and this machine's network")
        }
        _ => hints::for_connection(&cause, &setting),
    };
    let failure = match stage {
        Stage::BeforeAnswer if cause.is_permanent() => FailureKind::Unreachable,
        Stage::BeforeAnswer => FailureKind::Transient { retry_after: None },
        Stage::DuringAnswer => FailureKind::Interrupted,
    };
    ProviderFault::new(failure, cause.message(&host, stage)).with_hint(advice)
}

/// Returns the fault of an answer that isn't a stream of events.
pub(super) fn no_stream_fault(endpoint: &Endpoint, got: &str) -> ProviderFault {
    ProviderFault::new(FailureKind::Fatal, format!("expected an event stream, got {got}"))
        .with_hint(format!("check {}", hints::server_setting(&endpoint.name)))
}

/// Adds the provider's name and the hint to a fault, and removes secrets.
pub(crate) fn into_error(endpoint: &Endpoint, fault: ProviderFault) -> ProviderError {
    let message = fault.text(|text| endpoint.redact(text));
    let hint = fault.hint.or_else(|| {
        let is_present = endpoint.key.is_some();
        let advice = || hints::for_key(&endpoint.name, &endpoint.key_name, is_present);
        (fault.failure == FailureKind::Auth).then(advice)
    });
    ProviderError { provider: endpoint.name.clone(), failure: fault.failure, message, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explain_hint_names_the_key_variable() {
        let endpoint = Endpoint::new("x", "http://localhost", "X_KEY");
        let error = into_error(&endpoint, ProviderFault::new(FailureKind::Auth, "no"));
        assert_eq!(error.hint.as_deref(), Some("no key: set X_KEY"));
        let error = into_error(
            &endpoint.with_key("hush-hush-key".into()),
            ProviderFault::new(FailureKind::Auth, "hush-hush-key refused"),
        );
        assert_eq!((error.hint.as_deref(), error.message.as_str()), (Some("check X_KEY"), "[key] refused"));
    }
}
