//! Choice of the model and thinking level.

use std::sync::Arc;

use tiller_core::event::EventKind;
use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_provider::{Direction, Model, ProviderError, UnavailableProvider};
use tiller_session::{EntryBody, SessionError};

use super::Driver;
use super::active_session::model_change;
use super::commands::answer;
use crate::handle::{AgentError, ChosenModel, CycleScope, ProviderChange, Reply};

impl Driver {
    /// Applies a change of the usable providers. The active model uses its provider's new state from the next
    /// request on.
    pub(super) fn change_provider(&mut self, change: ProviderChange, reply: Reply<()>) {
        let asked = &mut self.current.model;
        let is_asked = asked.facts.provider == change.provider();
        match change {
            ProviderChange::Open(provider, models) => {
                if is_asked {
                    asked.provider = Arc::clone(&provider);
                }
                self.fixed.providers.add(provider, models);
            }
            ProviderChange::Shut { provider, key_name } => {
                self.fixed.providers.shut(&provider, key_name);
                if is_asked {
                    asked.provider = Arc::new(UnavailableProvider::instead_of(&*asked.provider));
                }
            }
        }
        answer(reply, Ok(()));
    }

    pub(super) fn set_model(&mut self, words: &str) -> Result<ModelRef, AgentError> {
        let found = self.fixed.providers.find(words)?;
        let reference = found.model.reference();
        self.choose(found.model, found.thinking)?;
        Ok(reference)
    }

    pub(super) fn cycle_model(&mut self, direction: Direction) -> Result<Option<ChosenModel>, AgentError> {
        let providers = &self.fixed.providers;
        let Some(next) = providers.beside(&self.current.model.reference(), direction) else {
            return Ok(None);
        };
        let scope = if providers.is_scoped() { CycleScope::Listed } else { CycleScope::All };
        let model = next.model.reference();
        self.choose(next.model, next.thinking)?;
        Ok(Some(ChosenModel { model, thinking: self.current.thinking, scope }))
    }

    /// Records the choice of a model, then emits it. The level is the one requested last, as far as this model
    /// supports it.
    fn choose(&mut self, model: Model, thinking: Option<ThinkingLevel>) -> Result<(), AgentError> {
        let reference = model.reference();
        self.note(model_change(&reference))?;
        self.current.answer_by(model);
        self.summaries.futile = None;
        self.teller.tell(EventKind::ModelChanged { model: reference });
        self.set_thinking(thinking.unwrap_or(self.current.wanted_thinking))?;
        Ok(())
    }

    pub(super) fn set_thinking(&mut self, wanted: ThinkingLevel) -> Result<ThinkingLevel, AgentError> {
        let level = self.current.model.facts.clamp(wanted);
        if level != self.current.thinking {
            self.note(EntryBody::ThinkingLevelChange { thinking_level: level })?;
            self.current.thinking = level;
            self.teller.tell(EventKind::ThinkingLevelChanged { level });
        }
        self.current.wanted_thinking = wanted;
        Ok(level)
    }

    pub(super) fn cycle_thinking(&mut self) -> Result<Option<ThinkingLevel>, AgentError> {
        let levels = self.current.model.facts.levels();
        if levels.len() < 2 {
            return Ok(None);
        }
        let at = levels.iter().position(|level| *level == self.current.thinking);
        let next = levels[at.map_or(0, |at| (at + 1) % levels.len())];
        self.set_thinking(next).map(Some)
    }

    /// Lowers the model's known context window after its server reported a smaller one.
    pub(super) fn heed_window(&mut self, error: &ProviderError) {
        let asked =
            ModelRef { provider: self.current.asked.provider.clone(), id: self.current.asked.id.clone() };
        let Some(window) = error.window().filter(|window| *window < self.current.asked.window) else {
            return;
        };
        self.fixed.providers.find_window(&asked, window);
        if self.current.model.reference() == asked {
            let facts = (*self.current.model.facts).clone().in_window(window);
            self.current.model.facts = Arc::new(facts);
        }
        self.summaries.futile = None;
        self.teller.warn(format!(
            "{asked} has a window of {window} tokens, its server says, and not of {}; the conversation is kept within that from now on",
            self.current.asked.window
        ));
    }

    /// Appends a change of state. An empty log stays empty: the introduction will include the change.
    fn note(&mut self, body: EntryBody) -> Result<(), SessionError> {
        let has_words = self.current.reader().leaf().is_some();
        if has_words || self.current.is_introduced() { self.append(body) } else { Ok(()) }
    }
}
