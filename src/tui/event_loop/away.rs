//! Giving the terminal to somebody else, and taking it back.

use std::io::Write;
use std::process::Command;

use futures_util::FutureExt;
use tokio::time::Instant;

use super::Front;
use crate::tui::ExitReason;
use crate::tui::app::{Input, Report};
use crate::tui::block::Level;
use crate::tui::mouse::Mouse;
use crate::tui::pace::Stale;
use crate::tui::terminal::Screen;

impl Front {
    /// Gives the terminal back, does something, and takes it over again. Nothing reads the keys meanwhile.
    pub(super) fn away(&mut self, what: impl FnOnce(&mut Self)) -> Option<ExitReason> {
        self.keys = None;
        self.screen = None;
        what(self);
        // Whether the button is still held, nobody heard.
        self.app.moving.mouse = Mouse::default();
        // What was meant for somebody else who had the terminal, and that we go on again, is known.
        let _ = (self.signals.interrupt.recv().now_or_never(), self.signals.continued.recv().now_or_never());
        self.notifier.forget();
        match Screen::enter(&self.options.terminal.reach, self.options.terminal.mouse) {
            Ok(screen) => {
                self.app.place.size = screen.size();
                self.screen = Some(screen);
                self.app.stale = Stale::ByUser;
                None
            }
            Err(_) => Some(ExitReason::HungUp),
        }
    }

    /// Lets the user edit the draft with a program of theirs.
    pub(super) fn edit(&mut self, text: &str) {
        match edited(self.options.editor.as_deref().unwrap_or("vi"), text) {
            Ok(text) => {
                self.draft.typed(Instant::now());
                self.take(Input::Report(Report::Edited(text)));
            }
            Err(error) => {
                let hint = Some("set VISUAL or EDITOR to the editor you like".to_owned());
                self.app.say(Level::Error, format!("the editor failed: {error}"), hint);
            }
        }
    }
}

fn edited(editor: &str, text: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("tiller-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // The editor is a shell's words (`code --wait`); the file's name is passed beside them, never as one of them.
    let status =
        Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status()?;
    match status.code() {
        Some(0) => {}
        // So says the shell of what isn't there, or can't be run.
        Some(127) => return Err(std::io::Error::other(format!("there is no program `{editor}`"))),
        Some(126) => return Err(std::io::Error::other(format!("`{editor}` can't be run"))),
        _ => return Err(std::io::Error::other(format!("`{editor}` ended with {status}"))),
    }
    let text = std::fs::read_to_string(file.path())?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}
