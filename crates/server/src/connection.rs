//! Connections: TLS, and the limits of HTTP/1.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

/// Time for a client to send the headers of a request, and to agree on TLS.
const HEADER_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of header lines.
const MAX_HEADERS: usize = 64;

/// Bytes of a connection's buffer, which must hold the headers.
const BUFFER: usize = 32 * 1024;

/// The reason TLS can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file can't be read, or has the wrong content.
    #[error("can't read the {what}: {reason}")]
    File {
        /// `certificate` or `key`.
        what: &'static str,
        /// The reason.
        reason: String,
    },
    /// The key doesn't fit the certificate.
    #[error("can't use the certificate and its key")]
    Config(#[from] rustls::Error),
}

/// Reads a certificate chain and its key, both PEM, for TLS 1.2 and 1.3.
///
/// # Errors
/// If one of them can't be read, or they don't match.
pub fn tls_config(certificate: &[u8], key: &[u8]) -> Result<ServerConfig, TlsError> {
    let failed = |what| {
        move |reason: rustls::pki_types::pem::Error| TlsError::File { what, reason: reason.to_string() }
    };
    let chain = CertificateDer::pem_slice_iter(certificate).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(failed("certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(key).map_err(failed("key"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}

/// Serves a connection until it ends, or until its current request has ended after the server's shutdown began.
pub(crate) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    shutdown: watch::Receiver<bool>,
) {
    // Events are small, and must not wait for more of them.
    let _ = stream.set_nodelay(true);
    match tls {
        None => serve_stream(stream, router, shutdown).await,
        Some(acceptor) => match timeout(HEADER_TIMEOUT, acceptor.accept(stream)).await {
            Ok(Ok(stream)) => serve_stream(stream, router, shutdown).await,
            Ok(Err(error)) => tracing::debug!(%error, "a client's TLS handshake failed"),
            Err(_) => tracing::debug!("a client's TLS handshake timed out"),
        },
    }
}

async fn serve_stream(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    mut shutdown: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .max_headers(MAX_HEADERS)
        .max_buf_size(BUFFER);
    // An upgraded connection belongs to an attached front end.
    let service = TowerToHyperService::new(router);
    let connection = http.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    // The borrow of the value isn't `Send`.
    let shutdown = async { drop(shutdown.wait_for(|is_shutting_down| *is_shutting_down).await) };
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = shutdown => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection failed");
    }
}
