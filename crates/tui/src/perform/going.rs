//! Going elsewhere in a session or to another one, and the summaries of what is left behind.

use tiller_core::id::EntryId;
use tiller_engine::compaction::CompactionError;
use tiller_engine::{AgentError, BranchSummary};
use tokio::task::JoinSet;

use super::{Worker, failed};
use crate::app::{Errand, Go, ListNews, Report};
use crate::gather;

impl Worker {
    /// Goes to an entry at once when nothing is left behind.
    async fn ask_to_leave(&self, entry: EntryId) -> Result<Vec<Report>, AgentError> {
        Ok(vec![match gather::leaving(&self.agent.reader(), &entry) {
            Some(question) => question,
            None => Report::Moved(self.agent.navigate(entry, BranchSummary::None).await?),
        }])
    }

    fn navigate(&self, entry: EntryId, summary: BranchSummary, waiting: &mut JoinSet<()>) -> Vec<Report> {
        let agent = self.agent.clone();
        self.await_summary(
            waiting,
            async move { Ok(vec![Report::Moved(agent.navigate(entry, summary).await?)]) },
        );
        Vec::new()
    }

    pub(super) fn compact(&self, words: Option<String>, waiting: &mut JoinSet<()>) -> Vec<Report> {
        let agent = self.agent.clone();
        self.await_summary(waiting, async move { agent.compact(words).await.map(|_| Vec::new()) });
        Vec::new()
    }

    pub(super) fn truncate(&self, waiting: &mut JoinSet<()>) -> Vec<Report> {
        let agent = self.agent.clone();
        self.await_summary(waiting, async move { agent.truncate().await.map(|_| Vec::new()) });
        Vec::new()
    }

    /// Waits for a summary while other actions are carried out. That it was stopped is no news to whoever stopped it.
    fn await_summary(
        &self,
        waiting: &mut JoinSet<()>,
        made: impl Future<Output = Result<Vec<Report>, AgentError>> + Send + 'static,
    ) {
        let reports = self.reports.clone();
        waiting.spawn(async move {
            let news = match made.await {
                Ok(news) => news,
                Err(AgentError::Compaction(CompactionError::Stopped)) => {
                    vec![Report::Note("stopped; everything is as it was".to_owned())]
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

    pub(super) async fn go(&self, go: Go, waiting: &mut JoinSet<()>) -> Result<Vec<Report>, AgentError> {
        let agent = &self.agent;
        Ok(match go {
            Go::New => vec![Report::Moved(agent.new_session().await?)],
            Go::ForkOf(path) => {
                let moved = agent.fork_session(path).await?;
                let note = format!("this is a fork now, session {}", moved.session.short());
                vec![Report::Moved(moved), Report::Note(note)]
            }
            Go::Open(path) => self.open(path).await?,
            Go::Fork(entry) => {
                let moved = agent.fork(entry).await?;
                let note = format!("this is a fork now, session {}", moved.session.short());
                vec![Report::Moved(moved), Report::Note(note)]
            }
            Go::ForkBeside(entry) => {
                vec![Report::List(ListNews::Beside(agent.fork_beside(entry).await?.session))]
            }
            Go::Clone => self.copy_session().await?,
            Go::AskToLeave(entry) => self.ask_to_leave(entry).await?,
            Go::Navigate(entry, summary) => self.navigate(entry, summary, waiting),
        })
    }

    async fn copy_session(&self) -> Result<Vec<Report>, AgentError> {
        let tell = async |report| _ = self.reports.send(report).await;
        tell(Report::Began(Errand::Copy)).await;
        let copied = self.agent.clone_session().await;
        tell(Report::Ended(Errand::Copy)).await;
        let moved = copied?;
        let note = format!("this is a copy now, session {}", moved.session.short());
        Ok(vec![Report::Moved(moved), Report::Note(note)])
    }
}
