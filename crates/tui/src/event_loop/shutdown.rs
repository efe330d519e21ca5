//! Shutdown: saves the draft, restores the terminal and prints the last exchange.

use std::io::Write;
use std::time::Duration;

use tiller_core::delegated_task::BackgroundTask;
use tiller_engine::AgentSession;
use tiller_engine::agents::RunningAgent;
use tiller_render as render;
use tiller_render::SanitizingWriter;
use tiller_session::Reader;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::clock::now;
use crate::event_loop::{AgentConnection, EventLoop};
use crate::exit::{ExitReason, TuiExit};
use crate::history::History;
use crate::message::Msg;

/// Time for messages sent just before the end to reach the agent; enough for several syncs of a slow disk.
const SETTLE: Duration = Duration::from_secs(2);

/// Maximum number of lines of the last exchange printed on the normal screen.
const MAX_LINES: usize = 40;

impl EventLoop {
    /// Ends the loop before a session is open. Messages that were waiting for it become the draft.
    pub(super) async fn end_without_session(mut self, reason: ExitReason) -> TuiExit {
        self.terminal.release();
        // In reverse order, because each is inserted before the existing text.
        for typed in self.pending.iter().rev().filter_map(|request| request.action.typed()) {
            self.app.composer.restore_input(&typed);
        }
        self.store_draft().await;
        TuiExit { session: None, reason }
    }

    async fn store_draft(&mut self) {
        self.draft.save(&self.app.ui.cwd, self.app.composer.unsent_text());
        self.draft.flush().await;
        let replaced = self.app.composer.replaced_drafts();
        if let Some(path) = self.options.files.history.clone().filter(|_| !replaced.is_empty()) {
            let history = History::at(&path);
            // Only a panic ends the task early, and a panic is reported.
            let _ = spawn_blocking(move || replaced.iter().for_each(|draft| history.add(draft))).await;
        }
    }

    /// Waits until the last messages reach the agent; rejected ones become the draft.
    async fn settle(&mut self) {
        let Some(AgentConnection { executor: performer, results: mut reports, .. }) = self.connection.take()
        else {
            return;
        };
        let _task = performer.finish();
        let until = Instant::now() + SETTLE;
        while let Ok(Some(report)) = timeout_at(until, reports.recv()).await {
            if report.result.returns_input() {
                self.app.update(Msg::TaskResult(report), now());
                self.store_draft().await;
            }
        }
    }

    pub(super) async fn end(mut self, agent: &AgentSession, reason: ExitReason) -> TuiExit {
        // First, because the rest may take time.
        self.terminal.release();
        self.store_draft().await;
        self.settle().await;
        let reader = agent.reader();
        let is_agent_shown = !self.above.is_empty();
        // Before the session stops its agents: the lanes of a race then count as interrupted.
        self.above.clear();
        let running = agent.running_agents().await.unwrap_or_default();
        let waiting = agent.waiting_tasks().await.unwrap_or_default();
        // An error means that the session is already closed.
        let _ = agent.close().await;
        if reason != ExitReason::HungUp {
            // The screen may show an agent's session.
            let mut lines = if is_agent_shown { Vec::new() } else { last_exchange(&self.app) };
            lines.extend(stopped_agents(&running, &waiting));
            lines.extend(resume_hint(&reader, self.options.return_command.as_deref(), &reason));
            // Standard output may be closed.
            let _ = writeln!(SanitizingWriter::new(std::io::stdout()), "{}", lines.join("\n"));
        }
        TuiExit { session: Some(reader.id().clone()), reason }
    }
}

/// Returns a line with the agents that the end of the session stops, and the background tasks that never start.
fn stopped_agents(running: &[RunningAgent], waiting: &[BackgroundTask]) -> Option<String> {
    let running = running.iter().map(|agent| format!("{} ({})", agent.start.name, agent.start.short_task()));
    let waiting = waiting.iter().map(|task| format!("{} (not started: {})", task.name, task.short_task()));
    let names: Vec<String> = running.chain(waiting).collect();
    (!names.is_empty()).then(|| format!("Stopped agents: {}", names.join(", ")))
}

/// Returns the command that leads back to the session: the given one unless the session was closed elsewhere,
/// or the one that resumes a session with content.
fn resume_hint(reader: &Reader, return_command: Option<&str>, reason: &ExitReason) -> Option<String> {
    let resume = |command: &str| Some(format!("Resume this session with: {command}"));
    match (return_command, reader.exists(), reader.is_persistent()) {
        (Some(_), ..) if *reason == ExitReason::Closed => None,
        (Some(command), ..) => resume(command),
        (None, false, _) => None,
        (None, true, true) => resume(&format!("tiller --session {}", reader.id())),
        (None, true, false) => Some("this session was not saved".to_owned()),
    }
}

/// The last exchange, as plain text.
fn last_exchange(app: &App) -> Vec<String> {
    let width = usize::from(app.ui.size.0).max(20);
    let Some((prompt, answer)) = app.transcript.content().last_exchange() else { return Vec::new() };
    let mut lines: Vec<String> = prompt
        .lines()
        .map(|line| format!("> {}", render::sanitize(line, render::ControlChars::Visible)))
        .collect();
    if let Some(answer) = answer {
        lines.push(String::new());
        lines.extend(render::markdown(answer, width).iter().map(|line| line.text().trim_end().to_owned()));
    }
    if lines.len() > MAX_LINES {
        lines.splice(MAX_LINES / 2..lines.len() - MAX_LINES / 2, ["…".to_owned()]);
    }
    lines.push(String::new());
    lines
}

#[cfg(test)]
mod tests {
    use tiller_core::delegated_task::DelegatedTask;
    use tiller_core::unit::UnixMs;
    use tiller_engine::agents::AgentActivity;

    use super::*;

    #[test]
    fn stopped_agents_are_named_with_their_tasks() {
        let running = ["Read a.rs.", "Read b.rs."].map(|task| RunningAgent {
            start: DelegatedTask::new("an-agent".into(), "explore", task),
            since: UnixMs(0),
            activity: AgentActivity::default(),
        });
        let waiting = BackgroundTask { number: 3, name: "worker".to_owned(), task: "Fix c.rs.".to_owned() };
        let expected =
            "Stopped agents: explore (Read a.rs.), explore (Read b.rs.), worker (not started: Fix c.rs.)";
        assert_eq!(stopped_agents(&running, &[waiting]).as_deref(), Some(expected));
        assert_eq!(stopped_agents(&[], &[]), None);
    }
}
