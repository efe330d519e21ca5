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
    /// Nothing more comes.
    ended: bool,
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
        Ok(Self { sink: Some(sink), waiting: Vec::new(), ended: false })
    }

    /// Whether nothing more comes.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// What to wait for: the source first, while it has not ended (poll would return at once for ever), and the program while
    /// something waits for it.
    pub(super) fn sources<'a>(&'a self, source: BorrowedFd<'a>) -> Vec<PollFd<'a>> {
        let wanted = if self.waiting.len() < CAPACITY { PollFlags::POLLIN } else { PollFlags::empty() };
        let source = (!self.ended).then(|| PollFd::new(source, wanted));
        let sink = self.sink.as_ref().filter(|_| !self.waiting.is_empty());
        source.into_iter().chain(sink.map(|sink| PollFd::new(sink.as_fd(), PollFlags::POLLOUT))).collect()
    }

    /// Reads what is there and writes what goes.
    pub(super) fn flow(&mut self, source: BorrowedFd<'_>, flow: Flow) {
        if !self.ended {
            match flow {
                Flow { readable: true, .. } => self.read(source),
                // Tiller is gone while the program doesn't read: what it still sent is left in the pipe.
                Flow { hung_up: true, .. } => self.ended = true,
                Flow { .. } => {}
            }
        }
        self.write();
        if self.ended && self.waiting.is_empty() {
            self.sink = None;
        }
    }

    fn read(&mut self, source: BorrowedFd<'_>) {
        let mut chunk = [0; CAPACITY];
        match nix::unistd::read(source, &mut chunk) {
            Ok(0) => self.ended = true,
            Ok(count) if self.sink.is_some() => self.waiting.extend_from_slice(&chunk[..count]),
            // The program reads no more; what still comes is read all the same, so that its end is noticed.
            Ok(_) => {}
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(_) => self.ended = true,
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
