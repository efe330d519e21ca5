//! The link between delegation tools and their session.

use std::sync::{Arc, OnceLock};

use super::registry::AgentRegistry;
use crate::handle::{AgentSession, WeakSession};

/// Connects the tools of a [`Delegation`](super::Delegation), and the agents that it knows, with their session. Clones
/// share the link.
#[derive(Clone, Debug, Default)]
pub struct SessionLink {
    session: Arc<OnceLock<WeakSession>>,
    registry: AgentRegistry,
}

impl SessionLink {
    pub(super) fn new(registry: AgentRegistry) -> Self {
        Self { session: Arc::default(), registry }
    }

    /// Connects the tools to their session.
    pub(crate) fn connect(&self, session: &AgentSession) {
        // A second session with the same tools is a mistake of the caller; the first one keeps them.
        let _ = self.session.set(session.downgrade());
    }

    pub(super) fn session(&self) -> Option<&WeakSession> {
        self.session.get()
    }

    /// The agents that a program has registered.
    pub(crate) fn registry(&self) -> &AgentRegistry {
        &self.registry
    }
}
