//! Branch rules in the transcript, over a session in memory.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::id::EntryId;
use tiller_core::message::{AssistantMessage, Message, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_engine::{InFlight, Snapshot, built_in_tools};
use tiller_session::{EntryBody, Placement, SessionManager, Visibility, Writer};

use super::harness::{Harness, SIZES, START, state, text};
use crate::app::{Action, BackgroundJob, LoadedSession, Msg, TaskResult};
use crate::executor::{count_branches, read_newest, read_part, search_log};

/// A front end over a session that goes several ways.
struct Parting {
    stage: Harness,
    writer: Writer,
}

impl Parting {
    fn new(width: u16, height: u16) -> Self {
        let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
        Self { stage: Harness::new(width, height), writer: manager.create(UnixMs(START)) }
    }

    /// A prompt and its answer; answers with the ids of both.
    fn exchange(&mut self, asked: &str, answer: &str) -> [EntryId; 2] {
        let content = vec![text(answer)];
        let answer = Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() });
        [Message::User(UserMessage::text(asked, UnixMs(START))), answer].map(|message| {
            self.writer.append(EntryBody::message(Arc::new(message)), UnixMs(START)).unwrap();
            self.leaf()
        })
    }

    fn leaf(&self) -> EntryId {
        self.writer.reader().leaf().unwrap()
    }

    fn back_to(&mut self, entry: Option<&EntryId>) {
        self.writer.branch(entry, UnixMs(START)).unwrap();
    }

    fn load(&mut self) -> String {
        let newest = read_newest(&self.writer.reader(), built_in_tools());
        let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
        let loaded = LoadedSession { snapshot, newest };
        self.stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(loaded))));
        self.look()
    }

    /// The screen once everything that is wanted of the log was read.
    fn look(&mut self) -> String {
        let reader = self.writer.reader();
        loop {
            self.stage.screen();
            self.stage.input(Msg::Tick);
            let actions = std::mem::take(&mut self.stage.actions);
            if actions.is_empty() {
                return self.stage.screen();
            }
            for action in actions {
                let mut reports = Vec::new();
                match action {
                    Action::Background(BackgroundJob::ReadPart(wanted)) => {
                        reports.push(read_part(&reader, wanted))
                    }
                    Action::Background(BackgroundJob::CountBranches(epoch)) => {
                        reports.push(count_branches(&reader, epoch))
                    }
                    Action::Background(BackgroundJob::Search(lookup)) => {
                        search_log(&reader, &lookup, |found| {
                            reports.push(TaskResult::SearchHits(found));
                            true
                        })
                    }
                    _ => {}
                }
                reports.into_iter().for_each(|report| self.stage.input(Msg::TaskResult(report)));
            }
        }
    }

    /// The screen after a key, and after what is read because of it.
    fn press(&mut self, key: impl Into<KeyEvent>) -> String {
        self.stage.input(Msg::Key(key.into()));
        self.look()
    }

    /// Tells of the last entry of the log.
    fn tell_last(&mut self) {
        let entry = self.writer.reader().entry(&self.leaf()).unwrap();
        self.stage.entry(&entry.body);
    }
}

#[test]
fn branch_rule_at_every_branch_point() {
    for (width, height) in SIZES {
        let mut session = Parting::new(width, height);
        let [_, first] =
            session.exchange("the parser test fails, find out why", "The lexer counts it twice.");
        session.exchange("change the lexer", "Done.");
        session.back_to(Some(&first));
        let [_, fixture] = session.exchange("look at the fixture", "Line 3 has mixed endings.");
        session.exchange("rewrite it", "It is gone.");
        session.writer.branch_with_summary(Some(&fixture), "The fixture was lost.", UnixMs(START)).unwrap();
        let [_, kept] = session.exchange("keep it, add another one", "There is `crlf.txt` now.");
        for again in ["a lone \\r too", "and a test for it"] {
            session.exchange(again, "Done.");
            session.back_to(Some(&kept));
        }
        insta::assert_snapshot!(format!("branch_points_{width}x{height}"), session.load());
    }
}

#[test]
fn branch_rule_is_unique_over_reloads() {
    let mut session = Parting::new(80, 24);
    session.exchange("zero", "Zero.");
    let [_, first] = session.exchange("one", "One.");
    session.exchange("elsewhere", "Elsewhere.");
    session.back_to(Some(&first));
    assert!(session.load().contains("branch point · 1 other branch · /tree"));
    session.exchange("two", "Two.");
    session.tell_last();
    for _ in 0..200 {
        session.exchange("more", "More.");
    }
    session.load();
    assert!(!session.stage.screen().contains("branch point"));
    for _ in 0..3 {
        let top = session.press(KeyCode::Home);
        assert_eq!(top.matches("── branch point · 1 other branch · /tree ──").count(), 1, "{top}");
        let rule = top.find("branch point").unwrap();
        assert!(top.find("One.").unwrap() < rule && rule < top.find("▌ two").unwrap(), "{top}");
        session.press(KeyCode::End);
    }
}

#[test]
fn search_finds_branch_points() {
    let mut session = Parting::new(80, 24);
    let [_, first] = session.exchange("one", "One.");
    session.exchange("elsewhere", "Elsewhere.");
    session.back_to(Some(&first));
    session.exchange("the needle", "Two.");
    for _ in 0..200 {
        session.exchange("more", "More.");
    }
    session.load();
    for (words, shown) in [("branch point", "1 other branch"), ("needle", "▌ the needle")] {
        session.press(KeyEvent::new(KeyCode::Char('f'), KeyModifiers::CONTROL));
        session.stage.input(Msg::Paste(words.to_owned()));
        let screen = session.look();
        assert!(screen.contains(shown) && screen.contains("1 of 1"), "{screen}");
        session.press(KeyCode::Esc);
    }
}

#[test]
fn branch_rule_before_first_prompt_is_below_banner() {
    let mut session = Parting::new(80, 24);
    session.exchange("one", "One.");
    session.back_to(None);
    let screen = session.load();
    let (banner, rule) =
        (screen.find("tiller 0.1.0").unwrap(), screen.find("branch point · 1 other").unwrap());
    assert!(banner < rule, "{screen}");
    session.exchange("anew", "Anew.");
    session.tell_last();
    let screen = session.look();
    assert!(
        !screen.contains("tiller 0.1.0") && screen.contains("branch point"),
        "something was said: {screen}"
    );
    let screen = session.load();
    assert!(screen.starts_with("─") && screen.contains("▌ anew"), "{screen}");
}

#[test]
fn branch_rule_ignores_hidden_branches() {
    let mut session = Parting::new(80, 24);
    let [_, first] = session.exchange("one", "One.");
    let [elsewhere, _] = session.exchange("elsewhere", "Elsewhere.");
    session.back_to(Some(&first));
    session.exchange("two", "Two.");
    let shown = session.load();
    assert!(shown.contains("1 other branch"), "{shown}");
    for (visibility, count) in [(Visibility::Hidden, 0), (Visibility::Shown, 1)] {
        session.writer.hide(&elsewhere, visibility, UnixMs(START)).unwrap();
        session.tell_last();
        let screen = session.look();
        assert_eq!(screen.matches("branch point").count(), count, "{screen}");
    }
    assert_eq!(session.stage.screen(), shown);
}
