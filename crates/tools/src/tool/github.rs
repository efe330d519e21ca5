//! The GitHub tools and their shared code: the repository, the token and requests to the REST API
//! (<https://docs.github.com/en/rest>).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap, LINK, RETRY_AFTER};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::process::Command;

use super::http_client::{AddressScope, causes, client, read_body};

mod create_comment;
mod get_issue;
mod list_issues;

pub(super) use create_comment::GithubCreateComment;
pub(super) use get_issue::GithubGetIssue;
pub(super) use list_issues::GithubListIssues;

/// Address of the REST API of github.com.
pub const GITHUB_API: &str = "https://api.github.com";

/// Maximum bytes of a response.
const MAX_BYTES: usize = 10 * 1024 * 1024;

/// Maximum wait for the end of a rate limit; longer ones are reported.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// Delay after a rejection by a rate limit whose response names none (GitHub's REST API docs, "Rate limits").
const UNNAMED_RATE_LIMIT_DELAY: Duration = Duration::from_secs(60);

/// Number of entries per page, the API's maximum.
const PER_PAGE: usize = 100;

/// Timeout for `gh auth token`.
const GH_TIMEOUT: Duration = Duration::from_secs(10);

/// A repository on GitHub, and the way to access it.
#[derive(Clone, Debug)]
pub struct GithubRepository {
    /// Base address of the REST API.
    api: Url,
    host: String,
    owner: String,
    name: String,
    token: GithubToken,
}

/// The token's source.
#[derive(Clone, Debug)]
pub enum GithubToken {
    /// The token itself.
    Known(SecretString),
    /// GitHub's command-line program, which is asked for the user's token on demand.
    GhProgram,
}

impl GithubRepository {
    /// Finds the repository in the URL of a Git remote; `None` if the remote's host isn't the host of `api`.
    #[must_use]
    pub fn find(remote: &str, api: &str, token: GithubToken) -> Option<Self> {
        let (host, path) = split_remote(remote)?;
        // SSH over the port of HTTPS (docs.github.com/authentication, "Using SSH over the HTTPS port").
        let host = if host.eq_ignore_ascii_case("ssh.github.com") { "github.com" } else { host };
        let api = Url::parse(api).ok()?;
        let is_public = api.as_str().trim_end_matches('/') == GITHUB_API;
        let api_host = if is_public { "github.com" } else { api.host_str()? };
        let (owner, name) = path.trim_matches('/').trim_end_matches(".git").split_once('/')?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(is_plain) && !matches!(name, "." | "..");
        (host.eq_ignore_ascii_case(api_host) && is_name(owner) && is_name(name)).then(|| Self {
            api,
            host: host.to_owned(),
            owner: owner.to_owned(),
            name: name.to_owned(),
            token,
        })
    }

    /// Prepares the requests of one call: gets the token, and creates a client.
    async fn connect(&self) -> Result<GithubClient<'_>, String> {
        Ok(GithubClient {
            repository: self,
            client: client(AddressScope::Anywhere)?,
            token: self.token().await?,
        })
    }

    fn address(&self, path: &str) -> Result<Url, String> {
        let base = self.api.as_str().trim_end_matches('/');
        let address = format!("{base}/repos/{}/{}/{path}", self.owner, self.name);
        Url::parse(&address).map_err(|error| format!("{address}: {error}"))
    }

    async fn token(&self) -> Result<SecretString, String> {
        if let GithubToken::Known(token) = &self.token {
            return Ok(token.clone());
        }
        let mut gh = Command::new("gh");
        gh.args(["auth", "token", "--hostname", &self.host]).kill_on_drop(true);
        let output = tokio::time::timeout(GH_TIMEOUT, gh.output()).await;
        let output = output.map_err(|_| "gh auth token took too long; set GITHUB_TOKEN".to_owned())?;
        let output = output.map_err(|error| format!("gh auth token: {error}; set GITHUB_TOKEN"))?;
        match String::from_utf8_lossy(&output.stdout).trim() {
            token if output.status.success() && !token.is_empty() => Ok(token.to_owned().into()),
            _ => Err("no token for GitHub; the user can set GITHUB_TOKEN or run `gh auth login`".into()),
        }
    }
}

