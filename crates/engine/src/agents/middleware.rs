//! Middleware around the tasks of an agent. A layer can act before and after a task, change the prompt, or
//! answer in the agent's place. The first layer of a list is the outermost.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use super::answer::{AgentAnswer, AgentFailure, run_prompt};
use crate::handle::AgentSession;

/// A future that resolves to the result of a task.
pub type AgentFuture<'a> = Pin<Box<dyn Future<Output = Result<AgentAnswer, AgentFailure>> + Send + 'a>>;

/// A layer around the tasks of an agent.
///
/// # Examples
/// A middleware that counts tasks:
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use tiller_engine::agents::{AgentFuture, AgentTask, Middleware, Next};
///
/// #[derive(Default)]
/// struct Counter(AtomicUsize);
///
/// impl Middleware for Counter {
///     fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a> {
///         self.0.fetch_add(1, Ordering::Relaxed);
///         next.run(task)
///     }
/// }
/// ```
pub trait Middleware: Send + Sync {
    /// Handles a task; `next` runs it.
    fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a>;
}

/// A task of an agent.
#[derive(Clone)]
pub struct AgentTask<'a> {
    /// The agent's name.
    pub name: &'a str,
    /// Its session.
    pub session: &'a AgentSession,
    /// The prompt.
    pub prompt: Arc<str>,
}

/// The remaining middleware, then the agent. `Next` is `Copy`: calling `run` again repeats the task.
#[derive(Clone, Copy)]
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
}

impl<'a> Next<'a> {
    pub(super) const fn new(rest: &'a [Arc<dyn Middleware>]) -> Self {
        Self { rest }
    }

    /// Runs a task.
    #[must_use]
    pub fn run(self, task: AgentTask<'a>) -> AgentFuture<'a> {
        match self.rest {
            [first, rest @ ..] => first.handle(task, Self { rest }),
            [] => Box::pin(run_prompt(task.session, task.prompt)),
        }
    }
}

/// Stops a task at a time limit.
#[derive(Clone, Copy, Debug)]
pub struct Timeout(pub Duration);

impl Middleware for Timeout {
    fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a> {
        Box::pin(async move {
            if let Ok(outcome) = tokio::time::timeout(self.0, next.run(task.clone())).await {
                return outcome;
            }
            // The session may be closed already.
            let _ = task.session.end_task().await;
            Err(AgentFailure::TimedOut(self.0))
        })
    }
}

/// Turns a panic in the inner middleware into a failure.
#[derive(Clone, Copy, Debug)]
pub struct Recovery;

impl Middleware for Recovery {
    fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a> {
        Box::pin(async move {
            let outcome = AssertUnwindSafe(async { next.run(task).await }).catch_unwind().await;
            outcome.unwrap_or_else(|panic| {
                let message = panic.downcast_ref::<String>().cloned();
                let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                Err(AgentFailure::Panicked(message.unwrap_or_else(|| "no panic message".to_owned())))
            })
        })
    }
}

/// Logs the start and the end of each task with `tracing`: turns, tokens, time, and failures.
#[derive(Clone, Copy, Debug)]
pub struct Logger;

impl Middleware for Logger {
    fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a> {
        Box::pin(async move {
            let (agent, start) = (task.name, Instant::now());
            tracing::info!(agent, "agent task started");
            let outcome = next.run(task).await;
            let ms = start.elapsed().as_millis();
            match &outcome {
                Ok(AgentAnswer { turns, usage, .. }) => {
                    let tokens = usage.total().0;
                    tracing::info!(agent, turns, tokens, ms, "agent task finished");
                }
                Err(error) => tracing::warn!(agent, %error, ms, "agent task failed"),
            }
            outcome
        })
    }
}

/// A function that returns the reason to reject a final message.
type OutputCheck = dyn Fn(&str) -> Result<(), String> + Send + Sync;

/// Checks the final message. If it is rejected, the agent gets the reason and answers again.
pub struct OutputGuardrail {
    check: Box<OutputCheck>,
    tries: u32,
}

impl OutputGuardrail {
    /// Creates a guardrail from a function that returns the reason to reject a message. After `tries` rejected messages
    /// the task fails.
    pub fn new(tries: u32, check: impl Fn(&str) -> Result<(), String> + Send + Sync + 'static) -> Self {
        Self { check: Box::new(check), tries }
    }
}

impl Middleware for OutputGuardrail {
    fn handle<'a>(&'a self, task: AgentTask<'a>, next: Next<'a>) -> AgentFuture<'a> {
        Box::pin(async move {
            let mut answer = next.run(task.clone()).await?;
            let mut tries = 1;
            while let Err(reason) = (self.check)(&answer.text) {
                if tries >= self.tries {
                    return Err(AgentFailure::Rejected(reason));
                }
                tries += 1;
                let prompt = format!("Your answer was rejected: {reason}\nAnswer again.").into();
                answer.add(next.run(AgentTask { prompt, ..task.clone() }).await?);
            }
            Ok(answer)
        })
    }
}
