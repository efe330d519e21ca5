//! The configured MCP servers: from the user's settings, a trusted project's `.mcp.json` and the environment.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use tiller_mcp::config::{self, ConfigOrigin, ParsedServers, SERVERS_KEY};

use super::edit::{FilePermissions, replace};
use super::environment::Environment;
use super::error::{ConfigError, read};
use crate::files::git::up_to_repository;

/// The key of the servers in the user's settings file.
pub(super) const SETTING: &str = "mcp_servers";

/// Name of the file with a project's servers, in the project's directory.
pub(super) const PROJECT_FILE: &str = ".mcp.json";

/// Variables with servers as JSON; the first one that is set counts.
const VARIABLES: [&str; 2] = ["TILLER_MCP_SERVERS", "MCP_SERVERS"];

/// Removes the servers from a settings file's object, including those under the key that other programs use.
/// If a name is under both keys, [`SETTING`] takes precedence.
pub(super) fn take_setting(object: &mut Map<String, Value>) -> Option<Value> {
    match (object.shift_remove(SETTING), object.shift_remove(SERVERS_KEY)) {
        (Some(Value::Object(own)), Some(Value::Object(mut others))) => {
            others.extend(own);
            Some(Value::Object(others))
        }
        (own, others) => own.or(others),
    }
}

/// Parses and merges the servers of all sources.
pub(super) fn load(
    user: Option<(&Path, Value)>,
    project: Option<(&Path, &str)>,
    environment: &Environment,
) -> ParsedServers {
    let variables = |name: &str| environment.variables.get(name).cloned();
    let user = user.map(|(path, servers)| {
        config::parse_servers(&servers, &ConfigOrigin::User(path.to_owned()), &variables)
    });
    let project = project
        .map(|(path, text)| config::parse_text(text, &ConfigOrigin::Project(path.to_owned()), &variables));
    let variable = VARIABLES.into_iter().find_map(|name| Some((name, environment.value(name)?)));
    let variable =
        variable.map(|(name, text)| config::parse_text(text, &ConfigOrigin::Environment(name), &variables));
    config::merge([user, project, variable].into_iter().flatten())
}

/// A file in which servers are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFile {
    /// The user's settings file.
    User(PathBuf),
    /// The `.mcp.json` of a project.
    Project(PathBuf),
}

