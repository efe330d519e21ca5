//! What comes on the helper's stdin, on its way to the program.
//!
//! Neither side is waited for: a program that doesn't read must not keep the helper from noticing that tiller is gone.

use std::io::{self, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::process::ChildStdin;

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags};

/// Bytes on their way at most: as many as a pipe holds on Linux. While that many wait, nothing more is read.
const CAPACITY: usize = 64 * 1024;

/// What is on its way.
pub(super) struct Pump {
    /// The program's end; `None` once it or we closed it.
    sink: Option<ChildStdin>,
    waiting: Vec<u8>,
    source: Source,
}

/// What is known of the helper's stdin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Open,
    /// Nobody writes any more; some of what was written may still be there.
    Left,
    /// All of it was read.
    Dry,
}

/// What poll saw of the source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Flow {
    readable: bool,
    hung_up: bool,
}

impl Flow {
    pub(super) fn of(sources: &[PollFd<'_>]) -> Self {
        let events = sources.first().and_then(PollFd::revents).unwrap_or(PollFlags::empty());
        let gone = PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL;
        Self { readable: events.contains(PollFlags::POLLIN), hung_up: events.intersects(gone) }
    }
}

impl Pump {
    pub(super) fn new(sink: ChildStdin) -> nix::Result<Self> {
        fcntl(&sink, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        Ok(Self { sink: Some(sink), waiting: Vec::new(), source: Source::Open })
    }

    /// Whether nobody writes any more.
    pub(super) fn has_ended(&self) -> bool {
        self.source != Source::Open
    }

    /// What to wait for: the source first, except where poll would return at once for ever, and the program while something
    /// waits for it.
    pub(super) fn sources<'a>(&'a self, source: BorrowedFd<'a>) -> Vec<PollFd<'a>> {
        let has_room = self.waiting.len() < CAPACITY;
        let wanted = if has_room { PollFlags::POLLIN } else { PollFlags::empty() };
        let is_asked = match self.source {
            Source::Open => true,
            Source::Left => has_room,
            Source::Dry => false,
        };
        let source = is_asked.then(|| PollFd::new(source, wanted));
        let sink = self.sink.as_ref().filter(|_| !self.waiting.is_empty());
        source.into_iter().chain(sink.map(|sink| PollFd::new(sink.as_fd(), PollFlags::POLLOUT))).collect()
    }

    /// Reads what is there and writes what goes.
    pub(super) fn flow(&mut self, source: BorrowedFd<'_>, flow: Flow) {
        let has_room = self.waiting.len() < CAPACITY;
        if flow.hung_up && self.source == Source::Open {
            self.source = Source::Left;
        }
        if has_room && self.source != Source::Dry && (flow.readable || flow.hung_up) {
            self.read(source);
        }
        self.write();
        if self.source == Source::Dry && self.waiting.is_empty() {
            self.sink = None;
        }
    }

    fn read(&mut self, source: BorrowedFd<'_>) {
        let mut chunk = [0; CAPACITY];
        match nix::unistd::read(source, &mut chunk) {
            Ok(0) => self.source = Source::Dry,
            Ok(count) if self.sink.is_some() => self.waiting.extend_from_slice(&chunk[..count]),
            // The program reads no more; what still comes is read all the same, so that its end is noticed.
            Ok(_) => {}
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.source = Source::Dry,
        }
    }

    fn write(&mut self) {
        let Some(sink) = &mut self.sink else { return };
        while !self.waiting.is_empty() {
            match sink.write(&self.waiting) {
                Ok(0) => break,
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.sink = None;
                    self.waiting.clear();
                    return;
                }
            }
        }
    }
}
