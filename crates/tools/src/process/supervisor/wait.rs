//! What the helper waits for: the end of a child, or an order to stop.

use std::io;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
#[cfg(target_os = "linux")]
use nix::sys::signalfd::{SfdFlags, SignalFd};

use super::stdin_pump::{Flow, Pump};

/// Without signal descriptors, how long a child may have ended before that is noticed.
#[cfg(not(target_os = "linux"))]
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// What came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wakeup {
    /// Everything has to stop: stdin was closed, or a signal asks for it.
    Order,
    /// Maybe a child ended, maybe time ran out.
    Other,
}

/// The reason that a watchdog woke up for.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchdogWakeup {
    /// A signal asks to stop.
    Signal,
    /// Stdin was closed at its other end.
    Hangup,
    /// Maybe a child ended, maybe time ran out.
    Other,
}

/// Signals that would end the helper are orders: `pkill tiller` must not set its children free.
const ORDERS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// Notes orders that arrive before the newsroom is open. A signal that is handled is back at its default in a started program, one that
/// is blocked would stay so.
pub(super) struct Doorbell(Arc<AtomicBool>);

impl Doorbell {
    pub(super) fn hang() -> io::Result<Self> {
        let rung = Arc::new(AtomicBool::new(false));
        for order in ORDERS {
            signal_hook::flag::register(order as i32, Arc::clone(&rung))?;
        }
        Ok(Self(rung))
    }
}

/// Where news arrives.
pub(super) struct Newsroom {
    doorbell: Doorbell,
    #[cfg(target_os = "linux")]
    signals: SignalFd,
}

impl Newsroom {
    /// Makes signals arrive as news from now on.
    pub(super) fn open(doorbell: Doorbell) -> nix::Result<Self> {
        let set: SigSet = ORDERS.into_iter().chain([Signal::SIGCHLD]).collect();
        set.thread_block()?;
        Ok(Self {
            doorbell,
            #[cfg(target_os = "linux")]
            signals: SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?,
        })
    }

    fn rang(&self) -> bool {
        self.doorbell.0.load(Ordering::Relaxed)
    }

    /// Waits until there is something to pass on, for ever if no time is given, and passes it on. The end of stdin is the
    /// pump's affair, not an order.
    #[cfg(target_os = "linux")]
    pub(super) fn wait_for_pump(&self, pump: &mut Pump, timeout: Option<Duration>) -> Wakeup {
        if self.rang() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let flow = {
            let mut sources = pump.sources(stdin.as_fd());
            sources.push(PollFd::new(self.signals.as_fd(), PollFlags::POLLIN));
            match poll(&mut sources, poll_timeout(timeout)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return Wakeup::Order,
            }
            Flow::of(&sources)
        };
        pump.flow(stdin.as_fd(), flow);
        if self.signals_order() { Wakeup::Order } else { Wakeup::Other }
    }

    /// Waits until there is something to pass on, or a moment, and passes it on.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wait_for_pump(&self, pump: &mut Pump, timeout: Option<Duration>) -> Wakeup {
        if self.rang() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let flow = {
            let mut sources = pump.sources(stdin.as_fd());
            match poll(&mut sources, poll_timeout(Some(timeout.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN)))) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return Wakeup::Order,
            }
            Flow::of(&sources)
        };
        pump.flow(stdin.as_fd(), flow);
        Wakeup::Other
    }

    /// Waits for news, for ever if no time is given.
    #[cfg(target_os = "linux")]
    pub(super) fn wait(&self, timeout: Option<Duration>) -> Wakeup {
        if self.rang() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let mut sources = [
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut sources, poll_timeout(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return Wakeup::Order,
        }
        if has_news(&sources[0]) || self.signals_order() { Wakeup::Order } else { Wakeup::Other }
    }

    /// Waits without reading stdin, which is another process's to read: for ever if no time is given. Once time is given, a
    /// hangup is known and is not waited for.
    #[cfg(target_os = "linux")]
    pub(super) fn wait_for_hangup(&self, timeout: Option<Duration>) -> WatchdogWakeup {
        if self.doorbell.0.swap(false, Ordering::Relaxed) {
            return WatchdogWakeup::Signal;
        }
        let stdin = io::stdin();
        let signals = PollFd::new(self.signals.as_fd(), PollFlags::POLLIN);
        let mut sources = vec![signals];
        if timeout.is_none() {
            // A hangup is reported without being asked for.
            sources.push(PollFd::new(stdin.as_fd(), PollFlags::empty()));
        }
        match poll(&mut sources, poll_timeout(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return WatchdogWakeup::Hangup,
        }
        if self.signals_order() {
            WatchdogWakeup::Signal
        } else if sources.get(1).is_some_and(has_news) {
            WatchdogWakeup::Hangup
        } else {
            WatchdogWakeup::Other
        }
    }

    /// Waits for news, or a moment.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wait(&self, timeout: Option<Duration>) -> Wakeup {
        if self.rang() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let mut sources = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        let moment = timeout.unwrap_or(LOOK_AGAIN).min(LOOK_AGAIN);
        match poll(&mut sources, poll_timeout(Some(moment))) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return Wakeup::Order,
        }
        if has_news(&sources[0]) { Wakeup::Order } else { Wakeup::Other }
    }

    #[cfg(target_os = "linux")]
    fn signals_order(&self) -> bool {
        let mut order = false;
        while let Ok(Some(signal)) = self.signals.read_signal() {
            order |= signal.ssi_signo != Signal::SIGCHLD as u32;
        }
        order
    }
}

fn has_news(source: &PollFd<'_>) -> bool {
    source.revents().is_some_and(|events| !events.is_empty())
}

fn poll_timeout(timeout: Option<Duration>) -> PollTimeout {
    match timeout {
        Some(time) => PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
        None => PollTimeout::NONE,
    }
}
