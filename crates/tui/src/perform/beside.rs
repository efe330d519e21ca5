//! What goes on beside, on other threads, and reports when it is done.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tiller_core::id::EntryId;
use tiller_core::setting::Setting;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Worker, count_branches, look_up, read_part};
use crate::app::{Beside, Errand, ListNews, Report};
use crate::attach::{self, Clip};
use crate::history::History;
use crate::search::Lookup;
use crate::{gather, logs, tree, welcome};

/// Tells that an errand is over when it is dropped: what falls over is over too.
struct Ended<'a> {
    errand: Errand,
    reports: &'a mpsc::Sender<Report>,
}

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        // Nobody listens any more when the front end has ended.
        let _ = self.reports.blocking_send(Report::Ended(self.errand));
    }
}

fn run_told(errand: Errand, reports: &mpsc::Sender<Report>, run: impl FnOnce() -> Report) {
    // As above.
    let _ = reports.blocking_send(Report::Began(errand));
    let _ended = Ended { errand, reports };
    let _ = reports.blocking_send(run());
}

impl Worker {
    /// Begins what goes on beside and reports when it is done.
    pub(super) fn begin(&self, deed: Beside, beside: &mut JoinSet<()>) {
        match deed {
            Beside::Tree(ask) => self.look(ask, beside),
            Beside::AskToHide(entry) => self.ask_to_hide(entry, beside),
            Beside::Keep { setting, value } => self.keep(setting, value, beside),
            Beside::Read(wanted) => {
                let reader = self.agent.reader();
                self.read_beside(beside, move || read_part(&reader, wanted));
            }
            Beside::CountBranches(epoch) => {
                let reader = self.agent.reader();
                self.read_beside(beside, move || count_branches(&reader, epoch));
            }
            Beside::Search(lookup) => self.search(lookup, beside),
            Beside::ShowLogs => {
                let (log, reports) = (self.options.files.log.clone(), self.options.files.reports.clone());
                self.read_beside(beside, move || logs::page(log.as_deref(), reports.as_deref()));
            }
            Beside::Remember(prompts) => self.remember(prompts, beside),
            Beside::Welcome => {
                let (agent, reports) = (self.agent.clone(), self.reports.clone());
                beside.spawn(async move { _ = reports.send(welcome::gather(&agent).await).await });
            }
            Beside::PasteImage => self.read_beside(beside, || match attach::clipboard() {
                Clip::Picture(picture) => Report::Attached(picture),
                Clip::Text(text) => Report::Pasted(text),
                Clip::Nothing(why) => Report::Note(why),
            }),
        }
    }

    fn remember(&self, prompts: Vec<String>, beside: &mut JoinSet<()>) {
        if let Some(path) = self.options.files.history.clone() {
            beside.spawn_blocking(move || prompts.iter().for_each(|prompt| History::at(&path).add(prompt)));
        }
    }

    fn ask_to_hide(&self, entry: EntryId, beside: &mut JoinSet<()>) {
        let reader = self.agent.reader();
        self.read_beside(beside, move || gather::hiding(&reader, entry));
    }

    /// Looks up what the tree wants to know.
    fn look(&self, ask: tree::Ask, beside: &mut JoinSet<()>) {
        let (reader, reports) = (self.agent.reader(), self.reports.clone());
        let session = reader.id().clone();
        let tell = move |news| {
            let report = Report::List(ListNews::Tree { session: session.clone(), news });
            if reports.blocking_send(report).is_ok() { tree::Wanted::Yes } else { tree::Wanted::No }
        };
        let number = match &ask {
            tree::Ask::Search(_) | tree::Ask::EndSearch => self.searches.fetch_add(1, Ordering::Relaxed) + 1,
            tree::Ask::Shape | tree::Ask::Texts(_) | tree::Ask::Preview(_) => 0,
        };
        let searches = Arc::clone(&self.searches);
        beside.spawn_blocking(move || match &ask {
            tree::Ask::Search(query) => {
                let newest = || searches.load(Ordering::Relaxed) == number;
                let is_wanted = || if newest() { tree::Wanted::Yes } else { tree::Wanted::No };
                tree::find(&reader, query, is_wanted, tell);
            }
            ask => tree::look(&reader, ask).into_iter().for_each(|news| _ = tell(news)),
        });
    }

    /// Keeps a setting for the next time.
    fn keep(&self, setting: &'static Setting, value: String, beside: &mut JoinSet<()>) {
        let Some(desk) = self.options.desks.settings.clone() else { return };
        self.read_beside(beside, move || match desk.write(setting, &value) {
            Ok(()) => Report::Note(format!("{} is {value} from now on", setting.name)),
            Err((what, hint)) => Report::Failed { what, hint, text: None },
        });
    }

    /// Looks for words; a newer look ends this one.
    fn search(&self, lookup: Lookup, beside: &mut JoinSet<()>) {
        self.lookup.store(lookup.number, Ordering::Relaxed);
        let (newest, reader, reports) = (Arc::clone(&self.lookup), self.agent.reader(), self.reports.clone());
        beside.spawn_blocking(move || {
            look_up(&reader, &lookup, |found| {
                newest.load(Ordering::Relaxed) == lookup.number
                    && reports.blocking_send(Report::Found(found)).is_ok()
            });
        });
    }

    /// Does what may take long, and tells when it is begun and when it is over, however it ends.
    pub(super) fn run_errand(
        &self,
        errand: Errand,
        beside: &mut JoinSet<()>,
        run: impl FnOnce() -> Report + Send + 'static,
    ) {
        let reports = self.reports.clone();
        beside.spawn_blocking(move || run_told(errand, &reports, run));
    }

    pub(super) fn read_beside(
        &self,
        beside: &mut JoinSet<()>,
        read: impl FnOnce() -> Report + Send + 'static,
    ) {
        let reports = self.reports.clone();
        beside.spawn_blocking(move || _ = reports.blocking_send(read()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_errand_that_falls_over_is_over_all_the_same() {
        let (reports, mut received) = mpsc::channel(8);
        run_told(Errand::Export, &reports, || Report::Note("done".to_owned()));
        let other = reports.clone();
        let fell = std::thread::spawn(move || run_told(Errand::Copy, &other, || panic!("a slip"))).join();
        assert!(fell.is_err());
        drop(reports);
        let told: Vec<String> =
            std::iter::from_fn(|| received.blocking_recv()).map(|report| format!("{report:?}")).collect();
        let expected = ["Began(Export)", "Note(\"done\")", "Ended(Export)", "Began(Copy)", "Ended(Copy)"];
        assert_eq!(told, expected);
    }
}
