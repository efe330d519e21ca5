//! Navigation to other entries and sessions, and branch summaries.

use tiller_core::id::EntryId;
use tiller_engine::compaction::CompactionError;
use tiller_engine::{AgentError, BranchSummary};
use tokio::task::JoinSet;

use super::{ExecutorWorker, failed};
use crate::app::{Job, ListResult, Navigate, TaskResult};
use crate::list_data;

impl ExecutorWorker {
    /// Navigates to an entry at once if no branch is abandoned; otherwise asks about a summary.
    async fn ask_for_summary(&self, entry: EntryId) -> Result<Vec<TaskResult>, AgentError> {
        Ok(vec![match list_data::leaving(&self.agent.reader(), &entry) {
            Some(question) => question,
            None => TaskResult::Moved(self.agent.navigate(entry, BranchSummary::None).await?),
        }])
    }

    fn navigate(&self, entry: EntryId, summary: BranchSummary, waiting: &mut JoinSet<()>) -> Vec<TaskResult> {
        let agent = self.agent.clone();
        self.await_summary(waiting, async move {
            Ok(vec![TaskResult::Moved(agent.navigate(entry, summary).await?)])
        });
        Vec::new()
    }

    pub(super) fn compact(&self, words: Option<String>, waiting: &mut JoinSet<()>) -> Vec<TaskResult> {
        let agent = self.agent.clone();
        self.await_summary(waiting, async move { agent.compact(words).await.map(|_| Vec::new()) });
        Vec::new()
    }

    pub(super) fn truncate(&self, waiting: &mut JoinSet<()>) -> Vec<TaskResult> {
        let agent = self.agent.clone();
        self.await_summary(waiting, async move { agent.truncate().await.map(|_| Vec::new()) });
        Vec::new()
    }

    /// Waits for a summary while other actions run. A stopped summary isn't an error.
    fn await_summary(
        &self,
        waiting: &mut JoinSet<()>,
        made: impl Future<Output = Result<Vec<TaskResult>, AgentError>> + Send + 'static,
    ) {
        let reports = self.results.clone();
        waiting.spawn(async move {
            let news = match made.await {
                Ok(news) => news,
                Err(AgentError::Compaction(CompactionError::Stopped)) => {
                    vec![TaskResult::Note("Stopped; nothing changed.".to_owned())]
                }
                Err(error) => vec![failed(&error, None)],
            };
            for report in news {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
        });
    }

    pub(super) async fn go(
        &self,
        go: Navigate,
        waiting: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let agent = &self.agent;
        Ok(match go {
            Navigate::New => vec![TaskResult::Moved(agent.new_session().await?)],
            Navigate::ForkOf(path) => {
                let moved = agent.fork_session(path).await?;
                let note = format!("Switched to a fork, session {}.", moved.session.short());
                vec![TaskResult::Moved(moved), TaskResult::Note(note)]
            }
            Navigate::Open(path) => self.open(path).await?,
            Navigate::Fork(entry) => {
                let moved = agent.fork(entry).await?;
                let note = format!("Switched to a fork, session {}.", moved.session.short());
                vec![TaskResult::Moved(moved), TaskResult::Note(note)]
            }
            Navigate::ForkBeside(entry) => {
                vec![TaskResult::List(ListResult::Beside(agent.fork_beside(entry).await?.session))]
            }
            Navigate::Clone => self.copy_session().await?,
            Navigate::AskToLeave(entry) => self.ask_for_summary(entry).await?,
            Navigate::Navigate(entry, summary) => self.navigate(entry, summary, waiting),
        })
    }

    async fn copy_session(&self) -> Result<Vec<TaskResult>, AgentError> {
        let send = async |report| _ = self.results.send(report).await;
        send(TaskResult::Began(Job::Copy)).await;
        let copied = self.agent.clone_session().await;
        send(TaskResult::Ended(Job::Copy)).await;
        let moved = copied?;
        let note = format!("Switched to a copy, session {}.", moved.session.short());
        Ok(vec![TaskResult::Moved(moved), TaskResult::Note(note)])
    }
}
