//! The link between delegation tools and their session.

use std::fmt;
use std::sync::{Arc, OnceLock};

use tiller_tools::tool::Tools;

use crate::handle::{AgentSession, WeakSession};

/// The delegation tools of an agent.
pub(super) struct ChildDelegation {
    /// The tools; at the maximum depth they reject every task.
    pub tools: Tools,
    /// The names of all delegation tools.
    pub all_names: Vec<String>,
    pub link: SessionLink,
}

type DelegateChild = dyn Fn(&str) -> ChildDelegation + Send + Sync;

/// Connects the tools of a [`Delegation`](super::Delegation) with their session. Clones share the link.
#[derive(Clone, Default)]
pub struct SessionLink {
    session: Arc<OnceLock<WeakSession>>,
    /// Creates the delegation of an agent of the session; `None` if the session can't delegate.
    delegate_child: Option<Arc<DelegateChild>>,
}

impl SessionLink {
    /// Creates the link of a session; `delegate_child` creates the delegation of its agent of a name.
    pub(super) fn new(delegate_child: impl Fn(&str) -> ChildDelegation + Send + Sync + 'static) -> Self {
        Self { delegate_child: Some(Arc::new(delegate_child)), ..Self::default() }
    }

    /// Connects the tools to their session.
    pub(crate) fn connect(&self, session: &AgentSession) {
        // A second session with the same tools is the caller's mistake; the tools stay connected to the first
        // one.
        let _ = self.session.set(session.downgrade());
    }

    pub(super) fn session(&self) -> Option<&WeakSession> {
        self.session.get()
    }

    /// Creates the delegation of an agent of the session.
    pub(super) fn child_delegation(&self, agent: &str) -> Option<ChildDelegation> {
        self.delegate_child.as_ref().map(|delegate_child| delegate_child(agent))
    }
}

impl fmt::Debug for SessionLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionLink").field("session", &self.session).finish_non_exhaustive()
    }
}
