//! The network thread, which reads answers.
//!
//! A fast model sends a thousand deltas per second, each in its own packet, and every wakeup on the way to
//! the screen costs more than the delta. So the network has its own runtime and thread, which sleeps briefly
//! after each read; data that arrives in the meantime waits in the kernel and is then read in one batch. The
//! beginning and the end of an answer, a tool call's arguments, and a full batch are never delayed; see
//! [`pause_after`].

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, Stream, StreamExt, stream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::{ProviderError, ProviderStream, StreamEvent};

/// Time from the first event during which an answer is read without pauses; most answers with tool calls are
/// complete by then.
const NO_PAUSE_FOR: Duration = Duration::from_millis(500);

/// Maximum pause: one frame at 60 Hz.
const MAX_PAUSE: Duration = Duration::from_millis(16);

/// A pause may take 1/50 of the answer's duration so far: two percent, too little to notice.
const PAUSE_FRACTION: u32 = 50;

/// Number of batches that are read ahead of the consumer.
const BATCHES_AHEAD: usize = 8;

/// Maximum number of events in a batch.
const MAX_BATCH: usize = 256;

/// The pause before the thread next waits for the network, in microseconds.
static PAUSE_US: AtomicU64 = AtomicU64::new(0);

/// Polls `parts` on the network thread. It starts with the first poll and ends when the stream is dropped.
///
/// # Errors
/// If the thread can't be started.
pub(super) fn read(parts: ProviderStream) -> io::Result<ProviderStream> {
    let network = network()?;
    let started = async move {
        let (batches, receiver) = mpsc::channel(BATCHES_AHEAD);
        // When dropped with the stream, it aborts the task.
        let mut tasks = JoinSet::new();
        tasks.spawn_on(forward(parts, batches, is_tool_call), &network);
        stream::unfold((receiver, tasks), |(mut receiver, tasks)| async {
            Some((stream::iter(receiver.recv().await?), (receiver, tasks)))
        })
        .flatten()
    };
    Ok(Box::pin(stream::once(started).flatten()))
}

/// Forwards events in batches of all that are ready. A batch whose last event `is_urgent` isn't followed by a
/// pause.
async fn forward<T>(
    parts: impl Stream<Item = T>,
    batches: mpsc::Sender<Vec<T>>,
    is_urgent: impl Fn(&T) -> bool,
) {
    let mut parts = pin!(parts.ready_chunks(MAX_BATCH));
    let mut started = None;
    while let Some(mut batch) = parts.next().await {
        let started = *started.get_or_insert_with(Instant::now);
        let mut is_open = true;
        while is_open && batch.len() < MAX_BATCH {
            // The connection's own task delivers its data in pieces.
            yield_to_tasks().await;
            match parts.next().now_or_never() {
                Some(Some(more)) => batch.extend(more),
                Some(None) => is_open = false,
                None => break,
            }
        }
        // The next request may follow the last event, and must not wait.
        let skips_pause = !is_open || batch.len() >= MAX_BATCH || batch.last().is_some_and(&is_urgent);
        let pause = if skips_pause { Duration::ZERO } else { pause_after(started.elapsed()) };
        PAUSE_US.store(u64::try_from(pause.as_micros()).unwrap_or_default(), Ordering::Relaxed);
        if batches.send(batch).await.is_err() {
            return;
        }
    }
}

/// Returns the pause after a read, for an answer of this duration.
fn pause_after(elapsed: Duration) -> Duration {
    if elapsed < NO_PAUSE_FOR { Duration::ZERO } else { (elapsed / PAUSE_FRACTION).min(MAX_PAUSE) }
}

/// Checks for events of tool calls, which the start of a tool depends on.
fn is_tool_call(part: &Result<StreamEvent, ProviderError>) -> bool {
    matches!(part, Ok(StreamEvent::Call { .. } | StreamEvent::Arguments { .. }))
}

/// Lets the other tasks of the thread run. tokio's own `yield_now` also polls the network, which is a system
/// call.
async fn yield_to_tasks() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// Returns the runtime of the thread, which lives from the first request to the end of the process.
fn network() -> io::Result<Handle> {
    static NETWORK: Mutex<Option<Handle>> = Mutex::new(None);
    let mut network = NETWORK.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(network) = &*network {
        return Ok(network.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().on_thread_park(pause).build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("tiller-network".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))?;
    Ok(network.insert(handle).clone())
}

/// Sleeps before the thread waits for the network again. A sleeping task wouldn't do: while the runtime polls
/// the socket, every packet wakes the thread.
fn pause() {
    let pause = PAUSE_US.swap(0, Ordering::Relaxed);
    if pause > 0 {
        thread::sleep(Duration::from_micros(pause));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_grows_with_the_answer_up_to_a_frame() {
        let pauses = [0, 499, 500, 600, 800, 60_000].map(|ms| pause_after(Duration::from_millis(ms)));
        assert_eq!(pauses.map(|pause| pause.as_millis()), [0, 0, 10, 12, 16, 16]);
    }
}
