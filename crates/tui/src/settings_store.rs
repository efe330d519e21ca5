//! Access to the settings, provided by the caller; the front end doesn't read configuration files itself.

use std::sync::{Arc, Mutex, PoisonError};

use tiller_core::setting::{Setting, Settings};

/// An error with a hint.
type StoreError = (String, Option<String>);

type LoadSettings = dyn Fn() -> Result<ReadSettings, StoreError> + Send + Sync;
type StoreSetting = dyn Fn(&'static Setting, &str) -> Result<(), StoreError> + Send + Sync;

/// The settings from their files, and problems in the files.
#[derive(Clone, Debug, Default)]
pub struct ReadSettings {
    /// The settings.
    pub settings: Settings,
    /// Problems in the files.
    pub problems: Vec<SettingProblem>,
}

/// A problem in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingProblem {
    /// The problem and its location. Problems with equal texts count as the same problem.
    pub what: String,
    /// A short text about the value used instead.
    pub instead: Option<String>,
    /// The part of the settings that the problem makes unusable.
    pub scope: ProblemScope,
}

/// The part of the settings that a problem makes unusable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemScope {
    /// Only the setting itself.
    Setting,
    /// Everything that was read.
    Everything,
}

/// The result of reloading the settings.
pub(super) struct SettingsDiff {
    pub(super) changed: Vec<&'static Setting>,
    pub(super) now: Settings,
    /// Problems in the files. If one makes everything unusable, `changed` is empty.
    pub(super) problems: Vec<SettingProblem>,
}

/// Changes to the set of problems.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ProblemDiff {
    /// Problems that appeared.
    pub(super) new: Vec<SettingProblem>,
    /// The messages of fixed problems.
    pub(super) gone: Vec<String>,
}

/// Reads the settings with their sources, and writes the user's settings.
#[derive(Clone)]
pub struct SettingsStore {
    read: Arc<LoadSettings>,
    write: Arc<StoreSetting>,
    /// The settings when they last took effect, or were found to need a restart.
    acknowledged: Arc<Mutex<Settings>>,
    /// The settings at the start. Settings that need a restart keep these values.
    start: Arc<Settings>,
    /// The reported problems that still exist.
    reported: Arc<Mutex<Vec<SettingProblem>>>,
    /// Serializes writes: each write reads the other settings first and writes them again.
    write_lock: Arc<Mutex<()>>,
}

impl SettingsStore {
    /// Creates a store with the settings and problems `known` at the start. `read` returns the current ones.
    /// `write` gets a setting and its valid value as typed; an empty value removes the setting from the
    /// user's file.
    pub fn new(
        known: ReadSettings,
        read: impl Fn() -> Result<ReadSettings, StoreError> + Send + Sync + 'static,
        write: impl Fn(&'static Setting, &str) -> Result<(), StoreError> + Send + Sync + 'static,
    ) -> Self {
        let ReadSettings { settings, problems } = known;
        let (start, known) = (Arc::new(settings.clone()), Arc::new(Mutex::new(settings)));
        let problems = Arc::new(Mutex::new(problems));
        Self {
            read: Arc::new(read),
            write: Arc::new(write),
            acknowledged: known,
            start,
            reported: problems,
            write_lock: Arc::default(),
        }
    }

    pub(super) fn read(&self) -> Result<Settings, StoreError> {
        (self.read)().map(|read| read.settings)
    }

    /// Reloads the settings. A change is returned each time until it is acknowledged with
    /// [`Self::acknowledge`]. While a file is invalid, no changes are returned, because the file may be half
    /// written.
    pub(super) fn reload(&self) -> Result<SettingsDiff, StoreError> {
        let ReadSettings { settings: now, mut problems } = (self.read)()?;
        if problems.iter().any(SettingProblem::affects_everything) {
            problems.retain(SettingProblem::affects_everything);
            // The previous values stay in use.
            problems.iter_mut().for_each(|problem| problem.instead = None);
            return Ok(SettingsDiff { changed: Vec::new(), now, problems });
        }
        let known = self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = now.differing(&known).collect();
        drop(known);
        Ok(SettingsDiff { changed, now, problems })
    }

    /// Compares the current problems with the reported ones. While a problem makes everything unusable, no
    /// problem counts as fixed, because the files weren't checked.
    pub(super) fn diff_problems(&self, problems: &[SettingProblem]) -> ProblemDiff {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let contains = |problem: &SettingProblem, these: &[SettingProblem]| {
            these.iter().any(|other| other.what == problem.what)
        };
        let mut diff = ProblemDiff::default();
        if !problems.iter().any(SettingProblem::affects_everything) {
            let (still, gone) = reported.drain(..).partition(|problem| contains(problem, problems));
            *reported = still;
            diff.gone = gone.iter().map(SettingProblem::message).collect();
        }
        diff.new = problems.iter().filter(|problem| !contains(problem, &reported)).cloned().collect();
        reported.extend_from_slice(&diff.new);
        diff
    }

    /// Returns true if a setting has the same value as at the start.
    pub(super) fn is_as_at_start(&self, setting: &Setting, settings: &Settings) -> bool {
        self.start.value(setting).0 == settings.value(setting).0
    }

    /// Acknowledges a setting's value after it was written here or took effect.
    pub(super) fn acknowledge(&self, setting: &Setting, settings: &Settings) {
        self.acknowledged.lock().unwrap_or_else(PoisonError::into_inner).copy_from(setting, settings);
    }

    pub(super) fn write(&self, setting: &'static Setting, text: &str) -> Result<(), StoreError> {
        let _turn = self.write_lock.lock().unwrap_or_else(PoisonError::into_inner);
        (self.write)(setting, text)
    }
}

impl SettingProblem {
    /// Formats the message on one line.
    pub(super) fn message(&self) -> String {
        self.instead.as_ref().map_or_else(|| self.what.clone(), |instead| format!("{}; {instead}", self.what))
    }

