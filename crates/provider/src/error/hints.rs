//! What somebody can do about a failed request, in one line each. Failures that are tried again have advice too: it is for when
//! no try helps.

use super::{ConnectionFailure, FailureKind};
use crate::descriptor::ProviderDescriptor;

/// For a wait that is the provider's own business.
const LATER: &str = "wait a little, or ask another model (/model, --model)";

/// For a connection that there was.
pub(crate) const BROKEN_OFF: &str = "check this machine's network; what was asked can be sent again";

/// What to do about an answer that is a refusal; about keys the endpoint knows more.
pub(super) fn of_refusal(failure: FailureKind, status: u16) -> Option<&'static str> {
    match (failure, status) {
        (FailureKind::Fatal, 404) => Some("check the model's id and the base URL"),
        (FailureKind::Quota, _) => Some(
            "see the account's credit and limits at the provider, or ask another model (/model, --model)",
        ),
        (FailureKind::Transient { .. }, 500..) => {
            Some("the server is in trouble: wait a little, or ask another model (/model, --model)")
        }
        (FailureKind::Transient { .. }, _) => Some(LATER),
        _ => None,
    }
}

/// Advice on a failed connection; `server` is where the address of the server is set.
pub(crate) fn of_connection(failure: &ConnectionFailure, server: &str) -> String {
    match failure {
        ConnectionFailure::UnknownHost | ConnectionFailure::Unreachable => {
            format!("check this machine's network, and the host in {server}")
        }
        ConnectionFailure::Refused => format!("start the server, or check {server}"),
        ConnectionFailure::Proxy => "check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY".to_owned(),
        ConnectionFailure::Certificate(_) => {
            format!("make this machine trust the server's certificate, or check {server}")
        }
        ConnectionFailure::Tls | ConnectionFailure::NotHttp => format!("check {server}"),
        ConnectionFailure::Reset
        | ConnectionFailure::Closed
        | ConnectionFailure::TimedOut
        | ConnectionFailure::Other => BROKEN_OFF.to_owned(),
    }
}

/// What to do where a server kept silent for longer than a setting allows.
pub(crate) fn of_silence(setting: &str) -> String {
    format!("the setting {setting} says how long it is waited for; /model or --model asks another model")
}

/// What to do about a key that isn't there, or was refused.
pub(crate) fn of_key(provider: &str, key_name: &str, is_there: bool) -> String {
    match is_there {
        true => format!("check {key_name}{}", kept(provider, "another")),
        false => format!("no key: {}", of_missing_key(provider, key_name)),
    }
}

/// How a provider's key is given.
pub(crate) fn of_missing_key(provider: &str, key_name: &str) -> String {
    format!("set {key_name}{}", kept(provider, "one"))
}

/// How a key is kept, where tiller keeps keys: of the two providers that everybody can have one of.
fn kept(provider: &str, which: &str) -> String {
    match ProviderDescriptor::find(provider) {
        Some(_) => format!(", or keep {which} with `tiller login {provider}` or /login"),
        None => String::new(),
    }
}

/// Where the address of a provider's server is set.
pub(crate) fn server_setting(provider: &str) -> String {
    ProviderDescriptor::find(provider)
        .map_or("the base URL", |descriptor| descriptor.base_url_variable)
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_on_a_connection_follows_its_cause() {
        let advice = |failure| of_connection(&failure, "OPENAI_BASE_URL");
        assert_eq!(advice(ConnectionFailure::Refused), "start the server, or check OPENAI_BASE_URL");
        let lookup = "check this machine's network, and the host in OPENAI_BASE_URL";
        assert_eq!(advice(ConnectionFailure::UnknownHost), lookup);
        assert!(advice(ConnectionFailure::Certificate("it has expired".into())).contains("certificate"));
        assert!(advice(ConnectionFailure::Reset).contains("network"));
    }

    #[test]
    fn every_refusal_that_may_pass_says_what_to_do_until_then() {
        let transient = FailureKind::Transient { retry_after: None };
        for status in [0, 408, 429, 500, 502, 503, 504, 529] {
            assert!(of_refusal(transient, status).is_some_and(|advice| advice.contains("another model")));
        }
        assert!(of_refusal(transient, 502).is_some_and(|advice| advice.contains("trouble")));
    }

    #[test]
    fn advice_on_a_key_names_what_keeps_another() {
        assert_eq!(of_key("local", "LOCAL_KEY", false), "no key: set LOCAL_KEY");
        assert_eq!(
            of_key("openai", "OPENAI_API_KEY", true),
            "check OPENAI_API_KEY, or keep another with `tiller login openai` or /login"
        );
        assert_eq!(server_setting("openai"), "OPENAI_BASE_URL");
        assert_eq!(server_setting("mine"), "the base URL");
    }
}
