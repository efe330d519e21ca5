//! What goes wrong with what was typed: a slip is a passing line and stays to be mended, a failure stays in the transcript.

use crossterm::event::{KeyCode, KeyModifiers};

use super::clicks::waiting;
use super::stage::{Stage, at_work, text};
use crate::tui::app::{Action, Go, Input, List, Origin, Report};

impl Stage {
    /// What a line does, beside being remembered.
    fn does(&mut self, line: &str) -> Vec<Action> {
        self.control('c');
        // Whole and at once, so that nothing that is offered for it is taken.
        self.input(Input::Paste(line.into()));
        let actions = self.key(KeyCode::Enter);
        actions.into_iter().filter(|action| !matches!(action, Action::Remember(_))).collect()
    }

    fn copies(&mut self, line: &str) -> Option<String> {
        match self.does(line).as_slice() {
            [Action::Copy(copied)] => Some(copied.text.clone()),
            _ => None,
        }
    }
}

#[test]
fn a_command_that_takes_no_words_does_nothing_with_words_behind_it_and_they_stay() {
    let mut stage = Stage::new(80, 24);
    for line in ["/new and fix it", "/fork 2", "/clone now", "/quit please", "/clear all"] {
        assert_eq!(stage.does(line), [], "{line}");
        assert_eq!(stage.app.editor.text(), line);
        assert!(
            stage.screen().contains("takes no words: take away what stands behind it"),
            "{}",
            stage.screen()
        );
    }
    assert_eq!(stage.does("/new"), [Action::Go(Go::New)]);
    assert_eq!(stage.does("/clear"), [Action::Go(Go::New)], "which hands know from elsewhere");
}

#[test]
fn an_answer_is_copied_by_its_number_from_the_end() {
    let mut stage = Stage::new(80, 24);
    for answer in ["one", "two", "three"] {
        stage.answer(vec![text(answer)]);
    }
    assert_eq!(stage.copies("/copy").as_deref(), Some("three"));
    assert_eq!(stage.copies("/copy 1").as_deref(), Some("three"));
    assert_eq!(stage.copies("/copy 2").as_deref(), Some("two"));
    assert_eq!(stage.copies("/copy 3").as_deref(), Some("one"));
    for (line, says) in [("/copy 4", "the last 3 answers are read so far"), ("/copy all", "which answer?")] {
        assert_eq!(stage.copies(line), None);
        let screen = stage.screen();
        assert!(screen.contains(says) && screen.contains(&format!("❯ {line}")), "{screen}");
    }
}

#[test]
fn a_slip_passes_and_what_was_typed_is_there_to_be_mended() {
    let mut stage = Stage::new(80, 24);
    let what = || "no usable model matches `gtp`".to_owned();
    let slip =
        |typed: &str, origin| Input::Report(Report::Slip { typed: typed.into(), what: what(), origin });
    stage.input(slip("/model gtp", Origin::Typed));
    let screen = stage.screen();
    assert!(screen.contains("· no usable model") && screen.contains("❯ /model gtp"), "{screen}");
    assert!(!screen.contains('✗'), "{screen}");
    stage.wait(5_000);
    assert!(!stage.screen().contains("no usable model"), "{}", stage.screen());
    stage.control('c');
    stage.does("/tools");
    stage.input(slip("/tools gone", Origin::List(List::Tools)));
    assert!(stage.screen().contains("✗ no usable model"), "in the list: {}", stage.screen());
    assert!(stage.app.popups.last().is_some_and(|popup| popup.lists(List::Tools)));
    assert!(stage.app.editor.is_empty(), "it was typed nowhere");
}

#[test]
fn what_was_typed_is_a_draft_again_also_beneath_a_list_that_was_opened_meanwhile() {
    for origin in [Origin::Typed, Origin::List(List::Tools)] {
        let mut stage = Stage::new(80, 24);
        stage.control('l');
        let (typed, what) = ("/skill:typo look at the lexer".to_owned(), "there is no skill typo".to_owned());
        stage.input(Input::Report(Report::Slip { typed, what, origin }));
        assert!(stage.screen().contains("✗ there is no skill typo"), "{}", stage.screen());
        assert!(stage.app.popups.last().is_some_and(|popup| popup.lists(List::Models)));
        stage.key(KeyCode::Esc);
        assert_eq!(stage.app.editor.text(), "/skill:typo look at the lexer");
    }
}

#[test]
fn what_was_typed_is_not_joined_to_a_message_that_is_edited_or_the_reason_of_a_no() {
    let slip = || {
        let (typed, what) = ("/skill:typo look".to_owned(), "there is no skill typo".to_owned());
        Input::Report(Report::Slip { typed, what, origin: Origin::Typed })
    };
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    waiting(&mut stage);
    stage.type_text("a draft");
    stage.press(KeyCode::Up, KeyModifiers::ALT);
    stage.key(KeyCode::Enter);
    stage.input(slip());
    assert_eq!(stage.app.editor.text(), "the third of them");
    (0..2).for_each(|_| _ = stage.key(KeyCode::Esc));
    let draft = stage.app.editor.text();
    assert!(draft.starts_with("/skill:typo look") && draft.ends_with("a draft"), "{draft}");
    stage.control('c');
    stage.asks();
    stage.wait(500);
    stage.key(KeyCode::Tab);
    stage.type_text("use nextest");
    stage.input(slip());
    assert_eq!(stage.app.editor.text(), "use nextest");
    assert!(stage.screen().contains("what you typed is in the prompt history"), "{}", stage.screen());
    assert_eq!(stage.app.editor.history().last().map(String::as_str), Some("/skill:typo look"));
}
