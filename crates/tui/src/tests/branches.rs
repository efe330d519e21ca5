//! Tests of branch rules in the transcript, with a session in memory.

use tiller_core::unit::UnixMs;
use tiller_engine::{InFlight, Snapshot, built_in_tools};
use tiller_session::Visibility;

use super::harness::{Harness, START, state};
use crate::action::{Action, BackgroundJob};
use crate::executor::log_queries::{count_branches, read_newest, read_part};
use crate::message::{LoadedSession, Msg, TaskResult};
use crate::tests::branching_log::BranchingLog;

/// A front end with a session that has several branches.
struct BranchHarness {
    harness: Harness,
    log: BranchingLog,
}

impl BranchHarness {
    fn new() -> Self {
        Self { harness: Harness::new(80, 24), log: BranchingLog::new(UnixMs(START)) }
    }

    fn load(&mut self) -> String {
        let newest = read_newest(&self.log.writer.reader(), built_in_tools());
        let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
        let loaded = LoadedSession { snapshot, newest };
        self.harness.report_result(TaskResult::Loaded(Box::new(loaded)));
        self.settle()
    }

    /// Returns the screen after all requested parts of the log were read.
    fn settle(&mut self) -> String {
        let reader = self.log.writer.reader();
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
        let entry = self.log.writer.reader().entry(&self.log.leaf()).unwrap();
        self.harness.entry(&entry.body);
    }
}

#[test]
fn branch_rule_before_first_prompt_is_below_banner() {
    let mut session = BranchHarness::new();
    session.log.append_exchange("one", "One.");
    session.log.branch(None);
    let screen = session.load();
    let (banner, rule) =
        (screen.find("tiller 0.1.0").unwrap(), screen.find("branch point · 1 other").unwrap());
    assert!(banner < rule, "{screen}");
    session.log.append_exchange("anew", "Anew.");
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
    let [_, first] = session.log.append_exchange("one", "One.");
    let [elsewhere, _] = session.log.append_exchange("elsewhere", "Elsewhere.");
    session.log.branch(Some(&first));
    session.log.append_exchange("two", "Two.");
    let before = session.load();
    assert!(before.contains("1 other branch"), "{before}");
    for (visibility, count) in [(Visibility::Hidden, 0), (Visibility::Shown, 1)] {
        session.log.writer.hide(&elsewhere, visibility, UnixMs(START)).unwrap();
        session.emit_last_entry();
        let screen = session.settle();
        assert_eq!(screen.matches("branch point").count(), count, "{screen}");
    }
    assert_eq!(session.harness.screen(), before);
}
