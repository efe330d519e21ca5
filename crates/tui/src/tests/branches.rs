//! Tests of branch rules in the transcript, with a session in memory.

use std::sync::Arc;

use tiller_core::id::EntryId;
use tiller_core::message::{AssistantMessage, Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_engine::{InFlight, Snapshot, built_in_tools};
use tiller_session::{EntryBody, Placement, SessionManager, Visibility, Writer};

use super::harness::{Harness, START, state, text};
use crate::action::{Action, BackgroundJob};
use crate::executor::log_queries::{count_branches, read_newest, read_part};
use crate::message::{LoadedSession, Msg, TaskResult};

/// A front end with a session that has several branches.
struct BranchHarness {
    harness: Harness,
    writer: Writer,
}

impl BranchHarness {
    fn new() -> Self {
        let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
        Self { harness: Harness::new(80, 24), writer: manager.create(UnixMs(START)) }
    }

    /// Appends a prompt and its answer; returns the ids of both.
    fn append_exchange(&mut self, prompt: &str, answer: &str) -> [EntryId; 2] {
        let content = vec![text(answer)];
        let answer = Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() });
        [Message::User(UserMessage::text(prompt, UnixMs(START))), answer].map(|message| {
            self.writer.append(EntryBody::message(Arc::new(message)), UnixMs(START)).unwrap();
            self.leaf()
        })
    }

    fn leaf(&self) -> EntryId {
        self.writer.reader().leaf().unwrap()
    }

    fn branch(&mut self, entry: Option<&EntryId>) {
        self.writer.branch(entry, UnixMs(START)).unwrap();
    }

    fn load(&mut self) -> String {
        let newest = read_newest(&self.writer.reader(), built_in_tools());
        let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
        let loaded = LoadedSession { snapshot, newest };
        self.harness.report_result(TaskResult::Loaded(Box::new(loaded)));
        self.settle()
    }

    /// Returns the screen after all requested parts of the log were read.
    fn settle(&mut self) -> String {
        let reader = self.writer.reader();
        loop {
            self.harness.screen();
            self.harness.input(Msg::Tick);
            let actions = std::mem::take(&mut self.harness.actions);
            if actions.is_empty() {
                return self.harness.screen();
            }
            for action in actions {
                let mut results = Vec::new();
                match action {
                    Action::Background(BackgroundJob::ReadPart(request)) => {
                        results.push(read_part(&reader, request))
                    }
                    Action::Background(BackgroundJob::CountBranches(epoch)) => {
                        results.push(count_branches(&reader, epoch))
                    }
                    _ => {}
                }
                results.into_iter().for_each(|result| self.harness.report_result(result));
            }
        }
    }

    /// Emits the event of the log's last entry.
    fn emit_last_entry(&mut self) {
        let entry = self.writer.reader().entry(&self.leaf()).unwrap();
        self.harness.entry(&entry.body);
    }
}

#[test]
fn branch_rule_before_first_prompt_is_below_banner() {
    let mut session = BranchHarness::new();
    session.append_exchange("one", "One.");
    session.branch(None);
    let screen = session.load();
    let (banner, rule) =
        (screen.find("tiller 0.1.0").unwrap(), screen.find("branch point · 1 other").unwrap());
    assert!(banner < rule, "{screen}");
    session.append_exchange("anew", "Anew.");
    session.emit_last_entry();
    let screen = session.settle();
    assert!(
        !screen.contains("tiller 0.1.0") && screen.contains("branch point"),
        "something was said: {screen}"
    );
    let screen = session.load();
    assert!(screen.starts_with("─") && screen.contains("▌ anew"), "{screen}");
}

#[test]
fn branch_rule_ignores_hidden_branches() {
    let mut session = BranchHarness::new();
    let [_, first] = session.append_exchange("one", "One.");
    let [elsewhere, _] = session.append_exchange("elsewhere", "Elsewhere.");
    session.branch(Some(&first));
    session.append_exchange("two", "Two.");
    let before = session.load();
    assert!(before.contains("1 other branch"), "{before}");
    for (visibility, count) in [(Visibility::Hidden, 0), (Visibility::Shown, 1)] {
        session.writer.hide(&elsewhere, visibility, UnixMs(START)).unwrap();
        session.emit_last_entry();
        let screen = session.settle();
        assert_eq!(screen.matches("branch point").count(), count, "{screen}");
    }
    assert_eq!(session.harness.screen(), before);
}
