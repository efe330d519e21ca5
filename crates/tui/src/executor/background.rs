//! Background jobs on other threads, which report when done.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use tiller_files::web_page::open_web_page;

use tiller_core::id::EntryId;
use tiller_core::setting::Setting;
use tokio::task::JoinSet;

use crate::action::BackgroundJob;
use crate::attach::clipboard::ClipboardContent;
use crate::executor::ExecutorWorker;
use crate::executor::log_queries::{count_branches, read_part, search_log};
use crate::executor::result_sender::ResultSender;
use crate::history::History;
use crate::message::{ListResult, TaskResult};
use crate::session_model::Job;
use crate::transcript_pane::lookup::SearchJob;
use crate::{attach, list_data, logs, tree};

/// Reports the end of a job when dropped, even after a panic.
struct FinishedJob<'a> {
    job: Job,
    results: &'a ResultSender,
}

impl Drop for FinishedJob<'_> {
    fn drop(&mut self) {
        // The loop may have ended.
        let _ = self.results.blocking_send(TaskResult::Ended(self.job));
    }
}

fn run_reported(job: Job, reports: &ResultSender, run: impl FnOnce() -> TaskResult) {
    // The loop may have ended.
    let _ = reports.blocking_send(TaskResult::Began(job));
    let _ended = FinishedJob { job, results: reports };
    let _ = reports.blocking_send(run());
}

impl ExecutorWorker {
    pub(super) fn start_job(&self, background_job: BackgroundJob, background: &mut JoinSet<()>) {
        match background_job {
            BackgroundJob::Tree(request) => self.query_tree(request, background),
            BackgroundJob::AskToHide(entry) => self.ask_to_hide(entry, background),
            BackgroundJob::SaveSetting { setting, value } => self.save_setting(setting, value, background),
            BackgroundJob::ReadPart(wanted) => {
                let reader = self.agent.reader();
                self.read_in_background(background, move || read_part(&reader, wanted));
            }
            BackgroundJob::CountBranches(epoch) => {
                let reader = self.agent.reader();
                self.read_in_background(background, move || count_branches(&reader, epoch));
            }
            BackgroundJob::Search(lookup) => self.search(lookup, background),
            BackgroundJob::ShowLogs => {
                let (log, reports) =
                    (self.options.files.log.clone(), self.options.files.crash_reports.clone());
                self.read_in_background(background, move || logs::page(log.as_deref(), reports.as_deref()));
            }
            BackgroundJob::AppendHistory(prompts) => self.append_history(prompts, background),
            BackgroundJob::Welcome => {
                let (agent, reports) = (self.agent.clone(), self.results.clone());
                background.spawn(async move {
                    _ = reports.send(crate::executor::welcome::gather(&agent).await).await
                });
            }
            BackgroundJob::OpenPage(url) => {
                self.read_in_background(background, move || match open_web_page(&url) {
                    Ok(()) => TaskResult::Note("The address was opened in the browser.".to_owned()),
                    Err(error) => TaskResult::Note(format!(
                        "Can't open the browser: {error}. Open the address yourself."
                    )),
                });
            }
            BackgroundJob::PasteImage => {
                self.read_in_background(background, || match attach::clipboard::read_clipboard() {
                    ClipboardContent::Image(picture) => TaskResult::Attached(picture),
                    ClipboardContent::Text(text) => TaskResult::Paste(text),
                    ClipboardContent::Nothing(reason) => TaskResult::Note(reason),
                })
            }
        }
    }

    fn append_history(&self, prompts: Vec<String>, background: &mut JoinSet<()>) {
        if let Some(path) = self.options.files.history.clone() {
            background
                .spawn_blocking(move || prompts.iter().for_each(|prompt| History::at(&path).add(prompt)));
        }
    }

    fn ask_to_hide(&self, entry: EntryId, background: &mut JoinSet<()>) {
        let reader = self.agent.reader();
        self.read_in_background(background, move || list_data::ask_to_hide(&reader, entry));
    }

