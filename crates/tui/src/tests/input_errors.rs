//! Rejected input: the message and the returned text; failures stay in the transcript.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::id::EntryId;
use tiller_core::message::Image;
use tiller_core::setting;
use tiller_engine::slash_command::InteractiveFrontEnd::{Plain, Screen};
use tiller_engine::slash_command::available_commands;
use tiller_engine::{AgentError, InFlight, Snapshot};

use super::clicks::waiting;
use super::harness::{Harness, at_work, state, text};
use crate::app::{
    Action, BackgroundJob, ListAction, ListKind, LoadedSession, Msg, Navigate, Submit, TaskOrigin,
    TaskResult, TerminalAction, UserText,
};
use crate::attach::AttachedImage;
use crate::executor::failure;
use crate::transcript::LoadedPath;

impl Harness {
    /// The actions of a submitted line, except for storing it in the history.
    fn does(&mut self, line: &str) -> Vec<Action> {
        self.control('c');
        // Whole and at once, so that nothing that is offered for it is taken.
        self.input(Msg::Paste(line.into()));
        let actions = self.key(KeyCode::Enter);
        actions
            .into_iter()
            .filter(|action| !matches!(action, Action::Background(BackgroundJob::AppendHistory(_))))
            .collect()
    }

    fn copies(&mut self, line: &str) -> Option<String> {
        match self.does(line).as_slice() {
            [Action::Terminal(TerminalAction::Copy(copied))] => Some(copied.text.clone()),
            _ => None,
        }
    }
}

#[test]
fn command_unexpected_argument_is_rejected() {
    let mut stage = Harness::new(80, 24);
    for line in ["/new and fix it", "/fork 2", "/clone now", "/quit please", "/clear all"] {
        assert_eq!(stage.does(line), [], "{line}");
        assert_eq!(stage.app.editor.text(), line);
        assert!(stage.screen().contains("takes no arguments"), "{}", stage.screen());
    }
    assert_eq!(stage.does("/new"), [Action::Navigate(Navigate::New)]);
    assert_eq!(stage.does("/clear"), [Action::Navigate(Navigate::New)], "which hands know from elsewhere");
}

#[test]
fn command_of_plain_is_rejected() {
    let of_plain = available_commands(Plain).filter(|row| !row.is_available(Screen));
    let names: Vec<&str> = of_plain.map(|row| row.name).collect();
    assert_eq!(names, ["go", "now", "queue", "send", "drop", "stop"]);
    for name in names {
        let mut stage = Harness::new(80, 24);
        stage.type_text(&format!("/{name}"));
        let stored = BackgroundJob::AppendHistory(vec![format!("/{name}")]);
        assert_eq!(stage.key(KeyCode::Enter), [Action::Background(stored)]);
        assert_eq!(stage.app.editor.text(), format!("/{name}"));
        let message = format!("/{name} is available only with --plain");
        assert!(stage.screen().contains(&message), "{}", stage.screen());
    }
}

#[test]
fn copy_numbered_answer() {
    let mut stage = Harness::new(80, 24);
    for answer in ["one", "two", "three"] {
        stage.answer(vec![text(answer)]);
    }
    assert_eq!(stage.copies("/copy").as_deref(), Some("three"));
    assert_eq!(stage.copies("/copy 1").as_deref(), Some("three"));
    assert_eq!(stage.copies("/copy 2").as_deref(), Some("two"));
    assert_eq!(stage.copies("/copy 3").as_deref(), Some("one"));
    for (line, says) in
        [("/copy 4", "there are only 3 answers; /copy 3 copies the first"), ("/copy all", "invalid number")]
    {
        assert_eq!(stage.copies(line), None);
        let screen = stage.screen();
        assert!(screen.contains(says) && screen.contains(&format!("❯ {line}")), "{screen}");
    }
}

#[test]
fn copy_partly_loaded_session_says_so() {
    let mut stage = Harness::new(80, 24);
    let earlier: Vec<EntryId> = (0..300).map(|at| EntryId::new(format!("p{at}"))).collect();
    let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
    let newest = LoadedPath::from_path(&earlier, Vec::new());
    stage.input(Msg::TaskResult(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest }))));
    stage.answer(vec![text("one")]);
    assert_eq!(stage.copies("/copy 9"), None);
    assert!(stage.screen().contains("only the last 1 answers are loaded"), "{}", stage.screen());
}

