//! Access to the API: host, origin, token, and the size of headers.

use std::net::IpAddr;
use std::str::FromStr as _;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use percent_encoding::percent_decode_str;
use secrecy::{ExposeSecret as _, SecretString};
use subtle::ConstantTimeEq as _;

use crate::base_path::BasePath;
use crate::problem::{FORBIDDEN, HEADERS, Problem, UNAUTHORIZED};

/// Name of the cookie that holds the token.
const COOKIE: &str = "tiller_token";

/// Parameter of the first visit's address.
const TOKEN_PARAMETER: &str = "token";

/// Maximum bytes of all header names and values: some cookies of other programs on the same host, and an address.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// The path that needs no token, for supervisors.
const HEALTH_PATH: &str = "/healthz";

/// The rules of access.
#[derive(Debug)]
pub struct AccessRules {
    /// The token that every request but `/healthz` needs.
    pub token: SecretString,
    /// Names by which clients may address the server, besides `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// The scope of the cookie.
    pub cookie: CookieScope,
    /// The prefix of all URLs, and the cookie's path.
    pub base_path: BasePath,
}

/// The connections on which a browser sends the cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CookieScope {
    /// All.
    Any,
    /// Those with TLS.
    Secure,
}

/// The place of the token in a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenSource {
    Header,
    Cookie,
    Parameter,
}

impl AccessRules {
    /// Checks a request; returns the response that sets the cookie at a first visit.
    pub(crate) fn check(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<Option<Response>, Problem> {
        let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
        if bytes + uri.path().len() + uri.query().map_or(0, str::len) > MAX_HEADER_BYTES {
            return Err(HEADERS.without_detail());
        }
        let host = self.check_host(uri, headers)?;
        let has_origin = check_origin(host, headers)?;
        if uri.path() == HEALTH_PATH {
            return Ok(None);
        }
        match self.token_source(uri, headers)? {
            // Another server on this host is the same site for a browser, so the cookie alone doesn't identify the
            // requester.
            TokenSource::Cookie if !is_safe(method) && !has_origin => {
                Err(FORBIDDEN.detail("a request with the cookie needs an `Origin`"))
            }
            TokenSource::Parameter if method == Method::GET => Ok(Some(self.first_visit(uri))),
            TokenSource::Parameter => {
                Err(UNAUTHORIZED.detail("the parameter `token` is for the first visit only"))
            }
            TokenSource::Header | TokenSource::Cookie => Ok(None),
        }
    }

    /// Returns the authority if its name can't belong to a foreign page: such a page could reach this server by a name
    /// of its own that leads here (DNS rebinding).
    fn check_host<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
        let named = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let authority = named.or_else(|| uri.authority().map(|authority| authority.as_str()));
        let authority = authority.ok_or_else(|| FORBIDDEN.detail("the request has no host"))?;
        let name = host_name(authority);
        let is_address = IpAddr::from_str(name.trim_matches(['[', ']'])).is_ok();
        let is_known = |known: &str| known.eq_ignore_ascii_case(name);
        if is_address || is_known("localhost") || self.hosts.iter().any(|known| is_known(known)) {
            Ok(authority)
        } else {
            Err(FORBIDDEN.detail("the server doesn't accept this host name"))
        }
    }

    fn token_source(&self, uri: &Uri, headers: &HeaderMap) -> Result<TokenSource, Problem> {
        let bearer = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        let (source, token) = if let Some(value) = bearer {
            let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            (TokenSource::Header, token.map_or("", |(_, token)| token.trim()).to_owned())
        } else if let Some(token) = parameter(uri) {
            (TokenSource::Parameter, token)
        } else if let Some(token) = cookie(headers) {
            (TokenSource::Cookie, token.to_owned())
        } else {
            return Err(UNAUTHORIZED.without_detail());
        };
        let is_right = token.as_bytes().ct_eq(self.token.expose_secret().as_bytes());
        if bool::from(is_right) { Ok(source) } else { Err(UNAUTHORIZED.without_detail()) }
    }

    /// Sets the cookie, and leads to the same address without the token, which then isn't in the browser's history.
    fn first_visit(&self, uri: &Uri) -> Response {
        let secure = if self.cookie == CookieScope::Secure { "; Secure" } else { "" };
        let token = self.token.expose_secret();
        let base = &self.base_path;
        let cookie = format!("{COOKIE}={token}; Path={base}/; HttpOnly; SameSite=Strict{secure}");
        let rest: Vec<&str> = parameters(uri).filter(|pair| !is_token(pair)).collect();
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        // Two slashes at the beginning would be a server's name.
        let location = format!("/{}{query}", uri.path().trim_start_matches('/'));
        let mut response = StatusCode::SEE_OTHER.into_response();
        let fields = [(header::SET_COOKIE, cookie), (header::LOCATION, location)];
        for (name, value) in fields {
            if let Ok(value) = HeaderValue::try_from(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// The name in an authority, without the port.
fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
    }
}

/// Checks that the page that sent the request, if one did, is of this server. Returns true if one did.
fn check_origin(host: &str, headers: &HeaderMap) -> Result<bool, Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(false) };
    let origin = origin.to_str().unwrap_or_default();
    let authority = origin.split_once("://").map_or("", |(_, authority)| authority);
    if authority.eq_ignore_ascii_case(host) {
        Ok(true)
    } else {
        Err(FORBIDDEN.detail("the request comes from a page of another origin"))
    }
}

fn parameters(uri: &Uri) -> impl Iterator<Item = &str> {
    uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty())
}

fn is_token(pair: &str) -> bool {
    pair.split('=').next() == Some(TOKEN_PARAMETER)
}

fn parameter(uri: &Uri) -> Option<String> {
    let pair = parameters(uri).find(|pair| is_token(pair))?;
    let value = pair.split_once('=').map_or("", |(_, value)| value);
    Some(percent_decode_str(value).decode_utf8_lossy().into_owned())
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, value)| value)
}
