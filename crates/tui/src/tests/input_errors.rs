//! Rejected input: the message and the returned text; failures stay in the transcript.

use crossterm::event::KeyCode;
use tiller_core::id::EntryId;
use tiller_engine::{AgentError, InFlight, Snapshot};

use crate::action::{Action, BackgroundJob, TerminalAction};
use crate::address::Address;
use crate::executor::errors::failure;
use crate::list_kind::ListKind;
use crate::message::{LoadedSession, Msg, TaskResult};
use crate::tests::harness::{Harness, state, text};
use crate::transcript::section::LoadedPath;

impl Harness {
    /// Returns the actions of a submitted line, except for storing it in the history.
    fn submit_pasted(&mut self, line: &str) -> Vec<Action> {
        self.control('c');
        // As one paste, so that no completion is accepted.
        self.input(Msg::Paste(line.into()));
        let actions = self.key(KeyCode::Enter);
        actions
            .into_iter()
            .filter(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))))
            .collect()
    }

    fn copied_text(&mut self, line: &str) -> Option<String> {
        match self.submit_pasted(line).as_slice() {
            [Action::Terminal(TerminalAction::Copy(copied))] => Some(copied.text.clone()),
            _ => None,
        }
    }
}

#[test]
fn copy_numbered_answer() {
    let mut harness = Harness::new(80, 24);
    for answer in ["one", "two", "three"] {
        harness.answer(vec![text(answer)]);
    }
    assert_eq!(harness.copied_text("/copy").as_deref(), Some("three"));
    assert_eq!(harness.copied_text("/copy 1").as_deref(), Some("three"));
    assert_eq!(harness.copied_text("/copy 2").as_deref(), Some("two"));
    assert_eq!(harness.copied_text("/copy 3").as_deref(), Some("one"));
    for (line, says) in
        [("/copy 4", "there are only 3 answers; /copy 3 copies the first"), ("/copy all", "invalid number")]
    {
        assert_eq!(harness.copied_text(line), None);
        let screen = harness.screen();
        assert!(screen.contains(says) && screen.contains(&format!("❯ {line}")), "{screen}");
    }
}

#[test]
fn copy_partly_loaded_session_says_so() {
    let mut harness = Harness::new(80, 24);
    let earlier: Vec<EntryId> = (0..300).map(|at| EntryId::new(format!("p{at}"))).collect();
    let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
    let newest = LoadedPath::from_path(&earlier, Vec::new());
    harness.report_result(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest })));
    harness.answer(vec![text("one")]);
    assert_eq!(harness.copied_text("/copy 9"), None);
    assert!(harness.screen().contains("only the last 1 answers are loaded"), "{}", harness.screen());
}

/// Returns the rows of a flash on a screen of this height.
fn flash_rows(message: &str, height: u16) -> Vec<String> {
    let mut harness = Harness::new(40, height);
    harness.report_result(TaskResult::Note(message.into()));
    let screen = harness.screen();
    let rows = screen.lines().skip_while(|line| !line.contains("one two"));
    rows.take_while(|line| !line.starts_with('─')).map(str::to_owned).collect()
}

#[test]
fn flash_is_cut_after_three_rows() {
    let advice = "one two three four five six seven eight nine ten: then do this and that";
    let rows = ["  · one two three four five six seven", "    eight nine ten: then do this and", "    that"];
    assert_eq!(flash_rows(advice, 24), rows);
    let trouble = format!("✗ {advice}, {advice}");
    let cut = flash_rows(&trouble, 24);
    assert_eq!(cut.len(), 3, "{cut:?}");
    // The next step is at the end.
    assert!(cut[0].starts_with("  ✗ one two") && cut[0].ends_with('…'), "{cut:?}");
    assert!(cut[1..].iter().all(|row| row.starts_with("    ")) && cut[2].ends_with("that"), "{cut:?}");
    assert!(cut.iter().all(|row| row.chars().count() <= 40), "{cut:?}");
    // On a small screen there is one row.
    let cut = flash_rows(&trouble, 12);
    assert!(cut.len() == 1 && cut[0].ends_with('…'), "{cut:?}");
}

#[test]
fn input_while_busy_is_returned() {
    for line in ["/new", "/clone"] {
        let mut harness = Harness::new(80, 24);
        let actions = harness.submit_pasted(line);
        harness.report_result(failure(&AgentError::Running, actions[0].typed()));
        let screen = harness.screen();
        assert!(
            screen.contains("while the agent is running") && screen.contains("stop it first"),
            "{screen}"
        );
        assert!(screen.contains(&format!("❯ {line}")), "{screen}");
    }
}

#[test]
fn flash_long_text_stays_longer() {
    let mut harness = Harness::new(80, 24);
    harness.report_result(TaskResult::Note("one two ".repeat(20)));
    harness.wait(9_000);
    assert!(harness.screen().contains("one two"));
    harness.wait(1_000);
    assert!(!harness.screen().contains("one two"), "{}", harness.screen());
}

#[test]
fn input_error_returns_the_text() {
    let mut harness = Harness::new(80, 24);
    let message = || "no usable model matches `gtp`".to_owned();
    let slip = |typed: &str| TaskResult::InvalidInput { typed: typed.to_owned().into(), message: message() };
    harness.report_result(slip("/model gtp"));
    let screen = harness.screen();
    assert!(screen.contains("· no usable model") && screen.contains("❯ /model gtp"), "{screen}");
    assert!(!screen.contains('✗'), "{screen}");
    harness.wait(5_000);
    assert!(!harness.screen().contains("no usable model"), "{}", harness.screen());
    harness.control('c');
    harness.submit_pasted("/tools");
    harness.report_to(harness.list_address(ListKind::Tools), slip("/tools gone"));
    assert!(harness.screen().contains("✗ no usable model"), "in the list: {}", harness.screen());
    assert!(harness.app.compositor.overlays.last().is_some_and(|popup| popup.is_list(ListKind::Tools)));
    assert!(harness.app.composer.editor.is_empty(), "it was typed nowhere");
}

#[test]
fn input_error_returns_text_under_list() {
    let closed = Harness::new(80, 24).list_address(ListKind::Tools);
    for from in [Address::Composer, closed] {
        let mut harness = Harness::new(80, 24);
        harness.control('l');
        let (typed, message) =
            ("/skill:typo look at the lexer".to_owned(), "there is no skill typo".to_owned());
        harness.report_to(from, TaskResult::invalid_input(typed, (message, None)));
        assert!(harness.screen().contains("✗ there is no skill typo"), "{}", harness.screen());
        assert!(harness.app.compositor.overlays.last().is_some_and(|popup| popup.is_list(ListKind::Models)));
        harness.key(KeyCode::Esc);
        assert_eq!(harness.app.composer.editor.text(), "/skill:typo look at the lexer");
    }
}
