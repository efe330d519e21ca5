//! Failing connections and their error messages.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tiller_provider::compat::Compat;
use tiller_provider::local_servers::find_all;
use tiller_provider::{Endpoint, FailureKind, OpenAiChat, ProviderError, StreamEvent, Timeouts};

use crate::{collect, failure, hello};

/// A self-signed certificate for localhost, valid to 2126, and its key, in DER. Made with openssl for this test.
const CERTIFICATE: &str = "MIIBmDCCAT6gAwIBAgIUfSwB6vtlmiD0gzOnu3jbLQP/NOwwCgYIKoZIzj0EAwIwFDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMjE5NDQwOFoYDzIxMjYxMDI5MTk0NDA4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARdtPEe4xb3K/I40n/kNrJ0Zp4hqy/wGwXX+NnZfyrMPKuPJ5e7Wh65JDRhbk+P4Fk69jwd0qYJx6VesNVD+CeEo2wwajAdBgNVHQ4EFgQUYwOcICYBaa/53da2mdDfXFIVQgAwHwYDVR0jBBgwFoAUYwOcICYBaa/53da2mdDfXFIVQgAwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMAwGA1UdEwEB/wQCMAAwCgYIKoZIzj0EAwIDSAAwRQIhANkklBn8dyurLPZw83fuQA9H7iaL6igKEbg0uSrL/Vi5AiBeEmg5kGijfqzhQSOVjGIq2sqtXTI9Viauhpp0bt740Q==";
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSh9kuzdyjBgZ+h6dQ+OgQ/ctUk5a7l9fBvwnun7maOihRANCAARdtPEe4xb3K/I40n/kNrJ0Zp4hqy/wGwXX+NnZfyrMPKuPJ5e7Wh65JDRhbk+P4Fk69jwd0qYJx6VesNVD+CeE";

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Starts a server with this behavior; returns its port.
fn misbehaving(serve: impl Fn(TcpStream) + Send + 'static) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || listener.incoming().flatten().for_each(serve));
    port
}

/// Reads a request up to its end; of other protocols only the first bytes.
fn take_request(stream: &mut TcpStream) {
    let mut request = String::new();
    let mut buffer = [0; 65_536];
    loop {
        let read = stream.read(&mut buffer).unwrap_or(0);
        request.push_str(&String::from_utf8_lossy(&buffer[..read]));
        if read == 0 || !request.starts_with("POST") {
            return;
        }
        let Some((head, body)) = request.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        if length.is_some_and(|length| body.len() >= length.parse().unwrap()) {
            return;
        }
    }
}

async fn error_at(url: String) -> ProviderError {
    let long = Duration::from_secs(60);
    let timeouts = Timeouts { connect: long, first_byte: long, stall: long };
    let endpoint = Endpoint { timeouts, ..Endpoint::new("local", url, "LOCAL_KEY") };
    let error = failure(&OpenAiChat::new(endpoint, Compat::COMMON).unwrap(), hello("m")).await;
    for word in ["os error", "client error", "chunk", "hyper", "EOF"] {
        assert!(!error.message_with_hint().contains(word), "{word} in {error}");
    }
    error
}

#[tokio::test]
async fn connection_closed_during_an_answer_is_named() {
    for bytes in [HEAD.to_owned(), format!("{HEAD}5\r\n: hel"), format!("{HEAD}8\r\n: hello\n\r\n")] {
        let port = misbehaving(move |mut stream| {
            take_request(&mut stream);
            stream.write_all(bytes.as_bytes()).unwrap();
            stream.shutdown(Shutdown::Both).unwrap();
        });
        let error = error_at(format!("http://127.0.0.1:{port}")).await;
        assert_eq!(error.failure, FailureKind::Interrupted);
        assert_eq!(error.message, "connection closed in the middle of the answer");
    }
}

#[tokio::test]
async fn connection_closed_before_an_answer_is_named() {
    let port = misbehaving(|mut stream| {
        take_request(&mut stream);
        stream.shutdown(Shutdown::Both).unwrap();
    });
    let error = error_at(format!("http://127.0.0.1:{port}")).await;
    assert_eq!(error.failure, FailureKind::Transient { retry_after: None });
    assert_eq!(error.message, format!("127.0.0.1:{port} closed the connection without a response"));
}

#[tokio::test]
async fn connection_reset_before_an_answer_is_named() {
    // Closing a stream with unread bytes resets the connection.
    let port = misbehaving(|stream| {
        stream.peek(&mut [0; 1]).unwrap();
    });
    let error = error_at(format!("http://127.0.0.1:{port}")).await;
    assert_eq!(error.failure, FailureKind::Transient { retry_after: None });
    assert_eq!(error.message, format!("127.0.0.1:{port} reset the connection"));
    let hint = "check whether the base URL must begin with https://, and this machine's network";
    assert_eq!(error.hint.as_deref(), Some(hint));
}

#[tokio::test]
async fn connection_to_no_listener_is_named() {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let error = error_at(format!("http://127.0.0.1:{port}")).await;
    assert_eq!(error.failure, FailureKind::Transient { retry_after: None });
    assert_eq!(error.message, format!("nothing is listening at 127.0.0.1:{port} (is the server running?)"));
    assert_eq!(error.hint.as_deref(), Some("start the server, or check the base URL"));
}

