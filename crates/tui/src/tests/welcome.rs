//! The banner of a new session, and the page of `/context`.

use crossterm::event::KeyCode;
use tiller_core::message::ModelRef;
use tiller_core::unit::UnixMs;
use tiller_engine::{AgentCommand, CommandSource};

use crate::action::{Action, BackgroundJob, TerminalAction};
use crate::message::{Msg, TaskResult};
use crate::session_model::Welcome;
use crate::tests::harness::{Harness, SIZES, START};

fn skill(name: &str) -> AgentCommand {
    AgentCommand {
        name: name.into(),
        description: "does it".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: None,
    }
}

/// Returns a new session with all data known.
fn fresh(width: u16, height: u16) -> Harness {
    let mut harness = Harness::new(width, height);
    harness.report(TaskResult::Commands(vec![skill("skill:commit"), skill("skill:debug")]));
    let files = ["/home/ada/code/conf/AGENTS.md", "/home/ada/.config/tiller/AGENTS.md"];
    let last = Some(("why does the lexer drift?".to_owned(), UnixMs(START - 7_200_000)));
    harness.report(TaskResult::Welcome(Welcome { files: files.map(Into::into).to_vec(), last }));
    harness
}

#[test]
fn banner_shows_session_start() {
    for (width, height) in SIZES {
        let mut harness = fresh(width, height);
        insta::assert_snapshot!(format!("first_{width}x{height}"), harness.screen());
    }
}

#[test]
fn banner_is_filled_after_start() {
    let harness = Harness::new(80, 24);
    assert!(harness.actions.contains(&Action::Background(BackgroundJob::Welcome)), "{:?}", harness.actions);
}

#[test]
fn banner_follows_model_change() {
    let mut harness = fresh(80, 24);
    let model = ModelRef { provider: "openai".into(), id: "gpt-5".into() };
    harness.event(tiller_core::event::EventKind::ModelChanged { model });
    let screen = harness.screen();
    assert!(screen.contains("openai/gpt-5\n") || screen.contains("openai/gpt-5 "), "{screen}");
    assert!(!screen.contains("auth.json"), "{screen}");
}

#[test]
fn banner_ends_with_first_message() {
    let mut harness = fresh(80, 24);
    harness.app.transcript.notice(crate::block::notice_level::NoticeLevel::Warning, "a notice", None);
    assert!(harness.screen().contains("Describe a task"), "{}", harness.screen());
    harness.type_text("h");
    assert!(!harness.screen().contains("Describe a task"), "{}", harness.screen());
    harness.control('u');
    harness.user("hello");
    let screen = harness.screen();
    assert!(!screen.contains("tiller 0.1.0") && !screen.contains("previous"), "{screen}");
    assert!(!screen.contains("Describe a task"), "{screen}");
    assert!(screen.contains("a notice"), "{screen}");
}

#[test]
fn ctrl_c_in_start_list_quits() {
    let mut harness = fresh(80, 24);
    harness.app.offer_sessions(UnixMs(harness.now));
    harness.wait(1_000);
    assert_eq!(harness.control('c'), [Action::Terminal(TerminalAction::Quit)]);
    let mut harness = fresh(80, 24);
    harness.type_text("/resume");
    harness.key(KeyCode::Enter);
    assert!(
        !harness.control('c').contains(&Action::Terminal(TerminalAction::Quit)),
        "a list that a key opened is left"
    );
    harness.input(Msg::Tick);
}
