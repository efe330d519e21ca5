//! The configuration of servers: parsing and merging, without file access.
//!
//! The format is the same as in other MCP clients: an object of servers by name, each with `command`, `args`, `env` and
//! `cwd`, or with `url` and `headers`. An invalid server is skipped; the others are used.

mod variables;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use tiller_core::{json_error, suggest};

pub use self::variables::Variables;
use self::variables::expand;

/// The keys of a server.
const KEYS: [&str; 9] = ["type", "command", "args", "env", "cwd", "url", "headers", "timeout", "disabled"];

/// The key of the servers in `.mcp.json` and in other programs' settings.
pub const SERVERS_KEY: &str = "mcpServers";

/// A configured server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerConfig {
    /// The name: letters, digits, `-` and `_`.
    pub name: String,
    /// The configuration's source.
    pub origin: ConfigOrigin,
    /// The way to reach the server.
    pub endpoint: Endpoint,
    /// The command or URL as written, without the values of variables, which may be secrets.
    pub summary: String,
    /// Time limit of a call without progress, in place of the setting `mcp.timeout_s`.
    pub call_timeout: Option<Duration>,
}

/// The way to reach a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A program that speaks MCP on stdin and stdout.
    Stdio(StdioEndpoint),
    /// A server that speaks streamable HTTP.
    Http(HttpEndpoint),
}

impl Endpoint {
    /// Returns the name of the transport.
    #[must_use]
    pub const fn transport(&self) -> &'static str {
        match self {
            Self::Stdio(_) => "stdio",
            Self::Http(_) => "http",
        }
    }
}

/// A program to start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StdioEndpoint {
    /// A path, or a name on `PATH`.
    pub command: String,
    /// The arguments.
    pub args: Vec<String>,
    /// Additional environment variables.
    pub env: Vec<(String, String)>,
    /// The working directory, relative to the session's; by default the session's.
    pub cwd: Option<PathBuf>,
}

/// An address to connect to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpEndpoint {
    /// The URL of the endpoint.
    pub url: String,
    /// Additional headers of every request.
    pub headers: Vec<(String, String)>,
}

/// A configuration's source; later ones take precedence.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigOrigin {
    /// The user's settings file.
    User(PathBuf),
    /// The `.mcp.json` of a trusted project.
    Project(PathBuf),
    /// An environment variable, by name.
    Environment(&'static str),
}

impl ConfigOrigin {
    /// Returns the key of the servers.
    const fn servers_key(&self) -> &'static str {
        match self {
            Self::User(_) => "mcp_servers",
            Self::Project(_) | Self::Environment(_) => SERVERS_KEY,
        }
    }
}

impl fmt::Display for ConfigOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(path) | Self::Project(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => f.write_str(name),
        }
    }
}

/// The servers of one source, and its problems.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedServers {
    /// The usable servers, in the order of the source.
    pub servers: Vec<ServerConfig>,
    /// Names of servers that are switched off.
    pub disabled: Vec<String>,
    /// A sentence about each problem.
    pub problems: Vec<String>,
}

impl ParsedServers {
    fn failed(problem: String) -> Self {
        Self { problems: vec![problem], ..Self::default() }
    }
}

/// Parses the text of a `.mcp.json` or of `MCP_SERVERS`: an object with `mcpServers`, or, in a variable, the servers
/// themselves.
#[must_use]
pub fn parse_text(text: &str, origin: &ConfigOrigin, variables: &Variables<'_>) -> ParsedServers {
    let object: Map<String, Value> = match serde_json::from_str(text) {
        Ok(object) => object,
        Err(error) if error.is_data() => {
            return ParsedServers::failed(format!("{origin}: not a JSON object"));
        }
        Err(error) => return ParsedServers::failed(format!("{origin}, {}", json_error::in_file(&error))),
    };
    match (object.get(SERVERS_KEY), origin) {
        (Some(servers), _) => parse_servers(servers, origin, variables),
        (None, ConfigOrigin::Environment(_)) => parse_servers(&Value::Object(object), origin, variables),
        (None, _) => ParsedServers::failed(format!("{origin}: no `{SERVERS_KEY}`; put the servers in it")),
    }
}

