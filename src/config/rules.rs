//! The policy rules in a settings file: reading, adding and removing them.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::edit::{SettingsFileChange, change_object};
use super::error::ConfigError;
use super::trust::Project;
use crate::policy::{ConfiguredRule, ConfiguredRules, RuleSource, write_proposed};
use crate::proposed_rules::ProposedRules;

/// The key of the rules in a settings file, which may be nested or dotted.
pub(super) const SETTING: &str = "policy.rules";

/// Removes the rules from a settings file's object.
pub(super) fn take_setting(object: &mut Map<String, Value>) -> Option<Value> {
    if let Some(rules) = object.shift_remove(SETTING) {
        return Some(rules);
    }
    let (outer, inner) = SETTING.split_once('.')?;
    object.get_mut(outer)?.as_object_mut()?.shift_remove(inner)
}

/// A changed settings file.
#[derive(Debug)]
pub struct RulesChange {
    /// The change.
    pub file: SettingsFileChange,
    /// The rules of the file.
    pub rules: ConfiguredRules,
}

/// Adds proposed rules to a settings file, the user's or a trusted project's. The file is written as by
/// [`store_setting`](super::store_setting). Rules that are already in it aren't added again.
///
/// # Errors
/// If the file isn't a JSON object, one of its rules is invalid, it can't be written, or it has changed since
/// the project was trusted. Then nothing is changed.
pub fn add_rules(
    path: &Path,
    trusted: Option<&Project>,
    proposed: &ProposedRules,
) -> Result<RulesChange, ConfigError> {
    change_rules(path, trusted, |object| {
        let rules =
            rules_of(object).ok_or_else(|| rules_error(path, "`policy.rules` is not a list of rules"))?;
        for rule in write_proposed(proposed) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
        Ok(())
    })
}

/// Removes a rule from a settings file, the user's or a trusted project's. A file without the rule is
/// unchanged.
///
/// # Errors
/// If the file isn't a JSON object, one of its other rules is invalid, it can't be written, or it has changed
/// since the project was trusted. Then nothing is changed.
pub fn remove_rule(
    path: &Path,
    trusted: Option<&Project>,
    rule: &ConfiguredRule,
) -> Result<RulesChange, ConfigError> {
    change_rules(path, trusted, |object| {
        if let Some(rules) = written_rules(object) {
            rules.retain(|written| !rule.is_written(written));
        }
        Ok(())
    })
}

/// Changes the rules in a file, unless one of them would be invalid.
fn change_rules(
    path: &Path,
    trusted: Option<&Project>,
    change: impl FnOnce(&mut Map<String, Value>) -> Result<(), ConfigError>,
) -> Result<RulesChange, ConfigError> {
    let file = path.display().to_string();
    let source = if trusted.is_some() { RuleSource::Project(file) } else { RuleSource::User(file) };
    let mut rules = ConfiguredRules::default();
    let file = change_object(path, check_trusted(path, trusted), |object| {
        change(object)?;
        let written = take_setting(&mut object.clone());
        let problems = written.map(|written| rules.add(&written, &source)).unwrap_or_default();
        problems.into_iter().next().map_or(Ok(()), |problem| Err(ConfigError::BrokenRule(problem)))
    })?;
    Ok(RulesChange { file, rules })
}

/// Refuses text other than the trusted one, because writing it would extend the trust to it.
fn check_trusted(
    path: &Path,
    trusted: Option<&Project>,
) -> impl FnOnce(Option<&str>) -> Result<(), ConfigError> {
    move |text| match trusted.is_none_or(|project| project.has_settings(text)) {
        true => Ok(()),
        false => Err(rules_error(path, "the file has changed since the project was trusted")),
    }
}

fn rules_error(path: &Path, problem: &'static str) -> ConfigError {
    ConfigError::Rules { path: path.to_owned(), problem }
}

/// Returns the file's list of rules, creating it if necessary; `None` if there is another value.
fn rules_of(object: &mut Map<String, Value>) -> Option<&mut Vec<Value>> {
    if !object.contains_key(SETTING) {
        let (outer, inner) = SETTING.split_once('.')?;
        let policy = object.entry(outer).or_insert_with(|| json!({})).as_object_mut()?;
        policy.entry(inner).or_insert_with(|| json!([]));
    }
    written_rules(object)
}

/// Returns the file's list of rules, if there is one.
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

    fn changed(text: &str, change: impl FnOnce(&Path) -> Result<RulesChange, ConfigError>) -> Value {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        fs::write(&path, text).unwrap();
        let RulesChange { file, rules } = change(&path).unwrap();
        assert_eq!(file.text(), fs::read_to_string(&path).unwrap());
        let mut object: Map<String, Value> = serde_json::from_str(file.text()).unwrap();
        let written = object.clone();
        let mut read = ConfiguredRules::default();
        let source = RuleSource::User(path.display().to_string());
        take_setting(&mut object).map(|value| read.add(&value, &source));
        assert_eq!(rules, read);
        written.into()
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
    fn add_rules_to_broken_rules_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let broken = r#"{"policy": {"rules": [{"decision": "denied"}]}}"#;
        for text in [r#"{"policy": {"rules": {}}}"#, r#"{"policy": 1}"#, "{ // mine", broken] {
            fs::write(&path, text).unwrap();
            assert!(add_rules(&path, None, &tests()).is_err());
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn remove_rule_takes_out_this_one_only() {
        let before = r#"{"policy": {"rules": [
            {"match": "x", "decision": "deny"},
            {"tool": "bash", "match": "x", "decision": "allow"}
        ]}}"#;
        let mut rules = ConfiguredRules::default();
        let written = json!([{"tool": "*", "match": "x", "decision": "deny"}]);
        rules.add(&written, &RuleSource::User("settings.json".into()));
        let rule = rules.iter().next().unwrap().clone();
        let after = changed(before, |path| remove_rule(path, None, &rule));
        assert_eq!(after["policy"]["rules"].as_array().unwrap().len(), 1);
        for without in ["{}", r#"{"sync": "never", "policy": {"rules": []}}"#] {
            let after = changed(without, |path| remove_rule(path, None, &rule));
            assert_eq!(after, serde_json::from_str::<Value>(without).unwrap());
        }
    }

    #[test]
    fn rules_of_a_changed_project_stay_as_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".tiller/settings.json");
        fs::create_dir(path.parent().unwrap()).unwrap();
        fs::write(&path, "{}").unwrap();
        let project = Project::find(dir.path(), Path::new("/no/config")).unwrap();
        let change = add_rules(&path, Some(&project), &tests()).unwrap();
        assert!(project.with_settings(change.file.text()).is_some());
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
