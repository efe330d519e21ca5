//! The thread that reads answers from the network.
//!
//! A fast model sends a thousand pieces a second, each in a packet of its own, and every one that wakes somebody costs
//! more than all that is done with it. So the network has a runtime of its own, on one thread that rests for a moment
//! after each look that brought something: what comes meanwhile waits in the kernel and is read at once. A slow answer
//! is passed on as it comes; what waits for the rest to end is at most another request that is sent meanwhile.

use std::future::{pending, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_util::{FutureExt, Stream, StreamExt, stream};
use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::provider::PartStream;

/// How long the thread rests: a screen shows an answer no more often than that.
const REST: Duration = Duration::from_millis(50);

/// Bunches of parts that are read ahead of who takes them.
const AHEAD: usize = 8;

/// Most parts in a bunch.
const BUNCH: usize = 256;

/// Whether there was anything of an answer since the last rest.
static BROUGHT: AtomicBool = AtomicBool::new(false);

/// Has the network's thread do what `parts` does. It begins with the first poll and ends when the stream is dropped.
///
/// # Errors
/// When there is no such thread.
pub(super) fn read(parts: PartStream) -> io::Result<PartStream> {
    let network = network()?;
    let begun = async move {
        let (bunches, taken) = mpsc::channel(AHEAD);
        // Dropped with the stream, it stops what it began.
        let mut reading = JoinSet::new();
        reading.spawn_on(pass(parts, bunches), &network);
        stream::unfold((taken, reading), |(mut taken, reading)| async {
            Some((stream::iter(taken.recv().await?), (taken, reading)))
        })
        .flatten()
    };
    Ok(Box::pin(stream::once(begun).flatten()))
}

/// Passes parts on in bunches of what is there at a time.
async fn pass<T>(parts: impl Stream<Item = T>, bunches: mpsc::Sender<Vec<T>>) {
    let mut parts = pin!(parts.ready_chunks(BUNCH));
    while let Some(mut bunch) = parts.next().await {
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
        BROUGHT.fetch_or(may_go_on, Ordering::Relaxed);
        if bunches.send(bunch).await.is_err() {
            return;
        }
    }
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
    let runtime = Builder::new_current_thread().enable_all().on_thread_park(rest).build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("tiller-network".to_owned())
        .spawn(move || runtime.block_on(pending::<()>()))?;
    Ok(network.insert(handle).clone())
}

/// Rests before the thread waits for the network again.
fn rest() {
    if BROUGHT.swap(false, Ordering::Relaxed) {
        thread::sleep(REST);
    }
}
