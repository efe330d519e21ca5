//! The replacement of the loaded resources.

use std::sync::Arc;

use tiller_core::event::EventKind;

use super::Driver;
use crate::resources::{Inventory, ReloadResult};

impl Driver {
    /// Replaces the resources; the next request and the next prompt use the new ones.
    pub(super) fn resources_read(&mut self, read: ReloadResult) {
        let ReloadResult { resources, requested, watch_error } = read;
        let before = std::mem::replace(&mut self.resources.resources, resources);
        let now = Arc::clone(&self.resources.resources);
        if let Some(error) = watch_error {
            self.bus.warn(error);
        }
        // A caller that requested the reload gets all problems.
        let known = if requested { Arc::default() } else { Arc::clone(&before) };
        for problem in now.new_problems(&known) {
            self.bus.warn(problem.to_string());
        }
        let inventory = now.inventory();
        if !now.has_same_content(&before) {
            self.resources.write_system();
            let Inventory { skills, templates, context_files, .. } = inventory;
            self.bus.emit(EventKind::ResourcesChanged { skills, templates, context_files });
        }
        if let Some(reply) = requested.then(|| self.resources.waiting.pop_front()).flatten() {
            let _ = reply.send(Ok(inventory));
        }
    }
}