impl ServerFile {
    /// Finds the file for the project of a directory: the nearest one up to the root of the repository, or a
    /// new one there.
    #[must_use]
    pub fn of_project(cwd: &Path) -> Self {
        let dirs = up_to_repository(cwd);
        let existing = dirs.iter().find(|dir| dir.join(PROJECT_FILE).is_file());
        let dir = existing.or(dirs.last()).map_or(cwd, |dir| dir.as_ref());
        Self::Project(dir.join(PROJECT_FILE))
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::User(path) | Self::Project(path) => path,
        }
    }

    /// Returns the key under which a server is, or to which a new one is added. The user's file may have both
    /// keys.
    fn key_of(&self, name: &str, object: &Map<String, Value>) -> &'static str {
        let keys: &[&'static str] = match self {
            Self::User(_) => &[SETTING, SERVERS_KEY],
            Self::Project(_) => &[SERVERS_KEY],
        };
        let holds = |key: &&&str| object.get(**key).is_some_and(|servers| servers.get(name).is_some());
        let exists = |key: &&&str| object.contains_key(**key);
        keys.iter().find(holds).or_else(|| keys.iter().find(exists)).copied().unwrap_or(keys[0])
    }

    /// Stores a server, or removes it if `server` is `None`; everything else in the file is preserved.
    /// Returns the previous value.
    ///
    /// # Errors
    /// If the file isn't a JSON object, or can't be read or written.
    pub fn store(&self, name: &str, server: Option<Value>) -> Result<Option<Value>, ConfigError> {
        let path = self.path();
        let mut object: Map<String, Value> = if path.symlink_metadata().is_ok() {
            serde_json::from_str(&read(path)?).map_err(|error| ConfigError::not_json(path, &error))?
        } else {
            Map::new()
        };
        let key = self.key_of(name, &object);
        let servers = object.entry(key).or_insert_with(|| Map::new().into());
        let Value::Object(servers) = servers else {
            return Err(ConfigError::Servers { path: path.to_owned(), key });
        };
        let before = match server {
            Some(server) => servers.insert(name.to_owned(), server),
            None => servers.shift_remove(name),
        };
        let text = serde_json::to_string_pretty(&object).unwrap_or_default() + "\n";
        replace(path, &text, FilePermissions::Keep)
            .map_err(|source| ConfigError::Io { path: path.to_owned(), source })?;
        Ok(before)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    #[test]
    fn load_later_sources_win() {
        let environment = Environment::from([("MCP_SERVERS", r#"{"c": {"command": "variable"}}"#)]);
        let server = |command: &str| json!({"command": command});
        let user = json!({"a": server("user"), "b": server("user"), "c": server("user")});
        let project = r#"{"mcpServers": {"b": {"command": "project"}, "c": {"command": "project"}}}"#;
        let path = Path::new("/f");
        let parsed = load(Some((path, user)), Some((path, project)), &environment);
        let found: Vec<&str> = parsed.servers.iter().map(|server| server.summary.as_str()).collect();
        assert_eq!((found, parsed.problems), (vec!["user", "project", "variable"], vec![]));
    }

    #[test]
    fn store_keeps_the_rest_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let user = ServerFile::User(dir.path().join("settings.json"));
        fs::write(user.path(), r#"{"sync": "never", "mcp_servers": {"a": {"command": "a"}}}"#).unwrap();
        assert_eq!(user.store("b", Some(json!({"url": "http://b"}))).unwrap(), None);
        assert_eq!(user.store("a", None).unwrap(), Some(json!({"command": "a"})));
        let stored: Value = serde_json::from_str(&fs::read_to_string(user.path()).unwrap()).unwrap();
        assert_eq!(stored, json!({"sync": "never", "mcp_servers": {"b": {"url": "http://b"}}}));
        fs::write(user.path(), r#"{"mcp_servers": 1}"#).unwrap();
        let error = user.store("b", None).unwrap_err().to_string();
        assert!(
            error.ends_with("settings.json: `mcp_servers` must be an object that maps names to servers"),
            "{error}"
        );
    }

    #[test]
    fn store_changes_the_key_that_holds_the_name() {
        let dir = tempfile::tempdir().unwrap();
        let user = ServerFile::User(dir.path().join("settings.json"));
        let server = |command: &str| json!({"command": command});
        let both = json!({"mcpServers": {"a": server("other"), "b": server("b")}, "mcp_servers": {"a": server("own")}});
        fs::write(user.path(), both.to_string()).unwrap();
        let mut object = both.as_object().unwrap().clone();
        let expected = json!({"a": server("own"), "b": server("b")});
        assert_eq!((take_setting(&mut object), object.len()), (Some(expected), 0));
        user.store("b", Some(server("new"))).unwrap();
        assert_eq!(user.store("a", None).unwrap(), Some(server("own")));
        assert_eq!(user.store("a", None).unwrap(), Some(server("other")));
        user.store("c", Some(server("c"))).unwrap();
        let stored: Value = serde_json::from_str(&fs::read_to_string(user.path()).unwrap()).unwrap();
        assert_eq!(stored, json!({"mcpServers": {"b": server("new")}, "mcp_servers": {"c": server("c")}}));
        fs::write(user.path(), r#"{"mcpServers": {}}"#).unwrap();
        user.store("c", Some(server("c"))).unwrap();
        let stored: Value = serde_json::from_str(&fs::read_to_string(user.path()).unwrap()).unwrap();
        assert_eq!(stored, json!({"mcpServers": {"c": server("c")}}));
    }

    #[test]
    fn of_project_is_the_nearest_or_at_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let file = || ServerFile::of_project(&root.join("a/b"));
        assert_eq!(file().path(), root.join(".mcp.json"));
        file().store("x", Some(json!({"command": "x"}))).unwrap();
        fs::write(root.join("a/.mcp.json"), "{}").unwrap();
        assert_eq!(file().path(), root.join("a/.mcp.json"));
        let stored = fs::read_to_string(root.join(".mcp.json")).unwrap();
        assert_eq!(stored, "{\n  \"mcpServers\": {\n    \"x\": {\n      \"command\": \"x\"\n    }\n  }\n}\n");
    }
}
