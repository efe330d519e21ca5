//! Where settings are read and written: handed in by whoever starts the front end, which reads no configuration itself.

use std::sync::{Arc, Mutex, PoisonError};

use tiller_core::setting::{Setting, Settings};

/// What went wrong, and what to do about it.
type Trouble = (String, Option<String>);

type Read = dyn Fn() -> Result<ReadSettings, Trouble> + Send + Sync;
type Write = dyn Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync;

/// Settings as their files say they are, and what is to be said of the files.
#[derive(Clone, Debug, Default)]
pub struct ReadSettings {
    /// The settings.
    pub settings: Settings,
    /// What of the files isn't taken at its word.
    pub faults: Vec<Fault>,
}

/// Something in the files that isn't taken at its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong and where. As long as that is the same it is the same fault.
    pub what: String,
    /// What counts instead, in a few words.
    pub instead: Option<String>,
    /// How much is lost by it.
    pub cost: Cost,
}

/// How much is lost by a fault when settings are read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// What it is a fault of.
    Itself,
    /// Nothing is taken of what is read.
    Everything,
}

/// What reading settings anew came to.
pub(super) struct News {
    /// Those that are others than are known.
    pub(super) changed: Vec<&'static Setting>,
    /// All of them, as they are now.
    pub(super) now: Settings,
    /// What of their files isn't taken at its word. Where that costs everything nothing has changed.
    pub(super) faults: Vec<Fault>,
}

/// What there is to say of faults.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Verdict {
    /// Those that weren't there before.
    pub(super) new: Vec<Fault>,
    /// Those that are there no longer, as they were said.
    pub(super) gone: Vec<String>,
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
    /// The faults that were said and still hold.
    faults: Arc<Mutex<Vec<Fault>>>,
    /// One writes at a time: whoever writes a setting reads the others first, and writes them again.
    turn: Arc<Mutex<()>>,
}