    pub(super) fn affects_everything(&self) -> bool {
        self.scope == ProblemScope::Everything
    }
}

impl std::fmt::Debug for SettingsStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SettingsStore")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use tiller_core::setting::{SYNC, SettingSource};

    use super::*;

    #[test]
    fn settings_store_change_is_returned_until_acknowledged() {
        let mut file = Settings::default();
        for (setting, text) in [(&SYNC, "never"), (&tiller_core::setting::APPROVAL, "auto")] {
            file.set(setting, setting.parse(text).unwrap(), SettingSource::File("settings.json".into()));
        }
        let now = file.clone();
        let read = move || Ok(ReadSettings { settings: now.clone(), ..ReadSettings::default() });
        let store = SettingsStore::new(ReadSettings::default(), read, |_, _| Ok(()));
        store.acknowledge(&tiller_core::setting::APPROVAL, &file);
        let names = || store.reload().unwrap().changed.iter().map(|setting| setting.name).collect::<Vec<_>>();
        assert_eq!([names(), names()], [["sync"]; 2], "not acknowledged yet");
        store.acknowledge(&SYNC, &store.read().unwrap());
        assert_eq!(names(), Vec::<&str>::new());
    }

    #[test]
    fn settings_store_reverted_setting_is_as_at_the_start() {
        let with_sync = |text: &str| {
            let mut file = Settings::default();
            file.set(&SYNC, SYNC.parse(text).unwrap(), SettingSource::File("settings.json".into()));
            file
        };
        let store =
            SettingsStore::new(ReadSettings::default(), || Ok(ReadSettings::default()), |_, _| Ok(()));
        assert!(!store.is_as_at_start(&SYNC, &with_sync("never")));
        assert!(store.is_as_at_start(&SYNC, &with_sync(SYNC.default)), "from any source");
    }

    fn fault(what: &str, cost: ProblemScope) -> SettingProblem {
        SettingProblem { what: what.into(), instead: Some("off counts".into()), scope: cost }
    }

    #[test]
    fn settings_store_invalid_file_changes_nothing() {
        let mut file = Settings::default();
        file.set(&SYNC, SYNC.parse("never").unwrap(), SettingSource::File("settings.json".into()));
        let faults =
            vec![fault("no setting", ProblemScope::Setting), fault("not valid", ProblemScope::Everything)];
        let read = ReadSettings { settings: file, problems: faults };
        let store = SettingsStore::new(ReadSettings::default(), move || Ok(read.clone()), |_, _| Ok(()));
        let diff = store.reload().ok().unwrap();
        assert_eq!(diff.changed, Vec::<&Setting>::new());
        assert_eq!(
            diff.problems,
            [SettingProblem { instead: None, ..fault("not valid", ProblemScope::Everything) }]
        );
        assert!(store.read().is_ok(), "it can still be displayed");
    }

    #[test]
    fn settings_store_problem_is_reported_once_until_fixed() {
        let (a, b) = (fault("a", ProblemScope::Setting), fault("b", ProblemScope::Setting));
        let known = ReadSettings { problems: vec![a.clone()], ..ReadSettings::default() };
        let store = SettingsStore::new(known, || Ok(ReadSettings::default()), |_, _| Ok(()));
        let all = fault("all", ProblemScope::Everything);
        let diff = |new: &[&SettingProblem], gone: &[&str]| ProblemDiff {
            new: new.iter().map(|problem| (*problem).clone()).collect(),
            gone: gone.iter().map(|what| format!("{what}; off counts")).collect(),
        };
        assert_eq!(
            store.diff_problems(&[a.clone(), b.clone()]),
            diff(&[&b], &[]),
            "a was reported at the start"
        );
        assert_eq!(store.diff_problems(&[a.clone(), b.clone()]), ProblemDiff::default());
        assert_eq!(store.diff_problems(std::slice::from_ref(&b)), diff(&[], &["a"]));
        assert_eq!(store.diff_problems(std::slice::from_ref(&all)), diff(&[&all], &[]), "b may still hold");
        assert_eq!(store.diff_problems(&[all]), ProblemDiff::default());
        assert_eq!(store.diff_problems(std::slice::from_ref(&a)), diff(&[&a], &["b", "all"]));
    }

    #[test]
    fn settings_store_writes_are_serialized() {
        let written = Arc::new(AtomicUsize::new(0));
        let file = Arc::clone(&written);
        let add = move |_: &'static Setting, _: &str| {
            let before = file.load(Ordering::SeqCst);
            thread::yield_now();
            file.store(before + 1, Ordering::SeqCst);
            Ok(())
        };
        let store = SettingsStore::new(ReadSettings::default(), || Ok(ReadSettings::default()), add);
        let write = || (0..2_000).for_each(|_| store.write(&SYNC, "turn").unwrap());
        thread::scope(|scope| {
            scope.spawn(write);
            scope.spawn(write);
        });
        assert_eq!(written.load(Ordering::SeqCst), 4_000, "no write was lost");
    }
}
