//! Problems with settings files. Each affects only its own settings, so that tiller starts and the user can
//! fix it.

use std::path::Path;

use super::error::ConfigError;
use crate::setting::{APPROVAL, InvalidSetting, Setting, SettingSource, Settings};

/// An invalid value of a setting, or a file that isn't JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongSetting {
    /// The setting; `None` if the problem is with the entire file.
    pub setting: Option<&'static Setting>,
    /// The problem and its position, on one line.
    pub problem: String,
    /// The value that is used instead, in a few words.
    pub replacement: String,
}

impl WrongSetting {
    /// The next step for the user.
    pub const HINT: &str = "fix the file in an editor; `tiller settings` lists the settings";

    /// Returns the problem and the value used instead, on one line.
    #[must_use]
    pub fn warning(&self) -> String {
        format!("{}; {}", self.problem, self.replacement)
    }

    pub(super) fn value(setting: &'static Setting, path: &Path, source: &InvalidSetting) -> Self {
        let problem = format!("{}: {source}", path.display());
        Self { setting: Some(setting), problem, replacement: String::new() }
    }

    pub(super) fn file(error: &ConfigError) -> Self {
        Self { setting: None, problem: error.to_string(), replacement: String::new() }
    }

    /// Sets `replacement` after everything was loaded.
    pub(super) fn set_replacement(&mut self, settings: &Settings) {
        let current = |setting| {
            let (value, source) = settings.value(setting);
            (value.map_or_else(|| "unset".to_owned(), ToString::to_string), source)
        };
        self.replacement = match self.setting {
            Some(setting) => match current(setting) {
                (value, SettingSource::File(_) | SettingSource::Project(_)) if setting == &APPROVAL => {
                    format!("using {value}, the strictest")
                }
                (_, SettingSource::Default) => "using the default".to_owned(),
                (value, source) => format!("ignoring it; {value} from {source} is used instead"),
            },
            None => format!("the entire file is ignored, and the approval mode is {}", current(&APPROVAL).0),
        };
    }
}

/// Sets the strictest approval mode for an invalid file or value, because a typing error must not allow more
/// than intended.
pub(super) fn set_strict_approval(settings: &mut Settings, source: SettingSource) {
    let strictest = APPROVAL.parse("read-only").expect("read-only is a valid value");
    settings.set(&APPROVAL, strictest, source);
}
