//! The trusted project of a session. `/trust`, and rules that are saved in the project's settings, change it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::config::Project;

/// The project whose files take effect, in its trusted state. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct TrustedProject(Arc<Mutex<Option<Project>>>);

impl TrustedProject {
    pub(super) fn new(project: Option<Project>) -> Self {
        Self(Arc::new(Mutex::new(project)))
    }

    pub(super) fn current(&self) -> Option<Project> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set(&self, project: Project) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(project);
    }
}
