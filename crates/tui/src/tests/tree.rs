//! Tests of the tree with a session in memory.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::entry_line::EntryLine;
use tiller_core::event::{EventKind, SessionChange};
use tiller_core::unit::UnixMs;
use tiller_engine::{BranchSummary, SessionSwitched};
use tiller_session::Visibility;

use crate::action::{Action, BackgroundJob, SessionEdit};
use crate::effect::{Effect, OverlayRequest};
use crate::message::{ListResult, Msg, TaskResult};
use crate::navigate::Navigate;
use crate::tests::harness::{Harness, START};
use crate::tree::tests::{SampleLog, chosen_row};
use crate::{list_data, tree};

const HOUR: i64 = 3_600_000;

/// A front end with a session in memory.
struct TreeHarness {
    harness: Harness,
    log: SampleLog,
}

impl TreeHarness {
    /// Creates two branches after one answer, each with some history; the second one is current.
    fn branched(width: u16, height: u16) -> Self {
        Self::over(SampleLog::branched(UnixMs(START - 5 * HOUR)), width, height)
    }

    fn over(log: SampleLog, width: u16, height: u16) -> Self {
        Self { harness: Harness::new(width, height), log }
    }

    fn open(&mut self) -> &mut Self {
        self.type_text("/tree");
        self.key(KeyCode::Enter);
        self
    }

    /// Answers the tree's requests until there are none; returns the other actions.
    fn settle(&mut self, actions: Vec<Action>) -> Vec<Action> {
        let (mut todo, mut rest) = (std::collections::VecDeque::from(actions), Vec::new());
        while let Some(action) = todo.pop_front() {
            let Action::Background(BackgroundJob::Tree(request)) = action else {
                rest.push(action);
                continue;
            };
            for results in self.log.answer_request(&request) {
                let session = self.log.writer.reader().id().clone();
                self.harness.actions.clear();
                self.harness.report_result(TaskResult::List(ListResult::Tree { session, news: results }));
                todo.extend(std::mem::take(&mut self.harness.actions));
            }
        }
        rest
    }

    fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        let actions = self.harness.press(code, modifiers);
        self.settle(actions)
    }

    fn key(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::NONE)
    }

    fn control(&mut self, c: char) -> Vec<Action> {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    fn alt(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::ALT)
    }

    fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
    }

    fn event(&mut self, kind: EventKind) -> Vec<Action> {
        self.harness.actions.clear();
        self.harness.event(kind);
        let actions = std::mem::take(&mut self.harness.actions);
        self.settle(actions)
    }

    /// Emits the event of the newest entry.
    fn emit_newest(&mut self) -> Vec<Action> {
        let line = self.log.writer.reader().raw_line(self.log.writer.reader().entry_count() - 1).unwrap();
        let (entry_id, entry) = (self.log.leaf(), EntryLine::new(str::from_utf8(&line).unwrap()));
        self.event(EventKind::EntryAppended { entry_id, entry })
    }

    fn report(&mut self, report: TaskResult) -> Vec<Action> {
        self.harness.actions.clear();
        self.harness.report_result(report);
        let actions = std::mem::take(&mut self.harness.actions);
        self.settle(actions)
    }

    fn screen(&mut self) -> String {
        self.harness.screen()
    }

    /// The text of the row under the cursor.
    fn chosen(&mut self) -> String {
        chosen_row(&self.screen())
    }
}

#[test]
fn tree_enter_before_prompt_or_from_entry() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    assert_eq!(tree.key(KeyCode::Enter), [], "that is where one is");
    assert!(!tree.screen().contains("── tree"));
    tree.open();
    tree.key(KeyCode::Up);
    assert_eq!(tree.chosen(), "└─ ▌ look at the fixture");
    let fixture = tree.log.entry(7);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(fixture.clone()))]);
    let question = list_data::ask_on_leaving(&tree.log.writer.reader(), &fixture).unwrap();
    tree.report(question);
    assert!(tree.screen().contains("no summary"), "{}", tree.screen());
    assert_eq!(tree.key(KeyCode::Esc), []);
    assert_eq!(tree.chosen(), "└─ ▌ look at the fixture", "one level back");
    assert_eq!(tree.alt(KeyCode::Enter), [Action::Navigate(Navigate::Fork(fixture))]);
}

