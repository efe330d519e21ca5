//! Writing one setting into a settings file. Everything else in it stays, in its order.

use std::io::{self, Write as _};
use std::path::Path;

use serde_json::{Map, Value};

use super::{ConfigError, read};
use crate::files;
use crate::setting::{Setting, SettingValue};

/// Writes a setting, its value as a person types it, into a settings file; nothing takes it out. The file is replaced at
/// once or not at all; where a link leads, the file there. It is made if it isn't there.
///
/// # Errors
/// When the setting doesn't take that value, the file isn't a JSON object, or can't be written.
pub fn store_setting(path: &Path, setting: &Setting, typed: &str) -> Result<(), ConfigError> {
    let wrong = |source| ConfigError::Setting { origin: path.display().to_string(), source };
    let value = if typed.trim().is_empty() { None } else { setting.parse(typed).map_err(wrong)? };
    // A link that leads nowhere is there too: it isn't replaced by a file.
    let mut object: Map<String, Value> = if path.symlink_metadata().is_ok() {
        serde_json::from_str(&read(path)?).map_err(|error| ConfigError::not_json(path, &error))?
    } else {
        Map::new()
    };
    put(&mut object, setting.name, value.map(json));
    let text = serde_json::to_string_pretty(&object).unwrap_or_default() + "\n";
    replace(path, &text, Rights::AsBefore).map_err(|source| ConfigError::Io { path: path.to_owned(), source })
}

/// Puts a value where the file has it already, under its dotted name or in objects; else into objects.
fn put(object: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    let inner = name.split_once('.').filter(|_| !object.contains_key(name));
    match (inner, value) {
        (Some((first, rest)), value) => match (object.get_mut(first), value) {
            (Some(Value::Object(inner)), value) => put(inner, rest, value),
            (None, Some(value)) => {
                let mut inner = Map::new();
                put(&mut inner, rest, Some(value));
                object.insert(first.to_owned(), Value::Object(inner));
            }
            // Something else of that name is no part of this setting.
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
        // An empty list would be read as unset by a setting that has no switch.
        SettingValue::List(names) if names.is_empty() => "off".into(),
        SettingValue::List(names) => names.into(),
    }
}

/// Who may read a file that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rights {
    /// Whoever could before.
    AsBefore,
    /// The user, and nobody else at any time.
    UserAlone,
}

/// Replaces a file at once or not at all; where a link leads, the file there. A new one is the user's alone.
pub(super) fn replace(path: &Path, text: &str, rights: Rights) -> io::Result<()> {
    let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = real.parent().unwrap_or(Path::new("."));
    files::make_private_folder(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    if rights == Rights::AsBefore
        && let Ok(facts) = real.metadata()
    {
        file.as_file().set_permissions(facts.permissions())?;
    }
    file.as_file().sync_all()?;
    file.persist(&real).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;
    use crate::setting;

    fn stored(before: &str, setting: &Setting, typed: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, before).unwrap();
        store_setting(&path, setting, typed).unwrap();
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn the_rest_of_the_file_stays_in_its_order() {
        let before = r#"{"zeta": 1, "sync": "never", "bash": {"other": true, "timeout_s": 5}, "alpha": [1]}"#;
        let expected = "{\n  \"zeta\": 1,\n  \"sync\": \"turn\",\n  \"bash\": {\n    \"other\": true,\n    \"timeout_s\": 5\n  },\n  \"alpha\": [\n    1\n  ]\n}\n";
        assert_eq!(stored(before, &setting::SYNC, "turn"), expected);
        let text = stored(before, &setting::BASH_TIMEOUT_S, "9");
        assert!(text.contains("\"other\": true,\n    \"timeout_s\": 9"), "{text}");
    }

    #[test]
    fn a_setting_goes_where_the_file_has_it_and_else_into_objects() {
        let dotted = stored(r#"{"bash.timeout_s": 5}"#, &setting::BASH_TIMEOUT_S, "9");
        assert_eq!(dotted, "{\n  \"bash.timeout_s\": 9\n}\n");
        let made = stored("{}", &setting::BASH_TIMEOUT_S, "9");
        assert_eq!(made, "{\n  \"bash\": {\n    \"timeout_s\": 9\n  }\n}\n");
    }

    #[test]
    fn nothing_takes_a_setting_out_and_leaves_the_others() {
        for (setting, left) in
            [(&setting::MODEL, "\"sync\": \"never\""), (&setting::SYNC, "\"model\": \"a\"")]
        {
            let text = stored(r#"{"model": "a", "sync": "never"}"#, setting, "");
            assert_eq!(text, format!("{{\n  {left}\n}}\n"));
        }
    }

    #[test]
    fn a_list_is_written_as_one() {
        let text = stored("{}", &setting::MODELS, "a, b*");
        assert_eq!(text, "{\n  \"models\": [\n    \"a\",\n    \"b*\"\n  ]\n}\n");
    }

    #[test]
    fn a_file_that_is_not_understood_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{ // mine").unwrap();
        assert!(store_setting(&path, &setting::SYNC, "turn").is_err());
        assert!(store_setting(&path, &setting::SYNC, "sometimes").is_err());
        assert_eq!(fs::read_to_string(path).unwrap(), "{ // mine");
    }

    #[test]
    fn a_link_leads_to_the_file_that_is_written_and_its_mode_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real.json"), folder.path().join("settings.json"));
        fs::write(&real, "{}").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        symlink(&real, &link).unwrap();
        store_setting(&link, &setting::SYNC, "turn").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("turn"));
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_link_that_leads_nowhere_stays_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("settings.json");
        symlink(folder.path().join("gone/real.json"), &link).unwrap();
        assert!(store_setting(&link, &setting::SYNC, "turn").is_err());
        assert!(link.symlink_metadata().unwrap().is_symlink());
    }

    #[test]
    fn a_file_that_is_not_there_is_made_with_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tiller/settings.json");
        store_setting(&path, &setting::SYNC, "never").unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "{\n  \"sync\": \"never\"\n}\n");
    }
}
