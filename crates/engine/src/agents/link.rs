//! The link between delegation tools and their session.

use std::sync::{Arc, OnceLock};

use crate::handle::{AgentSession, WeakSession};

/// Connects the tools of a [`Delegation`](super::Delegation) with their session. Clones share the link.
#[derive(Clone, Debug, Default)]
pub struct SessionLink {
    session: Arc<OnceLock<WeakSession>>,
}

impl SessionLink {
    /// Connects the tools to their session.
    pub(crate) fn connect(&self, session: &AgentSession) {
        // A second session with the same tools is the caller's mistake; the tools stay connected to the first
        // one.
        let _ = self.session.set(session.downgrade());
    }

    pub(super) fn session(&self) -> Option<&WeakSession> {
        self.session.get()
    }
}
