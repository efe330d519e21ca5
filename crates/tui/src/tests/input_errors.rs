//! Rejected input: the message and the returned text; failures stay in the transcript.

use crossterm::event::KeyCode;
use tiller_engine::AgentError;

use crate::action::{Action, BackgroundJob};
use crate::address::Address;
use crate::executor::errors::failure;
use crate::list_kind::ListKind;
use crate::message::{Msg, TaskResult};
use crate::tests::harness::Harness;

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
fn input_while_disconnected_is_returned_with_one_message() {
    let mut harness = Harness::new(80, 24);
    harness.report_result(failure(&AgentError::Disconnected, Some("too early".to_owned().into())));
    harness.report_result(failure(&AgentError::Disconnected, None));
    let screen = harness.screen();
    assert_eq!(screen.matches("not connected").count(), 1, "{screen}");
    assert!(screen.contains("❯ too early"), "{screen}");
    harness.wait(5_000);
    assert!(!harness.screen().contains("not connected"), "{}", harness.screen());
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
