//! The terminal's events, read on a thread of their own: crossterm reads where it is told to, and may wait there for the rest of a
//! sequence.
//!
//! The thread looks how many bytes there are before crossterm 0.29 reads them, which takes two Escs that come together for one. They do
//! over a slow line, and from tmux, which waits with the first one for what may belong to it. It has no notice of signals: that the
//! terminal has another size is told by whoever waits for those.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, poll, read};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};
use nix::sys::select::{FD_SETSIZE, FdSet, select};
use nix::sys::termios;
use tokio::sync::mpsc;

use crate::terminal::while_ours;

/// What was read at once: as often as the loop looks, that is little, and a reader that is further ahead waits.
type Batch = io::Result<Vec<Event>>;
const BATCHES: usize = 16;

/// How long the thread rests when crossterm made nothing of what is there.
const REST: Duration = Duration::from_millis(1);

/// The terminal's events, in order. The thread ends with it.
pub(super) struct EventReader {
    batches: mpsc::Receiver<Batch>,
    ready: VecDeque<Event>,
    failed: Option<io::Error>,
    /// Closed, it tells the thread that nobody listens any more.
    _listens: Option<OwnedFd>,
}

impl EventReader {
    /// Begins to read. When that can't be, the first event is the error.
    pub(super) fn open() -> Self {
        let (sender, batches) = mpsc::channel(BATCHES);
        let begun = begin(sender);
        let (failed, listens) = match begun {
            Ok(listens) => (None, Some(listens)),
            Err(error) => (Some(error), None),
        };
        Self { batches, ready: VecDeque::new(), failed, _listens: listens }
    }

    /// The next one; `None` when the terminal is gone. Can be given up at any moment.
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

    /// The next one, if it is there already.
    pub(super) fn there(&mut self) -> Option<Event> {
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

/// Opens the terminal of this process, wherever stdin comes from.
pub(crate) fn open_terminal() -> io::Result<File> {
    File::open("/dev/tty")
}

fn begin(batches: mpsc::Sender<Batch>) -> io::Result<OwnedFd> {
    let stdin = io::stdin();
    // As crossterm chooses.
    let terminal: OwnedFd =
        if stdin.is_terminal() { stdin.as_fd().try_clone_to_owned()? } else { open_terminal()?.into() };
    // Of these no child has a copy, which would keep it open.
    let (left, listens) = io::pipe()?;
    let (left, listens) = (OwnedFd::from(left), OwnedFd::from(listens));
    thread::Builder::new().name("keys".to_owned()).spawn(move || read_on(&terminal, &left, &batches))?;
    Ok(listens)
}

/// Reads until nobody listens or the terminal is gone.
fn read_on(terminal: &OwnedFd, left: &OwnedFd, batches: &mpsc::Sender<Batch>) {
    while wait(terminal, left) {
        let batch = read_batch(terminal);
        let (is_over, is_empty) = (batch.is_err(), batch.as_ref().is_ok_and(Vec::is_empty));
        if is_empty {
            tell_anew(terminal);
            thread::sleep(REST);
        } else if batches.blocking_send(batch).is_err() || is_over {
            return;
        }
    }
}

/// Waits until there is something to read; false when there won't be.
fn wait(terminal: &OwnedFd, left: &OwnedFd) -> bool {
    let mut waited = [terminal, left].map(|fd| PollFd::new(fd.as_fd(), PollFlags::POLLIN));
    loop {
        match nix::poll::poll(&mut waited, PollTimeout::NONE) {
            Err(Errno::EINTR) => {}
            Err(_) => return false,
            Ok(_) => break,
        }
    }
    let [terminal_has, left_has] = waited.map(|fd| fd.revents().unwrap_or(PollFlags::empty()));
    if terminal_has.contains(PollFlags::POLLNVAL) {
        return wait_by_select(terminal, left);
    }
    left_has.is_empty() && terminal_has == PollFlags::POLLIN
}

/// The same where terminals can't be polled: macOS refuses `/dev/tty`.
fn wait_by_select(terminal: &OwnedFd, left: &OwnedFd) -> bool {
    if [terminal, left].iter().any(|fd| usize::try_from(fd.as_raw_fd()).map_or(true, |fd| fd >= FD_SETSIZE)) {
        return false;
    }
    loop {
        let mut ready = FdSet::new();
        ready.insert(terminal.as_fd());
        ready.insert(left.as_fd());
        match select(None, &mut ready, None, None, None) {
            Err(Errno::EINTR) => {}
            Err(_) => return false,
            // One that is gone can be read too, and has nothing.
            Ok(_) => return !ready.contains(left.as_fd()) && bytes(terminal) > 0,
        }
    }
}

/// How many bytes wait to be read; none of a terminal that is gone.
fn bytes(terminal: &OwnedFd) -> usize {
    rustix::io::ioctl_fionread(terminal).map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX))
}

