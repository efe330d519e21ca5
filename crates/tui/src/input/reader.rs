//! Reads terminal events on a separate thread, because crossterm blocks the thread that calls it until a
//! sequence is complete.
//!
//! The thread counts the waiting bytes before crossterm 0.29 reads them, because crossterm takes two Escs
//! that arrive together for one. This happens over slow lines and in tmux, which delays an Esc in case it
//! starts a sequence. The thread ignores resizes: the event loop gets them by signal.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, poll, read};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::select::{FD_SETSIZE, FdSet, select};
use nix::sys::termios;
use tokio::sync::mpsc;

use crate::terminal::modes::TerminalModes;

/// Events of one read. The loop empties the channel often, so a small capacity is enough; the thread waits
/// when it is full.
type Batch = io::Result<Vec<Event>>;
const BATCHES: usize = 16;

/// Delay of the thread if crossterm made no event from the waiting bytes.
const RETRY_DELAY: Duration = Duration::from_millis(1);

/// The terminal's events, in order. The thread ends when this is dropped.
pub(super) struct EventReader {
    batches: mpsc::Receiver<Batch>,
    ready: VecDeque<Event>,
    failed: Option<io::Error>,
    /// Closed on drop, which ends the thread.
    _shutdown: Option<OwnedFd>,
}

impl EventReader {
    /// Starts the thread. If that fails, the first event is the error.
    pub(super) fn open(modes: Arc<TerminalModes>) -> Self {
        let (sender, batches) = mpsc::channel(BATCHES);
        let started = start_thread(sender, modes);
        let (failed, guard) = match started {
            Ok(guard) => (None, Some(guard)),
            Err(error) => (Some(error), None),
        };
        Self { batches, ready: VecDeque::new(), failed, _shutdown: guard }
    }

    /// The next event; `None` when the terminal hung up. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<io::Result<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if let Some(error) = self.failed.take() {
                return Some(Err(error));
            }
            let batch = self.batches.recv().await?;
            self.take(batch);
        }
    }

    /// The next event if it has arrived.
    pub(super) fn try_next(&mut self) -> Option<Event> {
        while self.ready.is_empty() {
            let batch = self.batches.try_recv().ok()?;
            self.take(batch);
        }
        self.ready.pop_front()
    }

    fn take(&mut self, batch: Batch) {
        match batch {
            Ok(events) => self.ready.extend(events),
            Err(error) => self.failed = Some(error),
        }
    }
}

/// Opens the controlling terminal, even if stdin is a pipe.
pub(crate) fn open_terminal() -> io::Result<File> {
    File::open("/dev/tty")
}

fn start_thread(batches: mpsc::Sender<Batch>, modes: Arc<TerminalModes>) -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    // The same choice as crossterm's.
    let terminal: OwnedFd =
        if stdin.is_terminal() { stdin.as_fd().try_clone_to_owned()? } else { open_terminal()?.into() };
    // Created close-on-exec: a copy in a child process would keep the pipe open.
    let (shutdown, guard) = io::pipe()?;
    let (shutdown, guard) = (OwnedFd::from(shutdown), OwnedFd::from(guard));
    thread::Builder::new()
        .name("keys".to_owned())
        .spawn(move || read_loop(&terminal, &shutdown, &batches, &modes))?;
    Ok(guard)
}

/// Reads until the receiver is dropped or the terminal hangs up.
fn read_loop(terminal: &OwnedFd, shutdown: &OwnedFd, batches: &mpsc::Sender<Batch>, modes: &TerminalModes) {
    while wait(terminal, shutdown) {
        let batch = read_batch(terminal);
        let (is_over, is_empty) = (batch.is_err(), batch.as_ref().is_ok_and(Vec::is_empty));
        if is_empty {
            wake_epoll(terminal, modes);
            thread::sleep(RETRY_DELAY);
        } else if batches.blocking_send(batch).is_err() || is_over {
            return;
        }
    }
}

/// Waits for input; returns false if no more input can arrive.
fn wait(terminal: &OwnedFd, shutdown: &OwnedFd) -> bool {
    let mut waited = [terminal, shutdown].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
    loop {
        match nix::poll::poll(&mut waited, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(_) => return false,
            Ok(_) => break,
        }
    }
    let [terminal_has, left_has] = waited.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
    if terminal_has.contains(PollFlags::POLLNVAL) {
        return wait_with_select(terminal, shutdown);
    }
    left_has.is_empty() && terminal_has == PollFlags::POLLIN
}