/// The entries of a list.
struct GithubList {
    entries: Vec<Value>,
    /// True if GitHub has more entries than were requested.
    has_more: bool,
    /// The reason entries are missing, for the model.
    problem: Option<String>,
}

/// The requests of one call to a repository.
struct GithubClient<'a> {
    repository: &'a GithubRepository,
    client: Client,
    token: SecretString,
}

impl GithubClient<'_> {
    /// Returns the first `limit` entries of a list, from as many pages as needed.
    ///
    /// # Errors
    /// If the first page can't be read. If a later page can't be read, the list ends before it, with a note.
    async fn list(&self, path: &str, query: &[(&str, String)], limit: usize) -> Result<GithubList, String> {
        let mut url = self.repository.address(path)?;
        url.query_pairs_mut().append_pair("per_page", &limit.min(PER_PAGE).to_string());
        url.query_pairs_mut().extend_pairs(query);
        let mut entries = Vec::new();
        let has_more = loop {
            let (headers, page) = match self.request(Method::GET, url, None).await {
                Ok((headers, Value::Array(page))) => (headers, page),
                failed if entries.is_empty() => {
                    return Err(failed.err().unwrap_or_else(|| "expected a list from GitHub".into()));
                }
                failed => {
                    let reason = failed.err().unwrap_or_else(|| "expected a list".into());
                    return Ok(GithubList {
                        entries,
                        has_more: false,
                        problem: Some(format!("the rest is missing: {reason}")),
                    });
                }
            };
            entries.extend(page);
            match next_page(&headers) {
                next if entries.len() >= limit => break entries.len() > limit || next.is_some(),
                // The token is never sent to another host.
                Some(next) if next.origin() == self.repository.api.origin() => url = next,
                _ => break false,
            }
        };
        entries.truncate(limit);
        Ok(GithubList { entries, has_more, problem: None })
    }

    async fn get(&self, path: &str) -> Result<Value, String> {
        Ok(self.request(Method::GET, self.repository.address(path)?, None).await?.1)
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        Ok(self.request(Method::POST, self.repository.address(path)?, Some(body)).await?.1)
    }

    async fn request(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<(HeaderMap, Value), String> {
        let request = self
            .client
            .request(method, url)
            .header(ACCEPT, "application/vnd.github+json")
            .header("X-GitHub-Api-Version", "2022-11-28")
            .header(AUTHORIZATION, format!("Bearer {}", self.token.expose_secret()));
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let again = request.try_clone();
        let response = send(request).await?;
        match again.zip(rate_limit_wait(response.status(), response.headers())) {
            Some((again, wait)) if wait <= MAX_WAIT => {
                tokio::time::sleep(wait).await;
                read(send(again).await?).await
            }
            _ => read(response).await,
        }
    }
}

async fn send(request: RequestBuilder) -> Result<Response, String> {
    request.send().await.map_err(|error| format!("GitHub: {}", causes(&error)))
}

/// Splits the URL of a remote into host and path: `https://host/path`, `ssh://git@host:22/path` or `git@host:path`.
fn split_remote(remote: &str) -> Option<(&str, &str)> {
    let (authority, path) = match remote.split_once("://") {
        Some((_, rest)) => rest.split_once('/')?,
        None => remote.split_once(':')?,
    };
    let host = authority.rsplit('@').next()?;
    Some((host.split(':').next()?, path))
}

async fn read(response: Response) -> Result<(HeaderMap, Value), String> {
    let (status, headers) = (response.status(), response.headers().clone());
    let (body, is_whole) =
        read_body(response, MAX_BYTES).await.map_err(|error| format!("GitHub: {error}"))?;
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    match status.is_success() {
        true if is_whole => Ok((headers, value)),
        true => Err("GitHub's response is larger than 10 MiB".into()),
        false => Err(failure(status, &headers, &value)),
    }
}

