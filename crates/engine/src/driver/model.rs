//! The choice of model and thinking level.

use std::sync::Arc;

use tiller_core::event::EventKind;
use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_provider::{CycleDirection, FactSource, Model, ProviderError, UnavailableProvider};
use tiller_session::{EntryBody, SessionError};

use super::Driver;
use super::active_session::model_change;
use super::commands::send_reply;
use crate::handle::{AgentError, ChosenModel, CycleScope, ProviderChange, Reply};

impl Driver {
    /// Applies a change to the usable providers. The active model uses its provider's new state and facts,
    /// starting with the next request.
    pub(super) fn change_provider(&mut self, change: ProviderChange, reply: Reply<()>) {
        let is_active = self.active.model.facts.provider == change.provider();
        match change {
            ProviderChange::Add(provider, models) => {
                let id = &self.active.model.facts.id;
                let is_listed = is_active && models.iter().any(|facts| facts.id == *id);
                if is_active {
                    self.active.model.provider = Arc::clone(&provider);
                }
                self.services.providers.add(provider, models);
                if is_listed {
                    return send_reply(reply, self.renew_facts());
                }
            }
            ProviderChange::Remove { provider, key_name } => {
                self.services.providers.remove_key(&provider, key_name);
                let model = &mut self.active.model;
                if is_active {
                    model.provider = Arc::new(UnavailableProvider::for_removed_key(&*model.provider));
                }
            }
        }
        send_reply(reply, Ok(()));
    }

    /// Reloads the active model's facts from the registry.
    fn renew_facts(&mut self) -> Result<(), AgentError> {
        let model = self.services.providers.exact(&self.active.model.reference())?;
        if model.facts != self.active.model.facts {
            self.active.replace_model(model);
            self.model_changed();
            self.apply_thinking(self.active.unclamped_thinking())?;
            self.warn_of_small_window();
        }
        Ok(())
    }

    fn warn_of_small_window(&mut self) {
        if let Some(warning) = self.active.model.facts.window_warning() {
            self.bus.warn(warning);
        }
    }

    pub(super) fn set_model(&mut self, words: &str) -> Result<ModelRef, AgentError> {
        let resolved = self.services.providers.find(words)?;
        let reference = resolved.model.reference();
        if resolved.source == FactSource::Assumed
            && let Some(listed) = self.services.providers.similar_listed_model(&reference)
        {
            self.bus.warn(format!("{reference} is not a listed model; did you mean {listed}?"));
        }
        self.choose(resolved.model, resolved.thinking)?;
        Ok(reference)
    }

    pub(super) fn cycle_model(
        &mut self,
        direction: CycleDirection,
    ) -> Result<Option<ChosenModel>, AgentError> {
        let providers = &self.services.providers;
        let Some(next) = providers.next_in_cycle(&self.active.model.reference(), direction) else {
            return Ok(None);
        };
        let scope = if providers.is_scoped() { CycleScope::Listed } else { CycleScope::All };
        let model = next.model.reference();
        self.choose(next.model, next.thinking)?;
        Ok(Some(ChosenModel { model, thinking: self.active.thinking, scope }))
    }

    /// Records and emits a model choice. Keeps the level requested last, as far as the model supports it.
    fn choose(&mut self, model: Model, thinking: Option<ThinkingLevel>) -> Result<(), AgentError> {
        self.record_change(model_change(&model.reference()))?;
        self.active.set_model(model);
        self.model_changed();
        self.set_thinking(thinking.unwrap_or(self.active.requested_thinking))?;
        self.warn_of_small_window();
        Ok(())
    }

    pub(super) fn model_changed(&mut self) {
        self.summaries.machine.forget_failure();
        self.bus.emit(EventKind::ModelChanged { model: self.active.model.reference() });
    }

    pub(super) fn set_thinking(&mut self, requested: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        self.apply_thinking(requested)?;
        self.active.set_requested_thinking(requested);
        Ok(self.active.thinking)
    }

    /// Sets the supported level nearest to the requested one.
    pub(super) fn apply_thinking(&mut self, requested: ThinkingLevel) -> Result<(), SessionError> {
        let level = self.active.model.facts.clamp(requested);
        if level != self.active.thinking {
            self.record_change(EntryBody::ThinkingLevelChange { thinking_level: level })?;
            self.active.thinking = level;
            self.bus.emit(EventKind::ThinkingLevelChanged { level });
        }
        Ok(())
    }

    pub(super) fn cycle_thinking(&mut self) -> Result<Option<ThinkingLevel>, AgentError> {
        let levels = self.active.model.facts.levels();
        if levels.len() < 2 {
            return Ok(None);
        }
        let at = levels.iter().position(|level| *level == self.active.thinking);
        let next = levels[at.map_or(0, |at| (at + 1) % levels.len())];
        self.set_thinking(next).map(Some)
    }

    /// Lowers the model's known context window after its server reported a smaller one.
    pub(super) fn lower_window(&mut self, error: &ProviderError) {
        let model = ModelRef {
            provider: self.active.requested_model.provider.clone(),
            id: self.active.requested_model.id.clone(),
        };
        let Some(window) = error.window().filter(|window| *window < self.active.requested_model.window)
        else {
            return;
        };
        self.services.providers.lower_window(&model, window);
        if self.active.model.reference() == model {
            let facts = (*self.active.model.facts).clone().with_window(window);
            self.active.model.facts = Arc::new(facts);
        }
        self.summaries.machine.forget_failure();
        self.bus.warn(format!(
            "the server of {model} reports a context window of {window} tokens instead of {}; using the reported value",
            self.active.requested_model.window
        ));
    }

    /// Appends a state change. An empty log stays empty: the introduction will include the change.
    fn record_change(&mut self, body: EntryBody) -> Result<(), SessionError> {
        let has_words = self.active.reader().leaf().is_some();
        if has_words || self.active.has_written_to_log() { self.append(body) } else { Ok(()) }
    }
}
