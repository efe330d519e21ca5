//! `auth.json`: keys that the user gave to tiller, by provider. Nobody but the user may read it.
//!
//! What it says beyond keys of providers is kept as it is. No error says more of it than where it is wrong: whatever stands in it
//! may be a secret.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::edit::{Rights, replace};
use super::{ConfigError, read};

/// Bits of a mode that let others in.
const OTHERS: u32 = 0o077;

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct StoredKeys {
    pub(super) keys: BTreeMap<String, SecretString>,
    /// What the user should know of the file.
    pub(super) warnings: Vec<String>,
}

/// Whether a key was there to be taken away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRemoval {
    /// It was, and is no more.
    Gone,
    /// It wasn't; the file is as it was.
    NotThere,
}

/// Reads the keys; a file that isn't there has none.
pub(super) fn keys(path: &Path) -> Result<StoredKeys, ConfigError> {
    let mut found = StoredKeys::default();
    for (provider, entry) in object(path)? {
        match entry.get("key").and_then(Value::as_str).map(str::trim) {
            Some(key) if !key.is_empty() => _ = found.keys.insert(provider, key.to_owned().into()),
            Some(_) | None => {
                found
                    .warnings
                    .push(format!("{}: no key in `{provider}`; `key` would hold it", path.display()));
            }
        }
    }
    if let Ok(facts) = path.metadata()
        && facts.permissions().mode() & OTHERS != 0
    {
        let path = path.display();
        found.warnings.push(format!("{path}: others can read the keys in it; `chmod 600 {path}` ends that"));
    }
    Ok(found)
}

/// Writes the key of a provider into the file, which nobody but the user can read then. The file is replaced at once or not at all;
/// it is made if it isn't there.
///
/// # Errors
/// When the file isn't a JSON object, or can't be written; it is then as it was.
pub fn store_key(path: &Path, provider: &str, key: &SecretString) -> Result<(), ConfigError> {
    let mut object = object(path)?;
    let key = Value::from(key.expose_secret());
    match object.get_mut(provider) {
        Some(Value::Object(entry)) => _ = entry.insert("key".to_owned(), key),
        Some(_) | None => _ = object.insert(provider.to_owned(), json!({ "key": key })),
    }
    store(path, &object)
}

/// Takes the entry of a provider out of the file.
///
/// # Errors
/// When the file isn't a JSON object, or can't be written; it is then as it was.
pub fn remove_key(path: &Path, provider: &str) -> Result<KeyRemoval, ConfigError> {
    let mut object = object(path)?;
    if object.shift_remove(provider).is_none() {
        return Ok(KeyRemoval::NotThere);
    }
    store(path, &object)?;
    Ok(KeyRemoval::Gone)
}

fn store(path: &Path, object: &Map<String, Value>) -> Result<(), ConfigError> {
    let text = serde_json::to_string_pretty(object).unwrap_or_default() + "\n";
    replace(path, &text, Rights::UserAlone)
        .map_err(|source| ConfigError::Io { path: path.to_owned(), source })
}

fn object(path: &Path) -> Result<Map<String, Value>, ConfigError> {
    if !fs::exists(path).unwrap_or(true) {
        return Ok(Map::new());
    }
    let not_json = |error| ConfigError::not_json(path, &error);
    // In two steps: an error of types would quote what it found.
    match serde_json::from_str(&read(path)?).map_err(not_json)? {
        Value::Object(object) => Ok(object),
        _ => Err(not_json(serde::de::Error::custom("it is something else"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn key(found: &StoredKeys, provider: &str) -> Option<String> {
        found.keys.get(provider).map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn a_key_is_kept_for_the_user_alone_and_what_else_is_there_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiller/auth.json");
        store_key(&path, "anthropic", &"one".into()).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::write(&path, r#"{"zeta": {"token": "z"}, "anthropic": {"key": "one", "note": 1}}"#).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        store_key(&path, "anthropic", &"two".into()).unwrap();
        store_key(&path, "openai", &"three".into()).unwrap();
        assert_eq!(mode(&path), 0o600);
        let written: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let expected = json!({"zeta": {"token": "z"}, "anthropic": {"key": "two", "note": 1}, "openai": {"key": "three"}});
        assert_eq!(written, expected);
        let found = keys(&path).unwrap();
        assert_eq!((key(&found, "anthropic").as_deref(), key(&found, "zeta")), (Some("two"), None));
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(left, 1, "nothing else is left in the folder");
    }

    #[test]
    fn a_key_that_is_taken_away_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        assert_eq!(remove_key(&path, "anthropic").unwrap(), KeyRemoval::NotThere);
        assert!(!path.exists());
        store_key(&path, "anthropic", &"one".into()).unwrap();
        store_key(&path, "openai", &"two".into()).unwrap();
        assert_eq!(remove_key(&path, "anthropic").unwrap(), KeyRemoval::Gone);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"openai\": {\n    \"key\": \"two\"\n  }\n}\n");
    }

    #[test]
    fn a_file_that_others_can_read_costs_a_warning_that_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        store_key(&path, "anthropic", &"one".into()).unwrap();
        assert_eq!(keys(&path).unwrap().warnings, [""; 0]);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let shown = path.display();
        let expected = format!("{shown}: others can read the keys in it; `chmod 600 {shown}` ends that");
        assert_eq!(keys(&path).unwrap().warnings, [expected]);
    }

    #[test]
    fn a_broken_file_names_the_place_and_nothing_that_stands_in_it_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        let broken =
            ["{\"anthropic\":\n {\"key\": \"sk-hush\",}}", "\"sk-hush\"", "sk-hush", "[\"sk-hush\"]"];
        for text in broken {
            fs::write(&path, text).unwrap();
            let error = keys(&path).unwrap_err();
            let told = format!("{:#}", anyhow::Error::from(error));
            assert!(told.contains("auth.json") && !told.contains("hush"), "{told}");
            assert!(store_key(&path, "anthropic", &"one".into()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, broken[0]).unwrap();
        let told = format!("{:#}", anyhow::Error::from(keys(&path).unwrap_err()));
        assert!(told.contains("line 2"), "{told}");
    }

    #[test]
    fn an_entry_without_a_key_is_passed_over_with_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        fs::write(&path, r#"{"anthropic": "sk-hush"}"#).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let found = keys(&path).unwrap();
        assert!(found.keys.is_empty());
        let expected = format!("{}: no key in `anthropic`; `key` would hold it", path.display());
        assert_eq!(found.warnings, [expected]);
    }
}
