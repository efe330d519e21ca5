//! Navigation to other entries and sessions, and branch summaries.

use tiller_core::id::EntryId;
use tiller_engine::compaction::CompactionError;
use tiller_engine::{AgentError, BranchSummary};
use tokio::task::JoinSet;

use crate::executor::ExecutorWorker;
use crate::executor::errors::failure;
use crate::list_data;
use crate::message::{ListResult, TaskResult};
use crate::navigate::Navigate;
use crate::session_model::Job;

impl ExecutorWorker {
    /// Navigates to an entry immediately if no branch is abandoned; otherwise asks about a summary.
    async fn ask_for_summary(&self, entry: EntryId) -> Result<Vec<TaskResult>, AgentError> {
        Ok(vec![match list_data::ask_on_leaving(&self.agent.reader(), &entry) {
            Some(question) => question,
            None => TaskResult::SessionSwitched(self.agent.navigate(entry, BranchSummary::None).await?),
        }])
    }

    fn navigate(
        &self,
        entry: EntryId,
        summary: BranchSummary,
        detached: &mut JoinSet<()>,
    ) -> Vec<TaskResult> {
        let agent = self.agent.clone();
        self.await_summary(detached, async move {
            Ok(vec![TaskResult::SessionSwitched(agent.navigate(entry, summary).await?)])
        });
        Vec::new()
    }

    pub(super) fn compact(
        &self,
        instructions: Option<String>,
        detached: &mut JoinSet<()>,
    ) -> Vec<TaskResult> {
        let agent = self.agent.clone();
        self.await_summary(detached, async move { agent.compact(instructions).await.map(|_| Vec::new()) });
        Vec::new()
    }

    pub(super) fn truncate(&self, detached: &mut JoinSet<()>) -> Vec<TaskResult> {
        let agent = self.agent.clone();
        self.await_summary(detached, async move { agent.truncate().await.map(|_| Vec::new()) });
        Vec::new()
    }

    /// Waits for a summary while other actions run. Stopping the summary isn't an error.
    fn await_summary(
        &self,
        detached: &mut JoinSet<()>,
        summary: impl Future<Output = Result<Vec<TaskResult>, AgentError>> + Send + 'static,
    ) {
        let reports = self.results.clone();
        detached.spawn(async move {
            let results = match summary.await {
                Ok(results) => results,
                Err(AgentError::Compaction(CompactionError::Stopped)) => {
                    vec![TaskResult::Note("Stopped; nothing changed.".to_owned())]
                }
                Err(error) => vec![failure(&error, None)],
            };
            for report in results {
                if reports.send(report).await.is_err() {
                    return;
                }
            }
        });
    }

    pub(super) async fn perform_navigation(
        &self,
        target: Navigate,
        detached: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let agent = &self.agent;
        Ok(match target {
            Navigate::New => vec![TaskResult::SessionSwitched(agent.new_session().await?)],
            Navigate::ForkOf(path) => {
                let moved = agent.fork_session(path).await?;
                let note = format!("Switched to a fork, session {}.", moved.session.short());
                vec![TaskResult::SessionSwitched(moved), TaskResult::Note(note)]
            }
            Navigate::Open(path) => self.open(path).await?,
            Navigate::Fork(entry) => {
                let moved = agent.fork(entry).await?;
                let note = format!("Switched to a fork, session {}.", moved.session.short());
                vec![TaskResult::SessionSwitched(moved), TaskResult::Note(note)]
            }
            Navigate::ForkBeside(entry) => {
                vec![TaskResult::List(ListResult::ForkCreated(agent.create_fork(entry).await?.session))]
            }
            Navigate::Clone => self.copy_session().await?,
            Navigate::AskForSummary(entry) => self.ask_for_summary(entry).await?,
            Navigate::ToEntry(entry, summary) => self.navigate(entry, summary, detached),
        })
    }

    async fn copy_session(&self) -> Result<Vec<TaskResult>, AgentError> {
        let send = async |report| _ = self.results.send(report).await;
        send(TaskResult::Began(Job::Copy)).await;
        let copied = self.agent.clone_session().await;
        send(TaskResult::Ended(Job::Copy)).await;
        let moved = copied?;
        let note = format!("Switched to a copy, session {}.", moved.session.short());
        Ok(vec![TaskResult::SessionSwitched(moved), TaskResult::Note(note)])
    }
}
