//! Where settings are read and written: handed in by whoever starts the front end, which reads no configuration itself.

use std::sync::Arc;

use crate::setting::{Setting, Settings};

/// What went wrong, and what to do about it.
type Trouble = (String, Option<String>);

type Read = dyn Fn() -> Result<Settings, Trouble> + Send + Sync;
type Write = dyn Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync;

/// Reads the settings with their sources, and writes the user's own.
#[derive(Clone)]
pub struct SettingsDesk {
    read: Arc<Read>,
    write: Arc<Write>,
}

impl SettingsDesk {
    /// Settings that come from `read` as they are at that moment. `write` gets a setting and its value as typed, which was found to be
    /// one; an empty text means that the user's file shall not name it any more.
    pub fn new(
        read: impl Fn() -> Result<Settings, Trouble> + Send + Sync + 'static,
        write: impl Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync + 'static,
    ) -> Self {
        Self { read: Arc::new(read), write: Arc::new(write) }
    }

    pub(super) fn read(&self) -> Result<Settings, Trouble> {
        (self.read)()
    }

    pub(super) fn write(&self, setting: &'static Setting, text: &str) -> Result<(), Trouble> {
        (self.write)(setting, text)
    }
}

impl std::fmt::Debug for SettingsDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SettingsDesk")
    }
}
