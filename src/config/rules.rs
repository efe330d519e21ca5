//! The rules of the policy in a settings file: reading, adding and removing them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::edit::{FileChange, change_object};
use super::error::ConfigError;
use super::trust::Project;
use crate::policy::{ConfiguredRule, write_proposed};
use crate::proposed_rules::ProposedRules;

/// The key of the rules in a settings file: nested or dotted.
const SETTING: &str = "policy.rules";

/// Removes the rules from a settings file's object.
pub(super) fn take_setting(object: &mut Map<String, Value>) -> Option<Value> {
    if let Some(rules) = object.shift_remove(SETTING) {
        return Some(rules);
    }
    let (outer, inner) = SETTING.split_once('.')?;
    object.get_mut(outer)?.as_object_mut()?.shift_remove(inner)
}

/// Adds rules that allow what is proposed to a settings file, as [`store_setting`](super::store_setting) writes it: the
/// user's, or the one of a trusted project. Rules that the file has already aren't added again.
///
/// # Errors
/// If the file isn't a JSON object, its rules are no list, or it can't be written; or if it has changed since the
/// project was trusted. Then nothing changes.
pub fn add_rules(
    path: &Path,
    trusted: Option<&Project>,
    proposed: &ProposedRules,
) -> Result<FileChange, ConfigError> {
    change_object(path, check_trusted(path, trusted), |object| {
        let rules = rules_of(object).ok_or_else(|| no_list(path))?;
        for rule in write_proposed(proposed) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Ok(())
    })
}

/// Removes a rule from a settings file: the user's, or the one of a trusted project. A file without the rule stays as
/// it is.
///
/// # Errors
/// If the file isn't a JSON object, or can't be written; or if it has changed since the project was trusted. Then
/// nothing changes.
pub fn remove_rule(
    path: &Path,
    trusted: Option<&Project>,
    rule: &ConfiguredRule,
) -> Result<FileChange, ConfigError> {
    change_object(path, check_trusted(path, trusted), |object| {
        if let Some(rules) = written_rules(object) {
            rules.retain(|written| !rule.is_written(written));
        }
        Ok(())
    })
}

/// Refuses a text that isn't the trusted one: writing it would extend the trust to it.
fn check_trusted(
    path: &Path,
    trusted: Option<&Project>,
) -> impl FnOnce(Option<&str>) -> Result<(), ConfigError> {
    move |text| match trusted.is_none_or(|project| project.has_settings(text)) {
        true => Ok(()),
        false => {
            let problem = "the file has changed since the project was trusted";
            Err(ConfigError::Rules { path: path.to_owned(), problem })
        }
    }
}

fn no_list(path: &Path) -> ConfigError {
    ConfigError::Rules { path: path.to_owned(), problem: "`policy.rules` is not a list of rules" }
}

/// The list of rules where the file has it, otherwise a new one; `None` if something else is there.
fn rules_of(object: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    if !object.contains_key(SETTING) {
        let (outer, inner) = SETTING.split_once('.')?;
        let policy = object.entry(outer).or_insert_with(|| json!({})).as_object_mut()?;
        policy.entry(inner).or_insert_with(|| json!([]));
    }
    written_rules(object)
}

/// The list of rules, if the file has one.
fn written_rules(object: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    let rules = if object.contains_key(SETTING) {
        object.get_mut(SETTING)?
    } else {
        let (outer, inner) = SETTING.split_once('.')?;
        object.get_mut(outer)?.get_mut(inner)?
    };
    rules.as_array_mut()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::policy::{ConfiguredRules, RuleSource};

    fn changed(text: &str, change: impl FnOnce(&Path) -> Result<FileChange, ConfigError>) -> Value {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, text).unwrap();
        let change = change(&path).unwrap();
        assert_eq!(change.text(), fs::read_to_string(&path).unwrap());
        serde_json::from_str(change.text()).unwrap()
    }

    fn tests() -> ProposedRules {
        ProposedRules::parse("bash", "cargo test* && npm test*")
    }

    #[test]
    fn add_rules_goes_where_the_file_has_them() {
        let cargo = json!({"tool": "bash", "match": "cargo test*", "decision": "allow"});
        let npm = json!({"tool": "bash", "match": "npm test*", "decision": "allow"});
        for (before, after) in [
            (json!({"sync": "never"}), json!({"sync": "never", "policy": {"rules": [cargo, npm]}})),
            (json!({"policy.rules": [npm]}), json!({"policy.rules": [npm, cargo]})),
            (json!({"policy": {"rules": [cargo]}}), json!({"policy": {"rules": [cargo, npm]}})),
        ] {
            assert_eq!(changed(&before.to_string(), |path| add_rules(path, None, &tests())), after);
        }
        let general = ProposedRules::parse("mcp__x__y", "");
        let after = json!({"policy": {"rules": [{"tool": "mcp__x__y", "decision": "allow"}]}});
        assert_eq!(changed("{}", |path| add_rules(path, None, &general)), after);
    }

    #[test]
    fn add_rules_to_what_is_no_list_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for text in [r#"{"policy": {"rules": {}}}"#, r#"{"policy": 1}"#, "{ // mine"] {
            fs::write(&path, text).unwrap();
            assert!(add_rules(&path, None, &tests()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn remove_rule_takes_out_this_one_only() {
        let before = r#"{"policy": {"rules": [
            {"match": "x", "decision": "deny"},
            {"tool": "bash", "match": "x", "decision": "allow"},
            {"decision": "maybe"}
        ]}}"#;
        let mut rules = ConfiguredRules::default();
        let written = json!([{"tool": "*", "match": "x", "decision": "deny"}]);
        rules.add(&written, &RuleSource::User("settings.json".into()));
        let rule = rules.iter().next().unwrap().clone();
        let after = changed(before, |path| remove_rule(path, None, &rule));
        assert_eq!(after["policy"]["rules"].as_array().unwrap().len(), 2);
        for without in ["{}", r#"{"sync": "never", "policy": {"rules": []}}"#] {
            let after = changed(without, |path| remove_rule(path, None, &rule));
            assert_eq!(after, serde_json::from_str::<Value>(without).unwrap());
        }
    }

    #[test]
    fn rules_of_a_changed_project_stay_as_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".tiller/settings.json");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}").unwrap();
        let project = Project::find(folder.path(), Path::new("/no/config")).unwrap();
        let change = add_rules(&path, Some(&project), &tests()).unwrap();
        assert!(project.with_settings(change.text()).is_some());
        drop(change);
        let unseen = r#"{"policy": {"rules": [{"decision": "allow"}]}}"#;
        fs::write(&path, unseen).unwrap();
        let error = add_rules(&path, Some(&project), &tests()).unwrap_err();
        assert!(error.to_string().ends_with("has changed since the project was trusted"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), unseen);
        fs::remove_file(&path).unwrap();
        assert!(add_rules(&path, Some(&project), &tests()).is_err());
        assert!(!path.exists());
    }
}
