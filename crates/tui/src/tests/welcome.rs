//! The banner of a new session, and the page of `/context`.

use crossterm::event::KeyCode;
use tiller_core::message::ModelRef;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{
    AgentCommand, CommandSource, ContextBreakdown, ContextKind, ContextPart, ContextUse, ToolServerStatus,
};
use tiller_render::Line;
use tiller_tools::tool::ToolServerState;

use crate::action::{Action, BackgroundJob, TerminalAction};
use crate::list_data;
use crate::message::{Msg, TaskResult};
use crate::pager::Pager;
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
fn context_page_shows_shares() {
    for (width, height) in SIZES {
        let part = |kind, count, tokens| ContextPart { kind, count, tokens: Tokens(tokens) };
        let breakdown = ContextBreakdown {
            context: ContextUse { used: Tokens(68_000), window: Tokens(200_000) },
            parts: vec![
                part(ContextKind::SystemPrompt, 1, 1_240),
                part(ContextKind::Skills, 2, 310),
                part(ContextKind::Tools, 12, 4_400),
                part(ContextKind::ContextFile("/home/ada/code/conf/AGENTS.md".into()), 1, 820),
                part(ContextKind::UserMessages, 3, 900),
                part(ContextKind::Answers, 14, 9_700),
                part(ContextKind::ToolResults, 31, 48_200),
            ],
        };
        let mut harness = Harness::new(width, height);
        let home = std::path::Path::new("/home/ada");
        let lines = list_data::context(&breakdown, Some(home), Pager::columns(width));
        harness.report(TaskResult::Page { title: "context".into(), lines });
        insta::assert_snapshot!(format!("context_{width}x{height}"), harness.screen());
    }
}

#[test]
fn mcp_page_shows_each_server() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/mcp");
    let actions = harness.key(KeyCode::Enter);
    assert!(actions.contains(&Action::ShowToolServers), "{actions:?}");
    let failed = |name: &str| ToolServerStatus {
        name: name.into(),
        transport: "stdio",
        address: "npx server".into(),
        origin: "MCP_SERVERS".into(),
        state: ToolServerState::Failed("it was not ready within 30 s".into()),
        stderr: vec!["\u{1b}[2Jstuck".into()],
    };
    let lines = list_data::tool_servers(&[failed("git"), failed("web")]);
    let texts: Vec<String> = lines.iter().map(Line::text).collect();
    let of = |name: &str| {
        let first = format!("{name} (stdio: npx server)");
        [&*first, "from MCP_SERVERS", "failed: it was not ready within 30 s", "stderr:", "  ␛[2Jstuck", ""]
            .map(str::to_owned)
    };
    assert_eq!(texts, [of("git"), of("web")].concat());
    assert_eq!(list_data::tool_servers(&[]).len(), 1);
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
