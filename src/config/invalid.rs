//! What is wrong in settings files. It costs its own settings and no others, so that whoever made a mistake is let in to mend it.

use std::path::Path;

use super::ConfigError;
use crate::setting::{APPROVAL, InvalidSetting, Setting, SettingSource, Settings};

/// A value that a setting doesn't take, or a file that isn't JSON.
#[derive(Clone, Debug, PartialEq)]
pub struct WrongSetting {
    /// The setting; `None` where the whole file can't be read.
    pub setting: Option<&'static Setting>,
    /// What is wrong and where, in a line.
    pub what: String,
    /// What counts instead, in a few words.
    pub instead: String,
}

impl WrongSetting {
    /// What to do about it.
    pub const ADVICE: &str =
        "mend it in an editor; `tiller settings` shows what counts, and what each setting takes";

    /// All of it in a line.
    #[must_use]
    pub fn warning(&self) -> String {
        format!("{}; {}", self.what, self.instead)
    }

    pub(super) fn value(setting: &'static Setting, path: &Path, source: &InvalidSetting) -> Self {
        let what = format!("{}: {source}", path.display());
        Self { setting: Some(setting), what, instead: String::new() }
    }

    pub(super) fn file(error: &ConfigError) -> Self {
        Self { setting: None, what: error.to_string(), instead: String::new() }
    }

    /// Says what counts, now that everything was read.
    pub(super) fn settle(&mut self, settings: &Settings) {
        let said = |setting| {
            let (value, source) = settings.value(setting);
            (value.map_or_else(|| "unset".to_owned(), ToString::to_string), source)
        };
        self.instead = match self.setting {
            Some(setting) => match said(setting) {
                (value, SettingSource::File(_) | SettingSource::Project(_)) if setting == &APPROVAL => {
                    format!("{value}, the strictest, counts instead")
                }
                (value, source) => format!("{value} counts instead ({source})"),
            },
            None => format!("nothing in it counts, and approval is {}", said(&APPROVAL).0),
        };
    }
}

/// Takes the strictest approval for a file that may have wanted it: what is mistyped must not allow more than what was meant.
pub(super) fn be_strict(settings: &mut Settings, source: SettingSource) {
    let strictest = APPROVAL.parse("read-only").expect("it is a word of that setting");
    settings.set(&APPROVAL, strictest, source);
}
