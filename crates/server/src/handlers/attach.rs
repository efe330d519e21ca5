//! The connection of a front end that shows a session: an upgrade of HTTP to the protocol of `remote_session`.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CONNECTION, UPGRADE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tiller_core::id::EntryId;
use tiller_engine::remote_session;

use crate::app_state::AppState;
use crate::params::OpenSessionParam;
use crate::problem::{INVALID, Problem};
use crate::stream::LAST_EVENT_ID;

/// The protocol that a front end upgrades to.
pub const ATTACH_PROTOCOL: &str = "tiller-session";

/// Upgrades the connection, and serves the session over it until either of them ends. A front end that lost a
/// connection sends the id of its last entry as `Last-Event-ID`.
pub(crate) async fn attach(
    State(state): State<Arc<AppState>>,
    OpenSessionParam(session): OpenSessionParam,
    mut request: Request,
) -> Result<Response, Problem> {
    let asks = request.headers().get(UPGRADE).is_some_and(|protocol| protocol == ATTACH_PROTOCOL);
    let upgrade = request.extensions_mut().remove::<OnUpgrade>().filter(|_| asks);
    let upgrade = upgrade.ok_or_else(|| INVALID.detail("only `tiller --attach` uses this connection"))?;
    let permit = state.watchers.acquire()?;
    let known = request.headers().get(LAST_EVENT_ID).and_then(|id| id.to_str().ok()).map(EntryId::new);
    let agent = session.agent.clone();
    tokio::spawn(async move {
        let _permit = permit;
        match upgrade.await {
            Ok(stream) => {
                if let Err(error) = remote_session::share(agent, TokioIo::new(stream), known).await {
                    tracing::debug!(%error, "an attached front end failed");
                }
            }
            Err(error) => tracing::debug!(%error, "a connection can't be upgraded"),
        }
    });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    response.headers_mut().insert(UPGRADE, HeaderValue::from_static(ATTACH_PROTOCOL));
    Ok(response)
}
