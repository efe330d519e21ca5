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

/// Prefix of the name of the cookie that holds the token. The port follows: browsers send the cookies of a host to
/// all of its ports.
const COOKIE_PREFIX: &str = "tiller_token_";

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
        let has_origin = self.check_origin(host, headers)?;
        let cookie_name = cookie_name(host);
        if uri.path() == HEALTH_PATH {
            return Ok(None);
        }
        match self.token_source(uri, headers, &cookie_name)? {
            // Another server on this host is the same site for a browser, so the cookie alone doesn't identify the
            // requester.
            TokenSource::Cookie if !is_safe(method) && !has_origin => {
                Err(FORBIDDEN.detail("a request with the cookie needs an `Origin`"))
            }
            TokenSource::Parameter if method == Method::GET => Ok(Some(self.first_visit(uri, &cookie_name))),
            TokenSource::Parameter => {
                Err(UNAUTHORIZED.detail("the parameter `token` is for the first visit only"))
            }
            TokenSource::Header | TokenSource::Cookie => Ok(None),
        }
    }

    /// Returns the authority if its name can't belong to a foreign page: such a page could reach this server by a name
    /// of its own that leads here (DNS rebinding).
    fn check_host<'a>(&self, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Problem> {
        if headers.get_all(header::HOST).iter().count() > 1 {
            return Err(FORBIDDEN.detail("the request has more than one host"));
        }
        let named = || headers.get(header::HOST).and_then(|host| host.to_str().ok());
        // The host of an absolute address takes precedence over the header (RFC 9112, section 3.2.2).
        let authority = uri.authority().map(|authority| authority.as_str()).or_else(named);
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

    /// Checks that the page that sent the request, if one did, is of this server. Returns true if one did.
    fn check_origin(&self, host: &str, headers: &HeaderMap) -> Result<bool, Problem> {
        let Some(origin) = headers.get(header::ORIGIN) else { return Ok(false) };
        let scheme = match self.cookie {
            CookieScope::Secure => "https",
            CookieScope::Any => "http",
        };
        let (found, authority) = origin.to_str().ok().and_then(|it| it.split_once("://")).unwrap_or_default();
        if found.eq_ignore_ascii_case(scheme) && authority.eq_ignore_ascii_case(host) {
            Ok(true)
        } else {
            Err(FORBIDDEN.detail("the request comes from a page of another origin"))
        }
    }

    /// Returns the first place with the token. A bookmark may have an old one next to the cookie.
    fn token_source(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        cookie_name: &str,
    ) -> Result<TokenSource, Problem> {
        let bearer = headers.get(header::AUTHORIZATION).map(|value| value.to_str().unwrap_or_default());
        let bearer = bearer.map(|value| {
            let token = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            token.map_or("", |(_, token)| token.trim()).to_owned()
        });
        let sources = [
            (TokenSource::Header, bearer),
            (TokenSource::Parameter, parameter(uri)),
            (TokenSource::Cookie, cookie(headers, cookie_name).map(str::to_owned)),
        ];
        let is_right =
            |token: &String| bool::from(token.as_bytes().ct_eq(self.token.expose_secret().as_bytes()));
        let found = sources.into_iter().find(|(_, token)| token.as_ref().is_some_and(is_right));
        found.map(|(source, _)| source).ok_or_else(|| UNAUTHORIZED.without_detail())
    }

    /// Sets the cookie, and leads to the same address without the token, which then isn't in the browser's history.
    fn first_visit(&self, uri: &Uri, cookie_name: &str) -> Response {
        let secure = if self.cookie == CookieScope::Secure { "; Secure" } else { "" };
        let token = self.token.expose_secret();
        let base = &self.base_path;
        let cookie = format!("{cookie_name}={token}; Path={base}/; HttpOnly; SameSite=Strict{secure}");
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

/// Returns the name of the cookie for an authority.
fn cookie_name(authority: &str) -> String {
    let port = authority.strip_prefix(host_name(authority)).and_then(|port| port.strip_prefix(':'));
    format!("{COOKIE_PREFIX}{}", port.unwrap_or("default"))
}

/// The name in an authority, without the port.
fn host_name(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => authority,
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

fn cookie<'a>(headers: &'a HeaderMap, cookie_name: &str) -> Option<&'a str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|cookies| cookies.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == cookie_name).map(|(_, value)| value)
}