#[test]
fn tree_returned_prompt_keeps_draft() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.harness.app.composer.editor.set_text("a draft");
    let session = tree.log.writer.reader().id().clone();
    let moved = SessionSwitched { change: SessionChange::Leaf, session, editor: Some("a prompt".into()) };
    tree.report(TaskResult::SessionSwitched(moved));
    assert_eq!(tree.harness.app.composer.editor.text(), "a prompt\n\na draft");
    assert!(!tree.screen().contains("── tree"));
}

#[test]
fn tree_branch_is_hidden_and_restored() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.alt(KeyCode::Up);
    tree.alt(KeyCode::Up);
    let lexer = tree.log.entry(2);
    assert_eq!(tree.control('x'), [Action::Background(BackgroundJob::AskToHide(lexer.clone()))]);
    let question = list_data::ask_to_hide(&tree.log.writer.reader(), lexer.clone());
    tree.report(question);
    assert!(tree.screen().contains("hide this entry and the 3 after it"), "{}", tree.screen());
    tree.harness.wait(400);
    assert_eq!(
        tree.key(KeyCode::Enter),
        [Action::Edit(SessionEdit::Hide(lexer.clone(), Visibility::Hidden))]
    );
    tree.log.writer.hide(&lexer, Visibility::Hidden, tree.log.now).unwrap();
    tree.emit_newest();
    assert!(!tree.screen().contains("change the lexer"), "{}", tree.screen());
    tree.type_text("lexer");
    let screen = tree.screen();
    assert!(screen.contains("found, ") && !screen.contains("change the lexer"), "{screen}");
    tree.key(KeyCode::Esc);
    tree.control('a');
    let screen = tree.screen();
    assert!(screen.contains("change the lexer") && screen.contains("hidden"), "{screen}");
    tree.type_text("fixture still");
    assert_eq!(tree.key(KeyCode::Enter), [Action::Edit(SessionEdit::Hide(lexer.clone(), Visibility::Shown))]);
    assert_eq!(tree.control('x'), [Action::Edit(SessionEdit::Hide(lexer, Visibility::Shown))]);
}

#[test]
fn tree_dialog_key_selects_nothing_below() {
    for (last, answered) in [(KeyCode::Enter, true), (KeyCode::Esc, false)] {
        let mut tree = TreeHarness::branched(80, 24);
        tree.open();
        tree.alt(KeyCode::Up);
        tree.alt(KeyCode::Up);
        let entry = tree.log.entry(2);
        tree.control('x');
        let question = list_data::ask_to_hide(&tree.log.writer.reader(), entry.clone());
        tree.report(question);
        tree.harness.wait(400);
        let hides = vec![Action::Edit(SessionEdit::Hide(entry.clone(), Visibility::Hidden))];
        assert_eq!(tree.key(last), if answered { hides } else { vec![] });
        for pause in [0, 150, 399] {
            tree.harness.wait(pause);
            assert_eq!(tree.key(last), [], "{last:?} goes on being pressed");
            assert!(tree.screen().contains("── tree"), "{}", tree.screen());
        }
        // Other keys keep their meaning.
        tree.key(KeyCode::Down);
        tree.key(KeyCode::Up);
        assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(entry))]);
    }
}

#[test]
fn tree_accept_while_working_stops_first() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.event(EventKind::AgentStart);
    tree.key(KeyCode::Up);
    tree.key(KeyCode::Enter);
    assert_eq!(tree.key(KeyCode::Enter), [], "the first choice leaves everything as it is");
    assert!(tree.screen().contains("── tree"), "{}", tree.screen());
    tree.harness.wait(400);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::Down);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Abort]);
    assert!(tree.screen().contains("stopping…"), "{}", tree.screen());
    let go = Action::Navigate(Navigate::AskForSummary(tree.log.entry(7)));
    let settled = tree.event(EventKind::AgentSettled);
    assert!(settled.contains(&go), "{settled:?}");
}

