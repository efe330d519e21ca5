//! A short note on a tool's result, for the line that shows its call.

use serde_json::Value;

/// Returns the arguments that a call ran with: an extension may have changed the model's.
#[must_use]
pub fn final_arguments<'a>(arguments: &'a Value, details: Option<&'a Value>) -> &'a Value {
    details.and_then(|details| details.get("rewritten")?.get("arguments")).unwrap_or(arguments)
}

/// Summarizes a result's details: `+3 −1`, `timed out`, `exit 2`, `12 lines`. Empty if there are no such
/// details. If an extension changed the arguments, the note begins with that.
#[must_use]
pub fn result_note(details: Option<&Value>) -> String {
    let Some(details) = details else { return String::new() };
    let changers = details["rewritten"]["by"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let changers: Vec<&str> = changers.collect();
    let change = (!changers.is_empty()).then(|| format!("changed by {}", changers.join(", ")));
    let notes = change.into_iter().chain(Some(outcome_note(details)).filter(|note| !note.is_empty()));
    notes.collect::<Vec<_>>().join(", ")
}

fn outcome_note(details: &Value) -> String {
    let count = |key: &str| details[key].as_u64();
    if let (Some(added), Some(removed)) = (count("added"), count("removed")) {
        return format!("+{added} −{removed}");
    }
    if details["timedOut"] == true {
        return "timed out".to_owned();
    }
    if let Some(code) = details["exitCode"].as_i64().filter(|code| *code != 0) {
        return format!("exit {code}");
    }
    let units = [("lines", "line", "lines"), ("matches", "match", "matches"), ("files", "entry", "entries")];
    let counted = units.iter().find_map(|(key, one, many)| Some((count(key)?, one, many)));
    counted.map_or_else(String::new, |(n, one, many)| tiller_core::counted::counted(n, one, many))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn result_note_names_changes_failure_or_count() {
        for (details, note) in [
            (json!({"added": 3, "removed": 1}), "+3 −1"),
            (json!({"exitCode": null, "timedOut": true}), "timed out"),
            (json!({"exitCode": 2, "timedOut": false, "lines": 3}), "exit 2"),
            (json!({"exitCode": 0, "timedOut": false}), ""),
            (json!({"lines": 1}), "1 line"),
            (json!({"matches": 0}), "0 matches"),
            (json!({"files": 2}), "2 entries"),
            (
                json!({"files": 2, "rewritten": {"by": ["hooks"], "arguments": {}}}),
                "changed by hooks, 2 entries",
            ),
            (json!("text"), ""),
        ] {
            assert_eq!(result_note(Some(&details)), note, "{details}");
        }
    }
}
