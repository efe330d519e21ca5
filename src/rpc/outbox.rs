//! What goes out: events and answers in one order, written on a thread that may be blocked for as long as nobody reads.
//!
//! A *pump* takes both as they come and decides their order; a *scribe* writes them. Between them waits a bounded number of lines. When
//! that is full the pump waits, the session goes on, and events are lost, which is told. Answers are never lost.

use std::io::{self, Write};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::id::Id;
use super::response::ResponseBody;
use super::writer::LineWriter;
use crate::agent::{Received, Subscription};

/// Notes that may wait for the pump; whoever commands waits while answers can't go out.
const NOTES: usize = 64;

/// Lines that may wait for the scribe: minutes of a stream.
const LINES: usize = 16_384;

/// Events that are told at most before an answer that comes after them.
const BURST: usize = 8_192;

/// What the pump is told.
#[derive(Debug)]
pub(super) enum OutboxNote {
    /// Events wait until the answer to this one has gone out.
    Hold,
    /// They needn't wait any longer: the answer takes its time.
    Release,
    /// An answer that comes before the events that wait for it.
    First(ResponseBody),
    /// An answer that comes after every event until now.
    Last(ResponseBody),
    /// From here on things are written otherwise.
    Manner(SendMode),
}

/// How events are written.
#[derive(Debug)]
pub(super) enum SendMode {
    /// Pieces of an answer are told, or left out.
    Deltas(bool),
    /// The next command of the user's own that begins with this line is known to the client by this id.
    Bash { line: String, id: Option<Id> },
    /// That command did not begin, or is over.
    BashOver { id: Option<Id> },
}

/// What the scribe writes.
#[derive(Debug)]
pub(super) enum OutboxItem {
    Heard(Received),
    Answer(ResponseBody),
    Manner(SendMode),
}

/// The way out.
pub(super) struct Outbox {
    notes: mpsc::Sender<OutboxNote>,
    pump: JoinSet<()>,
    written: oneshot::Receiver<io::Result<()>>,
}

impl Outbox {
    pub(super) fn open(listener: Subscription, out: impl Write + Send + 'static) -> Self {
        let (notes, noted) = mpsc::channel(NOTES);
        let (items, mut received) = mpsc::channel(LINES);
        let (report, written) = oneshot::channel();
        std::thread::spawn(move || {
            let _ = report.send(LineWriter::new(out).write(&mut received));
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(pump(listener, noted, items));
        Self { notes, pump: tasks, written }
    }

    pub(super) fn notes(&self) -> mpsc::Sender<OutboxNote> {
        self.notes.clone()
    }

    /// Waits until everything that was said is written; events end with the session, notes with their senders.
    pub(super) async fn finish(self) -> io::Result<()> {
        let Self { notes, mut pump, written } = self;
        drop(notes);
        while pump.join_next().await.is_some() {}
        written.await.unwrap_or_else(|_| Err(io::Error::other("the writing of stdout failed")))
    }
}

/// Ends when neither events nor notes can come any more, or when nobody takes lines.
async fn pump(
    mut listener: Subscription,
    mut notes: mpsc::Receiver<OutboxNote>,
    items: mpsc::Sender<OutboxItem>,
) {
    let (mut is_held, mut is_heard, mut is_noted) = (false, true, true);
    while is_heard || is_noted {
        let item = tokio::select! {
            biased;
            note = notes.recv(), if is_noted => match note {
                Some(OutboxNote::Hold) => { is_held = true; continue }
                Some(OutboxNote::Release) => { is_held = false; continue }
                Some(OutboxNote::First(answer)) => { is_held = false; OutboxItem::Answer(answer) }
                Some(OutboxNote::Last(answer)) => {
                    if tell_all(&mut listener, &items).await.is_err() {
                        return;
                    }
                    OutboxItem::Answer(answer)
                }
                Some(OutboxNote::Manner(manner)) => OutboxItem::Manner(manner),
                None => { (is_noted, is_held) = (false, false); continue }
            },
            heard = listener.next(), if is_heard && !is_held => match heard {
                Some(heard) => OutboxItem::Heard(heard),
                None => { is_heard = false; continue }
            },
        };
        if items.send(item).await.is_err() {
            return;
        }
    }
}

/// Tells what happened until now.
async fn tell_all(
    listener: &mut Subscription,
    items: &mpsc::Sender<OutboxItem>,
) -> Result<(), mpsc::error::SendError<OutboxItem>> {
    for _ in 0..BURST {
        let Some(heard) = listener.try_next() else { break };
        items.send(OutboxItem::Heard(heard)).await?;
    }
    Ok(())
}
