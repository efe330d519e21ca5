//! The state of the extensions' hooks.

use std::collections::HashMap;

use tiller_core::id::CallId;
use tiller_tools::tool::Tools;
use tokio::task::AbortHandle;

use crate::extension::ExtensionHost;
use crate::handle::{PromptOptions, Reply};
use crate::turn::TurnNumber;

/// The extensions and the state of their hooks.
#[derive(Debug)]
pub(super) struct Hooks {
    pub(super) extensions: ExtensionHost,
    /// True if the next request is the first of a run.
    pub(super) begins_run: bool,
    /// Changes by extensions to the current request.
    pub(super) opened: Option<OpenedRequest>,
    /// Calls of the current answer whose arguments were changed, and the extensions that changed them.
    pub(super) rewritten: HashMap<CallId, Vec<String>>,
    pub(super) commands: HashMap<u64, PendingCommand>,
    /// Number of the next command.
    pub(super) next: u64,
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
        }
    }

    /// Returns whether an extension's command is running.
    pub(super) fn is_running_command(&self) -> bool {
        !self.commands.is_empty()
    }

    pub(super) fn extensions(&self) -> &ExtensionHost {
        &self.extensions
    }
}
