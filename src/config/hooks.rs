//! The hooks in a settings file.

use serde_json::{Map, Value};

/// The key of the hooks in a settings file, the same as Claude Code's.
const SETTING: &str = "hooks";

/// Removes the hooks from a settings file's object.
pub(super) fn take_setting(object: &mut Map<String, Value>) -> Option<Value> {
    object.shift_remove(SETTING)
}
