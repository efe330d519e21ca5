//! Connections to sessions on a server, by URL.

use std::env;
use std::time::Duration;

use anyhow::{Context, anyhow};
use reqwest::header::{CONNECTION, UPGRADE};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Upgraded, Url};
use serde::Deserialize;
use serde_json::json;
use tiller_server::ATTACH_PROTOCOL;

use crate::agent::AgentSession;
use crate::agent::remote_session::{self, Redial, RedialError};
use crate::cli::failure::CliFailure;
use crate::id::EntryId;
use crate::provider::ensure_crypto;
use crate::session::Reader;
use crate::session::context::project;

/// The environment variable with the token of a server.
const TOKEN_VARIABLE: &str = "TILLER_SERVER_TOKEN";

/// Timeout for connecting to the server.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval without data after which TCP keepalive probes are sent, and between probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Connects to the session at this URL: `SERVER/api/sessions/ID`, with the token as `?token=`. Returns the URL without
/// the token too.
pub(super) async fn connect(target: &str) -> Result<(AgentSession, Url), CliFailure> {
    let parsed = AttachUrl::parse(target).map_err(CliFailure::usage)?;
    let session_url = parsed.session_url();
    let AttachUrl { url, token } = parsed;
    let token = token.or_else(|| env::var(TOKEN_VARIABLE).ok());
    let failed = || format!("can't attach to {url}");
    ensure_crypto();
    let client = Client::builder()
        .http1_only()
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_keepalive(KEEPALIVE)
        .redirect(reqwest::redirect::Policy::none());
    let client = client.build().with_context(failed).map_err(CliFailure::run)?;
    let server = RemoteServer { client, url: url.clone(), token, was_unreachable: false };
    let stream = server.dial(None).await.map_err(|error| {
        let hint = error.hint();
        let failure = CliFailure::run(anyhow::Error::new(error).context(failed()));
        hint.into_iter().fold(failure, CliFailure::hint)
    })?;
    let connected = remote_session::connect_again(stream, server).await;
    let agent = connected.with_context(failed).map_err(CliFailure::run)?;
    Ok((agent, session_url))
}

/// The fields of a problem description that are shown or determine the next step.
#[derive(Deserialize)]
struct ProblemText {
    #[serde(rename = "type")]
    kind: String,
    title: String,
    detail: Option<String>,
}

/// The reason a connection to a server failed.
#[derive(Debug, thiserror::Error)]
enum DialError {
    /// The server can't be reached, directly or by a proxy.
    #[error("the server can't be reached")]
    Unreachable(#[source] Option<reqwest::Error>),
    /// The server refused the connection.
    #[error("{reason} (status {status})")]
    Refused { status: StatusCode, kind: String, reason: String },
}

impl DialError {
    /// Returns the next step for the user, by the kind of problem.
    fn hint(&self) -> Option<String> {
        let Self::Refused { kind, .. } = self else { return None };
        Some(match kind.as_str() {
            "unauthorized" => format!("pass the server's token as ?token=TOKEN in the URL, or in {TOKEN_VARIABLE}"),
            "session-not-open" => "the session is closed on the server, for example after a restart: open it on the server's page, or with `POST …/resume`".to_owned(),
            "session-locked" => "another tiller process has it open: attach to that one".to_owned(),
            "not-found" => "`GET /api/sessions` lists the sessions of the server".to_owned(),
            "forbidden" => "allow this host or directory on the server with `--host` or `--root`".to_owned(),
            "overloaded" => "try again later".to_owned(),
            _ => return None,
        })
    }
}

/// A server that has, or had, the session open.
struct RemoteServer {
    client: Client,
    url: Url,
    token: Option<String>,
    /// True if the server has been unreachable since the last connection. If the session is closed for that
    /// reason, it is opened again.
    was_unreachable: bool,
}

impl RemoteServer {
    async fn send(&self, request: RequestBuilder) -> Result<Response, DialError> {
        let request = match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        };
        request.send().await.map_err(|error| DialError::Unreachable(Some(error.without_url())))
    }

