//! Prompts on their way to the agent. Each is prepared and then sent, one after the other, so that they
//! arrive in the order typed.
//!
//! Navigation is queued among them: a prompt belongs to the entry where it was written.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::pin::Pin;

use tiller_engine::{AgentError, AgentSession, FileToAttach, LengthCheck, PromptOptions, StreamingBehavior};
use tokio::task::spawn_blocking;

use crate::action::{MessageExtra, Submit, UserText};
use crate::address::Address;
use crate::attach;
use crate::attach::mentions::Mentions;
use crate::executor::errors::failure;
use crate::message::TaskResult;
use crate::navigate::Navigate;
use crate::session_model::Job;

/// Maximum number of waiting prompts and navigation; further actions are accepted when one is done.
const MAX_WAITING: usize = 256;

type AgentOperation<T> = Pin<Box<dyn Future<Output = Result<T, AgentError>> + Send>>;

/// The waiting prompts and navigation, in order, and the prompt that is being delivered.
pub(super) struct Submissions {
    agent: AgentSession,
    home: Option<PathBuf>,
    current: Option<Submission>,
    waiting: VecDeque<OrderedAction>,
}

/// A prompt that is being delivered.
struct Submission {
    typed: Option<UserText>,
    stage: Stage,
}

enum Stage {
    /// Its files are being read. It can be dropped.
    Preparing(AgentOperation<PreparedPrompt>),
    /// The agent has it, and may read resources or run hooks first. Only the agent can return it.
    Sending { sent: AgentOperation<()>, problems: Vec<String> },
}

enum OrderedAction {
    Submit(Submit),
    Navigate(Navigate, Address),
}

/// A prompt that can be sent.
struct PreparedPrompt {
    submit: Submit,
    options: PromptOptions,
    /// Problems with its mentions.
    problems: Vec<String>,
}

/// The result of waiting for the next submission.
pub(super) enum SubmissionStep {
    /// A prompt was delivered or has failed.
    Over(Vec<TaskResult>),
    /// The next step is this navigation, requested by this part of the screen.
    Navigate(Navigate, Address),
}

impl Submissions {
    pub(super) fn new(agent: AgentSession, home: Option<PathBuf>) -> Self {
        Self { agent, home, current: None, waiting: VecDeque::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.current.is_none() && self.waiting.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.waiting.len() < MAX_WAITING
    }

    /// Adds a prompt; returns the resulting reports.
    pub(super) fn submit(&mut self, submit: Submit) -> Vec<TaskResult> {
        self.waiting.push_back(OrderedAction::Submit(submit));
        vec![TaskResult::Began(Job::Send)]
    }

    pub(super) fn navigate(&mut self, target: Navigate, from: Address) {
        self.waiting.push_back(OrderedAction::Navigate(target, from));
    }

    /// Drops the prompts that the agent doesn't have yet; returns reports with the typed text.
    pub(super) fn stop(&mut self) -> Vec<TaskResult> {
        let is_prepared = |current: &mut Submission| matches!(current.stage, Stage::Preparing(_));
        let current = self.current.take_if(is_prepared).map(|current| current.typed);
        let (mut prompts, mut others) = (Vec::from_iter(current), VecDeque::new());
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                OrderedAction::Submit(submit) => prompts.push(submit.typed()),
                OrderedAction::Navigate(..) => others.push_back(waiting),
            }
        }
        self.waiting = others;
        let ended = prompts.iter().map(|_| TaskResult::Ended(Job::Send)).collect::<Vec<_>>();
        let typed: Vec<UserText> = prompts.into_iter().flatten().collect();
        let returned = (!typed.is_empty()).then_some(TaskResult::ReturnedInput(typed));
        returned.into_iter().chain(ended).collect()
    }

    /// Waits for the end of the current prompt, or starts the next one. Cancel-safe. Call it only if there is
    /// a submission.
    pub(super) async fn next(&mut self) -> SubmissionStep {
        loop {
            if self.current.is_none() {
                match self.waiting.pop_front() {
                    Some(OrderedAction::Navigate(target, from)) => {
                        return SubmissionStep::Navigate(target, from);
                    }
                    Some(OrderedAction::Submit(submit)) => {
                        let typed = submit.typed();
                        let prepared = prepare(self.agent.clone(), self.home.clone(), submit);
                        self.current =
                            Some(Submission { typed, stage: Stage::Preparing(Box::pin(prepared)) });
                    }
                    None => return std::future::pending().await,
                }
            }
            let Some(Submission { stage, .. }) = &mut self.current else { continue };
            let outcome = match stage {
                Stage::Preparing(prepared) => match prepared.await {
                    Ok(PreparedPrompt { submit, options, problems }) => {
                        let sent: AgentOperation<()> = Box::pin(send(self.agent.clone(), submit, options));
                        *stage = Stage::Sending { sent, problems };
                        continue;
                    }
                    Err(error) => Err(error),
                },
                Stage::Sending { sent, problems } => sent.await.map(|()| std::mem::take(problems)),
            };
            let typed = self.current.take().and_then(|current| current.typed);
            let report = match outcome {
                // The bottom line shows one flash at a time.
                Ok(problems) => (!problems.is_empty()).then(|| TaskResult::Note(problems.join("; "))),
                Err(error) => Some(failure(&error, typed)),
            };
            return SubmissionStep::Over([TaskResult::Ended(Job::Send)].into_iter().chain(report).collect());
        }
    }
}

