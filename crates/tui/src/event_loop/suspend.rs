//! Suspending: releases the terminal for the shell or an external editor, and takes it back.

use std::io;
use std::io::{IsTerminal, Write};
use std::process::Command;
use std::time::Duration;

use futures_util::FutureExt;
use nix::sys::signal::{Signal, raise};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};

use crate::block::notice_level::NoticeLevel;
use crate::event_loop::EventLoop;
use crate::event_loop::event::Signals;
use crate::event_loop::suspend_reason::SuspendReason;
use crate::exit::ExitReason;
use crate::frame_pacer::Dirty;
use crate::input::reader::open_terminal;
use crate::message::{Msg, TaskResult};
use crate::terminal::Screen;

/// Time for SIGCONT to arrive after the process continues: enough for several thread switches on a busy
/// machine.
const CONTINUE_TIMEOUT: Duration = Duration::from_millis(50);

impl EventLoop {
    /// Releases the terminal, runs the suspension to its end, and takes the terminal back. No keys are read
    /// in the meantime.
    pub(super) async fn run_suspension(&mut self) -> Option<ExitReason> {
        self.terminal.release();
        while self.suspend.is_some() {
            self.advance_suspension().await;
        }
        self.reset_terminal_state();
        // An interrupt in the meantime was meant for the other program.
        let _ = self.signals.interrupt.recv().now_or_never();
        match Screen::enter(&self.options.terminal, &self.terminal.modes) {
            Ok(screen) => {
                self.app.ui.size = screen.size();
                self.terminal.screen = Some(screen);
                None
            }
            Err(_) => Some(ExitReason::HungUp),
        }
    }

    /// Restores the terminal after an unannounced stop, during which other programs may have used it.
    pub(super) fn restore_terminal(&mut self) -> Option<ExitReason> {
        self.reset_terminal_state();
        let taken = self
            .terminal
            .screen
            .as_mut()
            .map_or(Ok(()), |screen| screen.reenter(self.options.terminal.mouse));
        taken.err().map(|_| ExitReason::HungUp)
    }

    /// Resets the assumptions about the terminal's state.
    fn reset_terminal_state(&mut self) {
        // The release of a mouse button may have been missed.
        self.app.transcript.end_press();
        self.notifier.reset();
        self.app.dirty = Dirty::ByUser;
    }

    async fn advance_suspension(&mut self) {
        match &mut self.suspend {
            Some(SuspendReason::Stop) => {
                stop();
                self.suspend = Some(SuspendReason::AwaitContinue);
            }
            Some(SuspendReason::AwaitContinue) => {
                self.signals.await_continue().await;
                self.suspend = None;
            }
            Some(SuspendReason::Edit(text)) => {
                let (editor, text) = (self.options.editor.clone(), std::mem::take(text));
                let editing = spawn_blocking(move || edit_text(editor.as_deref().unwrap_or("vi"), &text));
                self.suspend = Some(SuspendReason::Editing(editing));
            }
            // The editor shares this process group, so stopping the editor also stops this process.
            Some(SuspendReason::Editing(editing)) => {
                tokio::select! {
                    done = editing => {
                        self.suspend = None;
                        self.apply_edited(done.unwrap_or_else(|fault| Err(fault.into())));
                    }
                    _ = self.signals.stop.recv() => {
                        stop();
                        self.signals.await_continue().await;
                    }
                }
            }
            None => {}
        }
    }

    /// Applies the text of the external editor.
    fn apply_edited(&mut self, edited: io::Result<String>) {
        match edited {
            Ok(text) => {
                self.draft.note_typing(Instant::now());
                self.apply(Msg::TaskResult(TaskResult::Edited(text).into()));
            }
            Err(error) => {
                let hint = Some("set VISUAL or EDITOR to another editor".to_owned());
                self.app.transcript.notice(NoticeLevel::Error, format!("the editor failed: {error}"), hint);
            }
        }
    }
}

impl Signals {
    /// Consumes SIGCONT, which would otherwise restore the terminal a second time.
    async fn await_continue(&mut self) {
        let _ = timeout(CONTINUE_TIMEOUT, self.continued.recv()).await;
        let _ = self.stop.recv().now_or_never();
    }
}

/// Stops the process until SIGCONT. SIGTSTP is caught, so this raises SIGTTOU. Unlike SIGSTOP, the system
/// ignores SIGTTOU if no shell could continue the process.
fn stop() {
    let _ = raise(Signal::SIGTTOU);
}

fn edit_text(editor: &str, text: &str) -> io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("tiller-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // The editor may be a command line (`code --wait`); the file name is passed as a separate argument.
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path());
    if !io::stdin().is_terminal() {
        // Standard input is a pipe, so the editor reads keys from the terminal.
        command.stdin(open_terminal()?);
    }
    let status = command.status()?;
    match status.code() {
        Some(0) => {}
        // The shell's exit codes for a missing and a non-executable program.
        Some(127) => return Err(io::Error::other(format!("program not found: `{editor}`"))),
        Some(126) => return Err(io::Error::other(format!("not executable: `{editor}`"))),
        _ => return Err(io::Error::other(format!("`{editor}` failed: {status}"))),
    }
    let text = std::fs::read_to_string(file.path())?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}
