//! Where settings are read and written: handed in by whoever starts the front end, which reads no configuration itself.

use std::sync::{Arc, Mutex, PoisonError};

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
    /// One writes at a time: whoever writes a setting reads the others first, and writes them again.
    turn: Arc<Mutex<()>>,
}

impl SettingsDesk {
    /// Settings that come from `read` as they are at that moment. `write` gets a setting and its value as typed, which was found to be
    /// one; an empty text means that the user's file shall not name it any more.
    pub fn new(
        read: impl Fn() -> Result<Settings, Trouble> + Send + Sync + 'static,
        write: impl Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync + 'static,
    ) -> Self {
        Self { read: Arc::new(read), write: Arc::new(write), turn: Arc::default() }
    }

    pub(super) fn read(&self) -> Result<Settings, Trouble> {
        (self.read)()
    }

    pub(super) fn write(&self, setting: &'static Setting, text: &str) -> Result<(), Trouble> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (self.write)(setting, text)
    }
}

impl std::fmt::Debug for SettingsDesk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SettingsDesk")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;
    use crate::setting::SYNC;

    #[test]
    fn settings_are_written_one_after_the_other() {
        let written = Arc::new(AtomicUsize::new(0));
        let file = Arc::clone(&written);
        let add = move |_: &'static Setting, _: &str| {
            let before = file.load(Ordering::SeqCst);
            thread::yield_now();
            file.store(before + 1, Ordering::SeqCst);
            Ok(())
        };
        let desk = SettingsDesk::new(|| Ok(Settings::default()), add);
        let write = || (0..2_000).for_each(|_| desk.write(&SYNC, "turn").unwrap());
        thread::scope(|scope| {
            scope.spawn(write);
            scope.spawn(write);
        });
        assert_eq!(written.load(Ordering::SeqCst), 4_000, "none was written over");
    }
}
