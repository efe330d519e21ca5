//! Connection failures in plain words, from the error chains of reqwest, hyper, rustls and std.
//!
//! The libraries' own messages go only to tiller's log.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// hyper's messages for an answer that is not HTTP; its error type isn't accessible here.
const NOT_HTTP: [&str; 2] = ["invalid HTTP", "invalid content-length"];

/// hyper's messages for a connection that was closed too early.
const CLOSED: [&str; 3] = ["unexpected EOF", "connection closed", "end of file before message length"];

/// The cause of a connection failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionFailure {
    /// The host's name has no address.
    UnknownHost,
    /// Nothing listens on the port.
    Refused,
    /// No route to the host.
    Unreachable,
    /// The other side reset the connection.
    Reset,
    /// The other side closed the connection.
    Closed,
    TimedOut,
    /// The proxy could not connect to the server.
    Proxy,
    /// Nothing listens at the proxy's address, or it can't be reached.
    NoProxy,
    /// The proxy wants a user name and a password.
    ProxyLogin,
    /// The server's certificate is invalid; the reason.
    Certificate(String),
    /// The TLS handshake failed for another reason.
    Tls,
    /// The other side doesn't speak HTTP.
    NotHttp,
    Other,
}

/// The stage at which a connection failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Before any data of the answer arrived.
    BeforeAnswer,
    /// During the answer.
    DuringAnswer,
}

impl ConnectionFailure {
    /// Finds the cause in an error and its sources.
    pub(crate) fn from_error(error: &(dyn Error + 'static)) -> Self {
        let chain = chain(error);
        let texts: Vec<String> = chain.iter().map(ToString::to_string).collect();
        let contains = |words: &str| texts.iter().any(|text| text.contains(words));
        if contains("proxy authorization required") {
            return Self::ProxyLogin;
        }
        if contains("tunnel error: failed to create underlying connection") {
            return Self::NoProxy;
        }
        if contains("tunnel error") || contains("proxy") {
            return Self::Proxy;
        }
        if contains("dns error") || contains("failed to lookup address") {
            return Self::UnknownHost;
        }
        if let Some(error) = chain.iter().find_map(|error| error.downcast_ref::<rustls::Error>()) {
            return Self::from_tls_error(error);
        }
        // The deepest error is the most specific.
        let known =
            chain.iter().rev().filter_map(|error| error.downcast_ref::<io::Error>()).find_map(from_io_error);
        if let Some(failure) = known {
            return failure;
        }
        if contains("timed out") || contains("deadline has elapsed") {
            Self::TimedOut
        } else if CLOSED.into_iter().any(contains) {
            Self::Closed
        } else if NOT_HTTP.into_iter().any(contains) {
            Self::NotHttp
        } else {
            Self::Other
        }
    }

    fn from_tls_error(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::InvalidCertificate(why) => Self::Certificate(reason(why)),
            _ => Self::Tls,
        }
    }

    /// Returns true if a retry can't help until someone changes the server or this machine.
    pub(crate) const fn is_permanent(&self) -> bool {
        match self {
            Self::Certificate(_) | Self::Tls | Self::NotHttp | Self::ProxyLogin => true,
            Self::UnknownHost
            | Self::Refused
            | Self::Unreachable
            | Self::Reset
            | Self::Closed
            | Self::TimedOut
            | Self::Proxy
            | Self::NoProxy
            | Self::Other => false,
        }
    }

    /// Returns the message for the user; `host` includes the port if the URL has one.
    pub(crate) fn message(&self, host: &str, stage: Stage) -> String {
        let within = stage == Stage::DuringAnswer;
        match self {
            Self::UnknownHost => format!("can't resolve the host name {} (no network?)", without_port(host)),
            Self::Refused => format!("nothing is listening at {host} (is the server running?)"),
            Self::Unreachable => format!("can't reach {host} (no network?)"),
            Self::Reset if within => "connection reset in the middle of the answer".to_owned(),
            Self::Reset => format!("{host} reset the connection"),
            Self::Closed if within => "connection closed in the middle of the answer".to_owned(),
            Self::Closed => format!("{host} closed the connection without a response"),
            Self::TimedOut if within => "connection timed out in the middle of the answer".to_owned(),
            Self::TimedOut => format!("the connection to {host} timed out"),
            Self::Proxy => format!("the proxy could not connect to {host}"),
            Self::NoProxy => "can't connect to the proxy".to_owned(),
            Self::ProxyLogin => "the proxy needs a user name and a password (HTTP status 407)".to_owned(),
            Self::Certificate(why) => {
                format!("the certificate of {} is not valid: {why}", without_port(host))
            }
            Self::Tls => format!("can't establish a secure connection to {host} (does it support https?)"),
            Self::NotHttp => format!("{host} doesn't respond in HTTP"),
            Self::Other if within => "connection failed in the middle of the answer".to_owned(),
            Self::Other => format!("the connection to {host} failed"),
        }
    }
}