/// Waits for input with `select`, because macOS can't poll `/dev/tty`.
fn wait_with_select(terminal: &OwnedFd, shutdown: &OwnedFd) -> bool {
    if [terminal, shutdown]
        .iter()
        .any(|fd| usize::try_from(fd.as_raw_fd()).map_or(true, |fd| fd >= FD_SETSIZE))
    {
        return false;
    }
    loop {
        let mut ready = FdSet::new();
        ready.insert(terminal.as_fd());
        ready.insert(shutdown.as_fd());
        match select(None, &mut ready, None, None, None) {
            Err(Errno::EINTR) => {}
            Err(_) => return false,
            // A terminal that hung up is readable with zero bytes.
            Ok(_) => return !ready.contains(shutdown.as_fd()) && available_bytes(terminal) > 0,
        }
    }
}

/// Returns the number of bytes available to read; zero after a hangup.
fn available_bytes(terminal: &OwnedFd) -> usize {
    rustix::io::ioctl_fionread(terminal).map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

fn read_batch(terminal: &OwnedFd) -> Batch {
    let count = available_bytes(terminal);
    let mut events = Vec::new();
    while poll(Duration::ZERO)? {
        match read()? {
            // The event loop gets resizes by signal.
            Event::Resize(..) => {}
            event => events.push(event),
        }
    }
    Ok(restore_escapes(events, count))
}

/// Restores the number of Escs: from bytes that are all Escs, crossterm makes half as many events.
fn restore_escapes(events: Vec<Event>, bytes: usize) -> Vec<Event> {
    let escape = Event::Key(KeyEvent::from(KeyCode::Esc));
    if events.len() == bytes.div_ceil(2) && events.iter().all(|event| *event == escape) {
        vec![escape; bytes]
    } else {
        events
    }
}

/// Makes the terminal report waiting input again. crossterm gets one edge-triggered epoll event for bytes
/// that arrive together, reads a kilobyte, and leaves the rest until the next key. Setting the current modes
/// again triggers another event.
fn wake_epoll(terminal: &OwnedFd, modes: &TerminalModes) {
    modes.while_taken_over(|| {
        if let Ok(current) = termios::tcgetattr(terminal) {
            let _ = termios::tcsetattr(terminal, termios::SetArg::TCSANOW, &current);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn wait_ends_with_input_receiver_or_terminal() {
        for wait in [wait, wait_with_select] {
            let (terminal, mut typed) = io::pipe().unwrap();
            let (shutdown, guard) = io::pipe().unwrap();
            let (terminal, shutdown) = (OwnedFd::from(terminal), OwnedFd::from(shutdown));
            typed.write_all(b"a").unwrap();
            assert!(wait(&terminal, &shutdown));
            drop(guard);
            assert!(!wait(&terminal, &shutdown), "the receiver is gone");

            let (terminal, typed) = io::pipe().unwrap();
            let (shutdown, _listens) = io::pipe().unwrap();
            drop(typed);
            assert!(!wait(&terminal.into(), &shutdown.into()), "the terminal is gone");
        }
    }

    #[test]
    fn read_batch_keeps_every_escape() {
        let key = |code| Event::Key(KeyEvent::from(code));
        let escapes = |count| vec![key(KeyCode::Esc); count];
        // The events that crossterm makes from so many bytes, and the real ones.
        for (made, bytes, expected) in [
            (escapes(1), 1, escapes(1)),
            (escapes(1), 2, escapes(2)),
            (escapes(2), 3, escapes(3)),
            (escapes(2), 4, escapes(4)),
            // An Esc of the keyboard protocol: `ESC [ 27 u`.
            (escapes(1), 5, escapes(1)),
            (escapes(2), 10, escapes(2)),
            (vec![key(KeyCode::Up)], 2, vec![key(KeyCode::Up)]),
            (vec![], 0, vec![]),
        ] {
            assert_eq!(restore_escapes(made.clone(), bytes), expected, "{made:?} of {bytes}");
        }
    }
}