impl SettingsDesk {
    /// Settings and their faults that were `known` at the start, and come from `read` as they are at that moment. `write` gets a
    /// setting and its value as typed, which was found to be one; an empty text means that the user's file shall not name it any more.
    pub fn new(
        known: ReadSettings,
        read: impl Fn() -> Result<ReadSettings, Trouble> + Send + Sync + 'static,
        write: impl Fn(&'static Setting, &str) -> Result<(), Trouble> + Send + Sync + 'static,
    ) -> Self {
        let ReadSettings { settings, faults } = known;
        let (start, known) = (Arc::new(settings.clone()), Arc::new(Mutex::new(settings)));
        let faults = Arc::new(Mutex::new(faults));
        Self { read: Arc::new(read), write: Arc::new(write), known, start, faults, turn: Arc::default() }
    }

    pub(super) fn read(&self) -> Result<Settings, Trouble> {
        (self.read)().map(|read| read.settings)
    }

    /// Reads them anew. One that is another than is known is news until it is made known. Where a file can't be taken at its word
    /// there are no news: somebody may be writing it.
    pub(super) fn renew(&self) -> Result<News, Trouble> {
        let ReadSettings { settings: now, mut faults } = (self.read)()?;
        if faults.iter().any(Fault::costs_everything) {
            faults.retain(Fault::costs_everything);
            // What counts is what counted before.
            faults.iter_mut().for_each(|fault| fault.instead = None);
            return Ok(News { changed: Vec::new(), now, faults });
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = now.differing(&known).collect();
        drop(known);
        Ok(News { changed, now, faults })
    }

    /// What there is to say of the faults as they are now. While one costs everything none is called mended: nobody looked.
    pub(super) fn judge(&self, faults: &[Fault]) -> Verdict {
        let mut said = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let is_among = |fault: &Fault, these: &[Fault]| these.iter().any(|other| other.what == fault.what);
        let mut verdict = Verdict::default();
        if !faults.iter().any(Fault::costs_everything) {
            let (still, gone) = said.drain(..).partition(|fault| is_among(fault, faults));
            *said = still;
            verdict.gone = gone.iter().map(Fault::said).collect();
        }
        verdict.new = faults.iter().filter(|fault| !is_among(fault, &said)).cloned().collect();
        said.extend_from_slice(&verdict.new);
        verdict
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

impl Fault {
    /// All of it in a line.
    pub(super) fn said(&self) -> String {
        self.instead.as_ref().map_or_else(|| self.what.clone(), |instead| format!("{}; {instead}", self.what))
    }

    pub(super) fn costs_everything(&self) -> bool {
        self.cost == Cost::Everything
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

    use tiller_core::setting::{SYNC, SettingSource};

    use super::*;

    #[test]
    fn what_is_read_anew_is_news_until_it_is_known_and_what_was_written_here_is_none() {
        let mut file = Settings::default();
        for (setting, text) in [(&SYNC, "never"), (&tiller_core::setting::APPROVAL, "auto")] {
            file.set(setting, setting.parse(text).unwrap(), SettingSource::File("settings.json".into()));
        }
        let now = file.clone();
        let read = move || Ok(ReadSettings { settings: now.clone(), ..ReadSettings::default() });
        let desk = SettingsDesk::new(ReadSettings::default(), read, |_, _| Ok(()));
        desk.know(&tiller_core::setting::APPROVAL, &file);
        let names = || desk.renew().unwrap().changed.iter().map(|setting| setting.name).collect::<Vec<_>>();
        assert_eq!([names(), names()], [["sync"]; 2], "it may have come to nothing");
        desk.know(&SYNC, &desk.read().unwrap());
        assert_eq!(names(), Vec::<&str>::new());
    }

    #[test]
    fn a_setting_that_was_put_back_is_as_at_the_start() {
        let never = |text: &str| {
            let mut file = Settings::default();
            file.set(&SYNC, SYNC.parse(text).unwrap(), SettingSource::File("settings.json".into()));
            file
        };
        let desk = SettingsDesk::new(ReadSettings::default(), || Ok(ReadSettings::default()), |_, _| Ok(()));
        assert!(!desk.is_as_at_the_start(&SYNC, &never("never")));
        assert!(desk.is_as_at_the_start(&SYNC, &never(SYNC.default)), "wherever it comes from");
    }

    fn fault(what: &str, cost: Cost) -> Fault {
        Fault { what: what.into(), instead: Some("off counts".into()), cost }
    }

    #[test]
    fn of_a_file_that_is_wrong_nothing_is_taken() {
        let mut file = Settings::default();
        file.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::File("settings.json".into()));
        let faults = vec![fault("no setting", Cost::Itself), fault("not valid", Cost::Everything)];
        let read = ReadSettings { settings: file, faults };
        let desk = SettingsDesk::new(ReadSettings::default(), move || Ok(read.clone()), |_, _| Ok(()));
        let news = desk.renew().ok().unwrap();
        assert_eq!(news.changed, Vec::<&Setting>::new());
        assert_eq!(news.faults, [Fault { instead: None, ..fault("not valid", Cost::Everything) }]);
        assert!(desk.read().is_ok(), "and to be seen it is read all the same");
    }

    #[test]
    fn a_fault_is_said_once_and_again_when_it_is_mended() {
        let (a, b) = (fault("a", Cost::Itself), fault("b", Cost::Itself));
        let known = ReadSettings { faults: vec![a.clone()], ..ReadSettings::default() };
        let desk = SettingsDesk::new(known, || Ok(ReadSettings::default()), |_, _| Ok(()));
        let all = fault("all", Cost::Everything);
        let verdict = |new: &[&Fault], gone: &[&str]| Verdict {
            new: new.iter().map(|fault| (*fault).clone()).collect(),
            gone: gone.iter().map(|what| format!("{what}; off counts")).collect(),
        };
        assert_eq!(desk.judge(&[a.clone(), b.clone()]), verdict(&[&b], &[]), "a was said at the start");
        assert_eq!(desk.judge(&[a.clone(), b.clone()]), Verdict::default());
        assert_eq!(desk.judge(std::slice::from_ref(&b)), verdict(&[], &["a"]));
        assert_eq!(desk.judge(std::slice::from_ref(&all)), verdict(&[&all], &[]), "b may still hold");
        assert_eq!(desk.judge(&[all]), Verdict::default());
        assert_eq!(desk.judge(std::slice::from_ref(&a)), verdict(&[&a], &["b", "all"]));
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
        let desk = SettingsDesk::new(ReadSettings::default(), || Ok(ReadSettings::default()), add);
        let write = || (0..2_000).for_each(|_| desk.write(&SYNC, "turn").unwrap());
        thread::scope(|scope| {
            scope.spawn(write);
            scope.spawn(write);
        });
        assert_eq!(written.load(Ordering::SeqCst), 4_000, "none was written over");
    }
}
