//! The sender of results: each result goes to the part of the screen that requested it.

use tokio::sync::mpsc;

use crate::address::Address;
use crate::message::{TaskReport, TaskResult};

/// Sends results to an address. Jobs clone the sender when they start, so that they keep their address.
#[derive(Clone, Debug)]
pub(crate) struct ResultSender {
    to: Address,
    reports: mpsc::Sender<TaskReport>,
}

/// The front end has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReceiverGone;

impl ResultSender {
    /// Creates a sender to the screen as a whole.
    pub(super) fn new(reports: mpsc::Sender<TaskReport>) -> Self {
        Self { to: Address::Screen, reports }
    }

    /// Sends the next results to this address.
    pub(super) fn set_address(&mut self, to: Address) {
        self.to = to;
    }

    pub(super) async fn send(&self, result: TaskResult) -> Result<(), ReceiverGone> {
        self.reports.send(TaskReport { to: self.to, result }).await.map_err(|_| ReceiverGone)
    }

    pub(crate) fn blocking_send(&self, result: TaskResult) -> Result<(), ReceiverGone> {
        self.reports.blocking_send(TaskReport { to: self.to, result }).map_err(|_| ReceiverGone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::OverlayId;

    #[test]
    fn result_sender_of_a_job_keeps_its_address() {
        let (reports, mut received) = mpsc::channel(8);
        let mut sender = ResultSender::new(reports);
        sender.set_address(Address::Overlay(OverlayId(3)));
        let job = sender.clone();
        sender.set_address(Address::Composer);
        sender.blocking_send(TaskResult::CodeHighlighted).unwrap();
        job.blocking_send(TaskResult::CodeHighlighted).unwrap();
        let addresses = [received.blocking_recv(), received.blocking_recv()].map(|report| report.unwrap().to);
        assert_eq!(addresses, [Address::Composer, Address::Overlay(OverlayId(3))]);
        drop(received);
        assert_eq!(job.blocking_send(TaskResult::CodeHighlighted), Err(ReceiverGone));
    }
}
