//! Keys in the tree.

use serde_json::{Value, json};

use super::walk::Check::{Has, Lacks};
use super::walk::Step::{Type, Wait, WaitForQuestion};
use super::walk::{KeySequence, press};
use crate::sandbox::Sandbox;
use tiller_test_support::terminal::Terminal;

/// An entry: its number, its parent's number, its author and text.
type EntryRow<'a> = (u32, Option<u32>, &'a str, &'a str);

fn entry((id, parent, role, text): EntryRow<'_>) -> Value {
    let message = match role {
        "user" => json!({"role": "user", "content": text}),
        _ => {
            json!({"role": "assistant", "content": [{"type": "text", "text": text}], "api": "x", "provider": "x",
            "model": "x", "stopReason": "stop", "timestamp": 0,
            "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}}})
        }
    };
    json!({"type": "message", "id": format!("{id:08x}"), "parentId": parent.map(|id| format!("{id:08x}")),
        "timestamp": "2026-11-21T14:02:00.000Z", "message": message})
}

/// Three branches after the first answer, and the tree above them: the third one continues, and one is at its
/// end.
fn tree(sandbox: &Sandbox) -> Terminal {
    let head = json!({"type": "session", "version": 3, "id": "01JD6X9QWERTYUIOPASDFGHJKL",
        "timestamp": "2026-11-21T14:02:00.000Z", "cwd": sandbox.project().canonicalize().unwrap()});
    let long_lines: Vec<String> = (1..=60).map(|n| format!("- item {n}")).collect();
    let long_lines = long_lines.join("\n");
    let entries: [EntryRow<'_>; 10] = [
        (1, None, "user", "root question"),
        (2, Some(1), "assistant", "root answer"),
        (3, Some(2), "user", "left question"),
        (4, Some(3), "assistant", "left answer"),
        (5, Some(2), "user", "middle question"),
        (6, Some(5), "assistant", "middle answer"),
        (7, Some(2), "user", "right question"),
        (8, Some(7), "assistant", &long_lines),
        (9, Some(8), "user", "last question"),
        (10, Some(9), "assistant", "last answer"),
    ];
    let lines: Vec<String> =
        std::iter::once(head).chain(entries.map(entry)).map(|line| line.to_string()).collect();
    let log = sandbox.write("tree.jsonl", &(lines.join("\n") + "\n")).display().to_string();
    let mut terminal = sandbox.open_scripted(&[], &["--session", &log]);
    terminal.wait_for("last answer");
    terminal.send("/tree");
    terminal.wait_for("❯ /tree");
    terminal.send("\r");
    terminal.wait_for("▸●      last answer");
    terminal
}

pub(super) const TREE: KeySequence = KeySequence {
    name: "the tree",
    open: tree,
    steps: &[
        press("fork_point", "alt+left", &[Has("▸•   root answer")]),
        press("next_branch", "alt+down", &[Has("▸  ├─ ▌ left question")]),
        press("next_branch", "shift+down", &[Has("▸  ├─ ▌ middle question")]),
        press("previous_branch", "alt+up", &[Has("▸  ├─ ▌ left question")]),
        press("leaf", "alt+right", &[Has("▸●      last answer")]),
        press("previous_branch", "shift+up", &[Has("▸• └─ ▌ right question")]),
        press("leaf", "shift+right", &[Has("▸●      last answer")]),
        press("fork_point", "shift+left", &[Has("▸•   root answer")]),
        press("fold", "left", &[Has("folded"), Lacks("left question")]),
        press("unfold", "right", &[Has("left question"), Lacks("folded")]),
        Type("\x1b[1;3C"),
        Wait(Has("▸●      last answer")),
        press("fold_others", "ctrl+f", &[Has("1 folded"), Lacks("left answer")]),
        Type("\x06"),
        Wait(Has("left answer")),
        Type("\x1b[A\x1b[A"),
        Wait(Has(" • item 1\n")),
        press("preview_down", "ctrl+e", &[Lacks(" • item 1\n")]),
        press("preview_up", "ctrl+y", &[Has(" • item 1\n")]),
        press("preview_down", "alt+pgdn", &[Lacks(" • item 1\n")]),
        press("preview_up", "alt+pgup", &[Has(" • item 1\n")]),
        press("preview", "ctrl+o", &[Lacks(" • item 1\n")]),
        press("edit_label", "ctrl+l", &[Has("enter saves the label")]),
        Type("good\r"),
        Wait(Has("[good]")),
        press("tree_filter", "tab", &[Has("user messages")]),
        Type("\x1b[Z\t\t\t"),
        Wait(Has("without tool results")),
        Type("middle q"),
        Wait(Has("1 found")),
        press("hide_branch", "ctrl+x", &[Has("hide this entry and the one after it")]),
        WaitForQuestion("▸ hide this"),
        Type("\r"),
        Wait(Lacks("hide this")),
        press("clear_filter", "ctrl+u", &[Has("left question"), Lacks("middle question")]),
        press("show_hidden", "ctrl+a", &[Has("middle question"), Has("with hidden")]),
        Type("right q"),
        Wait(Has("1 found")),
        press("fork_here", "alt+enter", &[Lacks("── tree"), Has("❯ right question")]),
    ],
};
