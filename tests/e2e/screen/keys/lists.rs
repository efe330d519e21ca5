//! Keys in lists and pages.

use super::open_idle;
use super::walk::Check::{Has, Lacks};
use super::walk::Step::{Type, Wait};
use super::walk::{KeySequence, press};
use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

pub(super) const SETTINGS: KeySequence = KeySequence {
    name: "a list",
    open: open_idle,
    steps: &[
        Type("/settings"),
        Wait(Has("❯ /settings")),
        Type("\r"),
        Wait(Has("▸ provider ")),
        press("down", "down", &[Has("▸ model ")]),
        press("down", "ctrl+n", &[Has("▸ window ")]),
        press("up", "up", &[Has("▸ model ")]),
        press("up", "ctrl+p", &[Has("▸ provider ")]),
        press("list_page_down", "pgdn", &[Lacks("▸ provider ")]),
        press("list_page_up", "pgup", &[Has("▸ provider ")]),
        press("last", "end", &[Has("▸ log.file ")]),
        press("first", "home", &[Has("▸ provider ")]),
        Type("steering mode"),
        Wait(Has("▸ steering_mode ")),
        press("delete_word", "ctrl+w", &[Has("❯ steering\n")]),
        press("clear_filter", "ctrl+u", &[Has("type to filter")]),
        Type("steering_mode"),
        Wait(Has("▸ steering_mode ")),
        press("accept", "enter", &[Has("one-at-a-time · yours")]),
        press("reset_setting", "ctrl+x", &[Lacks("one-at-a-time · yours")]),
        Type("\r"),
        Wait(Has("one-at-a-time · yours")),
        press("reset_setting", "delete", &[Lacks("one-at-a-time · yours")]),
        Type("\x15"),
        Wait(Has("type to filter")),
        press("back", "esc", &[Lacks("── settings")]),
        Type("/settings"),
        Wait(Has("❯ /settings")),
        Type("\r"),
        Wait(Has("── settings")),
        press("close", "ctrl+c", &[Lacks("── settings")]),
        Type("/add-dir .."),
        Wait(Has("❯ /add-dir ..")),
        Type("\r"),
        Wait(Has("Allowed for this session: ")),
        Type("/permissions"),
        Wait(Has("❯ /permissions")),
        Type("\r"),
        Wait(Has("▸ reading and writing in ")),
        press("revoke", "delete", &[Has("revoked: reading and writing in ")]),
        Type("\x1b"),
        Wait(Lacks("── permissions")),
        Type("?"),
        Wait(Has("── help")),
        press("leave_page", "q", &[Lacks("── help")]),
        Type("?"),
        Wait(Has("── help")),
        press("leave_page", "?", &[Lacks("── help")]),
        Type("?"),
        Wait(Has("── help")),
        press("leave_page", "enter", &[Lacks("── help")]),
        Type("?"),
        Wait(Has("Describe a task.")),
        press("find_in_page", "/", &[Has("─ / · ")]),
        Type("hotkeys"),
        Wait(Lacks("Describe a task.")),
        Type("\x1b"),
        Wait(Has("Describe a task.")),
    ],
};

/// Two sessions, the second of them open.
fn two(sandbox: &Sandbox) -> Terminal {
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Answer."}"#], &["question one"]);
    terminal.wait_for("Answer.");
    terminal.quit();
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Answer."}"#], &["question two"]);
    terminal.wait_for_answer("Answer.");
    terminal.send("/resume");
    terminal.wait_for("❯ /resume");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("question one");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ question one");
    terminal
}

pub(super) const SESSIONS: KeySequence = KeySequence {
    name: "the list of sessions",
    open: two,
    steps: &[
        press("threads", "ctrl+t", &[Has("ctrl+t threads")]),
        press("rename_session", "ctrl+r", &[Has("name ❯")]),
        Type("the first\r"),
        Wait(Has("▸ the first · question one")),
        press("trash_session", "ctrl+x", &[Has("moved to the trash"), Lacks("▸ the first")]),
        press("undo_trash", "ctrl+z", &[Has("restored"), Has("the first · question one")]),
        Type("first"),
        Wait(Has("❯ first")),
        Wait(Has("▸ the first")),
        press("trash_session", "delete", &[Has("moved to the trash"), Lacks("▸ the first")]),
        press("switch", "tab", &[Has("── sessions in all directories")]),
    ],
};
