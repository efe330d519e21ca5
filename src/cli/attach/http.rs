//! Sessions that a server has open, by URL.

use std::env;
use std::time::Duration;

use anyhow::{Context, anyhow};
use reqwest::header::{CONNECTION, UPGRADE};
use reqwest::{Client, StatusCode, Url};
use serde::Deserialize;
use tiller_server::ATTACH_PROTOCOL;

use crate::agent::AgentSession;
use crate::agent::remote_session;
use crate::cli::failure::CliFailure;
use crate::provider::ensure_crypto;

/// The variable with the token of a server.
const TOKEN_VARIABLE: &str = "TILLER_SERVER_TOKEN";

/// Time for a connection to the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The part of a problem description that people need.
#[derive(Deserialize)]
struct ProblemText {
    title: String,
    detail: Option<String>,
}

/// Connects to the session at this URL: `SERVER/api/sessions/ID`, with the token as `?token=`.
pub(super) async fn connect(target: &str) -> Result<AgentSession, CliFailure> {
    let AttachUrl { url, token } = AttachUrl::parse(target).map_err(CliFailure::usage)?;
    let token = token.or_else(|| env::var(TOKEN_VARIABLE).ok());
    let failed = || format!("can't attach to {url}");
    ensure_crypto();
    let client = Client::builder()
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    let client = client.build().with_context(failed).map_err(CliFailure::run)?;
    let mut request = client.get(url.clone()).header(CONNECTION, "upgrade").header(UPGRADE, ATTACH_PROTOCOL);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    let response = request.send().await.map_err(reqwest::Error::without_url).with_context(failed);
    let response = response.map_err(CliFailure::run)?;
    let status = response.status();
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let reason = match response.json().await {
            Ok(ProblemText { title, detail }) => detail.unwrap_or(title),
            Err(_) => "this is no session of a tiller server".to_owned(),
        };
        let failure = CliFailure::run(anyhow!("can't attach to {url}: {reason} (status {status})"));
        return Err(match status {
            StatusCode::UNAUTHORIZED => {
                failure.hint(format!("add ?token=TOKEN to the URL, or set {TOKEN_VARIABLE}"))
            }
            StatusCode::CONFLICT => failure.hint("`POST …/resume` opens it on the server"),
            _ => failure,
        });
    }
    let stream = response.upgrade().await.with_context(failed).map_err(CliFailure::run)?;
    remote_session::connect(stream).await.with_context(failed).map_err(CliFailure::run)
}

/// The address of a session's connection, and the token in what was typed.
#[derive(Debug, PartialEq, Eq)]
struct AttachUrl {
    url: Url,
    token: Option<String>,
}

impl AttachUrl {
    /// Parses the URL of a session, or the URL of the page that shows one: `SERVER/?session=ID`.
    fn parse(target: &str) -> anyhow::Result<Self> {
        let mut url = Url::parse(target).with_context(|| format!("{target} isn't a valid URL"))?;
        let parameter =
            |name| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let (token, shown) = (parameter("token"), parameter("session"));
        url.set_query(None);
        url.set_fragment(None);
        let path = match url.path().trim_end_matches('/') {
            path if path.contains("/api/sessions/") => format!("{path}/attach"),
            path => match shown {
                Some(id) => format!("{path}/api/sessions/{id}/attach"),
                None => return Err(anyhow!("{url} names no session; use SERVER/api/sessions/ID")),
            },
        };
        url.set_path(&path);
        Ok(Self { url, token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attach_url_is_that_of_a_session_or_of_its_page() {
        let parsed = |typed: &str| {
            let AttachUrl { url, token } = AttachUrl::parse(typed).unwrap();
            (url.to_string(), token.unwrap_or_default())
        };
        let cases = [
            ("http://h:1/api/sessions/x", "http://h:1/api/sessions/x/attach", ""),
            ("https://h/n/api/sessions/x/?token=t", "https://h/n/api/sessions/x/attach", "t"),
            ("http://h:1/?token=t&session=x", "http://h:1/api/sessions/x/attach", "t"),
            ("https://h/n/?session=x", "https://h/n/api/sessions/x/attach", ""),
        ];
        for (typed, url, token) in cases {
            assert_eq!(parsed(typed), (url.to_owned(), token.to_owned()), "{typed}");
        }
        for typed in ["http://h:1/", "http://h:1/?token=t", "http://"] {
            assert!(AttachUrl::parse(typed).is_err(), "{typed}");
        }
    }
}
