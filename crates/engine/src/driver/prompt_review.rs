//! Extension hooks around prompts: the start of a session, the review of prompts, and the end of a run.
//!
//! Prompts are reviewed one after the other, to preserve their order. The first one waits for the hooks of
//! the session's start.

use std::path::Path;
use std::time::Duration;

use tiller_core::event::EventKind;

use super::Driver;
use super::commands::send_reply;
use super::hook_state::{PendingPromptReview, PromptDelivery, SubmittedPrompt};
use super::job_event::{JobEvent, PromptAwaitingResources};
use crate::extension::{RunEnd, SessionOpening, SessionSource};
use crate::handle::{AgentError, PromptOptions};
use crate::turn::TurnNumber;

/// Delay before a notice that a prompt is waiting for hooks.
const DELAY: Duration = Duration::from_secs(2);

impl Driver {
    /// Runs the hooks for an opened session. `new_source` applies if the session is new.
    pub(super) fn start_session_hooks(&mut self, new_source: SessionSource) {
        self.hooks.prompts.texts.clear();
        let is_new = self.active.reader().entry_count() == 0;
        self.run_session_hooks(if is_new { new_source } else { SessionSource::Resume });
    }

    /// Runs the hooks for a session that was opened or compacted.
    pub(super) fn run_session_hooks(&mut self, source: SessionSource) {
        if self.hooks.extensions.is_empty() {
            return;
        }
        let reader = self.active.reader();
        let opening =
            SessionOpening { session: reader.id().clone(), log: reader.path().map(Path::to_owned), source };
        let reviews = &mut self.hooks.prompts;
        let number = reviews.next_number();
        reviews.starting = Some(number);
        let host = self.hooks.extensions.clone();
        let _task = self.jobs.spawn(async move {
            JobEvent::SessionStarted { number, texts: host.start_session(opening).await }
        });
    }

    pub(super) fn session_started(&mut self, number: u64, texts: Vec<String>) {
        let reviews = &mut self.hooks.prompts;
        // Another session may have been opened since.
        if reviews.starting.take_if(|starting| *starting == number).is_some() {
            reviews.texts.extend(texts);
            self.review_next_prompt();
        }
    }

    /// Accepts a user's prompt after the extensions have reviewed it.
    pub(super) fn submit(&mut self, submitted: SubmittedPrompt) {
        if self.hooks.extensions.is_empty() {
            return self.accept_prompt(submitted);
        }
        self.hooks.prompts.waiting.push_back(submitted);
        self.review_next_prompt();
        let _task = self.jobs.spawn(async {
            tokio::time::sleep(DELAY).await;
            JobEvent::PromptDelayed
        });
    }

    /// Notifies the user if a prompt is still waiting for hooks.
    pub(super) fn announce_delay(&mut self) {
        if self.hooks.prompts.is_waiting() {
            let message = "hooks are running; the prompt is sent when they have finished".to_owned();
            self.bus.emit(EventKind::Notice { message });
        }
    }

    fn review_next_prompt(&mut self) {
        let reviews = &mut self.hooks.prompts;
        if reviews.starting.is_some() || reviews.current.is_some() {
            return;
        }
        let Some(submitted) = reviews.waiting.pop_front() else { return };
        let number = reviews.next_number();
        let (host, text) = (self.hooks.extensions.clone(), submitted.text.clone());
        let task = self.jobs.spawn(async move {
            JobEvent::PromptReviewed { number, verdict: host.review_prompt(&text).await }
        });
        self.hooks.prompts.current = Some(PendingPromptReview { number, submitted, task });
    }

    /// Sends a prompt with the extensions' texts, or returns it to the caller.
    pub(super) fn prompt_reviewed(&mut self, number: u64, verdict: Result<Vec<String>, String>) {
        let reviews = &mut self.hooks.prompts;
        let Some(reviewed) = reviews.current.take_if(|current| current.number == number) else { return };
        let mut submitted = reviewed.submitted;
        match verdict {
            Ok(texts) => {
                let texts = std::mem::take(&mut reviews.texts).into_iter().chain(texts);
                texts.for_each(|text| attach(&mut submitted.options, &text));
                self.accept_prompt(submitted);
            }
            Err(reason) => send_reply(submitted.reply, Err(AgentError::PromptRejected(reason))),
        }
        self.review_next_prompt();
    }

    fn accept_prompt(&mut self, submitted: SubmittedPrompt) {
        let SubmittedPrompt { text, options, reply, delivery } = submitted;
        if delivery == PromptDelivery::SteerNow {
            return self.steer_now_reviewed(Some(text), options, reply);
        }
        let held = PromptAwaitingResources { text, options, reply };
        let Some(PromptAwaitingResources { text, options, reply }) = self.read_resources(held) else {
            return;
        };
        self.queue_prompt(text, options, reply);
    }

    /// Returns all prompts that are under review, or waiting for it, to their callers.
    pub(super) fn stop_prompt_reviews(&mut self) {
        let reviews = &mut self.hooks.prompts;
        let current = reviews.current.take().map(|current| {
            current.task.abort();
            current.submitted
        });
        for SubmittedPrompt { reply, .. } in current.into_iter().chain(reviews.waiting.drain(..)) {
            send_reply(
                reply,
                Err(AgentError::PromptRejected("stopped before its hooks had finished".into())),
            );
        }
    }

    /// Lets the extensions review the end of a run, after the background tasks if the run waits for them. If
    /// such tasks have ended, the run continues first.
    pub(super) fn review_end(&mut self, turn: TurnNumber, is_continued: bool) {
        let host = self.hooks.extensions.clone();
        let awaited = self.awaited_tasks();
        let are_told = !self.tells_notes();
        self.jobs.open(async move {
            if let Some(mut running) = awaited
                && (!are_told || *running.borrow_and_update() > 0)
            {
                // The driver owns the sender and drops this job together with it.
                let _ = running.wait_for(|running| *running == 0).await;
                return JobEvent::EndReviewed { turn, instruction: None };
            }
            let instruction = host.review_end(RunEnd { is_continued }).await;
            JobEvent::EndReviewed { turn, instruction }
        });
    }
}

/// Adds text after the message for the model.
fn attach(options: &mut PromptOptions, text: &str) {
    let separator = if options.attached.is_empty() { "" } else { "\n\n" };
    options.attached = format!("{}{separator}<hook>\n{text}\n</hook>", options.attached);
}