/// Parses an object of servers by name.
#[must_use]
pub fn parse_servers(servers: &Value, origin: &ConfigOrigin, variables: &Variables<'_>) -> ParsedServers {
    let Some(servers) = servers.as_object() else {
        let key = origin.servers_key();
        return ParsedServers::failed(format!(
            "{origin}: `{key}` must be an object that maps names to servers"
        ));
    };
    let mut parsed = ParsedServers::default();
    for (name, value) in servers {
        let problem = |problem: String| format!("{origin}: MCP server {name}: {problem}");
        let mut entry = ServerEntry { fields: value, variables, warnings: Vec::new() };
        match entry.server(name, origin) {
            Ok(Some(server)) => parsed.servers.push(server),
            Ok(None) => parsed.disabled.push(name.clone()),
            Err(error) => parsed.problems.push(problem(error)),
        }
        parsed.problems.extend(entry.warnings.into_iter().map(problem));
    }
    parsed
}

/// Merges sources in ascending order of precedence: a server replaces or disables an earlier one of the same name.
#[must_use]
pub fn merge(sources: impl IntoIterator<Item = ParsedServers>) -> ParsedServers {
    let mut servers: BTreeMap<String, ServerConfig> = BTreeMap::new();
    let mut merged = ParsedServers::default();
    for source in sources {
        for name in &source.disabled {
            servers.remove(name);
        }
        servers.extend(source.servers.into_iter().map(|server| (server.name.clone(), server)));
        merged.disabled.extend(source.disabled);
        merged.problems.extend(source.problems);
    }
    merged.disabled.retain(|name| !servers.contains_key(name));
    merged.servers = servers.into_values().collect();
    merged
}

/// The transport that an entry names or implies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Transport {
    Stdio,
    Http,
}

/// An entry of the configuration that is being parsed.
struct ServerEntry<'a> {
    fields: &'a Value,
    variables: &'a Variables<'a>,
    warnings: Vec<String>,
}

