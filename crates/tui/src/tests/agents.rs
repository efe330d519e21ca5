//! Loads that follow events: the footer's cost, the commands.

use std::sync::Arc;

use tiller_core::delegated_task::DelegatedTaskEnd;
use tiller_core::event::{Event, EventKind};
use tiller_core::message::{AssistantMessage, Message};
use tiller_core::unit::UnixMs;

use super::harness::Harness;
use crate::action::Action;

#[test]
fn footer_is_refreshed_by_agents_answers_and_ends() {
    let mut harness = Harness::new(80, 24);
    harness.actions.clear();
    let message = Arc::new(Message::Assistant(AssistantMessage::default()));
    let kind = EventKind::MessageEnd { message };
    let event = Arc::new(Event { kind, seq: 1, time: UnixMs(0) });
    let (agent_id, parent_id) = ("an-agent".into(), "above".into());
    harness.event(EventKind::AgentEvent { agent_id, parent_id, name: "helper".into(), event });
    harness.event(EventKind::AgentTaskEnd(DelegatedTaskEnd::new("an-agent".into(), None)));
    assert_eq!(harness.actions, [Action::Refresh, Action::Refresh]);
}

#[test]
fn commands_are_loaded_again_when_resources_change() {
    let mut harness = Harness::new(80, 24);
    harness.actions.clear();
    harness.event(EventKind::ResourcesChanged { skills: 1, templates: 0, context_files: 0 });
    assert_eq!(harness.actions, [Action::LoadCommands]);
}
