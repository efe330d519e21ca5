//! The rules at branch points, over a session in memory.

use tiller_engine::built_in_tools;

use super::*;
use crate::executor::log_queries::{count_branches, read_newest, read_part, search_log};
use crate::tests::branching_log::BranchingLog;

/// 14:02 UTC.
const START: i64 = 1_795_269_720_000;

/// A pane over a session that has several branches.
struct Branches {
    pane: Harness,
    log: BranchingLog,
}

impl Branches {
    fn new(width: u16, height: u16) -> Self {
        let mut pane = Harness::at(Rect::new(0, 0, width, height));
        pane.now = START;
        Self { pane, log: BranchingLog::new(UnixMs(START)) }
    }

    fn load(&mut self) -> String {
        let newest = read_newest(&self.log.writer.reader(), built_in_tools());
        let former = self.pane.component.replace(newest);
        self.pane.with(|pane, cx| pane.restore(&InFlight::default(), former, cx));
        self.settle(Vec::new())
    }

    /// Returns the screen after all requested parts of the log were read.
    fn settle(&mut self, mut effects: Vec<Effect>) -> String {
        let reader = self.log.writer.reader();
        loop {
            self.pane.screen();
            effects.extend(self.pane.refresh());
            if effects.is_empty() {
                return self.pane.screen();
            }
            for effect in std::mem::take(&mut effects) {
                let mut results = Vec::new();
                match effect {
                    Effect::Perform(_, Action::Background(BackgroundJob::ReadPart(request))) => {
                        results.push(read_part(&reader, request));
                    }
                    Effect::Perform(_, Action::Background(BackgroundJob::CountBranches(epoch))) => {
                        results.push(count_branches(&reader, epoch));
                    }
                    effect => search_log(&reader, &lookup(effect), |found| {
                        results.push(TaskResult::SearchHits(found));
                        true
                    }),
                }
                results.into_iter().for_each(|result| _ = self.pane.take(result));
            }
        }
    }

    /// Performs a command, reads the requested parts of the log, and returns the screen.
    fn command(&mut self, command: KeyCommand) -> String {
        let (_, effects) = self.pane.command(command);
        self.settle(effects)
    }

    /// Emits the event of the log's last entry.
    fn emit_last_entry(&mut self) {
        let entry = self.log.writer.reader().entry(&self.log.leaf()).unwrap();
        self.pane.entry(&entry.body);
    }
}

#[test]
fn branch_rule_at_every_branch_point() {
    let screen = |width| {
        let mut session = Branches::new(width, 19);
        let [_, first] =
            session.log.append_exchange("the parser test fails, find out why", "The lexer counts it twice.");
        session.log.append_exchange("change the lexer", "Done.");
        session.log.branch(Some(&first));
        let [_, fixture] = session.log.append_exchange("look at the fixture", "Line 3 has mixed endings.");
        session.log.append_exchange("rewrite it", "It is gone.");
        session
            .log
            .writer
            .branch_with_summary(Some(&fixture), "The fixture was lost.", UnixMs(START))
            .unwrap();
        let [_, kept] = session.log.append_exchange("keep it, add another one", "There is `crlf.txt` now.");
        for again in ["a lone \\r too", "and a test for it"] {
            session.log.append_exchange(again, "Done.");
            session.log.branch(Some(&kept));
        }
        session.load()
    };
    insta::assert_snapshot!(screen(80), @r"
    ▌ the parser test fails, find out why                                     14:02

      The lexer counts it twice.

    ──────────────────── branch point · 1 other branch · /tree ────────────────────

    ▌ look at the fixture                                                     14:02

      Line 3 has mixed endings.

    ───── branch point · 1 other branch · abandoned branch's summary (ctrl+o) ─────

    ▌ keep it, add another one                                                14:02

      There is crlf.txt now.

    ─────────────────── branch point · 2 other branches · /tree ───────────────────
    ");
    insta::assert_snapshot!(screen(120), @r"
    ▌ the parser test fails, find out why                                                                             14:02

      The lexer counts it twice.

    ──────────────────────────────────────── branch point · 1 other branch · /tree ────────────────────────────────────────

    ▌ look at the fixture                                                                                             14:02

      Line 3 has mixed endings.

    ───────────────────────── branch point · 1 other branch · abandoned branch's summary (ctrl+o) ─────────────────────────

    ▌ keep it, add another one                                                                                        14:02

      There is crlf.txt now.

    ─────────────────────────────────────── branch point · 2 other branches · /tree ───────────────────────────────────────
    ");
}

#[test]
fn branch_rule_is_unique_over_reloads() {
    let mut session = Branches::new(80, 19);
    session.log.append_exchange("zero", "Zero.");
    let [_, first] = session.log.append_exchange("one", "One.");
    session.log.append_exchange("elsewhere", "Elsewhere.");
    session.log.branch(Some(&first));
    assert!(session.load().contains("branch point · 1 other branch · /tree"));
    session.log.append_exchange("two", "Two.");
    session.emit_last_entry();
    for _ in 0..200 {
        session.log.append_exchange("more", "More.");
    }
    session.load();
    assert!(!session.pane.screen().contains("branch point"));
    for _ in 0..3 {
        let top = session.command(KeyCommand::Top);
        assert_eq!(top.matches("── branch point · 1 other branch · /tree ──").count(), 1, "{top}");
        let rule = top.find("branch point").unwrap();
        assert!(top.find("One.").unwrap() < rule && rule < top.find("▌ two").unwrap(), "{top}");
        session.command(KeyCommand::Bottom);
    }
}

#[test]
fn search_finds_branch_points() {
    let mut session = Branches::new(80, 19);
    let [_, first] = session.log.append_exchange("one", "One.");
    session.log.append_exchange("elsewhere", "Elsewhere.");
    session.log.branch(Some(&first));
    session.log.append_exchange("the needle", "Two.");
    for _ in 0..200 {
        session.log.append_exchange("more", "More.");
    }
    session.load();
    for (query, expected) in [("branch point", "1 other branch"), ("needle", "▌ the needle")] {
        session.command(KeyCommand::Search);
        let (_, effects) = session.pane.send(UiEvent::Paste(query));
        let screen = session.settle(effects);
        assert!(screen.contains(expected), "{screen}");
        let line = session.pane.search_line();
        assert!(line.contains("1 of 1"), "{line}");
        session.pane.key(KeyCode::Esc);
    }
}