impl ServerEntry<'_> {
    /// Returns `None` if the server is switched off.
    fn server(&mut self, name: &str, origin: &ConfigOrigin) -> Result<Option<ServerConfig>, String> {
        check_name(name)?;
        let fields = self.fields.as_object().ok_or("not an object")?;
        for key in fields.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            let near =
                suggest::nearest(key, KEYS.into_iter()).map(|near| format!("; did you mean `{near}`?"));
            self.warnings.push(format!("unknown key `{key}` is ignored{}", near.unwrap_or_default()));
        }
        if fields.get("disabled") == Some(&Value::Bool(true)) {
            return Ok(None);
        }
        let (endpoint, summary) = match self.transport()? {
            Transport::Stdio => self.stdio()?,
            Transport::Http => self.http()?,
        };
        let (name, origin, call_timeout) = (name.to_owned(), origin.clone(), self.timeout()?);
        Ok(Some(ServerConfig { name, origin, endpoint, summary, call_timeout }))
    }

    fn transport(&self) -> Result<Transport, String> {
        let has = |key: &str| self.fields.get(key).is_some();
        match (self.raw_text("type")?, has("command"), has("url")) {
            (None, true, true) => Err("both `command` and `url`; keep one of them".to_owned()),
            (Some("stdio"), true, _) | (None, true, false) => Ok(Transport::Stdio),
            (Some("http" | "streamable-http" | "streamableHttp"), _, true) | (None, false, true) => {
                Ok(Transport::Http)
            }
            (Some("sse"), ..) => Err(
                "the transport sse was replaced in MCP and isn't supported; use the server's http endpoint"
                    .to_owned(),
            ),
            (Some("stdio"), false, _) => Err("type stdio needs a `command`".to_owned()),
            (Some("http" | "streamable-http" | "streamableHttp"), _, false) => {
                Err("type http needs a `url`".to_owned())
            }
            (Some(other), ..) => Err(format!("unknown type `{other}`; use stdio or http")),
            (None, false, false) => Err("has neither `command` nor `url`".to_owned()),
        }
    }

    fn stdio(&self) -> Result<(Endpoint, String), String> {
        let raw_args = self.raw_list("args")?;
        let args = raw_args.iter().map(|arg| self.expanded("args", arg)).collect::<Result<Vec<_>, _>>()?;
        let cwd = self.raw_text("cwd")?.map(|cwd| self.expanded("cwd", cwd)).transpose()?;
        let raw_command = self.raw_text("command")?.unwrap_or_default();
        let command = self.expanded("command", raw_command)?;
        if command.trim().is_empty() {
            return Err("`command` is empty".to_owned());
        }
        let summary = [raw_command].into_iter().chain(raw_args).collect::<Vec<_>>().join(" ");
        let endpoint = StdioEndpoint { command, args, env: self.texts("env")?, cwd: cwd.map(PathBuf::from) };
        Ok((Endpoint::Stdio(endpoint), summary))
    }

    fn http(&self) -> Result<(Endpoint, String), String> {
        let raw = self.raw_text("url")?.unwrap_or_default();
        let url = self.expanded("url", raw)?;
        if !url.starts_with("https://") && !url.starts_with("http://") {
            return Err("`url` doesn't begin with https:// or http://".to_owned());
        }
        let endpoint = HttpEndpoint { url, headers: self.texts("headers")? };
        Ok((Endpoint::Http(endpoint), raw.to_owned()))
    }

    fn timeout(&self) -> Result<Option<Duration>, String> {
        match self.fields.get("timeout") {
            None => Ok(None),
            Some(value) => match value.as_u64().filter(|ms| *ms > 0) {
                Some(ms) => Ok(Some(Duration::from_millis(ms))),
                None => Err("`timeout` is not a number of milliseconds above 0".to_owned()),
            },
        }
    }

    fn raw_text(&self, key: &str) -> Result<Option<&str>, String> {
        match self.fields.get(key) {
            None => Ok(None),
            Some(value) => value.as_str().map(Some).ok_or_else(|| format!("`{key}` must be a string")),
        }
    }

    fn raw_list(&self, key: &str) -> Result<Vec<&str>, String> {
        let error = || format!("`{key}` must be a list of strings");
        let Some(value) = self.fields.get(key) else { return Ok(Vec::new()) };
        value.as_array().ok_or_else(error)?.iter().map(|item| item.as_str().ok_or_else(error)).collect()
    }

    /// Returns an object with string values, such as `env`, with variables expanded.
    fn texts(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let error = || format!("`{key}` must be an object with string values");
        let Some(value) = self.fields.get(key) else { return Ok(Vec::new()) };
        let text = |(name, value): (&String, &Value)| {
            let text = self.expanded(key, value.as_str().ok_or_else(error)?)?;
            Ok((name.clone(), text))
        };
        value.as_object().ok_or_else(error)?.iter().map(text).collect()
    }

    fn expanded(&self, key: &str, text: &str) -> Result<String, String> {
        expand(text, self.variables).map_err(|name| {
            format!("`{key}`: the variable {name} is not set; set it, or write ${{{name}:-default}}")
        })
    }
}

