//! The base path: a prefix of all URLs of a server, by which a proxy routes.

use std::fmt;
use std::str::FromStr;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::uri::PathAndQuery;
use axum::http::{HeaderValue, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};

use crate::problem::NOT_FOUND;

/// A prefix of all URLs of a server, such as `/a`; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasePath(String);

/// The text isn't a base path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a path such as /a, with only letters, digits, '-' and '_'")]
pub struct InvalidBasePath;

impl FromStr for BasePath {
    type Err = InvalidBasePath;

    /// Parses parts of letters, digits, `-` and `_`, each after a slash. They need no quoting in addresses and cookies.
    fn from_str(text: &str) -> Result<Self, InvalidBasePath> {
        let is_plain = |part: &str| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        let parts = text.strip_prefix('/').ok_or(InvalidBasePath)?;
        parts.split('/').all(is_plain).then(|| Self(text.to_owned())).ok_or(InvalidBasePath)
    }
}

impl fmt::Display for BasePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl BasePath {
    /// Serves a router under this path: the router sees paths without the prefix, and the prefix is added to
    /// its `Location` headers.
    pub(crate) fn mount(self, router: Router) -> Router {
        if self.0.is_empty() {
            return router;
        }
        Router::new().fallback_service(router).layer(from_fn_with_state(self, serve_below))
    }

    /// Removes this path from an address, which otherwise isn't of this server.
    fn strip(&self, uri: &Uri) -> Option<Uri> {
        let path_and_query = uri.path_and_query()?.as_str();
        let rest = path_and_query.strip_prefix(&self.0).filter(|rest| rest.starts_with('/'))?;
        let mut parts = uri.clone().into_parts();
        parts.path_and_query = Some(PathAndQuery::try_from(rest).ok()?);
        Uri::from_parts(parts).ok()
    }
}

async fn serve_below(State(base): State<BasePath>, mut request: Request, next: Next) -> Response {
    let Some(uri) = base.strip(request.uri()) else { return NOT_FOUND.without_detail().into_response() };
    *request.uri_mut() = uri;
    let mut response = next.run(request).await;
    let location = response.headers().get(header::LOCATION).and_then(|value| value.to_str().ok());
    if let Some(location) = location.filter(|location| location.starts_with('/'))
        && let Ok(location) = HeaderValue::try_from(format!("{base}{location}"))
    {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, to_bytes};
    use axum::response::Redirect;
    use tower::ServiceExt as _;

    use super::*;

    #[test]
    fn base_path_has_plain_parts() {
        for text in ["/a", "/nodes/node-1_B"] {
            assert_eq!(text.parse::<BasePath>().unwrap().to_string(), text);
        }
        for text in ["", "/", "a", "/a/", "//a", "/a//b", "/a b", "/..", "/a;b", "/%61", "/ä"] {
            assert_eq!(text.parse::<BasePath>(), Err(InvalidBasePath), "{text}");
        }
    }

    /// The status, the location and the body.
    async fn get(base: BasePath, path: &str) -> (u16, String, String) {
        let path_of = async |uri: Uri| uri.to_string();
        let router =
            Router::new().fallback(path_of).route("/", axum::routing::get(async || Redirect::to("/x?y")));
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let response = base.mount(router).oneshot(request).await.unwrap();
        let location = response.headers().get(header::LOCATION);
        let location = location.map_or("", |value| value.to_str().unwrap()).to_owned();
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, location, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn base_path_is_removed_and_added_to_locations() {
        let base: BasePath = "/a".parse().unwrap();
        assert_eq!(get(base.clone(), "/a/b//c?d=e").await, (200, String::new(), "/b//c?d=e".into()));
        assert_eq!(get(base.clone(), "/a/").await, (303, "/a/x?y".into(), String::new()));
        for path in ["/", "/a", "/ab/c", "/b/c", "//a/c"] {
            assert_eq!(get(base.clone(), path).await.0, 404, "{path}");
        }
        assert_eq!(get(BasePath::default(), "/").await, (303, "/x?y".into(), String::new()));
    }
}