#[tokio::test]
async fn connection_to_an_unknown_host_is_named() {
    // RFC 6761, section 6.4: no name below .invalid has an address.
    let error = error_at("http://api.example.invalid".to_owned()).await;
    assert_eq!(error.failure, FailureKind::Transient { retry_after: None });
    assert_eq!(error.message, "can't resolve the host name api.example.invalid (no network?)");
}

#[tokio::test]
async fn connection_to_another_protocol_is_named() {
    let port = misbehaving(|mut stream| {
        take_request(&mut stream);
        stream.write_all(b"220 mail.example.org ESMTP\r\n\r\n").unwrap();
    });
    let error = error_at(format!("http://127.0.0.1:{port}")).await;
    assert_eq!(error.failure, FailureKind::Unreachable);
    assert_eq!(error.message, format!("127.0.0.1:{port} doesn't respond in HTTP"));
    let error = error_at(format!("https://127.0.0.1:{port}")).await;
    assert_eq!(error.failure, FailureKind::Unreachable);
    assert_eq!(
        error.message,
        format!("can't establish a secure connection to 127.0.0.1:{port} (does it support https?)")
    );
}

#[tokio::test]
async fn connection_with_an_unknown_certificate_is_named() {
    tiller_provider::ensure_crypto();
    let der = |text| STANDARD.decode(text).unwrap();
    let key = PrivatePkcs8KeyDer::from(der(KEY)).into();
    let chain = vec![CertificateDer::from(der(CERTIFICATE))];
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    let port = misbehaving(move |mut stream| {
        let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        // The client refuses the certificate, which ends the handshake.
        drop(tls.complete_io(&mut stream));
    });
    let error = error_at(format!("https://localhost:{port}")).await;
    assert_eq!(error.failure, FailureKind::Unreachable);
    assert!(error.message.starts_with("the certificate of localhost is not valid: "), "{error}");
    assert!(error.hint.unwrap().contains("certificate"));
}

/// The stream of an answer with the text "packed", made with gzip for this test.
const PACKED: &str = "H4sIAAAAAAACAx3MQQqAIBBG4b2niH/dCWZd2zqASAw6oRQqOTvx7kXb98ELrExTh48leWkg2xHkVgZ9sWSVrCBU9pcEjBlnyqnF4xFuJX/StFQMN4wJ/8ou+7Y6Y16mPQWhWQAAAA==";

#[tokio::test]
async fn answer_in_gzip_is_decoded() {
    let port = misbehaving(|mut stream| {
        take_request(&mut stream);
        let packed = STANDARD.decode(PACKED).unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: gzip\r\nconnection: close\r\n";
        write!(stream, "{head}content-length: {}\r\n\r\n", packed.len()).unwrap();
        stream.write_all(&packed).unwrap();
    });
    let endpoint = Endpoint::new("local", format!("http://127.0.0.1:{port}"), "LOCAL_KEY");
    let events = collect(&OpenAiChat::new(endpoint, Compat::COMMON).unwrap(), hello("m")).await;
    let expected = StreamEvent::Text { block: 0, text: "packed".into() };
    assert_eq!(events.into_iter().next(), Some(Ok(expected)));
}

/// Starts a server with TLS and this response to each request; returns an endpoint there that trusts it.
fn trusted_endpoint(name: &str, response: String) -> Endpoint {
    tiller_provider::ensure_crypto();
    let der = |text| STANDARD.decode(text).unwrap();
    let key = PrivatePkcs8KeyDer::from(der(KEY)).into();
    let chain = vec![CertificateDer::from(der(CERTIFICATE))];
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    let port = misbehaving(move |mut stream| {
        let mut tls = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut stream = rustls::Stream::new(&mut tls, &mut stream);
        let mut buffer = [0; 65_536];
        let _ = stream.read(&mut buffer);
        let _ = stream.write_all(response.as_bytes());
    });
    let pem = format!("-----BEGIN CERTIFICATE-----\n{CERTIFICATE}\n-----END CERTIFICATE-----\n");
    Endpoint {
        certificates: Some(pem.into_bytes().into()),
        ..Endpoint::new(name, format!("https://localhost:{port}"), "LOCAL_KEY")
    }
}

#[tokio::test]
async fn local_server_with_certificate_of_the_user_is_found() {
    let list = r#"{"data": [{"id": "q", "max_model_len": 32768}]}"#;
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", list.len());
    let found = find_all([trusted_endpoint("vllm", head + list)], Duration::from_secs(60)).await;
    assert!(found.iter().any(|(_, models)| models.is_ok()), "{found:?}");
}

#[tokio::test]
async fn certificate_of_the_user_is_trusted() {
    let refusal = "HTTP/1.1 402 Payment Required\r\ncontent-length: 0\r\n\r\n";
    let endpoint = trusted_endpoint("local", refusal.to_owned());
    let error = failure(&OpenAiChat::new(endpoint, Compat::COMMON).unwrap(), hello("m")).await;
    assert_eq!((error.failure, &*error.message), (FailureKind::Quota, "HTTP status 402"));
    let endpoint = Endpoint {
        certificates: Some(b"no certificate".as_slice().into()),
        ..Endpoint::new("local", "https://localhost", "LOCAL_KEY")
    };
    let error = OpenAiChat::new(endpoint, Compat::COMMON).err().unwrap();
    assert!(error.message.starts_with("request.ca_file has no usable certificate"), "{error}");
}
