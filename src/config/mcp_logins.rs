//! `mcp-auth.json`: the logins to MCP servers, by URL, readable by the user only.
//!
//! Errors contain only the position of a problem, never the text, which contains tokens.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::auth::{read_object, store_object};
use super::file_lock::FileLock;
use crate::files::create_private;
use crate::mcp::LoginStorage;

/// The file of logins.
#[derive(Clone, Debug)]
pub struct McpLogins(PathBuf);

impl McpLogins {
    /// Uses the logins in this file, which may not exist.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Returns the file's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl LoginStorage for McpLogins {
    fn load(&self, url: &str) -> Result<Option<Value>, String> {
        let mut object = read_object(&self.0).map_err(|error| error.to_string())?;
        Ok(object.shift_remove(url))
    }

    fn store(&self, url: &str, login: Option<Value>) -> Result<bool, String> {
        // Another process may change other logins at the same time. The lock for refreshes may already be
        // held here.
        let _lock = FileLock::acquire(&self.0).map_err(|error| format!("{}: {error}", self.0.display()))?;
        let mut object = read_object(&self.0).map_err(|error| error.to_string())?;
        let before = match login {
            Some(login) => object.insert(url.to_owned(), login),
            None => object.shift_remove(url),
        };
        store_object(&self.0, &object).map_err(|error| error.to_string())?;
        Ok(before.is_some())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        let path = self.0.with_extension("lock");
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        // The file is empty; only its lock matters.
        let file = create_private(&path).map_err(failed)?;
        file.lock().map_err(failed)?;
        Ok(Box::new(file))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use serde_json::json;

    use super::*;

    #[test]
    fn logins_are_private_and_bound_to_their_url() {
        let dir = tempfile::tempdir().unwrap();
        let logins = McpLogins::new(dir.path().join("tiller/mcp-auth.json"));
        assert_eq!(logins.load("https://a/mcp"), Ok(None));
        assert_eq!(logins.store("https://a/mcp", Some(json!({"t": 1}))), Ok(false));
        assert_eq!(logins.store("https://b/mcp", Some(json!({"t": 2}))), Ok(false));
        assert_eq!(logins.path().metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(logins.load("https://a/mcp"), Ok(Some(json!({"t": 1}))));
        assert_eq!(logins.load("https://a/mcp/"), Ok(None));
        assert_eq!(logins.store("https://a/mcp", None), Ok(true));
        assert_eq!(
            (logins.load("https://a/mcp"), logins.store("https://a/mcp", None)),
            (Ok(None), Ok(false))
        );
        fs::write(logins.path(), "{\"hush\": s3cret}").unwrap();
        let error = logins.load("https://b/mcp").unwrap_err();
        assert!(error.contains("mcp-auth.json") && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn logins_stored_at_the_same_time_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let logins = McpLogins::new(dir.path().join("mcp-auth.json"));
        let urls: Vec<String> = (0..20).map(|at| format!("https://{at}/mcp")).collect();
        std::thread::scope(|scope| {
            for url in &urls {
                let logins = logins.clone();
                scope.spawn(move || logins.store(url, Some(json!({"t": 1}))).unwrap());
            }
        });
        let kept = urls.iter().filter(|url| logins.load(url).unwrap().is_some()).count();
        assert_eq!(kept, urls.len());
    }

    #[test]
    fn logins_lock_waits_for_its_holder() {
        let dir = tempfile::tempdir().unwrap();
        let logins = McpLogins::new(dir.path().join("mcp-auth.json"));
        let held = logins.lock().unwrap();
        let file = fs::File::open(dir.path().join("mcp-auth.lock")).unwrap();
        assert!(file.try_lock().is_err());
        drop(held);
        assert!(file.try_lock().is_ok());
    }
}