#[test]
fn settings_invalid_value_is_returned() {
    let mut stage = Harness::new(80, 24);
    let auto = Action::List(ListAction::Set(&setting::APPROVAL, "auto".into()));
    assert_eq!(stage.does("/settings approval auto"), [auto]);
    assert_eq!(
        stage.does("/settings sync"),
        [Action::List(ListAction::LoadItems(ListKind::Settings))],
        "a name alone narrows the list"
    );
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    for (line, says) in [
        ("/settings approval sometimes", "`sometimes` is not one of"),
        ("/settings aproval auto", "did you mean approval?"),
    ] {
        assert_eq!(stage.does(line), [], "{line}");
        let screen = stage.screen();
        assert!(screen.contains(says) && screen.contains(&format!("❯ {line}")), "{screen}");
    }
}

/// The rows of a word to the user at the foot of a screen of this height.
fn rows_of(said: &str, height: u16) -> Vec<String> {
    let mut stage = Harness::new(40, height);
    stage.input(Msg::TaskResult(TaskResult::Note(said.into())));
    let screen = stage.screen();
    let rows = screen.lines().skip_while(|line| !line.contains("one two"));
    rows.take_while(|line| !line.starts_with('─')).map(str::to_owned).collect()
}

#[test]
fn flash_is_cut_after_three_rows() {
    let advice = "one two three four five six seven eight nine ten: then do this and that";
    let rows = ["  · one two three four five six seven", "    eight nine ten: then do this and", "    that"];
    assert_eq!(rows_of(advice, 24), rows);
    let trouble = format!("✗ {advice}, {advice}");
    let cut = rows_of(&trouble, 24);
    assert_eq!(cut.len(), 3, "{cut:?}");
    // What is to be done stands at the end.
    assert!(cut[0].starts_with("  ✗ one two") && cut[0].ends_with('…'), "{cut:?}");
    assert!(cut[1..].iter().all(|row| row.starts_with("    ")) && cut[2].ends_with("that"), "{cut:?}");
    assert!(cut.iter().all(|row| row.chars().count() <= 40), "{cut:?}");
    // On a small screen there is one.
    let cut = rows_of(&trouble, 12);
    assert!(cut.len() == 1 && cut[0].ends_with('…'), "{cut:?}");
}

#[test]
fn input_while_busy_is_returned() {
    for line in ["/new", "/clone"] {
        let mut stage = Harness::new(80, 24);
        let actions = stage.does(line);
        stage.input(Msg::TaskResult(failure(&AgentError::Running, actions[0].typed())));
        let screen = stage.screen();
        assert!(
            screen.contains("while the agent is running") && screen.contains("stop it first"),
            "{screen}"
        );
        assert!(screen.contains(&format!("❯ {line}")), "{screen}");
    }
}

#[test]
fn flash_long_text_stays_longer() {
    let mut stage = Harness::new(80, 24);
    stage.input(Msg::TaskResult(TaskResult::Note("one two ".repeat(20))));
    stage.wait(9_000);
    assert!(stage.screen().contains("one two"));
    stage.wait(1_000);
    assert!(!stage.screen().contains("one two"), "{}", stage.screen());
}

#[test]
fn input_error_returns_the_text() {
    let mut stage = Harness::new(80, 24);
    let what = || "no usable model matches `gtp`".to_owned();
    let slip = |typed: &str, origin| {
        Msg::TaskResult(TaskResult::InvalidInput { typed: typed.to_owned().into(), what: what(), origin })
    };
    stage.input(slip("/model gtp", TaskOrigin::Editor));
    let screen = stage.screen();
    assert!(screen.contains("· no usable model") && screen.contains("❯ /model gtp"), "{screen}");
    assert!(!screen.contains('✗'), "{screen}");
    stage.wait(5_000);
    assert!(!stage.screen().contains("no usable model"), "{}", stage.screen());
    stage.control('c');
    stage.does("/tools");
    stage.input(slip("/tools gone", TaskOrigin::List(ListKind::Tools)));
    assert!(stage.screen().contains("✗ no usable model"), "in the list: {}", stage.screen());
    assert!(stage.app.overlays.last().is_some_and(|popup| popup.is_list(ListKind::Tools)));
    assert!(stage.app.editor.is_empty(), "it was typed nowhere");
}

