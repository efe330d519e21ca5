//! Switches to fallback models when the session's model fails, and back at the end of the run.

use tiller_core::event::EventKind;
use tiller_provider::ProviderError;
use tiller_session::entry::TillerEntry;
use tiller_session::{EntryBody, SessionError};

use super::Driver;
use super::active_session::model_change;
use crate::fallback::{FallbackModel, candidates};
use crate::turn::{AfterFailure, ModelSwitch};

impl Driver {
    /// Returns the reaction to a failure after all retries. A model that the user chose during the request
    /// isn't replaced.
    pub(super) fn switch_or_give_up(&self, error: &ProviderError) -> AfterFailure {
        let failed = self.active.model.reference();
        let requested = &self.active.requested_model;
        if (&requested.provider, &requested.id) != (&failed.provider, &failed.id) {
            return AfterFailure::GiveUp;
        }
        let candidates = candidates(error.failure, &failed.provider, self.fallback_models());
        AfterFailure::SwitchModel(ModelSwitch { failed, cause: error.to_string(), candidates })
    }

    /// Resolves the model names in the setting; unusable models are skipped.
    fn fallback_models(&self) -> Vec<FallbackModel> {
        let names = self.services.options.fallback.iter();
        let resolved = names.filter_map(|name| self.services.providers.find(name).ok());
        resolved
            .map(|found| FallbackModel { model: found.model.reference(), thinking: found.thinking })
            .collect()
    }

    /// Switches to another model until the end of the run. A thinking level chosen by the user stays.
    pub(super) fn switch_model(&mut self, to: &FallbackModel, cause: &str) {
        match self.try_switch_model(to) {
            Ok(()) => self.bus.warn(format!("{cause}; using {} for the rest of this run", to.model)),
            Err(error) => self.handle_store_failure(&error, None),
        }
    }

    fn try_switch_model(&mut self, to: &FallbackModel) -> Result<(), SessionError> {
        // The provider may have been removed since the failure; then this request fails like the one before.
        let Ok(model) = self.services.providers.exact(&to.model) else { return Ok(()) };
        let replaced = self.active.replaced_model().unwrap_or(&self.active.model).reference();
        let users_choice = EntryBody::from_tiller(&TillerEntry::Fallback {
            provider: replaced.provider,
            model_id: replaced.id,
            thinking_level: self.active.requested_thinking,
        });
        self.append_all(vec![model_change(&to.model), users_choice])?;
        self.active.set_fallback_model(model, to.thinking);
        self.model_changed();
        self.apply_thinking(self.active.unclamped_thinking())
    }

    /// Switches back to the user's model after a run, unless the user has chosen another model.
    pub(super) fn restore_model(&mut self) {
        let Some(model) = self.active.replaced_model() else { return };
        let (replaced, level) = (model.reference(), model.facts.clamp(self.active.requested_thinking));
        let level_change = (level != self.active.thinking)
            .then_some(EntryBody::ThinkingLevelChange { thinking_level: level });
        match self.append_all([model_change(&replaced)].into_iter().chain(level_change).collect()) {
            Ok(()) => {
                self.leave_fallback();
                self.bus.warn(format!("back to {replaced}"));
            }
            Err(error) => self.handle_store_failure(&error, None),
        }
    }

    /// Makes the user's model active again. The log records the switch in an entry, or, after a failed write,
    /// in the entries before the next message.
    pub(super) fn leave_fallback(&mut self) {
        let Some(replaced) = self.active.replaced_model().cloned() else { return };
        // The provider may have a new key.
        let model = self.services.providers.exact(&replaced.reference()).unwrap_or(replaced);
        self.active.set_model(model);
        self.model_changed();
        let level = self.active.model.facts.clamp(self.active.requested_thinking);
        if level != self.active.thinking {
            self.active.thinking = level;
            self.bus.emit(EventKind::ThinkingLevelChanged { level });
        }
    }
}
