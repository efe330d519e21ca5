//! The job that creates a summary. It sends the requests one after the other and retries failures that may be
//! temporary.
//!
//! Like other jobs it reports events, here the cost and the end, and dropping it stops it.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use tiller_core::message::{AssistantMessage, StopReason, Usage};
use tiller_provider::{FailureKind, Model, ProviderError, Request};
use tokio::sync::mpsc;

use super::clock::{jitter, now};
use super::job_event::JobEvent;
use crate::compaction::machine::SummaryEvent;
use crate::compaction::{CompactionError, SummaryRequest};
use crate::message_builder::{MessageBuilder, MessageUpdate};
use crate::retry::{self, Attempts, RetryOptions};
use crate::turn::AfterFailure;

/// Maximum number of times a conversation is halved because the provider rejects it as too long.
const MAX_HALVINGS: u32 = 3;

/// Appended to a summary that reached the output limit.
const CUT_OFF: &str = "\n\n[The summary was cut off here: it reached the output limit.]";

/// A summary's requests and the model that answers them.
pub(super) struct SummaryJob {
    pub(super) model: Model,
    pub(super) retry: RetryOptions,
    pub(super) requests: Vec<SummaryRequest>,
    /// The user's instructions.
    pub(super) instructions: Option<String>,
}

impl SummaryJob {
    /// Sends the requests, and reports with this job number. A provider that panics counts as failed.
    pub(super) async fn run(self, number: u64, report: mpsc::Sender<JobEvent>) {
        let answers = AssertUnwindSafe(self.send_requests(number, &report)).catch_unwind().await;
        let crashed = || Err(CompactionError::Provider("the provider failed inside tiller".to_owned()));
        let event = SummaryEvent::Ended(answers.unwrap_or_else(|_| crashed()));
        let _ = report.send(JobEvent::Summary { number, event }).await;
    }

    async fn send_requests(
        &self,
        number: u64,
        report: &mpsc::Sender<JobEvent>,
    ) -> Result<Vec<String>, CompactionError> {
        let mut answers = Vec::new();
        for request in &self.requests {
            let (mut times, mut halvings) = (0, 0);
            let answer = loop {
                let ask = request.render(self.instructions.as_deref(), &self.model.facts, halvings)?;
                let (spent, answer) = self.ask(ask.into_request(&self.model.facts, now())).await;
                let send = |event| report.send(JobEvent::Summary { number, event });
                let _ = send(SummaryEvent::Usage(spent)).await;
                match answer {
                    Ok(answer) => break answer,
                    Err(error) if error.failure == FailureKind::Overflow && halvings < MAX_HALVINGS => {
                        halvings += 1;
                    }
                    Err(error) => {
                        let (delay, max_attempts) = self.retry_delay(&error, times)?;
                        times += 1;
                        let _ = send(SummaryEvent::Retry {
                            attempt: times,
                            max_attempts,
                            delay,
                            reason: error.message_with_hint(),
                        })
                        .await;
                        tokio::time::sleep(delay).await;
                    }
                }
            };
            answers.push(answer);
        }
        Ok(answers)
    }

    /// Returns the delay before the next retry and the maximum number of retries, or an error if there is no
    /// retry.
    fn retry_delay(&self, error: &ProviderError, times: u32) -> Result<(Duration, u32), CompactionError> {
        let tried = Attempts { retries: times, has_compacted: true };
        match retry::decide(error.failure, tried, &self.retry, jitter()).0 {
            AfterFailure::Retry { delay, max_attempts } => Ok((delay, max_attempts)),
            AfterFailure::Compact | AfterFailure::SwitchModel(_) | AfterFailure::GiveUp => {
                Err(CompactionError::Provider(error.message_with_hint()))
            }
        }
    }

    /// Sends one request; returns its usage and its answer.
    async fn ask(&self, request: Request) -> (Usage, Result<String, ProviderError>) {
        let mut parts = self.model.provider.stream(request);
        let mut partial = MessageBuilder::new(AssistantMessage::default());
        while let Some(part) = parts.next().await {
            match part {
                Ok(part) => {
                    for update in partial.apply(part) {
                        if let MessageUpdate::Finished(stop) = update {
                            return (self.with_cost(&partial), Ok(text(&partial, stop)));
                        }
                    }
                }
                Err(error) => return (self.with_cost(&partial), Err(error)),
            }
        }
        let provider = self.model.facts.provider.clone();
        let message = "the stream ended before the summary was complete".to_owned();
        let error = ProviderError { provider, failure: FailureKind::Interrupted, message, hint: None };
        (self.with_cost(&partial), Err(error))
    }

    fn with_cost(&self, partial: &MessageBuilder) -> Usage {
        let mut usage = partial.usage().clone();
        usage.cost = self.model.facts.cost(&usage);
        usage.total_tokens = usage.total();
        usage
    }
}

fn text(partial: &MessageBuilder, stop: StopReason) -> String {
    let text = partial.message().joined_text();
    match stop {
        StopReason::Length if !text.trim().is_empty() => format!("{}{CUT_OFF}", text.trim_end()),
        _ => text,
    }
}