/// Returns an error and its sources. The sources of an `io::Error` omit the error that it wraps.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> Vec<&'a (dyn Error + 'static)> {
    let mut chain = Vec::new();
    let mut next = Some(error);
    while let Some(error) = next {
        chain.push(error);
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        next = wrapped.map(|wrapped| wrapped as &(dyn Error + 'static)).or_else(|| error.source());
    }
    chain
}

fn from_io_error(error: &io::Error) -> Option<ConnectionFailure> {
    use ConnectionFailure::{Closed, Refused, Reset, TimedOut, Unreachable};
    match error.kind() {
        io::ErrorKind::ConnectionRefused => Some(Refused),
        io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable => Some(Unreachable),
        io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted => Some(Reset),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected => {
            Some(Closed)
        }
        io::ErrorKind::TimedOut => Some(TimedOut),
        _ => None,
    }
}

/// Returns the reason a certificate is invalid.
fn reason(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".to_owned(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet (is this machine's clock right?)".to_owned()
        }
        CertificateError::Revoked => "it was revoked".to_owned(),
        CertificateError::UnknownIssuer => "this machine doesn't trust its issuer".to_owned(),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another host".to_owned()
        }
        _ => "it can't be verified".to_owned(),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => name,
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A library's error with its source.
    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Outer {
        text: &'static str,
        source: io::Error,
    }

    fn chained(text: &'static str, source: io::Error) -> ConnectionFailure {
        ConnectionFailure::from_error(&Outer {
            text: "client error (Connect)",
            source: io::Error::other(Outer { text, source }),
        })
    }

    #[test]
    fn from_error_finds_cause_in_the_chain() {
        use io::ErrorKind as Kind;
        let tls = |error| io::Error::new(Kind::InvalidData, rustls::Error::InvalidCertificate(error));
        let cases = [
            (
                "tcp connect error",
                Kind::ConnectionRefused.into(),
                "nothing is listening at h:1 (is the server running?)",
            ),
            (
                "dns error",
                io::Error::other("failed to lookup address"),
                "can't resolve the host name h (no network?)",
            ),
            ("tcp connect error", Kind::NetworkUnreachable.into(), "can't reach h:1 (no network?)"),
            ("connection error", Kind::ConnectionReset.into(), "h:1 reset the connection"),
            ("x", Kind::TimedOut.into(), "the connection to h:1 timed out"),
            ("x", Kind::UnexpectedEof.into(), "h:1 closed the connection without a response"),
            ("tunnel error: io", Kind::ConnectionRefused.into(), "the proxy could not connect to h:1"),
            ("x", tls(CertificateError::Expired), "the certificate of h is not valid: it has expired"),
            (
                "x",
                tls(CertificateError::NotValidForName),
                "the certificate of h is not valid: it is for another host",
            ),
            ("x", io::Error::other("secret of the library"), "the connection to h:1 failed"),
        ];
        for (text, source, expected) in cases {
            assert_eq!(chained(text, source).message("h:1", Stage::BeforeAnswer), expected);
        }
    }

    #[test]
    fn message_during_an_answer_says_so() {
        let message = |kind: io::ErrorKind| chained("x", kind.into()).message("h:1", Stage::DuringAnswer);
        assert_eq!(message(io::ErrorKind::UnexpectedEof), "connection closed in the middle of the answer");
        assert_eq!(message(io::ErrorKind::ConnectionReset), "connection reset in the middle of the answer");
        assert_eq!(message(io::ErrorKind::TimedOut), "connection timed out in the middle of the answer");
    }

    #[test]
    fn without_port_removes_the_port() {
        assert_eq!(["a.b:80", "a.b", "[::1]:8", "[::1]"].map(without_port), ["a.b", "a.b", "[::1]", "[::1]"]);
    }
}
