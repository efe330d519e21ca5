//! The middleware around every handler: access, the number of requests, counters.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use crate::app_state::AppState;
use crate::problem::OVERLOADED;

/// Serves a request if the rules allow it and there is room for it.
pub(crate) async fn guard(State(state): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let response = match state.access.check(request.method(), request.uri(), request.headers()) {
        Ok(Some(response)) => response,
        Err(problem) => problem.into_response(),
        Ok(None) => match state.requests.try_acquire() {
            Ok(_permit) => next.run(request).await,
            Err(_) => OVERLOADED.detail("too many requests at once").into_response(),
        },
    };
    state.metrics.count_response(response.status().as_u16());
    with_security_headers(response)
}

/// Forbids browsers to guess types, to show a response inside another page, and to keep it.
fn with_security_headers(mut response: Response) -> Response {
    let fields = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    for (name, value) in fields {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}
