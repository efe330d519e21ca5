//! Keys that suspend or quit tiller.

use super::walk::Check::{Has, Lacks};
use super::walk::Step::{Type, Wait};
use super::walk::{KeySequence, press};
use crate::sandbox::Sandbox;
use crate::screen::terminals::in_a_shell;
use tiller_test_support::terminal::Terminal;

/// In a shell with an `EDITOR`.
fn in_shell(sandbox: &Sandbox) -> Terminal {
    sandbox.write("editor.sh", "printf ' and more' >> \"$1\"\n");
    in_a_shell(sandbox, r#"{"text": "I could go on"}"#)
}

pub(super) const AWAY: KeySequence = KeySequence {
    name: "leaving",
    open: in_shell,
    steps: &[
        Wait(Lacks("esc stops")),
        Type("a draft"),
        Wait(Has("❯ a draft\n")),
        press("external_editor", "ctrl+g", &[Has("❯ a draft and more\n")]),
        press("suspend", "ctrl+z", &[Has("Stopped"), Lacks("❯")]),
        Type("clear; fg\r"),
        Wait(Has("❯ a draft and more\n")),
        Type("\x03"),
        Wait(Lacks("a draft")),
        press("quit", "ctrl+d", &[Has("shell>"), Has("tiller --session")]),
    ],
};
