//! The state of the extensions' hooks.

use std::collections::{HashMap, VecDeque};

use tiller_core::id::CallId;
use tiller_tools::tool::Tools;
use tokio::task::AbortHandle;

use crate::extension::ExtensionHost;
use crate::handle::{PromptOptions, Reply};
use crate::turn::TurnNumber;

#[derive(Debug)]
pub(super) struct Hooks {
    pub(super) extensions: ExtensionHost,
    /// True if the next request is the first of a run.
    pub(super) begins_run: bool,
    /// Changes to the current request by extensions.
    pub(super) opened: Option<OpenedRequest>,
    /// Calls of the current answer whose arguments were changed, and the extensions that changed them.
    pub(super) rewritten: HashMap<CallId, Vec<String>>,
    pub(super) commands: HashMap<u64, PendingCommand>,
    /// Number of the next command.
    pub(super) next: u64,
    pub(super) prompts: PromptReviews,
}

/// The queue of prompts that wait for the extensions' review.
#[derive(Debug, Default)]
pub(super) struct PromptReviews {
    /// Number of the newest session start or review.
    pub(super) number: u64,
    /// The session start whose hooks are running; prompts wait for it.
    pub(super) starting: Option<u64>,
    /// Texts added to the next prompt for the model.
    pub(super) texts: Vec<String>,
    /// The prompt in review.
    pub(super) current: Option<PendingPromptReview>,
    pub(super) waiting: VecDeque<SubmittedPrompt>,
}

impl PromptReviews {
    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Returns true if a prompt waits for the extensions.
    pub(super) fn is_waiting(&self) -> bool {
        self.current.is_some() || !self.waiting.is_empty()
    }
}

#[derive(Debug)]
pub(super) struct PendingPromptReview {
    pub(super) number: u64,
    pub(super) submitted: SubmittedPrompt,
    pub(super) task: AbortHandle,
}

/// A prompt before its review.
#[derive(Debug)]
pub(super) struct SubmittedPrompt {
    pub(super) text: String,
    pub(super) options: PromptOptions,
    pub(super) reply: Reply<()>,
    pub(super) delivery: PromptDelivery,
}

/// The delivery of a reviewed prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PromptDelivery {
    /// Starts a run, or is queued.
    Usual,
    /// Is delivered immediately and stops everything in progress.
    SteerNow,
}

#[derive(Debug)]
pub(super) struct OpenedRequest {
    pub(super) turn: TurnNumber,
    pub(super) system: String,
    pub(super) tools: Tools,
}

/// A running command and the caller that waits for it.
#[derive(Debug)]
pub(super) struct PendingCommand {
    pub(super) options: PromptOptions,
    pub(super) reply: Reply<()>,
    pub(super) task: AbortHandle,
}

impl Hooks {
    pub(super) fn new(host: ExtensionHost) -> Self {
        Self {
            extensions: host,
            begins_run: false,
            opened: None,
            rewritten: HashMap::new(),
            commands: HashMap::new(),
            next: 0,
            prompts: PromptReviews::default(),
        }
    }

    /// Returns true while an extension's command is running or a prompt is under review.
    pub(super) fn is_busy(&self) -> bool {
        !self.commands.is_empty() || self.prompts.is_waiting()
    }

    pub(super) fn extensions(&self) -> &ExtensionHost {
        &self.extensions
    }
}
