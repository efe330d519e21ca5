//! The receiver of a login's redirect: a port of this machine that accepts one kind of request.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Maximum length of a request's head.
const MAX_REQUEST: usize = 16 * 1024;

/// Time limit of a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

const PATH: &str = "/callback";

/// The outcome that a redirect reports; it has the state of this login.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Redirect {
    /// The whole address, with the code.
    Granted(String),
    /// The error of the authorization server.
    Refused(String),
}

impl Redirect {
    pub(super) fn into_result(self) -> Result<String, String> {
        match self {
            Self::Granted(address) => Ok(address),
            Self::Refused(reason) => Err(reason),
        }
    }
}

/// A listener on a random port.
pub(super) struct RedirectListener {
    listener: TcpListener,
    address: String,
}

impl RedirectListener {
    /// # Errors
    /// A sentence with the reason.
    pub(super) async fn bind() -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("can't listen on 127.0.0.1: {error}");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, address: format!("http://127.0.0.1:{port}{PATH}") })
    }

    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Answers requests until one is the redirect of this login. Cancel-safe: a request that is cut off is repeated by
    /// the user.
    pub(super) async fn accept(&self, state: &str) -> Result<Redirect, String> {
        loop {
            let (mut stream, _) = self.listener.accept().await.map_err(|error| error.to_string())?;
            let Ok(Some(target)) = timeout(REQUEST_TIMEOUT, request_target(&mut stream)).await else {
                continue;
            };
            let redirect = match target.split('?').next() {
                Some(PATH) => parse_redirect(&format!("http://127.0.0.1{target}"), state),
                _ => Err("not found".to_owned()),
            };
            let (status, text) = match &redirect {
                Ok(Redirect::Granted(_)) => {
                    ("200 OK", "You can return to tiller, which completes the login.")
                }
                Ok(Redirect::Refused(_)) => ("200 OK", "The login was refused. You can close this page."),
                Err(problem) => ("400 Bad Request", problem.as_str()),
            };
            let _ = timeout(REQUEST_TIMEOUT, respond(&mut stream, status, text)).await;
            if let Ok(redirect) = redirect {
                return Ok(redirect);
            }
        }
    }
}

/// Reads the target of a GET request.
async fn request_target(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut chunk = [0; 1024];
        let length = stream.read(&mut chunk).await.ok().filter(|length| *length > 0)?;
        head.extend_from_slice(&chunk[..length]);
        if head.len() > MAX_REQUEST {
            return None;
        }
    }
    let text = String::from_utf8(head).ok()?;
    let mut words = text.lines().next()?.split(' ');
    (words.next() == Some("GET")).then(|| words.next().map(str::to_owned)).flatten()
}

async fn respond(stream: &mut TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let head = "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\nConnection: close";
    let length = text.len();
    let response = format!("HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {length}\r\n\r\n{text}");
    stream.write_all(response.as_bytes()).await?;
    stream.shutdown().await
}

/// Parses the address that the browser was redirected to.
///
/// # Errors
/// If it isn't one of this login.
pub(super) fn parse_redirect(address: &str, state: &str) -> Result<Redirect, String> {
    let not_one = || "that is not the address that the browser was redirected to".to_owned();
    let parsed = reqwest::Url::parse(address).map_err(|_| not_one())?;
    let value = |name: &str| {
        let pair = parsed.query_pairs().find(|(key, _)| key == name);
        pair.map(|(_, value)| value.into_owned())
    };
    if value("state").ok_or_else(not_one)? != state {
        return Err("that belongs to another login: its state doesn't match".to_owned());
    }
    match (value("error"), value("code")) {
        (Some(error), _) => {
            let details = value("error_description").map(|text| format!(": {text}")).unwrap_or_default();
            Ok(Redirect::Refused(format!("the login was refused: {error}{details}")))
        }
        (None, Some(_)) => Ok(Redirect::Granted(address.to_owned())),
        (None, None) => Err(not_one()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_redirect_accepts_only_this_login() {
        let parse = |query: &str| parse_redirect(&format!("http://127.0.0.1:1/callback?{query}"), "s t");
        let granted = "http://127.0.0.1:1/callback?code=c&state=s%20t".to_owned();
        assert_eq!(parse("code=c&state=s%20t"), Ok(Redirect::Granted(granted)));
        let refused = "the login was refused: access_denied: No thanks".to_owned();
        assert_eq!(
            parse("error=access_denied&error_description=No+thanks&state=s+t"),
            Ok(Redirect::Refused(refused))
        );
        let other = Err("that belongs to another login: its state doesn't match".to_owned());
        assert_eq!([parse("code=c&state=x"), parse("error=access_denied&state=x")], [other.clone(), other]);
        let not_one = Err("that is not the address that the browser was redirected to".to_owned());
        assert_eq!(
            [parse("code=c"), parse("state=s+t"), parse_redirect("hello", "s t")],
            [(); 3].map(|()| not_one.clone())
        );
    }
}
