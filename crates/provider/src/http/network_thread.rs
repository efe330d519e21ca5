//! The thread that reads answers from the network.
//!
//! A fast model sends a thousand pieces a second, each in a packet of its own, and every wakeup on the way to the screen
//! costs more than the piece. So the network has a runtime on a thread of its own, which sleeps for a moment after it has
//! read something: what arrives meanwhile waits in the kernel and is read at once. An answer that has just begun is never
//! held up, nor is its end, a tool call's arguments, or a full buffer; see [`pause_after`].

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

/// Time from its first part in which an answer is read without pauses: most answers with tool calls are over by then.
const PROMPT_FOR: Duration = Duration::from_millis(500);

/// Longest pause: a frame of a screen at 60 Hz.
const LONGEST_PAUSE: Duration = Duration::from_millis(16);

/// The part of an answer's time so far that one pause may take. Two percent go unnoticed.
const PAUSE_FRACTION: u32 = 50;

/// Bunches of parts that are read ahead of who takes them.
const AHEAD: usize = 8;

/// Most parts in a bunch.
const BUNCH: usize = 256;

/// The pause before the thread next waits for the network, in microseconds.
static PAUSE_US: AtomicU64 = AtomicU64::new(0);

/// Has the network's thread do what `parts` does. It begins with the first poll and ends when the stream is dropped.
///
/// # Errors
/// When there is no such thread.
pub(super) fn read(parts: ProviderStream) -> io::Result<ProviderStream> {
    let network = network()?;
    let begun = async move {
        let (bunches, taken) = mpsc::channel(AHEAD);
        // Dropped with the stream, it stops what it began.
        let mut reading = JoinSet::new();
        reading.spawn_on(pass(parts, bunches, is_of_call), &network);
        stream::unfold((taken, reading), |(mut taken, reading)| async {
            Some((stream::iter(taken.recv().await?), (taken, reading)))
        })
        .flatten()
    };
    Ok(Box::pin(stream::once(begun).flatten()))
}

/// Passes parts on in bunches of what is there at a time. A bunch that ends in a part that `is_urgent` is followed by no pause.
async fn pass<T>(
    parts: impl Stream<Item = T>,
    bunches: mpsc::Sender<Vec<T>>,
    is_urgent: impl Fn(&T) -> bool,
) {
    let mut parts = pin!(parts.ready_chunks(BUNCH));
    let mut begun = None;
    while let Some(mut bunch) = parts.next().await {
        let begun = *begun.get_or_insert_with(Instant::now);
        let mut may_go_on = true;
        while may_go_on && bunch.len() < BUNCH {
            // A connection hands over what it has read piece by piece, whenever its own task has its turn.
            after_the_others().await;
            match parts.next().now_or_never() {
                Some(Some(more)) => bunch.extend(more),
                Some(None) => may_go_on = false,
                None => break,
            }
        }
        // After the last part the next request may come, and that is not to wait.
        let is_prompt = !may_go_on || bunch.len() >= BUNCH || bunch.last().is_some_and(&is_urgent);
        let pause = if is_prompt { Duration::ZERO } else { pause_after(begun.elapsed()) };
        PAUSE_US.store(u64::try_from(pause.as_micros()).unwrap_or_default(), Ordering::Relaxed);
        if bunches.send(bunch).await.is_err() {
            return;
        }
    }
}

/// The pause after a look at an answer that has lasted this long.
fn pause_after(lasted: Duration) -> Duration {
    if lasted < PROMPT_FOR { Duration::ZERO } else { (lasted / PAUSE_FRACTION).min(LONGEST_PAUSE) }
}

/// Tells parts of tool calls, which decide when the next tool runs.
fn is_of_call(part: &Result<StreamEvent, ProviderError>) -> bool {
    matches!(part, Ok(StreamEvent::Call { .. } | StreamEvent::Arguments { .. }))
}

/// Lets the other tasks of the thread have their turn. tokio's own `yield_now` looks at the network too, which is a system call.
async fn after_the_others() {
    let mut had_turn = false;
    poll_fn(|context| {
        if std::mem::replace(&mut had_turn, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// The runtime of the thread, which is there from the first request to the end of the process.
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

/// Sleeps before the thread waits for the network again. It is the thread that sleeps, not a task: while the runtime watches
/// the socket, every packet wakes it.
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