#[test]
fn tree_fork_while_working() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.event(EventKind::AgentStart);
    tree.key(KeyCode::Up);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::End);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::ForkBeside(tree.log.entry(7)))]);
    tree.report(TaskResult::List(ListResult::ForkCreated("01JD6X9QWERTYUIOPASDFGHJKL".into())));
    let screen = tree.screen();
    assert!(screen.contains("forked into session FGHJKL") && screen.contains("tiller --session"), "{screen}");
    tree.open();
    tree.key(KeyCode::Home);
    tree.key(KeyCode::Enter);
    assert!(!tree.screen().contains("beside this one, and"), "nothing stands before it: {}", tree.screen());
}

#[test]
fn tree_closed_while_stopping_stays() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.event(EventKind::AgentStart);
    tree.key(KeyCode::Up);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::Down);
    tree.key(KeyCode::Enter);
    tree.key(KeyCode::Esc);
    let settled = tree.event(EventKind::AgentSettled);
    assert!(settled.iter().all(|action| !matches!(action, Action::Navigate(_))), "{settled:?}");
}

#[test]
fn tree_leave_dialog_closes_tree() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.open();
    tree.key(KeyCode::Up);
    let fixture = tree.log.entry(7);
    tree.key(KeyCode::Enter);
    let question = list_data::ask_on_leaving(&tree.log.writer.reader(), &fixture).unwrap();
    tree.report(question);
    tree.harness.wait(400);
    tree.key(KeyCode::Down);
    let summary_choice = BranchSummary::Made { instructions: None };
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::ToEntry(fixture, summary_choice))]);
    assert!(!tree.screen().contains("── tree"), "{}", tree.screen());
}

#[test]
fn tree_second_enter_does_nothing() {
    let mut tree = TreeHarness::branched(80, 24);
    tree.harness.app.composer.editor.set_text("a draft");
    tree.harness.app.apply(Effect::Open(OverlayRequest::Tree(tree::request::TreePurpose::Go)));
    tree.report(TaskResult::Note(String::new()));
    tree.key(KeyCode::Up);
    let fixture = tree.log.entry(7);
    assert_eq!(tree.key(KeyCode::Enter), [Action::Navigate(Navigate::AskForSummary(fixture.clone()))]);
    assert_eq!(tree.key(KeyCode::Enter), [], "one is on the way already");
    let question = list_data::ask_on_leaving(&tree.log.writer.reader(), &fixture).unwrap();
    tree.report(question);
    tree.harness.wait(400);
    let leaves = Action::Navigate(Navigate::ToEntry(fixture, BranchSummary::None));
    assert_eq!(tree.key(KeyCode::Enter), [leaves]);
    assert!(!tree.screen().contains("── tree"), "what is typed now is for where one goes");
    assert_eq!(tree.key(KeyCode::Enter), []);
    assert_eq!(tree.harness.app.composer.editor.text(), "a draft");
}

#[test]
fn tree_typing_while_navigating_is_a_draft() {
    let went = || {
        let mut tree = TreeHarness::branched(80, 24);
        tree.open();
        tree.key(KeyCode::Up);
        tree.key(KeyCode::Enter);
        tree.type_text("and theN");
        tree.key(KeyCode::Backspace);
        tree.harness.input(Msg::Paste("n".into()));
        tree
    };
    let mut tree = went();
    let session = tree.log.writer.reader().id().clone();
    tree.report(TaskResult::SessionSwitched(SessionSwitched {
        change: SessionChange::Leaf,
        session,
        editor: None,
    }));
    assert_eq!(tree.harness.app.composer.editor.text(), "and then");
    let mut tree = went();
    tree.report(TaskResult::Failed { message: "the disk is full".into(), hint: None, text: None });
    assert_eq!(tree.harness.app.composer.editor.text(), "and then");
    let mut tree = went();
    tree.key(KeyCode::Esc);
    assert_eq!(tree.harness.app.composer.editor.text(), "and then");
}