    /// Connects to the session; `known` is the last entry that the front end has.
    async fn dial(&self, known: Option<EntryId>) -> Result<Upgraded, DialError> {
        let mut request =
            self.client.get(self.url.clone()).header(CONNECTION, "upgrade").header(UPGRADE, ATTACH_PROTOCOL);
        if let Some(known) = known {
            request = request.header("last-event-id", known.as_str());
        }
        let response = self.send(request).await?;
        if response.status() != StatusCode::SWITCHING_PROTOCOLS {
            return Err(refusal(response).await);
        }
        response.upgrade().await.map_err(|error| DialError::Unreachable(Some(error.without_url())))
    }

    /// Opens the session again on the server, with the last model in its log.
    async fn resume(&self, known: &Reader) -> Result<(), DialError> {
        let mut url = self.url.clone();
        url.set_path(&format!("{}/resume", session_path(&url)));
        let model = known.leaf().and_then(|leaf| project(&known.branch(&leaf).ok()?.0).model);
        let body =
            model.map_or_else(|| json!({}), |model| json!({"provider": model.provider, "model": model.id}));
        let response = self.send(self.client.post(url).json(&body)).await?;
        if response.status().is_success() { Ok(()) } else { Err(refusal(response).await) }
    }

    async fn dial_again(&mut self, known: &Reader) -> Result<Upgraded, DialError> {
        match self.dial(known.leaf()).await {
            Err(DialError::Refused { kind, .. }) if kind == "session-not-open" && self.was_unreachable => {
                self.resume(known).await?;
                self.dial(known.leaf()).await
            }
            dialed => dialed,
        }
    }
}

async fn refusal(response: Response) -> DialError {
    let status = response.status();
    if matches!(
        status,
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT
    ) {
        return DialError::Unreachable(None);
    }
    let (kind, reason) = match response.json().await {
        Ok(ProblemText { kind, title, detail }) => {
            let detail = detail.map(|detail| format!(": {detail}")).unwrap_or_default();
            (kind, format!("{title}{detail}"))
        }
        Err(_) => (String::new(), "not a tiller session URL".to_owned()),
    };
    let kind = kind.rsplit(':').next().unwrap_or_default().to_owned();
    DialError::Refused { status, kind, reason }
}

impl Redial for RemoteServer {
    type Stream = Upgraded;

    /// A session that was closed while its server ran stays closed; after an outage of the server it is
    /// opened again.
    async fn redial(&mut self, known: &Reader) -> Result<Upgraded, RedialError> {
        match self.dial_again(known).await {
            Ok(stream) => {
                self.was_unreachable = false;
                Ok(stream)
            }
            Err(error @ DialError::Unreachable(_)) => {
                self.was_unreachable = true;
                Err(RedialError::Unreachable(format!("{:#}", anyhow!(error))))
            }
            Err(DialError::Refused { kind, .. }) if kind == "session-not-open" => {
                Err(RedialError::Refused("the server has closed or deleted it".to_owned()))
            }
            Err(error) => Err(RedialError::Refused(error.to_string())),
        }
    }
}

/// The URL for connecting to a session, and the token in the typed URL.
#[derive(Debug, PartialEq, Eq)]
struct AttachUrl {
    url: Url,
    token: Option<String>,
}

/// The path of the session in the address of its connection.
fn session_path(url: &Url) -> &str {
    url.path().trim_end_matches("/attach")
}

impl AttachUrl {
    /// The URL of the session, without the token.
    fn session_url(&self) -> Url {
        let mut url = self.url.clone();
        url.set_path(session_path(&self.url));
        url
    }

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
                None => return Err(anyhow!("{url} doesn't name a session; use SERVER/api/sessions/ID")),
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
        let page = AttachUrl::parse("https://h/n/?token=t&session=x").unwrap();
        assert_eq!(page.session_url().to_string(), "https://h/n/api/sessions/x");
        for typed in ["http://h:1/", "http://h:1/?token=t", "http://"] {
            assert!(AttachUrl::parse(typed).is_err(), "{typed}");
        }
    }
}
