//! Giving the terminal to somebody else, and taking it back.

use std::io::{self, IsTerminal, Write};
use std::process::Command;
use std::time::Duration;

use futures_util::FutureExt;
use nix::sys::signal::{Signal, raise};
use tokio::task::{JoinHandle, spawn_blocking};
use tokio::time::{Instant, timeout};

use super::EventLoop;
use super::event::Signals;
use crate::ExitReason;
use crate::app::{Msg, TaskResult};
use crate::block::NoticeLevel;
use crate::frame_pacer::Dirty;
use crate::input::open_terminal;
use crate::mouse::Mouse;
use crate::terminal::Screen;

/// Time within which the system tells that we go on, once we do: some switches between threads of a busy machine.
const CONTINUING: Duration = Duration::from_millis(50);

/// Something for which the terminal is given back for a while. What is awaited meanwhile may be given up and taken up again, as when the
/// session is open by then; so how far it is stands here.
pub(super) enum SuspendReason {
    /// To stop, until somebody has us go on.
    Stop,
    /// To hear that we go on.
    GoOn,
    /// To let the user edit this draft with a program of theirs.
    Edit(String),
    /// To wait until that ends.
    Editing(JoinHandle<io::Result<String>>),
}

impl EventLoop {
    /// Gives the terminal back, does something, and takes it over again. Nothing reads the keys meanwhile.
    pub(super) async fn run_errand(&mut self) -> Option<ExitReason> {
        self.console.give_back();
        while self.errand.is_some() {
            self.go_further().await;
        }
        self.look_anew();
        // What was meant for somebody else who had the terminal is over.
        let _ = self.signals.interrupt.recv().now_or_never();
        match Screen::enter(&self.options.terminal) {
            Ok(screen) => {
                self.app.place.size = screen.size();
                self.console.screen = Some(screen);
                None
            }
            Err(_) => Some(ExitReason::HungUp),
        }
    }

    /// We were stopped without a word before, and somebody else may have had the terminal.
    pub(super) fn take_again(&mut self) -> Option<ExitReason> {
        self.look_anew();
        let taken = self
            .console
            .screen
            .as_mut()
            .map_or(Ok(()), |screen| screen.take_again(self.options.terminal.mouse));
        taken.err().map(|_| ExitReason::HungUp)
    }

    /// What was known of the terminal isn't any more.
    fn look_anew(&mut self) {
        // Whether the button is still held, nobody heard.
        self.app.moving.mouse = Mouse::default();
        self.notifier.forget();
        self.app.stale = Dirty::ByUser;
    }

    /// Gets further with what the terminal was given back for.
    async fn go_further(&mut self) {
        match &mut self.errand {
            Some(SuspendReason::Stop) => {
                stop();
                self.errand = Some(SuspendReason::GoOn);
            }
            Some(SuspendReason::GoOn) => {
                self.signals.go_on().await;
                self.errand = None;
            }
            Some(SuspendReason::Edit(text)) => {
                let (editor, text) = (self.options.editor.clone(), std::mem::take(text));
                let editing = spawn_blocking(move || edited(editor.as_deref().unwrap_or("vi"), &text));
                self.errand = Some(SuspendReason::Editing(editing));
            }
            // The editor shares our group: whoever stops it stops us.
            Some(SuspendReason::Editing(editing)) => {
                tokio::select! {
                    done = editing => {
                        self.errand = None;
                        self.take_edited(done.unwrap_or_else(|fault| Err(fault.into())));
                    }
                    _ = self.signals.stop.recv() => {
                        stop();
                        self.signals.go_on().await;
                    }
                }
            }
            None => {}
        }
    }

    /// Takes what another editor made of the draft.
    fn take_edited(&mut self, edited: io::Result<String>) {
        match edited {
            Ok(text) => {
                self.draft.typed(Instant::now());
                self.take(Msg::Report(TaskResult::Edited(text)));
            }
            Err(error) => {
                let hint = Some("set VISUAL or EDITOR to the editor you like".to_owned());
                self.app.say(NoticeLevel::Error, format!("the editor failed: {error}"), hint);
            }
        }
    }
}

impl Signals {
    /// Hears that we go on: heard later it would have the terminal taken over twice.
    async fn go_on(&mut self) {
        let _ = timeout(CONTINUING, self.continued.recv()).await;
        let _ = self.stop.recv().now_or_never();
    }
}

/// Stops, until somebody has us go on. SIGTSTP is heard instead of stopping us, so another of its kind does: one that, other than
/// SIGSTOP, the system passes over where there is no shell to have us go on.
fn stop() {
    let _ = raise(Signal::SIGTTOU);
}

fn edited(editor: &str, text: &str) -> io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("tiller-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // The editor is a shell's words (`code --wait`); the file's name is passed beside them, never as one of them.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path());
    if !io::stdin().is_terminal() {
        // Where text was piped in, the keys come from the terminal all the same.
        command.stdin(open_terminal()?);
    }
    let status = command.status()?;
    match status.code() {
        Some(0) => {}
        // So says the shell of what isn't there, or can't be run.
        Some(127) => return Err(io::Error::other(format!("there is no program `{editor}`"))),
        Some(126) => return Err(io::Error::other(format!("`{editor}` can't be run"))),
        _ => return Err(io::Error::other(format!("`{editor}` ended with {status}"))),
    }
    let text = std::fs::read_to_string(file.path())?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}
