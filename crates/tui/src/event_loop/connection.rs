//! Connections to the shown session and to the sessions above it. An agent's session is opened from the
//! session that delegates to it.

use std::sync::Arc;

use tiller_core::event::{ApprovalRequest, Event, EventKind};
use tiller_engine::agents::OpenedAgent;
use tiller_engine::{AgentSession, Lag};

use crate::action::Action;
use crate::block::notice_level::NoticeLevel;
use crate::event_loop::{AgentConnection, EventLoop};
use crate::executor::Executor;
use crate::frame_pacer::Dirty;
use crate::message::NamedAgent;
use crate::text::one_line;
use crate::ui_context::ShownAgent;

impl EventLoop {
    /// Shows an agent's session. The session above continues; its events are read again on the return.
    pub(super) fn open_agent(&mut self, NamedAgent { name, agent }: NamedAgent) {
        let OpenedAgent { session, notices } = agent;
        self.app.ui.agents.push(ShownAgent { name, id: session.reader().id().clone() });
        let connection = self.connection_to(session, notices);
        self.above.extend(self.connection.replace(connection));
    }

    /// Returns to the session above the shown one; false if there is none.
    pub(super) fn leave_agent(&mut self) -> bool {
        let Some(mut above) = self.above.pop() else { return false };
        self.app.ui.agents.pop();
        // The reload includes the missed events.
        while above.events.try_next().is_some() {}
        self.pending.extend(above.executor.queue(Action::Reload.into()));
        self.app.expect_snapshot();
        self.connection = Some(above);
        self.app.dirty = Dirty::ByUser;
        true
    }

    /// Shows a notice if the main session requests an approval that the shown agent's session doesn't
    /// request.
    pub(super) fn notice_of_main_session(&mut self, event: &Result<Arc<Event>, Lag>) {
        let Ok(event) = event else { return };
        if let EventKind::ApprovalRequested(request) = &event.kind
            && let ApprovalRequest { tool_call_id, reason, .. } = request
            && let Some(text) = notice_of_request(tool_call_id.as_str(), reason, &self.app.ui.agents)
        {
            self.app.transcript.notice(NoticeLevel::Warning, text, None);
            self.app.dirty = self.app.dirty.max(Dirty::BySession);
        }
    }

    /// Creates the connection to a session whose state is loaded.
    pub(super) fn connection_to(&mut self, agent: AgentSession, notices: Vec<String>) -> AgentConnection {
        // Subscribe before the reload takes its snapshot, so that no event is lost in between.
        let (events, state) = (agent.subscribe(), agent.connection());
        let highlights = self.app.ui.highlight_cache().cloned().unwrap_or_default();
        let (executor, results) =
            Executor::start(agent, self.options.clone(), highlights, self.crashes.clone());
        executor.queue(Action::Reload.into());
        self.app.expect_snapshot();
        self.app.dirty = Dirty::ByUser;
        AgentConnection { events, state, results, executor, notices }
    }
}

/// Returns a notice about a request of the main session that isn't a request of the last of these agents. The
/// id of an agent's request starts with the ids of the agents in between, each with a slash.
fn notice_of_request(call: &str, reason: &str, shown: &[ShownAgent]) -> Option<String> {
    let path: String = shown.iter().map(|agent| format!("{}/", agent.id.short())).collect();
    if call.starts_with(&path) {
        return None;
    }
    let asks = if call.contains('/') { reason } else { "the main session" };
    Some(format!("An approval is needed: {}. /back shows it.", one_line(asks)))
}

#[cfg(test)]
mod tests {
    use tiller_core::id::SessionId;

    use super::*;

    #[test]
    fn notice_of_request_names_who_asks_unless_it_is_shown() {
        let agent =
            |name: &str| ShownAgent { name: name.to_owned(), id: SessionId::new(format!("session-{name}")) };
        let [middle, shown, sibling] = ["MIDDLE", "SHOWN1", "OTHER1"].map(agent);
        let short = |agent: &ShownAgent| agent.id.short().to_owned();
        let (middle_id, shown_id, sibling_id) = (short(&middle), short(&shown), short(&sibling));
        let notice =
            |call: String| notice_of_request(&call, "agent x: it writes", &[middle.clone(), shown.clone()]);
        let of_agent = Some("An approval is needed: agent x: it writes. /back shows it.".to_owned());
        let of_main = Some("An approval is needed: the main session. /back shows it.".to_owned());
        assert_eq!(notice("c1".to_owned()), of_main);
        assert_eq!(notice(format!("{sibling_id}/c1")), of_agent);
        assert_eq!(notice(format!("{middle_id}/c1")), of_agent, "the session between");
        assert_eq!(notice(format!("{middle_id}/{sibling_id}/c1")), of_agent);
        assert_eq!(notice(format!("{middle_id}/{shown_id}/c1")), None);
        assert_eq!(
            notice(format!("{middle_id}/{shown_id}/{sibling_id}/c1")),
            None,
            "an agent of the shown one"
        );
    }
}