/// Checks the name of a server.
///
/// # Errors
/// If it can't be a part of a tool's name, `mcp__SERVER__TOOL`.
pub fn check_name(name: &str) -> Result<(), String> {
    let is_valid = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 32 || !name.chars().all(is_valid) || name.contains("__") {
        return Err("invalid name; use 1 to 32 letters, digits, `-` or `_`, but no `__`".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const VARIABLE: ConfigOrigin = ConfigOrigin::Environment("MCP_SERVERS");

    fn variables(name: &str) -> Option<String> {
        [("HOST", "example.org"), ("TOKEN", "s3cret")]
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).to_owned())
    }

    fn parse(servers: &Value) -> ParsedServers {
        parse_servers(servers, &VARIABLE, &variables)
    }

    fn server(name: &str, endpoint: Endpoint, summary: &str) -> ServerConfig {
        let (name, summary) = (name.to_owned(), summary.to_owned());
        ServerConfig { name, origin: VARIABLE, endpoint, summary, call_timeout: None }
    }

    #[test]
    fn parse_servers_reads_both_transports() {
        let parsed = parse(&json!({
            "files": {"command": "npx", "args": ["-y", "server", "${ROOT:-.}"], "env": {"T": "${TOKEN}"}, "cwd": "sub"},
            "web": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"X-Key": "${TOKEN}"}, "timeout": 1500},
            "off": {"command": "x", "disabled": true},
        }));
        let files = StdioEndpoint {
            command: "npx".into(),
            args: vec!["-y".into(), "server".into(), ".".into()],
            env: vec![("T".into(), "s3cret".into())],
            cwd: Some("sub".into()),
        };
        let web = HttpEndpoint {
            url: "https://example.org/mcp".into(),
            headers: vec![("X-Key".into(), "s3cret".into())],
        };
        let timeout = Some(Duration::from_millis(1500));
        let expected = ParsedServers {
            servers: vec![
                server("files", Endpoint::Stdio(files), "npx -y server ${ROOT:-.}"),
                ServerConfig {
                    call_timeout: timeout,
                    ..server("web", Endpoint::Http(web), "https://${HOST}/mcp")
                },
            ],
            disabled: vec!["off".into()],
            problems: vec![],
        };
        assert_eq!(parsed, expected);
    }

    #[test]
    fn parse_servers_problem_costs_only_its_server() {
        let parsed = parse(&json!({
            "a": {"command": "${NONE}"},
            "b": {"command": "b", "comand": 1},
            "c": {"type": "sse", "url": "http://x"},
            "d": {"command": "d", "url": "http://x"},
            "e": {},
            "f": {"url": "ftp://x"},
            "g": {"command": "g", "args": "one"},
            "h": {"command": "h", "timeout": 0},
            "i j": {"command": "i"},
            "k": {"type": "http", "command": "k"},
        }));
        let names: Vec<&str> = parsed.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["b"]);
        let expected = [
            "a: `command`: the variable NONE is not set; set it, or write ${NONE:-default}",
            "b: unknown key `comand` is ignored; did you mean `command`?",
            "c: the transport sse was replaced in MCP and isn't supported; use the server's http endpoint",
            "d: both `command` and `url`; keep one of them",
            "e: has neither `command` nor `url`",
            "f: `url` doesn't begin with https:// or http://",
            "g: `args` must be a list of strings",
            "h: `timeout` is not a number of milliseconds above 0",
            "i j: invalid name; use 1 to 32 letters, digits, `-` or `_`, but no `__`",
            "k: type http needs a `url`",
        ];
        assert_eq!(parsed.problems, expected.map(|problem| format!("MCP_SERVERS: MCP server {problem}")));
    }

    #[test]
    fn parse_text_takes_bare_servers_only_from_a_variable() {
        let file = ConfigOrigin::Project("/p/.mcp.json".into());
        let count = |text: &str, origin: &ConfigOrigin| {
            let parsed = parse_text(text, origin, &variables);
            (parsed.servers.len(), parsed.problems)
        };
        let wrapped = r#"{"mcpServers": {"a": {"command": "a"}}}"#;
        let bare = r#"{"a": {"command": "a"}}"#;
        assert_eq!(count(wrapped, &VARIABLE), (1, vec![]));
        assert_eq!(count(bare, &VARIABLE), (1, vec![]));
        assert_eq!(count(wrapped, &file), (1, vec![]));
        let problem = "/p/.mcp.json: no `mcpServers`; put the servers in it".to_owned();
        assert_eq!(count(bare, &file), (0, vec![problem]));
        let (_, problems) = count("{", &file);
        assert_eq!(problems, ["/p/.mcp.json, line 1: invalid JSON: unexpected end of file"]);
        assert_eq!(count("[]", &file).1, ["/p/.mcp.json: not a JSON object"]);
        let list = r#"{"mcpServers": []}"#;
        let expected = "/p/.mcp.json: `mcpServers` must be an object that maps names to servers";
        assert_eq!(count(list, &file).1, [expected]);
    }

    #[test]
    fn merge_later_source_replaces_and_disables() {
        let user =
            parse(&json!({"a": {"command": "user-a"}, "b": {"command": "user-b"}, "c": {"command": "c"}}));
        let project = parse(&json!({"a": {"command": "project-a"}, "b": {"command": "b", "disabled": true}}));
        let merged = merge([user, project]);
        let names: Vec<&str> = merged.servers.iter().map(|server| server.summary.as_str()).collect();
        assert_eq!((names, merged.disabled), (vec!["project-a", "c"], vec!["b".to_owned()]));
    }
}
