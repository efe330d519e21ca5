//! The prompts whose resources are being read; `attached_resources` changes them.

use tokio::task::AbortHandle;

use super::job_event::PromptAwaitingResources;

/// The prompts whose resources are being read.
#[derive(Default)]
pub(super) struct PromptsWithResources {
    pub(super) reading: Vec<PromptWithResources>,
    /// Number of the newest prompt.
    pub(super) last: u64,
}

/// A prompt, and the task that reads its resources.
pub(super) struct PromptWithResources {
    pub(super) number: u64,
    pub(super) held: PromptAwaitingResources,
    pub(super) task: AbortHandle,
}
