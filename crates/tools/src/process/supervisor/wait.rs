//! Waiting by the supervisor and the watchdog, for the end of a child or an order to stop.

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

use super::stdin_pump::{Readiness, StdinPump};

/// Poll interval for ended children on systems without signal descriptors.
#[cfg(not(target_os = "linux"))]
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The reason a wait returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wakeup {
    /// Stop: stdin was closed, or a signal arrived.
    Order,
    /// A child may have ended, or the timeout passed.
    Other,
}

/// The reason the watchdog's wait returned.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WatchdogWakeup {
    /// Stop: a signal arrived.
    Signal,
    /// Stdin was closed at its other end.
    Hangup,
    /// A child may have ended, or the timeout passed.
    Other,
}

/// Signals that would end the supervisor count as orders to stop, because `pkill tiller` must not free its
/// children.
const ORDERS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGTERM];

/// Records signals that arrive before the [`SignalWaiter`] is open. A handled signal is reset to its default
/// in a started program; a blocked one would stay blocked.
pub(super) struct EarlySignals(Arc<AtomicBool>);

impl EarlySignals {
    pub(super) fn install() -> io::Result<Self> {
        let received = Arc::new(AtomicBool::new(false));
        for order in ORDERS {
            signal_hook::flag::register(order as i32, Arc::clone(&received))?;
        }
        Ok(Self(received))
    }
}

/// Waits for signals and stdin.
pub(super) struct SignalWaiter {
    early_signals: EarlySignals,
    #[cfg(target_os = "linux")]
    signals: SignalFd,
}

impl SignalWaiter {
    /// Blocks the signals and receives them through a descriptor instead.
    pub(super) fn open(early_signals: EarlySignals) -> nix::Result<Self> {
        let set: SigSet = ORDERS.into_iter().chain([Signal::SIGCHLD]).collect();
        set.thread_block()?;
        Ok(Self {
            early_signals,
            #[cfg(target_os = "linux")]
            signals: SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?,
        })
    }

    fn signal_received(&self) -> bool {
        self.early_signals.0.load(Ordering::Relaxed)
    }

    /// Polls for the pump and transfers available bytes; without a timeout it waits forever. The pump handles
    /// the end of stdin, which isn't an order.
    #[cfg(target_os = "linux")]
    pub(super) fn wait_for_pump(&self, pump: &mut StdinPump, timeout: Option<Duration>) -> Wakeup {
        if self.signal_received() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let readiness = {
            let mut poll_list = pump.poll_list(stdin.as_fd());
            poll_list.push(PollFd::new(self.signals.as_fd(), PollFlags::POLLIN));
            match poll(&mut poll_list, poll_timeout(timeout)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return Wakeup::Order,
            }
            Readiness::from_poll(&poll_list)
        };
        pump.transfer(stdin.as_fd(), readiness);
        if self.signals_order() { Wakeup::Order } else { Wakeup::Other }
    }

    /// Polls for the pump, at most for [`POLL_INTERVAL`], and transfers available bytes.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wait_for_pump(&self, pump: &mut StdinPump, timeout: Option<Duration>) -> Wakeup {
        if self.signal_received() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let readiness = {
            let mut poll_list = pump.poll_list(stdin.as_fd());
            match poll(
                &mut poll_list,
                poll_timeout(Some(timeout.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL))),
            ) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return Wakeup::Order,
            }
            Readiness::from_poll(&poll_list)
        };
        pump.transfer(stdin.as_fd(), readiness);
        Wakeup::Other
    }

    /// Waits for an order or the end of a child; without a timeout it waits forever.
    #[cfg(target_os = "linux")]
    pub(super) fn wait(&self, timeout: Option<Duration>) -> Wakeup {
        if self.signal_received() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let mut poll_list = [
            PollFd::new(stdin.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
        ];
        match poll(&mut poll_list, poll_timeout(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return Wakeup::Order,
        }
        if is_ready(&poll_list[0]) || self.signals_order() { Wakeup::Order } else { Wakeup::Other }
    }

    /// Waits without reading stdin, which belongs to another process; without a timeout it waits forever.
    /// With a timeout, a hangup is already known and isn't polled for.
    #[cfg(target_os = "linux")]
    pub(super) fn wait_for_hangup(&self, timeout: Option<Duration>) -> WatchdogWakeup {
        if self.early_signals.0.swap(false, Ordering::Relaxed) {
            return WatchdogWakeup::Signal;
        }
        let stdin = io::stdin();
        let signals = PollFd::new(self.signals.as_fd(), PollFlags::POLLIN);
        let mut poll_list = vec![signals];
        if timeout.is_none() {
            // A hangup is reported without being requested.
            poll_list.push(PollFd::new(stdin.as_fd(), PollFlags::empty()));
        }
        match poll(&mut poll_list, poll_timeout(timeout)) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return WatchdogWakeup::Hangup,
        }
        if self.signals_order() {
            WatchdogWakeup::Signal
        } else if poll_list.get(1).is_some_and(is_ready) {
            WatchdogWakeup::Hangup
        } else {
            WatchdogWakeup::Other
        }
    }

    /// Waits for an order, at most for [`POLL_INTERVAL`].
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wait(&self, timeout: Option<Duration>) -> Wakeup {
        if self.signal_received() {
            return Wakeup::Order;
        }
        let stdin = io::stdin();
        let mut poll_list = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        let wait = timeout.unwrap_or(POLL_INTERVAL).min(POLL_INTERVAL);
        match poll(&mut poll_list, poll_timeout(Some(wait))) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return Wakeup::Order,
        }
        if is_ready(&poll_list[0]) { Wakeup::Order } else { Wakeup::Other }
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

fn is_ready(source: &PollFd<'_>) -> bool {
    source.revents().is_some_and(|events| !events.is_empty())
}

fn poll_timeout(timeout: Option<Duration>) -> PollTimeout {
    match timeout {
        Some(time) => PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
        None => PollTimeout::NONE,
    }
}
