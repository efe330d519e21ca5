//! Connections to the shown session and to the sessions above it: an agent's session is opened from that of the session
//! that delegates.

use std::sync::Arc;

use tiller_core::event::{Event, EventKind};
use tiller_engine::{AgentSession, Lagged};

use crate::action::Action;
use crate::block::notice_level::NoticeLevel;
use crate::event_loop::{AgentConnection, EventLoop};
use crate::executor::Executor;
use crate::frame_pacer::Dirty;
use crate::message::OpenedAgent;

impl EventLoop {
    /// Shows the session of an agent. The session above goes on; its events are read again on the return.
    pub(super) fn open_agent(&mut self, OpenedAgent { name, session }: OpenedAgent) {
        let connection = self.connection_to(session, Vec::new());
        self.app.ui.agents.push(name);
        self.above.extend(self.connection.replace(connection));
    }

    /// Returns to the session above the shown one; false if there is none.
    pub(super) fn leave_agent(&mut self) -> bool {
        let Some(mut above) = self.above.pop() else { return false };
        self.app.ui.agents.pop();
        // The reload has what happened meanwhile.
        while above.events.try_next().is_some() {}
        self.pending.extend(above.executor.queue(Action::Reload));
        self.app.model.info.gap.open();
        self.connection = Some(above);
        self.app.dirty = Dirty::ByUser;
        true
    }

    /// Shows a notice if the main session asks, while an agent's session is on the screen. Requests of agents, whose ids
    /// have a slash, are shown in their own sessions.
    pub(super) fn notice_of_main_session(&mut self, event: &Result<Arc<Event>, Lagged>) {
        let Ok(event) = event else { return };
        if let EventKind::ApprovalRequested(request) = &event.kind
            && !request.tool_call_id.as_str().contains('/')
        {
            let text = "The main session waits for an approval: /back".to_owned();
            self.app.transcript.notice(NoticeLevel::Warning, text, None);
            self.app.dirty = self.app.dirty.max(Dirty::BySession);
        }
    }

    /// Connects to a session, whose state is loaded.
    pub(super) fn connection_to(&mut self, agent: AgentSession, notices: Vec<String>) -> AgentConnection {
        // Subscribe before the reload takes its snapshot, so that no event falls between the two.
        let events = agent.subscribe();
        let highlights = self.app.ui.highlight_cache().cloned().unwrap_or_default();
        let (executor, results) = Executor::start(agent, self.options.clone(), highlights);
        executor.queue(Action::Reload);
        self.app.model.info.gap.open();
        self.app.dirty = Dirty::ByUser;
        AgentConnection { events, results, executor, notices }
    }
}