fn read_batch(terminal: &OwnedFd) -> Batch {
    let count = bytes(terminal);
    let mut events = Vec::new();
    while poll(Duration::ZERO)? {
        match read()? {
            // Who waits for signals tells of it at once.
            Event::Resize(..) => {}
            event => events.push(event),
        }
    }
    Ok(with_every_escape(events, count))
}

/// Of bytes that are all Escs crossterm makes half as many events.
fn with_every_escape(events: Vec<Event>, bytes: usize) -> Vec<Event> {
    let escape = Event::Key(KeyEvent::from(KeyCode::Esc));
    if events.len() == bytes.div_ceil(2) && events.iter().all(|event| *event == escape) {
        vec![escape; bytes]
    } else {
        events
    }
}

/// Has the terminal tell again that there is something to read. crossterm is told once of what arrives together, reads a kilobyte,
/// and leaves the rest lying until the next key (it waits by epoll's edges). Setting the modes that are set already wakes whoever
/// waits for the terminal.
fn tell_anew(terminal: &OwnedFd) {
    while_ours(|| {
        if let Ok(modes) = termios::tcgetattr(terminal) {
            let _ = termios::tcsetattr(terminal, termios::SetArg::TCSANOW, &modes);
        }
    });
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn it_is_waited_for_what_comes_until_nobody_listens_or_nothing_can_come() {
        for wait in [wait, wait_by_select] {
            let (terminal, mut typed) = io::pipe().unwrap();
            let (left, listens) = io::pipe().unwrap();
            let (terminal, left) = (OwnedFd::from(terminal), OwnedFd::from(left));
            typed.write_all(b"a").unwrap();
            assert!(wait(&terminal, &left));
            drop(listens);
            assert!(!wait(&terminal, &left), "nobody listens");

            let (terminal, typed) = io::pipe().unwrap();
            let (left, _listens) = io::pipe().unwrap();
            drop(typed);
            assert!(!wait(&terminal.into(), &left.into()), "the terminal is gone");
        }
    }

    #[test]
    fn escs_that_come_together_are_as_many_as_there_were() {
        let key = |code| Event::Key(KeyEvent::from(code));
        let escapes = |count| vec![key(KeyCode::Esc); count];
        // What crossterm makes of so many bytes, and what it is.
        for (made, bytes, expected) in [
            (escapes(1), 1, escapes(1)),
            (escapes(1), 2, escapes(2)),
            (escapes(2), 3, escapes(3)),
            (escapes(2), 4, escapes(4)),
            // One of the keyboard protocol: `ESC [ 27 u`.
            (escapes(1), 5, escapes(1)),
            (escapes(2), 10, escapes(2)),
            (vec![key(KeyCode::Up)], 2, vec![key(KeyCode::Up)]),
            (vec![], 0, vec![]),
        ] {
            assert_eq!(with_every_escape(made.clone(), bytes), expected, "{made:?} of {bytes}");
        }
    }
}
