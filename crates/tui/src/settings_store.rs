//! Where settings are read and written: handed in by whoever starts the front end, which reads no configuration itself.

use std::sync::{Arc, Mutex, PoisonError};

use tiller_core::setting::{Setting, Settings};

/// What went wrong, and what to do about it.
type StoreError = (String, Option<String>);

type Read = dyn Fn() -> Result<ReadSettings, StoreError> + Send + Sync;
type Write = dyn Fn(&'static Setting, &str) -> Result<(), StoreError> + Send + Sync;

/// Settings as their files say they are, and what is to be said of the files.
#[derive(Clone, Debug, Default)]
pub struct ReadSettings {
    /// The settings.
    pub settings: Settings,
    /// What of the files isn't taken at its word.
    pub faults: Vec<SettingProblem>,
}

/// Something in the files that isn't taken at its word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingProblem {
    /// What is wrong and where. As long as that is the same it is the same fault.
    pub what: String,
    /// What counts instead, in a few words.
    pub instead: Option<String>,
    /// How much is lost by it.
    pub cost: SaveEffect,
}

/// How much is lost by a fault when settings are read anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaveEffect {
    /// What it is a fault of.
    Itself,
    /// Nothing is taken of what is read.
    Everything,
}

/// What reading settings anew came to.
pub(super) struct SettingsDiff {
    /// Those that are others than are known.
    pub(super) changed: Vec<&'static Setting>,
    /// All of them, as they are now.
    pub(super) now: Settings,
    /// What of their files isn't taken at its word. Where that costs everything nothing has changed.
    pub(super) faults: Vec<SettingProblem>,
}

/// What there is to say of faults.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProblemDiff {
    /// Those that weren't there before.
    pub(super) new: Vec<SettingProblem>,
    /// Those that are there no longer, as they were said.
    pub(super) gone: Vec<String>,
}

/// Reads the settings with their sources, and writes the user's own.
#[derive(Clone)]
pub struct SettingsStore {
    read: Arc<Read>,
    write: Arc<Write>,
    /// What they were when they took effect last, or were found to need a start for it.
    known: Arc<Mutex<Settings>>,
    /// What they were at the start: those that need one are this until the next.
    start: Arc<Settings>,
    /// The faults that were said and still hold.
    faults: Arc<Mutex<Vec<SettingProblem>>>,
    /// One writes at a time: whoever writes a setting reads the others first, and writes them again.
    turn: Arc<Mutex<()>>,
}

