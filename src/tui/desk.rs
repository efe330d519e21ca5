//! Where settings are read and written: handed in by whoever starts the front end, which reads no configuration itself.

use std::sync::{Arc, Mutex, PoisonError};

use crate::setting::{Setting, Settings};

/// What went wrong, and what to do about it.
type Trouble = (String, Option<String>);

type Read = dyn Fn() -> Result<ReadSettings, Trouble> + Send + Sync;
type Write = dyn Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync;

/// Settings as their files say they are, and what is to be said of the files.
#[derive(Clone, Debug, Default)]
pub struct ReadSettings {
    /// The settings.
    pub settings: Settings,
    /// What is wrong in the files, so that nothing of them is taken, and what to do about it.
    pub trouble: Option<(String, Option<String>)>,
    /// What was passed over in them, a sentence each: names of no setting.
    pub warnings: Vec<String>,
}

/// What reading settings anew came to.
pub(super) struct News {
    /// Those that are others than are known.
    pub(super) changed: Vec<&'static Setting>,
    /// All of them, as they are now.
    pub(super) now: Settings,
    /// What was passed over in their files.
    pub(super) warnings: Vec<String>,
}

/// Reads the settings with their sources, and writes the user's own.
#[derive(Clone)]
pub struct SettingsDesk {
    read: Arc<Read>,
    write: Arc<Write>,
    /// What they were when they took effect last, or were found to need a start for it.
    known: Arc<Mutex<Settings>>,
    /// What they were at the start: those that need one are this until the next.
    start: Arc<Settings>,
    /// One writes at a time: whoever writes a setting reads the others first, and writes them again.
    turn: Arc<Mutex<()>>,
}

impl SettingsDesk {
    /// Settings that were `known` at the start, and come from `read` as they are at that moment. `write` gets a setting and its value as
    /// typed, which was found to be one; an empty text means that the user's file shall not name it any more.
    pub fn new(
        known: Settings,
        read: impl Fn() -> Result<ReadSettings, Trouble> + Send + Sync + 'static,
        write: impl Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync + 'static,
    ) -> Self {
        let (start, known) = (Arc::new(known.clone()), Arc::new(Mutex::new(known)));
        Self { read: Arc::new(read), write: Arc::new(write), known, start, turn: Arc::default() }
    }

    pub(super) fn read(&self) -> Result<Settings, Trouble> {
        (self.read)().map(|read| read.settings)
    }

    /// Reads them anew. One that is another than is known is news until it is made known. Where a file can't be taken at its word
    /// there are no news: somebody may be writing it.
    pub(super) fn renew(&self) -> Result<News, Trouble> {
        let ReadSettings { settings: now, trouble, warnings } = (self.read)()?;
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = now.differing(&known).collect();
        drop(known);
        Ok(News { changed, now, warnings })
    }

    /// Whether a setting is among these what it was at the start.
    pub(super) fn is_as_at_the_start(&self, setting: &Setting, settings: &Settings) -> bool {
        self.start.value(setting).0 == settings.value(setting).0
    }

    /// One that was written here, or took effect, is known as it is now.
    pub(super) fn know(&self, setting: &Setting, settings: &Settings) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).adopt(setting, settings);
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
    use crate::setting::{SYNC, Source};

    #[test]
    fn what_is_read_anew_is_news_until_it_is_known_and_what_was_written_here_is_none() {
        let mut file = Settings::default();
        for (setting, text) in [(&SYNC, "never"), (&crate::setting::APPROVAL, "auto")] {
            file.set(setting, setting.parse(text).unwrap(), Source::File("settings.json".into()));
        }
        let now = file.clone();
        let read = move || Ok(ReadSettings { settings: now.clone(), ..ReadSettings::default() });
        let desk = SettingsDesk::new(Settings::default(), read, |_, _| Ok(()));
        desk.know(&crate::setting::APPROVAL, &file);
        let names = || desk.renew().unwrap().changed.iter().map(|setting| setting.name).collect::<Vec<_>>();
        assert_eq!([names(), names()], [["sync"]; 2], "it may have come to nothing");
        desk.know(&SYNC, &desk.read().unwrap());
        assert_eq!(names(), Vec::<&str>::new());
    }

    #[test]
    fn a_setting_that_was_put_back_is_as_at_the_start() {
        let never = |text: &str| {
            let mut file = Settings::default();
            file.set(&SYNC, SYNC.parse(text).unwrap(), Source::File("settings.json".into()));
            file
        };
        let desk = SettingsDesk::new(Settings::default(), || Ok(ReadSettings::default()), |_, _| Ok(()));
        assert!(!desk.is_as_at_the_start(&SYNC, &never("never")));
        assert!(desk.is_as_at_the_start(&SYNC, &never(SYNC.default)), "wherever it comes from");
    }

    #[test]
    fn of_a_file_that_is_wrong_nothing_is_taken() {
        let mut file = Settings::default();
        file.set(&SYNC, SYNC.parse("never").unwrap(), Source::File("settings.json".into()));
        let trouble = Some(("not valid".to_owned(), None));
        let read = ReadSettings { settings: file, trouble, warnings: Vec::new() };
        let desk = SettingsDesk::new(Settings::default(), move || Ok(read.clone()), |_, _| Ok(()));
        assert_eq!(desk.renew().err().unwrap().0, "not valid");
        assert!(desk.read().is_ok(), "and to be seen it is read all the same");
    }

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
        let desk = SettingsDesk::new(Settings::default(), || Ok(ReadSettings::default()), add);
        let write = || (0..2_000).for_each(|_| desk.write(&SYNC, "turn").unwrap());
        thread::scope(|scope| {
            scope.spawn(write);
            scope.spawn(write);
        });
        assert_eq!(written.load(Ordering::SeqCst), 4_000, "none was written over");
    }
}
