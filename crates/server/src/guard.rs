//! The middleware around every handler: access, the number of requests, counters.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse as _, Response};

use crate::app_state::AppState;
use crate::problem::OVERLOADED;

/// Serves a request if the rules allow it and there is room for it.
pub(crate) async fn guard(State(state): State<Arc<AppState>>, request: Request, next: Next) -> Response {
    let response = match state.access.check(request.method(), request.uri(), request.headers()) {
        Ok(Some(response)) => response,
        Err(problem) if problem.is_missing_token() && accepts_html(request.headers()) => token_page(),
        Err(problem) => problem.into_response(),
        Ok(None) => match state.requests.try_acquire() {
            Ok(_permit) => next.run(request).await,
            Err(_) => OVERLOADED.detail("too many concurrent requests").into_response(),
        },
    };
    state.metrics.count_response(response.status().as_u16());
    with_security_headers(response)
}

fn accepts_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|accepted| accepted.to_str().ok());
    accepted.is_some_and(|accepted| accepted.contains("text/html"))
}

/// The response to a browser without a token.
fn token_page() -> Response {
    (StatusCode::UNAUTHORIZED, Html(include_str!("token_page.html"))).into_response()
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