impl SettingsStore {
    /// Settings and their faults that were `known` at the start, and come from `read` as they are at that moment. `write` gets a
    /// setting and its value as typed, which was found to be one; an empty text means that the user's file shall not name it any more.
    pub fn new(
        known: ReadSettings,
        read: impl Fn() -> Result<ReadSettings, StoreError> + Send + Sync + 'static,
        write: impl Fn(&'static Setting, &str) -> Result<(), StoreError> + Send + Sync + 'static,
    ) -> Self {
        let ReadSettings { settings, faults } = known;
        let (start, known) = (Arc::new(settings.clone()), Arc::new(Mutex::new(settings)));
        let faults = Arc::new(Mutex::new(faults));
        Self { read: Arc::new(read), write: Arc::new(write), known, start, faults, turn: Arc::default() }
    }

    pub(super) fn read(&self) -> Result<Settings, StoreError> {
        (self.read)().map(|read| read.settings)
    }

    /// Reads them anew. One that is another than is known is news until it is made known. Where a file can't be taken at its word
    /// there are no news: somebody may be writing it.
    pub(super) fn renew(&self) -> Result<SettingsDiff, StoreError> {
        let ReadSettings { settings: now, mut faults } = (self.read)()?;
        if faults.iter().any(SettingProblem::costs_everything) {
            faults.retain(SettingProblem::costs_everything);
            // What counts is what counted before.
            faults.iter_mut().for_each(|fault| fault.instead = None);
            return Ok(SettingsDiff { changed: Vec::new(), now, faults });
        }
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = now.differing(&known).collect();
        drop(known);
        Ok(SettingsDiff { changed, now, faults })
    }

    /// What there is to say of the faults as they are now. While one costs everything none is called mended: nobody looked.
    pub(super) fn judge(&self, faults: &[SettingProblem]) -> ProblemDiff {
        let mut said = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let is_among = |fault: &SettingProblem, these: &[SettingProblem]| {
            these.iter().any(|other| other.what == fault.what)
        };
        let mut verdict = ProblemDiff::default();
        if !faults.iter().any(SettingProblem::costs_everything) {
            let (still, gone) = said.drain(..).partition(|fault| is_among(fault, faults));
            *said = still;
            verdict.gone = gone.iter().map(SettingProblem::said).collect();
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

    pub(super) fn write(&self, setting: &'static Setting, text: &str) -> Result<(), StoreError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        (self.write)(setting, text)
    }
}

impl SettingProblem {
    /// All of it in a line.
    pub(super) fn said(&self) -> String {
        self.instead.as_ref().map_or_else(|| self.what.clone(), |instead| format!("{}; {instead}", self.what))
    }

    pub(super) fn costs_everything(&self) -> bool {
        self.cost == SaveEffect::Everything
    }
}

impl std::fmt::Debug for SettingsStore {
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
        let desk = SettingsStore::new(ReadSettings::default(), read, |_, _| Ok(()));
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
        let desk = SettingsStore::new(ReadSettings::default(), || Ok(ReadSettings::default()), |_, _| Ok(()));
        assert!(!desk.is_as_at_the_start(&SYNC, &never("never")));
        assert!(desk.is_as_at_the_start(&SYNC, &never(SYNC.default)), "wherever it comes from");
    }

    fn fault(what: &str, cost: SaveEffect) -> SettingProblem {
        SettingProblem { what: what.into(), instead: Some("off counts".into()), cost }
    }

    #[test]
    fn of_a_file_that_is_wrong_nothing_is_taken() {
        let mut file = Settings::default();
        file.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::File("settings.json".into()));
        let faults =
            vec![fault("no setting", SaveEffect::Itself), fault("not valid", SaveEffect::Everything)];
        let read = ReadSettings { settings: file, faults };
        let desk = SettingsStore::new(ReadSettings::default(), move || Ok(read.clone()), |_, _| Ok(()));
        let news = desk.renew().ok().unwrap();
        assert_eq!(news.changed, Vec::<&Setting>::new());
        assert_eq!(
            news.faults,
            [SettingProblem { instead: None, ..fault("not valid", SaveEffect::Everything) }]
        );
        assert!(desk.read().is_ok(), "and to be seen it is read all the same");
    }

    #[test]
    fn a_fault_is_said_once_and_again_when_it_is_mended() {
        let (a, b) = (fault("a", SaveEffect::Itself), fault("b", SaveEffect::Itself));
        let known = ReadSettings { faults: vec![a.clone()], ..ReadSettings::default() };
        let desk = SettingsStore::new(known, || Ok(ReadSettings::default()), |_, _| Ok(()));
        let all = fault("all", SaveEffect::Everything);
        let verdict = |new: &[&SettingProblem], gone: &[&str]| ProblemDiff {
            new: new.iter().map(|fault| (*fault).clone()).collect(),
            gone: gone.iter().map(|what| format!("{what}; off counts")).collect(),
        };
        assert_eq!(desk.judge(&[a.clone(), b.clone()]), verdict(&[&b], &[]), "a was said at the start");
        assert_eq!(desk.judge(&[a.clone(), b.clone()]), ProblemDiff::default());
        assert_eq!(desk.judge(std::slice::from_ref(&b)), verdict(&[], &["a"]));
        assert_eq!(desk.judge(std::slice::from_ref(&all)), verdict(&[&all], &[]), "b may still hold");
        assert_eq!(desk.judge(&[all]), ProblemDiff::default());
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
        let desk = SettingsStore::new(ReadSettings::default(), || Ok(ReadSettings::default()), add);
        let write = || (0..2_000).for_each(|_| desk.write(&SYNC, "turn").unwrap());
        thread::scope(|scope| {
            scope.spawn(write);
            scope.spawn(write);
        });
        assert_eq!(written.load(Ordering::SeqCst), 4_000, "none was written over");
    }
}