/// Returns the sentence about a failed request.
fn failure(status: StatusCode, headers: &HeaderMap, body: &Value) -> String {
    let message = body["message"].as_str().unwrap_or_default();
    let wait = rate_limit_wait(status, headers).or_else(|| unnamed_wait(status, message));
    if let Some(wait) = wait {
        return format!("GitHub's rate limit was reached; try again in {} min", wait.as_secs().div_ceil(60));
    }
    let hint = match status.as_u16() {
        401 => "; the token is invalid",
        403 | 404 => "; it may not exist, or the token has no access",
        _ => "",
    };
    format!("GitHub: status {status}: {message}{hint}")
}

/// Returns the delay after which a request that the rate limit rejected can be sent again
/// (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api).
fn rate_limit_wait(status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    if !matches!(status.as_u16(), 403 | 429) {
        return None;
    }
    let number = |name: &str| headers.get(name)?.to_str().ok()?.parse::<u64>().ok();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let reset = || number("x-ratelimit-reset").map(|at| at.saturating_sub(now));
    let is_spent = number("x-ratelimit-remaining") == Some(0);
    number(RETRY_AFTER.as_str()).or_else(|| reset().filter(|_| is_spent)).map(Duration::from_secs)
}

/// Returns the delay that GitHub documents for a rejection by a rate limit without headers, as by a secondary limit.
fn unnamed_wait(status: StatusCode, message: &str) -> Option<Duration> {
    let is_limit = status == StatusCode::TOO_MANY_REQUESTS
        || (status == StatusCode::FORBIDDEN && message.contains("rate limit"));
    is_limit.then_some(UNNAMED_RATE_LIMIT_DELAY)
}

/// Returns the address of the next page (RFC 8288).
fn next_page(headers: &HeaderMap) -> Option<Url> {
    let links = headers.get(LINK)?.to_str().ok()?;
    let next = links.split(',').find(|link| link.contains("rel=\"next\""))?;
    let (_, rest) = next.split_once('<')?;
    Url::parse(rest.split_once('>')?.0).ok()
}

/// Returns a string field of an entry, such as `title` or `/user/login`.
fn text<'a>(entry: &'a Value, pointer: &str) -> &'a str {
    entry.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the line of an issue: `#12 Title (open, bug, pull request) by ada`.
fn issue_line(issue: &Value) -> String {
    let labels = issue["labels"].as_array().into_iter().flatten().map(|label| text(label, "/name"));
    let kind = issue.get("pull_request").map(|_| "pull request");
    let facts: Vec<&str> = [text(issue, "/state")].into_iter().chain(labels).chain(kind).collect();
    let number = issue["number"].as_u64().unwrap_or_default();
    format!("#{number} {} ({}) by {}", text(issue, "/title"), facts.join(", "), text(issue, "/user/login"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_repository_of_remote_on_the_host_of_the_api() {
        let find = |remote: &str, api: &str| {
            let found = GithubRepository::find(remote, api, GithubToken::GhProgram)?;
            Some(format!("{} {}/{}", found.host, found.owner, found.name))
        };
        for remote in [
            "https://github.com/ada/conf.git",
            "https://GitHub.com/ada/conf/",
            "git@github.com:ada/conf.git",
            "ssh://git@github.com:22/ada/conf",
            "ssh://git@ssh.github.com:443/ada/conf.git",
        ] {
            let found = find(remote, GITHUB_API).unwrap().to_lowercase();
            assert_eq!(found, "github.com ada/conf", "{remote}");
        }
        let enterprise = "https://git.example.org/api/v3";
        assert_eq!(find("git@git.example.org:a/b", enterprise).unwrap(), "git.example.org a/b");
        for (remote, api) in [
            ("git@gitlab.com:a/b.git", GITHUB_API),
            ("https://github.com.example.org/a/b", GITHUB_API),
            ("git@github.com:a/b", enterprise),
            ("https://github.com/a", GITHUB_API),
            ("https://github.com/a/b/c", GITHUB_API),
            ("/srv/git/a", GITHUB_API),
            ("https://github.com/%2e%2e/user", GITHUB_API),
            ("https://github.com/../user", GITHUB_API),
        ] {
            assert_eq!(find(remote, api), None, "{remote}");
        }
    }
}
