//! Changes a settings file, preserving all other content and its order.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::error::{ConfigError, read};
use super::file_lock::FileLock;
use crate::files;
use crate::setting::{Setting, SettingValue};

/// Writes a setting into a settings file, with its value as typed by the user; an empty value removes the
/// setting. The file is created or replaced atomically; symbolic links are followed.
///
/// # Errors
/// If the value is invalid, or the file isn't a JSON object or can't be written.
pub fn store_setting(path: &Path, setting: &Setting, value: &str) -> Result<(), ConfigError> {
    let setting_error = |source| ConfigError::Setting { origin: path.display().to_string(), source };
    let value = if value.trim().is_empty() { None } else { setting.parse(value).map_err(setting_error)? };
    let change = |object: &mut Map<String, Value>| {
        set_value(object, setting.name, value.map(json));
        Ok(())
    };
    change_object(path, |_| Ok(()), change).map(drop)
}

/// A change to a settings file. The file is locked for other tiller processes until the value is dropped.
#[derive(Debug)]
pub struct SettingsFileChange {
    path: PathBuf,
    before: Option<String>,
    text: String,
    _lock: Option<FileLock>,
}

impl SettingsFileChange {
    /// Returns the new text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Restores the previous text, unless the file was changed again.
    ///
    /// # Errors
    /// If the file can't be read or written.
    pub fn undo(self) -> Result<(), ConfigError> {
        let io_error = |source| ConfigError::Io { path: self.path.clone(), source };
        match &self.before {
            _ if read(&self.path)? != self.text => Ok(()),
            Some(before) => replace(&self.path, before, FilePermissions::Keep).map_err(io_error),
            None => fs::remove_file(&self.path).map_err(io_error),
        }
    }
}

/// Changes the object in a settings file, unless `check` refuses its text; everything else in it keeps its
/// order. The file is created or replaced atomically if anything changes; symbolic links are followed.
pub(super) fn change_object(
    path: &Path,
    check: impl FnOnce(Option<&str>) -> Result<(), ConfigError>,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<(), ConfigError>,
) -> Result<SettingsFileChange, ConfigError> {
    let io_error = |source| ConfigError::Io { path: path.to_owned(), source };
    // A dangling link counts as existing: it must not be replaced with a file.
    let exists = || path.symlink_metadata().is_ok();
    if exists() {
        read(path)?;
    }
    let lock = FileLock::acquire(path).map_err(io_error)?;
    let before = if exists() { Some(read(path)?) } else { None };
    check(before.as_deref())?;
    let mut object: Map<String, Value> = match &before {
        Some(text) => serde_json::from_str(text).map_err(|error| ConfigError::not_json(path, &error))?,
        None => Map::new(),
    };
    let former = object.clone();
    change(&mut object)?;
    let text = if object == former {
        before.clone().unwrap_or_default()
    } else {
        let text = serde_json::to_string_pretty(&object).unwrap_or_default() + "\n";
        replace(path, &text, FilePermissions::Keep).map_err(io_error)?;
        text
    };
    Ok(SettingsFileChange { path: path.to_owned(), before, text, _lock: lock })
}

/// Sets a value where the file has it, under the dotted name or nested; a new value is nested.
fn set_value(object: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    let inner = name.split_once('.').filter(|_| !object.contains_key(name));
    match (inner, value) {
        (Some((first, rest)), value) => match (object.get_mut(first), value) {
            (Some(Value::Object(inner)), value) => set_value(inner, rest, value),
            (None, Some(value)) => {
                let mut inner = Map::new();
                set_value(&mut inner, rest, Some(value));
                object.insert(first.to_owned(), Value::Object(inner));
            }
            // A value that isn't an object can't contain this setting.
            (Some(_), Some(value)) => _ = object.insert(name.to_owned(), value),
            (_, None) => {}
        },
        (None, Some(value)) => _ = object.insert(name.to_owned(), value),
        (None, None) => _ = object.shift_remove(name),
    }
}

fn json(value: SettingValue) -> Value {
    match value {
        SettingValue::Text(text) => text.into(),
        SettingValue::Count(count) => count.into(),
        SettingValue::Number(number) => number.into(),
        // An empty list would be read as unset by a setting without a switch.
        SettingValue::List(names) if names.is_empty() => "off".into(),
        SettingValue::List(names) => names.into(),
    }
}

/// The permissions of a replaced file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilePermissions {
    /// As before.
    Keep,
    /// Readable by the user only, at all times.
    UserOnly,
}

