//! The pages of help, the log, the session and its context, at both sizes of the screen.

use crossterm::event::KeyCode;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{ContextBreakdown, ContextKind, ContextPart, ContextUse, SessionState, ToolServerStatus};
use tiller_render::Line;
use tiller_session::{Placement, SessionManager};
use tiller_tools::tool::ToolServerState;

use crate::address::Address;
use crate::component::testing::Bench;
use crate::effect::{Effect, LeaveScope};
use crate::keymap::Keymap;
use crate::list_data::ListContext;
use crate::message::TaskResult;
use crate::pager::Pager;
use crate::tests::harness::state;
use crate::{help, list_data, logs};

/// The sizes of overlays, which leave a row for the footer.
const SIZES: [(u16, u16); 2] = [(80, 23), (120, 39)];

/// 14:02 UTC.
const START: i64 = 1_795_269_720_000;

/// A page on a screen of this size.
fn shown((width, height): (u16, u16), page: Pager) -> Bench<Pager> {
    Bench::of(page, Address::Screen).sized(width, height)
}

/// Compares the page at this size with its snapshot, which is named after the screen.
macro_rules! assert_page {
    ($name:literal, $size:expr, $rows:expr) => {{
        let (width, height) = $size;
        insta::assert_snapshot!(format!("{}_{width}x{}", $name, height + 1), $rows);
    }};
}

#[test]
fn help_page() {
    for size in SIZES {
        let page = Pager::new("help", help::page(&Keymap::default(), &[])).with_columns();
        assert_page!("help", size, shown(size, page).drawn());
    }
}

#[test]
fn hotkeys_page_is_filtered_by_typing() {
    for size in SIZES {
        let mut page = shown(size, Pager::new("keys", help::keys(&Keymap::default())).with_columns());
        assert_page!("hotkeys", size, page.drawn());
        page.type_keys("/queue_un");
        let rows = page.drawn();
        assert!(rows.contains("undo the last removal") && !rows.contains("steer it"), "{rows}");
        page.key(KeyCode::Esc);
        assert!(page.drawn().contains("Anywhere"), "{}", page.drawn());
        page.key(KeyCode::End);
        let rows = page.drawn();
        assert!(rows.contains("cancel and scroll back") && rows.contains("100%"), "{rows}");
        assert_eq!(page.key(KeyCode::Esc).1, [Effect::Leave(LeaveScope::Top)]);
    }
}

#[test]
fn log_page() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let lines = [
        "2026-11-21T14:02:00.000Z  INFO tiller_session: opened",
        "2026-11-21T14:02:01.500Z  WARN tiller_engine::watch: can't watch /nowhere",
        "2026-11-21T14:02:02.000Z ERROR tiller_engine: the log can't be written: no space left",
    ];
    std::fs::write(file.path(), lines.join("\n")).unwrap();
    for size in SIZES {
        let TaskResult::Page { title, lines } = logs::page(Some(file.path()), None) else {
            panic!("the file can be read")
        };
        let rows = shown(size, Pager::new(&title, lines)).drawn();
        assert_page!("log", size, rows.replace(&file.path().display().to_string(), "[the file]"));
    }
}

#[test]
fn session_page() {
    let manager = SessionManager::new(Placement::Memory, "/home/ada/code/conf".into());
    let reader = manager.create(UnixMs(START)).reader();
    let path = "/home/ada/.local/share/tiller/sessions/--home-ada-code-conf--/2026-11-21T14-02-00-000Z_01JD6X9QWERTYUIOPASDFGHJKL.jsonl";
    let state = SessionState { path: Some(path.into()), name: None, ..state() };
    for size in SIZES {
        let about = ListContext {
            home: Some("/home/ada".into()),
            dirs: vec!["~/code/lib".into(), "/srv/docs (read-only)".into()],
            files: vec!["/home/ada/code/conf/AGENTS.md".into(), "/home/ada/.config/tiller/AGENTS.md".into()],
            width: Pager::columns(size.0),
        };
        let page = Pager::new("session", list_data::facts(&state, &reader, &about));
        assert_page!("session", size, shown(size, page).drawn());
    }
}

#[test]
fn context_page_shows_shares() {
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
    for size in SIZES {
        let home = std::path::Path::new("/home/ada");
        let page = Pager::new("context", list_data::context(&breakdown, Some(home), Pager::columns(size.0)));
        assert_page!("context", size, shown(size, page).drawn());
    }
}

#[test]
fn mcp_page_shows_each_server() {
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
