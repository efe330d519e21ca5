//! Keys for the transcript: scrolling, blocks, searching.

use super::walk::Check::{Has, Lacks, Top};
use super::walk::Step::{Type, Wait};
use super::walk::{KeySequence, Step, press};
use crate::sandbox::Sandbox;
use crate::screen::moving;
use tiller_test_support::terminal::Terminal;

const END: &str = "the answer to 198";

/// Many prompts; the screen shows ten of them.
fn long(sandbox: &Sandbox) -> Terminal {
    let log = moving::log(sandbox, 200);
    let terminal = sandbox.open_scripted(&[], &["--session", &log]);
    terminal.wait_for(END);
    terminal
}

/// The same during a streaming answer.
fn open_long_running(sandbox: &Sandbox) -> Terminal {
    let log = moving::log(sandbox, 200);
    let endless = r#"{"when": "talk", "text": "I could go on", "hang": true}"#;
    let terminal = sandbox.open_scripted(&[endless], &["--session", &log, "talk"]);
    terminal.wait_for("I could go on");
    terminal.wait_for("esc stops");
    terminal
}

const SCROLL: &[Step] = &[
    press("page_up", "pgup", &[Lacks(END), Has("more below")]),
    press("page_down", "pgdn", &[Has(END)]),
    press("top", "home", &[Top("▌ prompt 0 ")]),
    press("bottom", "end", &[Has(END), Lacks("more below")]),
    Type("a draft"),
    Wait(Has("❯ a draft")),
    press("oldest", "ctrl+home", &[Top("▌ prompt 0 "), Has("❯ a draft")]),
    press("newer_prompt", "alt+n", &[Top("▌ prompt 2 ")]),
    press("newer_prompt", "alt+pgdn", &[Top("▌ prompt 4 ")]),
    press("older_prompt", "alt+p", &[Top("▌ prompt 2 ")]),
    press("older_prompt", "alt+pgup", &[Top("▌ prompt 0 ")]),
    press("newest", "ctrl+end", &[Has(END), Lacks("more below")]),
];

pub(super) const SCROLLS: KeySequence = KeySequence { name: "scrolling", open: long, steps: SCROLL };
pub(super) const SCROLLS_RUNNING: KeySequence =
    KeySequence { name: "scrolling at work", open: open_long_running, steps: SCROLL };

const SEARCH: &[Step] = &[
    press("search", "ctrl+f", &[Has("stay · esc cancel")]),
    Type("prompt 19"),
    Wait(Has("5 of 5 ")),
    press("search_older", "enter", &[Has("4 of 5 ")]),
    press("search_older", "up", &[Has("3 of 5 ")]),
    press("search_newer", "shift+enter", &[Has("4 of 5 ")]),
    press("search_newer", "down", &[Has("5 of 5 ")]),
    press("search_clear", "ctrl+u", &[Lacks("of 5 ")]),
    Type("prompt 4"),
    Wait(Has("6 of 6 ")),
    press("search_back", "esc", &[Has(END), Lacks("stay · esc cancel")]),
    Type("\x06prompt 4"),
    Wait(Has("6 of 6 ")),
    press("search_back", "ctrl+c", &[Has(END), Lacks("stay · esc cancel")]),
    Type("\x06prompt 4"),
    Wait(Has("6 of 6 ")),
    press("search_stay", "tab", &[Has("▸ prompt 48 "), Lacks("stay · esc cancel")]),
    Type("\x1b"),
    Wait(Lacks("esc leave")),
    Type("\x06prompt 2"),
    Wait(Has("6 of 6 ")),
    press("search_stay", "ctrl+f", &[Has("▸ prompt 28 "), Lacks("stay · esc cancel")]),
];

pub(super) const SEARCHES: KeySequence = KeySequence { name: "searching", open: long, steps: SEARCH };
pub(super) const SEARCHES_RUNNING: KeySequence =
    KeySequence { name: "searching at work", open: open_long_running, steps: SEARCH };

/// A task with a plan.
fn planned(sandbox: &Sandbox) -> Terminal {
    let plan = r#"{"calls": [{"name": "update_plan", "arguments": {"steps": [
        {"step": "count", "status": "in_progress"}, {"step": "add", "status": "pending"}]}}]}"#;
    let plan = plan.replace('\n', " ");
    let terminal = sandbox.open_scripted(&[&plan, r#"{"text": "Planned."}"#], &["plan it"]);
    terminal.wait_for_answer("Planned.");
    terminal
}

const FOLD_PLAN: &[Step] = &[
    Wait(Has("· add")),
    press("fold_plan", "alt+t", &[Lacks("· add"), Has("done · count")]),
    Type("\x1bt"),
    Wait(Has("· add")),
];

pub(super) const PLAN: KeySequence = KeySequence { name: "the plan", open: planned, steps: FOLD_PLAN };

const AGENTS_STEPS: &[Step] = &[
    press("agents", "alt+g", &[Has("── agents "), Has("▸ explore")]),
    Type("\x1b"),
    Wait(Lacks("── agents ")),
];

pub(super) const AGENTS: KeySequence = KeySequence { name: "agents", open: counted, steps: AGENTS_STEPS };

const COUNT: &str = r#"{"think": "The line endings first, and what the lexer makes of them.\n\nThen the fixture, which may have mixed ones, and whoever wrote it.\n\nThe last thought of all.", "calls": [{"name": "bash", "arguments": {"command": "seq 100 130"}}]}"#;

fn counted(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_scripted(&[COUNT, r#"{"text": "Counted."}"#], &["count"]);
    terminal.wait_for_answer("Counted.");
    terminal
}

fn open_counted_running(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_scripted(&[COUNT, r#"{"text": "Counted.", "hang": true}"#], &["count"]);
    terminal.wait_for("Counted.");
    terminal.wait_for("esc stops");
    terminal
}

const FOLD: &[Step] = &[
    press("unfold_output", "ctrl+o", &[Has("│ 115")]),
    Type("\x0f"),
    Wait(Lacks("│ 115")),
    // Folded, it is one line, regardless of its length.
    press("unfold_thinking", "ctrl+t", &[Lacks("of them. Then the fixture")]),
    Type("\x14"),
    Wait(Has("of them. Then the fixture")),
    press("choose_older", "alt+k", &[Has("▸ Counted.")]),
    press("block_above", "up", &[Lacks("▸ Counted."), Has("▸")]),
    press("block_below", "down", &[Has("▸ Counted.")]),
    press("block_above", "k", &[Lacks("▸ Counted."), Has("▸")]),
    press("fold_block", "space", &[Has("│ 115")]),
    press("fold_block", "enter", &[Lacks("│ 115")]),
    press("copy_block", "c", &[Has(" 32 lines to the terminal")]),
    press("block_below", "j", &[Has("▸ Counted.")]),
    press("leave_block", "esc", &[Lacks("▸")]),
    Type("\x1bk"),
    Wait(Has("▸ Counted.")),
    Type("\x1bk"),
    Wait(Lacks("▸ Counted.")),
    press("choose_newer", "alt+j", &[Has("▸ Counted.")]),
];

pub(super) const FOLDS: KeySequence = KeySequence { name: "folding", open: counted, steps: FOLD };
pub(super) const FOLDS_RUNNING: KeySequence =
    KeySequence { name: "folding at work", open: open_counted_running, steps: FOLD };
