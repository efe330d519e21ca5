//! `auth.json`: API keys by provider, stored by tiller and readable by the user only.
//!
//! Unknown keys in the file are preserved. Errors contain only the position of a problem, never the text,
//! which may be a secret.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value, json};

use super::edit::{FilePermissions, replace};
use super::error::{ConfigError, read};

/// Mode bits for group and others.
const OTHERS_MODE_BITS: u32 = 0o077;

/// The contents of the file.
#[derive(Debug, Default)]
pub(super) struct StoredKeys {
    pub(super) keys: BTreeMap<String, SecretString>,
    /// Warnings for the user about the file.
    pub(super) warnings: Vec<String>,
}

/// The result of removing a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyRemoval {
    /// The key was removed.
    Removed,
    /// No key was stored; the file is unchanged.
    NotStored,
}

/// Reads the keys; empty if the file doesn't exist.
pub(super) fn keys(path: &Path) -> Result<StoredKeys, ConfigError> {
    let mut stored = StoredKeys::default();
    for (provider, entry) in read_object(path)? {
        match entry.get("key").and_then(Value::as_str).map(str::trim) {
            Some(key) if !key.is_empty() => _ = stored.keys.insert(provider, key.to_owned().into()),
            Some(_) | None => {
                stored
                    .warnings
                    .push(format!("{}: `{provider}` has no key; expected a string in `key`", path.display()));
            }
        }
    }
    if let Ok(metadata) = path.metadata()
        && metadata.permissions().mode() & OTHERS_MODE_BITS != 0
    {
        let path = path.display();
        stored.warnings.push(format!("{path}: other users can read your API keys; run `chmod 600 {path}`"));
    }
    Ok(stored)
}

/// Stores a provider's key in the file, readable by the user only. The file is created or replaced
/// atomically.
///
/// # Errors
/// If the file isn't a JSON object or can't be written; it is then unchanged.
pub fn store_key(path: &Path, provider: &str, key: &SecretString) -> Result<(), ConfigError> {
    let mut object = read_object(path)?;
    let key = Value::from(key.expose_secret());
    match object.get_mut(provider) {
        Some(Value::Object(entry)) => _ = entry.insert("key".to_owned(), key),
        Some(_) | None => _ = object.insert(provider.to_owned(), json!({ "key": key })),
    }
    store_object(path, &object)
}

/// Removes a provider's entry from the file.
///
/// # Errors
/// If the file isn't a JSON object or can't be written; it is then unchanged.
pub fn remove_key(path: &Path, provider: &str) -> Result<KeyRemoval, ConfigError> {
    let mut object = read_object(path)?;
    if object.shift_remove(provider).is_none() {
        return Ok(KeyRemoval::NotStored);
    }
    store_object(path, &object)?;
    Ok(KeyRemoval::Removed)
}

/// Writes a file of secrets, readable by the user only.
pub(super) fn store_object(path: &Path, object: &Map<String, Value>) -> Result<(), ConfigError> {
    let text = serde_json::to_string_pretty(object).unwrap_or_default() + "\n";
    replace(path, &text, FilePermissions::UserOnly)
        .map_err(|source| ConfigError::Io { path: path.to_owned(), source })
}

/// Reads a file of secrets; empty if it doesn't exist.
pub(super) fn read_object(path: &Path) -> Result<Map<String, Value>, ConfigError> {
    if !fs::exists(path).unwrap_or(true) {
        return Ok(Map::new());
    }
    let not_json = |error| ConfigError::not_json(path, &error);
    // Parsed in two steps, because a type error would quote the text.
    match serde_json::from_str(&read(path)?).map_err(not_json)? {
        Value::Object(object) => Ok(object),
        _ => Err(not_json(serde::de::Error::custom("not an object"))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().permissions().mode() & 0o777
    }

    fn key(stored: &StoredKeys, provider: &str) -> Option<String> {
        stored.keys.get(provider).map(|key| key.expose_secret().to_owned())
    }

    #[test]
    fn store_key_is_private_and_keeps_other_entries() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tiller/auth.json");
        store_key(&path, "anthropic", &"one".into()).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::write(&path, r#"{"zeta": {"token": "z"}, "anthropic": {"key": "one", "note": 1}}"#).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        store_key(&path, "anthropic", &"two".into()).unwrap();
        store_key(&path, "openai", &"three".into()).unwrap();
        assert_eq!(mode(&path), 0o600);
        let stored: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let expected = json!({"zeta": {"token": "z"}, "anthropic": {"key": "two", "note": 1}, "openai": {"key": "three"}});
        assert_eq!(stored, expected);
        let stored = keys(&path).unwrap();
        assert_eq!((key(&stored, "anthropic").as_deref(), key(&stored, "zeta")), (Some("two"), None));
        let file_count = fs::read_dir(path.parent().unwrap()).unwrap().count();
        assert_eq!(file_count, 1, "no temporary file is left");
    }

    #[test]
    fn remove_key_leaves_other_keys() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        assert_eq!(remove_key(&path, "anthropic").unwrap(), KeyRemoval::NotStored);
        assert!(!path.exists());
        store_key(&path, "anthropic", &"one".into()).unwrap();
        store_key(&path, "openai", &"two".into()).unwrap();
        assert_eq!(remove_key(&path, "anthropic").unwrap(), KeyRemoval::Removed);
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\n  \"openai\": {\n    \"key\": \"two\"\n  }\n}\n");
    }

    #[test]
    fn keys_file_readable_by_others_is_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        store_key(&path, "anthropic", &"one".into()).unwrap();
        assert_eq!(keys(&path).unwrap().warnings, [""; 0]);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        let display_path = path.display();
        let expected =
            format!("{display_path}: other users can read your API keys; run `chmod 600 {display_path}`");
        assert_eq!(keys(&path).unwrap().warnings, [expected]);
    }

    #[test]
    fn keys_broken_file_error_gives_position_but_no_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        let broken =
            ["{\"anthropic\":\n {\"key\": \"sk-hush\",}}", "\"sk-hush\"", "sk-hush", "[\"sk-hush\"]"];
        for text in broken {
            fs::write(&path, text).unwrap();
            let error = keys(&path).unwrap_err();
            let error_text = format!("{:#}", anyhow::Error::from(error));
            assert!(error_text.contains("auth.json") && !error_text.contains("hush"), "{error_text}");
            assert!(store_key(&path, "anthropic", &"one".into()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        fs::write(&path, broken[0]).unwrap();
        let error_text = format!("{:#}", anyhow::Error::from(keys(&path).unwrap_err()));
        assert!(error_text.contains("line 2"), "{error_text}");
    }

    #[test]
    fn keys_entry_without_key_is_a_warning() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("auth.json");
        fs::write(&path, r#"{"anthropic": "sk-hush"}"#).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        let stored = keys(&path).unwrap();
        assert!(stored.keys.is_empty());
        let expected = format!("{}: `anthropic` has no key; expected a string in `key`", path.display());
        assert_eq!(stored.warnings, [expected]);
    }
}
