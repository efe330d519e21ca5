//! Hooks around prompts: the start of a session, the review of a prompt, and the end of a run.

use std::sync::Arc;

use super::host::{ExtensionHost, Hook};
use super::{PromptVerdict, RunEnd, RunEndVerdict, SessionOpening};

impl ExtensionHost {
    /// Runs the hooks for an opened session; returns the texts for the model.
    pub(crate) async fn start_session(&self, opening: SessionOpening) -> Vec<String> {
        let mut texts = Vec::new();
        for member in self.members() {
            let (extension, opening) = (Arc::clone(&member.extension), opening.clone());
            let work = async move { extension.session_start(&opening).await };
            texts.extend(self.run_hook(member, Hook::SessionStart, work).await.ok().flatten());
        }
        texts
    }

    /// Reviews a prompt; returns the texts for the model, or the reason to reject it. An extension that fails
    /// counts as having no objection.
    pub(crate) async fn review_prompt(&self, prompt: &str) -> Result<Vec<String>, String> {
        let mut texts = Vec::new();
        for member in self.members() {
            let (extension, prompt) = (Arc::clone(&member.extension), prompt.to_owned());
            let work = async move { extension.prompt_submit(&prompt).await };
            match self.run_hook(member, Hook::PromptSubmit, work).await.unwrap_or_default() {
                PromptVerdict::Accept { context } => texts.extend(context),
                PromptVerdict::Reject { reason } => {
                    return Err(format!("{reason} ({})", member.extension.label()));
                }
            }
        }
        Ok(texts)
    }

    /// Reviews the end of a run; returns the first instruction to continue.
    pub(crate) async fn review_end(&self, end: RunEnd) -> Option<String> {
        for member in self.members() {
            let extension = Arc::clone(&member.extension);
            let work = async move { extension.run_end(end).await };
            if let Ok(RunEndVerdict::Continue { instruction }) =
                self.run_hook(member, Hook::RunEnd, work).await
            {
                return Some(instruction);
            }
        }
        None
    }
}
