//! Hints for failed requests, one line each. A retried failure has a hint too, which is shown if no retry
//! succeeds.

use super::{ConnectionFailure, FailureKind};
use crate::descriptor::ProviderDescriptor;

/// For a problem on the provider's side.
const WAIT: &str = "wait, or choose another model (/model, --model)";

/// For an interrupted connection.
pub(crate) const INTERRUPTED: &str = "check this machine's network, then send the request again";

/// Returns the hint for an error response; for keys see [`for_key`].
pub(super) fn for_response(failure: FailureKind, status: u16) -> Option<&'static str> {
    match (failure, status) {
        (FailureKind::Fatal, 400 | 422) => Some(
            "if the server rejects a message, go back to before it (/tree); otherwise check the settings, or choose another \
             model (/model, --model)",
        ),
        (FailureKind::Fatal, 404) => Some("check the model's id and the base URL"),
        (FailureKind::Quota, _) => Some(
            "check the account's credit and limits with the provider, or choose another model (/model, --model)",
        ),
        (FailureKind::Transient { .. }, 500..) => {
            Some("the server has a problem: wait, or choose another model (/model, --model)")
        }
        (FailureKind::Transient { .. }, _) => Some(WAIT),
        _ => None,
    }
}

/// Returns the hint for a failed connection; `server` is the name of the setting with the server's URL.
pub(crate) fn for_connection(failure: &ConnectionFailure, server: &str) -> String {
    match failure {
        ConnectionFailure::UnknownHost | ConnectionFailure::Unreachable => {
            format!("check this machine's network, and the host in {server}")
        }
        ConnectionFailure::Refused => format!("start the server, or check {server}"),
        ConnectionFailure::Proxy | ConnectionFailure::NoProxy => {
            "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY".to_owned()
        }
        ConnectionFailure::ProxyLogin => "set HTTPS_PROXY to http://USER:PASSWORD@HOST:PORT".to_owned(),
        ConnectionFailure::Certificate(_) => {
            format!("set request.ca_file to a file with the server's certificate, or check {server}")
        }
        ConnectionFailure::Tls | ConnectionFailure::NotHttp => format!("check {server}"),
        ConnectionFailure::Reset
        | ConnectionFailure::Closed
        | ConnectionFailure::TimedOut
        | ConnectionFailure::Other => INTERRUPTED.to_owned(),
    }
}

/// Returns the hint for a timeout that a setting determines.
pub(crate) fn for_timeout(setting: &str) -> String {
    format!("raise the setting {setting} to wait longer, or choose another model (/model, --model)")
}

/// Returns the hint for a missing or rejected key.
pub(crate) fn for_key(provider: &str, key_name: &str, is_present: bool) -> String {
    match is_present {
        true => format!("check {key_name}"),
        false => format!("no key: {}", for_missing_key(provider, key_name)),
    }
}

/// Returns the hint about setting a provider's key.
pub(crate) fn for_missing_key(provider: &str, key_name: &str) -> String {
    match ProviderDescriptor::find(provider) {
        Some(_) => format!("set {key_name}, or store a key with `tiller login {provider}` or /login"),
        None => format!("set {key_name}"),
    }
}

/// Returns the name of the setting with a provider's base URL.
pub(crate) fn server_setting(provider: &str) -> String {
    ProviderDescriptor::find(provider)
        .map_or("the base URL", |descriptor| descriptor.base_url_variable)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn for_connection_depends_on_the_cause() {
        let advice = |failure| for_connection(&failure, "OPENAI_BASE_URL");
        assert_eq!(advice(ConnectionFailure::Refused), "start the server, or check OPENAI_BASE_URL");
        let lookup = "check this machine's network, and the host in OPENAI_BASE_URL";
        assert_eq!(advice(ConnectionFailure::UnknownHost), lookup);
        assert!(advice(ConnectionFailure::Certificate("it has expired".into())).contains("certificate"));
        assert!(advice(ConnectionFailure::Reset).contains("network"));
    }

    #[test]
    fn for_response_temporary_failure_has_advice() {
        let transient = FailureKind::Transient { retry_after: None };
        for status in [0, 408, 429, 500, 502, 503, 504, 529] {
            assert!(for_response(transient, status).is_some_and(|advice| advice.contains("another model")));
        }
        assert!(for_response(transient, 502).is_some_and(|advice| advice.contains("problem")));
    }

    #[test]
    fn for_key_names_the_login_command() {
        assert_eq!(for_key("local", "LOCAL_KEY", false), "no key: set LOCAL_KEY");
        assert_eq!(
            for_key("openai", "OPENAI_API_KEY", false),
            "no key: set OPENAI_API_KEY, or store a key with `tiller login openai` or /login"
        );
        assert_eq!(for_key("openai", "--api-key", true), "check --api-key");
        assert_eq!(server_setting("openai"), "OPENAI_BASE_URL");
        assert_eq!(server_setting("mine"), "the base URL");
    }
}
