//! The end: what was typed is kept, the terminal is the shell's again, and the last exchange stands on it.

use std::io::Write;
use std::time::Duration;

use tiller_engine::AgentSession;
use tiller_render as render;
use tiller_render::SanitizingWriter;
use tiller_session::Reader;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout_at};

use super::{AgentConnection, EventLoop};
use crate::app::{Action, App, Msg};
use crate::executor::now;
use crate::history::History;
use crate::{ExitReason, TuiExit};

/// Time that messages sent just before the end have to reach the agent: some syncs of a slow disk.
const SETTLE: Duration = Duration::from_secs(2);

/// Lines of the last exchange that are left on the normal screen.
const FAREWELL: usize = 40;

impl EventLoop {
    /// Ends before there is a session. What was to be said to it is a draft again.
    pub(super) async fn leave(mut self, reason: ExitReason) -> TuiExit {
        self.console.give_back();
        // Each goes before what is there.
        for said in self.waiting.iter().rev().filter_map(Action::typed) {
            self.app.give_back(&said);
        }
        self.store_draft().await;
        TuiExit { session: None, reason }
    }

    async fn store_draft(&mut self) {
        self.draft.keep(&self.app.place.cwd, self.app.unsent());
        self.draft.settle().await;
        let replaced = self.app.replaced_drafts();
        if let Some(path) = self.options.files.history.clone().filter(|_| !replaced.is_empty()) {
            let history = History::at(&path);
            // Only a panic ends it early, and that is reported.
            let _ = spawn_blocking(move || replaced.iter().for_each(|draft| history.add(draft))).await;
        }
    }

    /// Lets what was typed last reach the agent; what it refuses is a draft again.
    async fn settle(&mut self) {
        let Some(AgentConnection { performer, mut reports, .. }) = self.link.take() else { return };
        let _task = performer.finish();
        let until = Instant::now() + SETTLE;
        while let Ok(Some(report)) = timeout_at(until, reports.recv()).await {
            if report.returns_words() {
                self.app.update(Msg::Report(report), now());
                self.store_draft().await;
            }
        }
    }

    pub(super) async fn end(mut self, agent: &AgentSession, reason: ExitReason) -> TuiExit {
        // Before anything that may take time.
        self.console.give_back();
        self.store_draft().await;
        self.settle().await;
        let reader = agent.reader();
        // Closed already is closed.
        let _ = agent.close().await;
        if reason != ExitReason::HungUp {
            let mut lines = farewell(&self.app);
            lines.extend(way_back(&reader));
            // A closed output is nobody to tell.
            let _ = writeln!(SanitizingWriter::new(std::io::stdout()), "{}", lines.join("\n"));
        }
        TuiExit { session: Some(reader.id().clone()), reason }
    }
}

/// How to come back to a session in which something was said.
fn way_back(reader: &Reader) -> Option<String> {
    match (reader.exists(), reader.is_kept()) {
        (false, _) => None,
        (true, true) => Some(format!("Resume this session with: tiller --session {}", reader.id())),
        (true, false) => Some("nothing of this session was kept".to_owned()),
    }
}

/// The last exchange, as plain text.
fn farewell(app: &App) -> Vec<String> {
    let width = usize::from(app.place.size.0).max(20);
    let Some((prompt, answer)) = app.transcript.last_exchange() else { return Vec::new() };
    let mut lines: Vec<String> = prompt
        .lines()
        .map(|line| format!("> {}", render::sanitize(line, render::ControlChars::Visible)))
        .collect();
    if let Some(answer) = answer {
        lines.push(String::new());
        lines.extend(render::markdown(answer, width).iter().map(|line| line.text().trim_end().to_owned()));
    }
    if lines.len() > FAREWELL {
        lines.splice(FAREWELL / 2..lines.len() - FAREWELL / 2, ["…".to_owned()]);
    }
    lines.push(String::new());
    lines
}
