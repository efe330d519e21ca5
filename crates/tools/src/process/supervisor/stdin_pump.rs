//! The pump that passes the supervisor's stdin to the program.
//!
//! It never blocks: a program that doesn't read must not prevent the supervisor from noticing that tiller is
//! gone.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ChildStdin;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};

/// Buffer size in bytes, the capacity of a pipe on Linux. Nothing is read while the buffer is full.
const CAPACITY: usize = 64 * 1024;

/// The buffer between the supervisor's stdin and the program's.
pub(super) struct StdinPump {
    /// The program's stdin; `None` once either side has closed it.
    sink: Option<ChildStdin>,
    buffer: Vec<u8>,
    stdin: StdinState,
}

/// The state of the supervisor's stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StdinState {
    Open,
    /// All writers are gone; bytes may still be in the pipe.
    HungUp,
    /// Read to its end.
    Ended,
}

/// The poll result of the supervisor's stdin.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Readiness {
    readable: bool,
    hung_up: bool,
}

impl Readiness {
    pub(super) fn from_poll(poll_list: &[PollFd<'_>]) -> Self {
        let events = poll_list.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty());
        let hangup = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
        Self { readable: events.contains(PollFlags::POLLIN), hung_up: events.intersects(hangup) }
    }
}

impl StdinPump {
    pub(super) fn new(sink: ChildStdin) -> nix::Result<Self> {
        fcntl(&sink, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { sink: Some(sink), buffer: Vec::new(), stdin: StdinState::Open })
    }

    /// Returns true if all writers of stdin are gone.
    pub(super) fn has_ended(&self) -> bool {
        self.stdin != StdinState::Open
    }

    /// Lists the descriptors to poll: stdin first, unless poll would keep returning immediately, and the
    /// program's stdin while bytes are buffered.
    pub(super) fn poll_list<'a>(&'a self, stdin: BorrowedFd<'a>) -> Vec<PollFd<'a>> {
        let has_room = self.buffer.len() < CAPACITY;
        let events = if has_room { PollFlags::POLLIN } else { PollFlags::empty() };
        let is_polled = match self.stdin {
            StdinState::Open => true,
            StdinState::HungUp => has_room,
            StdinState::Ended => false,
        };
        let stdin = is_polled.then(|| PollFd::new(stdin, events));
        let sink = self.sink.as_ref().filter(|_| !self.buffer.is_empty());
        stdin.into_iter().chain(sink.map(|sink| PollFd::new(sink.as_fd(), PollFlags::POLLOUT))).collect()
    }

    /// Reads the available bytes and writes as many as the program accepts.
    pub(super) fn transfer(&mut self, stdin: BorrowedFd<'_>, readiness: Readiness) {
        let has_room = self.buffer.len() < CAPACITY;
        if readiness.hung_up && self.stdin == StdinState::Open {
            self.stdin = StdinState::HungUp;
        }
        if has_room && self.stdin != StdinState::Ended && (readiness.readable || readiness.hung_up) {
            self.read(stdin);
        }
        self.write();
        if self.stdin == StdinState::Ended && self.buffer.is_empty() {
            self.sink = None;
        }
    }

    fn read(&mut self, stdin: BorrowedFd<'_>) {
        let mut chunk = [0; CAPACITY];
        match nix::unistd::read(stdin, &mut chunk) {
            Ok(0) => self.stdin = StdinState::Ended,
            Ok(count) if self.sink.is_some() => self.buffer.extend_from_slice(&chunk[..count]),
            // The program no longer reads; the input is still drained, so that its end is noticed.
            Ok(_) => {}
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.stdin = StdinState::Ended,
        }
    }

    fn write(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        while !self.buffer.is_empty() {
            match sink.write(&self.buffer) {
                Ok(0) => break,
                Ok(count) => drop(self.buffer.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.sink = None;
                    self.buffer.clear();
                    return;
                }
            }
        }
    }
}