/// Reads the files that a message mentions.
async fn prepare(
    agent: AgentSession,
    home: Option<PathBuf>,
    submit: Submit,
) -> Result<PreparedPrompt, AgentError> {
    let (submit, mut images) = match submit {
        Submit::WithImages(submit, images) => (*submit, images),
        submit => (submit, Vec::new()),
    };
    let (submit, extra) = match submit {
        Submit::WithExtra(submit, extra) => (*submit, Some(extra)),
        submit => (submit, None),
    };
    let named = match &extra {
        Some(MessageExtra::FilesOf(typed)) => mentions(&agent, home, &Submit::Steer(typed.clone())).await?,
        Some(MessageExtra::Attached(_) | MessageExtra::AsFile(_) | MessageExtra::AnyLength) | None => {
            mentions(&agent, home, &submit).await?
        }
    };
    let Mentions { images: named, files, mut problems } = named;
    images.extend(named);
    let (mut attached, mut length_check) = (String::new(), LengthCheck::Enforce);
    match extra {
        Some(MessageExtra::Attached(blocks)) => attached = blocks,
        Some(MessageExtra::AsFile(whole)) => attached = agent.attach_text(whole).await?,
        Some(MessageExtra::AnyLength) => length_check = LengthCheck::Skip,
        Some(MessageExtra::FilesOf(_)) | None => {
            let (blocks, unread) = read_files(&agent, files).await?;
            attached = blocks;
            problems.extend(unread);
        }
    }
    let options = PromptOptions { images, attached, length_check, ..PromptOptions::default() };
    Ok(PreparedPrompt { submit, options, problems })
}

/// Reads files for a message; returns their text blocks and the problems.
async fn read_files(
    agent: &AgentSession,
    files: Vec<FileToAttach>,
) -> Result<(String, Vec<String>), AgentError> {
    if files.is_empty() {
        return Ok(Default::default());
    }
    let (mut blocks, mut problems) = (Vec::new(), Vec::new());
    for read in agent.read_attachments(files).await? {
        match read {
            Ok(block) => blocks.push(block),
            Err(problem) => problems.push(format!("not attached: {problem}")),
        }
    }
    Ok((blocks.join("\n\n"), problems))
}

/// Reads the images and files that a message mentions with `@`, and reports problems with other mentions.
async fn mentions(
    agent: &AgentSession,
    home: Option<PathBuf>,
    submit: &Submit,
) -> Result<Mentions, AgentError> {
    let text = match submit {
        Submit::Steer(text) | Submit::SteerNow(text) | Submit::FollowUp(text) => text.clone(),
        Submit::DeliverSteeringNow | Submit::Bash(..) | Submit::WithImages(..) | Submit::WithExtra(..) => {
            String::new()
        }
    };
    if !text.contains('@') {
        return Ok(Mentions::default());
    }
    let cwd = agent.state().await?.state.cwd;
    let read = move || attach::mentions::resolve_mentions(&text, &cwd, home.as_deref());
    Ok(spawn_blocking(read).await.unwrap_or_default())
}

/// Sends a message to the agent or runs a shell command.
async fn send(agent: AgentSession, submit: Submit, options: PromptOptions) -> Result<(), AgentError> {
    let prompt = |behavior| PromptOptions { streaming_behavior: Some(behavior), ..options.clone() };
    match submit {
        Submit::Steer(text) => agent.prompt(text, prompt(StreamingBehavior::Steer)).await,
        Submit::SteerNow(text) => agent.steer_now(text, options).await,
        Submit::DeliverSteeringNow => match agent.deliver_steering_now().await {
            // They were delivered in the meantime.
            Err(AgentError::NotFound(_)) => Ok(()),
            done => done,
        },
        Submit::FollowUp(text) => agent.prompt(text, prompt(StreamingBehavior::FollowUp)).await,
        Submit::Bash(line, context) => agent.bash(line, context).await,
        // Unwrapped by the caller.
        Submit::WithImages(..) | Submit::WithExtra(..) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
