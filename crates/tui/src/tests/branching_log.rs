//! A log in memory, for tests of branches.

use std::sync::Arc;

use tiller_core::id::EntryId;
use tiller_core::message::{AssistantBlock, AssistantMessage, Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_session::{EntryBody, Placement, SessionManager, Writer};

/// A log in memory whose entries all have the same time.
pub(crate) struct BranchingLog {
    pub(crate) writer: Writer,
    now: UnixMs,
}

impl BranchingLog {
    pub(crate) fn new(now: UnixMs) -> Self {
        let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
        Self { writer: manager.create(now), now }
    }

    /// Appends a prompt and its answer; returns the ids of both.
    pub(crate) fn append_exchange(&mut self, prompt: &str, answer: &str) -> [EntryId; 2] {
        let content = vec![AssistantBlock::text(answer)];
        let answer = Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() });
        [Message::User(UserMessage::text(prompt, self.now)), answer].map(|message| {
            self.writer.append(EntryBody::message(Arc::new(message)), self.now).unwrap();
            self.leaf()
        })
    }

    pub(crate) fn leaf(&self) -> EntryId {
        self.writer.reader().leaf().unwrap()
    }

    pub(crate) fn branch(&mut self, entry: Option<&EntryId>) {
        self.writer.branch(entry, self.now).unwrap();
    }
}