#[test]
fn input_error_returns_text_under_list() {
    for origin in [TaskOrigin::Editor, TaskOrigin::List(ListKind::Tools)] {
        let mut stage = Harness::new(80, 24);
        stage.control('l');
        let (typed, what) = ("/skill:typo look at the lexer".to_owned(), "there is no skill typo".to_owned());
        stage.input(Msg::TaskResult(TaskResult::invalid_input(typed, (what, None), origin)));
        assert!(stage.screen().contains("✗ there is no skill typo"), "{}", stage.screen());
        assert!(stage.app.overlays.last().is_some_and(|popup| popup.is_list(ListKind::Models)));
        stage.key(KeyCode::Esc);
        assert_eq!(stage.app.editor.text(), "/skill:typo look at the lexer");
    }
}

#[test]
fn input_error_keeps_edited_message_apart() {
    let slip = || {
        let (typed, what) = ("/skill:typo look".to_owned(), "there is no skill typo".to_owned());
        Msg::TaskResult(TaskResult::invalid_input(typed, (what, None), TaskOrigin::Editor))
    };
    let mut stage = Harness::new(80, 24);
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
    assert!(stage.screen().contains("your text is in the prompt history"), "{}", stage.screen());
    assert_eq!(stage.app.editor.history().last().map(String::as_str), Some("/skill:typo look"));
}

fn image(data: &str) -> Image {
    Image { data: data.into(), mime_type: "image/png".into() }
}

/// A message that could not be meant, with a picture.
fn slip_with_picture() -> Msg {
    let (text, images) = ("/skill:typo see [image #1: 3×2]".to_owned(), vec![image("first")]);
    let what = "there is no skill typo".to_owned();
    Msg::TaskResult(TaskResult::invalid_input(UserText { text, images }, (what, None), TaskOrigin::Editor))
}

#[test]
fn input_error_returns_images() {
    let mut stage = Harness::new(80, 24);
    stage.input(slip_with_picture());
    assert_eq!(stage.app.editor.images(), [image("first")]);
    let mut stage = Harness::new(80, 24);
    stage.told(TaskResult::Attached(AttachedImage { image: image("second"), size: (3, 2) }));
    stage.input(slip_with_picture());
    assert_eq!(stage.app.editor.text(), "/skill:typo see [image #2: 3×2]\n\n[image #1: 3×2] ");
    assert_eq!(stage.app.editor.images(), [image("second"), image("first")]);
}

#[test]
fn input_error_while_editing_returns_images_to_draft() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    waiting(&mut stage);
    stage.press(KeyCode::Up, KeyModifiers::ALT);
    stage.key(KeyCode::Enter);
    stage.input(slip_with_picture());
    assert_eq!(stage.app.editor.images(), []);
    (0..2).for_each(|_| _ = stage.key(KeyCode::Esc));
    assert_eq!(stage.app.editor.text(), "/skill:typo see [image #1: 3×2]");
    assert_eq!(stage.app.editor.images(), [image("first")]);
}

#[test]
fn input_error_in_reason_recalls_images() {
    let mut stage = Harness::new(80, 24);
    stage.asks();
    stage.wait(500);
    stage.key(KeyCode::Tab);
    stage.type_text("use nextest");
    stage.input(slip_with_picture());
    stage.key(KeyCode::Enter);
    stage.key(KeyCode::Up);
    // The newest of them is the reason's neighbour.
    assert_eq!(stage.app.editor.text(), "/skill:typo see [image #1: 3×2]");
    assert_eq!(stage.app.editor.images(), [image("first")]);
}

#[test]
fn input_rejected_or_failed_returns_images() {
    let said =
        Submit::WithImages(Box::new(Submit::Steer("see [image #1: 3×2]".into())), vec![image("first")]);
    let action = Action::Submit(said);
    let text = action.typed();
    let mut stage = Harness::new(80, 24);
    stage.app.reject_action(action);
    assert_eq!(stage.app.editor.images(), [image("first")]);
    let mut stage = Harness::new(80, 24);
    stage.input(Msg::TaskResult(TaskResult::Failed { what: "the disk is full".into(), hint: None, text }));
    assert_eq!(stage.app.editor.text(), "see [image #1: 3×2]");
    assert_eq!(stage.app.editor.images(), [image("first")]);
}
