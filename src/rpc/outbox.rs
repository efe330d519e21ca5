//! The output queue: merges events and responses into one order, and writes them on a thread, which blocks
//! while stdout isn't read.
//!
//! A *pump* task receives both and determines their order; a writer thread writes them. The queue between
//! them is bounded: when it is full, the pump waits, the session continues, and events are dropped, which is
//! reported. Responses are never dropped.

use std::io::{self, Write};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::outbox_item::{OutboxItem, SendMode};
use super::response::ResponseBody;
use super::writer::LineWriter;
use crate::agent::Subscription;

/// Capacity for messages to the pump; when it is full, commands wait.
const MAX_MESSAGES: usize = 64;

/// Capacity for lines waiting to be written: minutes of a stream.
const MAX_LINES: usize = 16_384;

/// Maximum number of events that are sent before a response that must follow them.
const MAX_EVENTS_BEFORE_RESPONSE: usize = 8_192;

#[derive(Debug)]
pub(super) enum PumpMessage {
    /// Holds back events until the next response is sent.
    Hold,
    /// Releases held events, because the response takes too long.
    Release,
    /// A response that is sent before the held events.
    First(ResponseBody),
    /// A response that is sent after all events so far.
    Last(ResponseBody),
    /// Changes the way events are written.
    SetMode(SendMode),
}

/// The handle to the output queue.
pub(super) struct Outbox {
    messages: mpsc::Sender<PumpMessage>,
    pump: JoinSet<()>,
    result: oneshot::Receiver<io::Result<()>>,
}

impl Outbox {
    pub(super) fn open(subscription: Subscription, out: impl Write + Send + 'static) -> Self {
        let (messages, message_receiver) = mpsc::channel(MAX_MESSAGES);
        let (lines, mut receiver) = mpsc::channel(MAX_LINES);
        let (result_sender, result) = oneshot::channel();
        std::thread::spawn(move || {
            let _ = result_sender.send(LineWriter::new(out).write(&mut receiver));
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(pump(subscription, message_receiver, lines));
        Self { messages, pump: tasks, result }
    }

    pub(super) fn messages(&self) -> mpsc::Sender<PumpMessage> {
        self.messages.clone()
    }

    /// Waits until everything is written. Events end when the session does, messages when their senders are
    /// dropped.
    pub(super) async fn finish(self) -> io::Result<()> {
        let Self { messages, mut pump, result } = self;
        drop(messages);
        while pump.join_next().await.is_some() {}
        result.await.unwrap_or_else(|_| Err(io::Error::other("can't write to stdout")))
    }
}

/// Merges events and messages. Ends when no more of either can arrive, or when the writer has ended.
async fn pump(
    mut subscription: Subscription,
    mut messages: mpsc::Receiver<PumpMessage>,
    lines: mpsc::Sender<OutboxItem>,
) {
    let (mut is_held, mut has_events, mut has_messages) = (false, true, true);
    while has_events || has_messages {
        let item = tokio::select! {
            biased;
            message = messages.recv(), if has_messages => match message {
                Some(PumpMessage::Hold) => { is_held = true; continue }
                Some(PumpMessage::Release) => { is_held = false; continue }
                Some(PumpMessage::First(response)) => { is_held = false; OutboxItem::Response(response) }
                Some(PumpMessage::Last(response)) => {
                    if send_events(&mut subscription, &lines).await.is_err() {
                        return;
                    }
                    OutboxItem::Response(response)
                }
                Some(PumpMessage::SetMode(mode)) => OutboxItem::SetMode(mode),
                None => { (has_messages, is_held) = (false, false); continue }
            },
            event = subscription.next(), if has_events && !is_held => match event {
                Some(event) => OutboxItem::Event(event),
                None => { has_events = false; continue }
            },
        };
        if lines.send(item).await.is_err() {
            return;
        }
    }
}

/// Sends all events so far.
async fn send_events(
    subscription: &mut Subscription,
    lines: &mpsc::Sender<OutboxItem>,
) -> Result<(), mpsc::error::SendError<OutboxItem>> {
    for _ in 0..MAX_EVENTS_BEFORE_RESPONSE {
        let Some(event) = subscription.try_next() else { break };
        lines.send(OutboxItem::Event(event)).await?;
    }
    Ok(())
}