/// Replaces a file atomically, following symbolic links. A new file is readable by the user only.
pub(super) fn replace(path: &Path, text: &str, permissions: FilePermissions) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let dir = target.parent().unwrap_or(Path::new("."));
    files::make_private_dir(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    if permissions == FilePermissions::Keep
        && let Ok(metadata) = target.metadata()
    {
        file.as_file().set_permissions(metadata.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&target).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::setting;

    fn store(text: &str, setting: &Setting, value: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, text).unwrap();
        store_setting(&path, setting, value).unwrap();
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn store_setting_keeps_other_content_in_order() {
        let before = r#"{"zeta": 1, "sync": "never", "bash": {"other": true, "timeout_s": 5}, "alpha": [1]}"#;
        let expected = "{\n  \"zeta\": 1,\n  \"sync\": \"turn\",\n  \"bash\": {\n    \"other\": true,\n    \"timeout_s\": 5\n  },\n  \"alpha\": [\n    1\n  ]\n}\n";
        assert_eq!(store(before, &setting::SYNC, "turn"), expected);
        let text = store(before, &setting::BASH_TIMEOUT_S, "9");
        assert!(text.contains("\"other\": true,\n    \"timeout_s\": 9"), "{text}");
    }

    #[test]
    fn store_setting_existing_place_or_nested() {
        let dotted = store(r#"{"bash.timeout_s": 5}"#, &setting::BASH_TIMEOUT_S, "9");
        assert_eq!(dotted, "{\n  \"bash.timeout_s\": 9\n}\n");
        let created = store("{}", &setting::BASH_TIMEOUT_S, "9");
        assert_eq!(created, "{\n  \"bash\": {\n    \"timeout_s\": 9\n  }\n}\n");
    }

    #[test]
    fn store_setting_empty_value_removes_it() {
        for (setting, remaining) in
            [(&setting::MODEL, "\"sync\": \"never\""), (&setting::SYNC, "\"model\": \"a\"")]
        {
            let text = store(r#"{"model": "a", "sync": "never"}"#, setting, "");
            assert_eq!(text, format!("{{\n  {remaining}\n}}\n"));
        }
    }

    #[test]
    fn store_setting_list_is_written_as_array() {
        let text = store("{}", &setting::MODELS, "a, b*");
        assert_eq!(text, "{\n  \"models\": [\n    \"a\",\n    \"b*\"\n  ]\n}\n");
    }

    #[test]
    fn store_setting_invalid_file_is_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, "{ // mine").unwrap();
        assert!(store_setting(&path, &setting::SYNC, "turn").is_err());
        assert!(store_setting(&path, &setting::SYNC, "sometimes").is_err());
        assert_eq!(fs::read_to_string(path).unwrap(), "{ // mine");
    }

    #[test]
    fn store_setting_link_is_followed_and_mode_kept() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("real.json"), dir.path().join("settings.json"));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        store_setting(&link, &setting::SYNC, "turn").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("turn"));
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn store_setting_dangling_link_is_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("settings.json");
        symlink(dir.path().join("gone/real.json"), &link).unwrap();
        assert!(store_setting(&link, &setting::SYNC, "turn").is_err());
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn change_object_undone_or_unchanged_leaves_the_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let put = |object: &mut Map<String, Value>| {
            object.insert("a".to_owned(), 1.into());
            Ok(())
        };
        drop(change_object(&path, |_| Ok(()), |_| Ok(())).unwrap());
        assert!(!path.exists());
        change_object(&path, |_| Ok(()), put).unwrap().undo().unwrap();
        assert!(!path.exists());
        fs::write(&path, "{}").unwrap();
        drop(change_object(&path, |_| Ok(()), |_| Ok(())).unwrap());
        change_object(&path, |_| Ok(()), put).unwrap().undo().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{}");
        let change = change_object(&path, |_| Ok(()), put).unwrap();
        fs::write(&path, "{\"b\": 2}").unwrap();
        change.undo().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"b\": 2}");
    }

    #[test]
    fn change_object_concurrent_changes_are_all_kept() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        std::thread::scope(|scope| {
            for number in 0..8 {
                let path = &path;
                scope.spawn(move || {
                    let put = |object: &mut Map<String, Value>| {
                        object.insert(number.to_string(), true.into());
                        std::thread::yield_now();
                        Ok(())
                    };
                    drop(change_object(path, |_| Ok(()), put).unwrap());
                });
            }
        });
        let object: Map<String, Value> = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(object.len(), 8);
    }

    #[test]
    fn store_setting_missing_file_is_created() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tiller/settings.json");
        store_setting(&path, &setting::SYNC, "never").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "{\n  \"sync\": \"never\"\n}\n");
    }
}