    /// Looks up data for the tree.
    fn query_tree(&self, request: tree::request::TreeRequest, background: &mut JoinSet<()>) {
        let (reader, reports) = (self.agent.reader(), self.results.clone());
        let session = reader.id().clone();
        let tell = move |result| {
            let report = TaskResult::List(ListResult::Tree { session: session.clone(), news: result });
            if reports.blocking_send(report).is_ok() {
                tree::search_worker::SearchControl::Yes
            } else {
                tree::search_worker::SearchControl::No
            }
        };
        let number = match &request {
            tree::request::TreeRequest::Search(_) | tree::request::TreeRequest::EndSearch => {
                self.searches.fetch_add(1, Ordering::Relaxed) + 1
            }
            tree::request::TreeRequest::Shape
            | tree::request::TreeRequest::Texts(_)
            | tree::request::TreeRequest::Preview(_) => 0,
        };
        let (searches, tools) = (Arc::clone(&self.searches), self.agent.tool_catalog());
        background.spawn_blocking(move || match &request {
            tree::request::TreeRequest::Search(query) => {
                let newest = || searches.load(Ordering::Relaxed) == number;
                let is_wanted = || {
                    if newest() {
                        tree::search_worker::SearchControl::Yes
                    } else {
                        tree::search_worker::SearchControl::No
                    }
                };
                tree::search_worker::search_entries(&reader, query, is_wanted, tell);
            }
            request => {
                tree::loader::load(&reader, &tools, request).into_iter().for_each(|result| _ = tell(result))
            }
        });
    }

    /// Saves a setting in the user's file.
    fn save_setting(&self, setting: &'static Setting, value: String, background: &mut JoinSet<()>) {
        let Some(desk) = self.options.services.settings.clone() else { return };
        self.read_in_background(background, move || match desk.write(setting, &value) {
            Ok(()) => TaskResult::Note(format!("Saved: {} is {value}.", setting.name)),
            Err((message, hint)) => TaskResult::Failed { message, hint, text: None },
        });
    }

    /// Searches the transcript; a newer search cancels an older one.
    fn search(&self, lookup: SearchJob, background: &mut JoinSet<()>) {
        self.lookup.store(lookup.number, Ordering::Relaxed);
        let (newest, reader, reports) = (Arc::clone(&self.lookup), self.agent.reader(), self.results.clone());
        background.spawn_blocking(move || {
            search_log(&reader, &lookup, |found| {
                newest.load(Ordering::Relaxed) == lookup.number
                    && reports.blocking_send(TaskResult::SearchHits(found)).is_ok()
            });
        });
    }

    /// Runs a long job; reports its start and its end, even if it panics.
    pub(super) fn run_job(
        &self,
        job: Job,
        background: &mut JoinSet<()>,
        run: impl FnOnce() -> TaskResult + Send + 'static,
    ) {
        let reports = self.results.clone();
        background.spawn_blocking(move || run_reported(job, &reports, run));
    }

    pub(super) fn read_in_background(
        &self,
        background: &mut JoinSet<()>,
        read: impl FnOnce() -> TaskResult + Send + 'static,
    ) {
        let reports = self.results.clone();
        background.spawn_blocking(move || _ = reports.blocking_send(read()));
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[test]
    fn job_that_panics_is_reported_as_ended() {
        let (channel, mut received) = mpsc::channel(8);
        let reports = ResultSender::new(channel);
        run_reported(Job::Export, &reports, || TaskResult::Note("done".to_owned()));
        let other = reports.clone();
        let fell = std::thread::spawn(move || run_reported(Job::Copy, &other, || panic!("a slip"))).join();
        assert!(fell.is_err());
        drop(reports);
        let results: Vec<String> = std::iter::from_fn(|| received.blocking_recv())
            .map(|report| format!("{:?}", report.result))
            .collect();
        let expected = ["Began(Export)", "Note(\"done\")", "Ended(Export)", "Began(Copy)", "Ended(Copy)"];
        assert_eq!(results, expected);
    }
}
