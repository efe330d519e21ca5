//! Entries about agents in the delegating session's log, and the usage that they record. Pure.

use serde::Serialize;
use tiller_core::delegated_task::{AGENT_NOTE_TYPE, BackgroundCall};
use tiller_core::message::Content;
use tiller_core::unit::Usd;
use tiller_session::{EntryBody, ModelUsage};

/// Type of the entry with a [`DelegatedTask`](tiller_core::delegated_task::DelegatedTask).
pub(crate) const START_TYPE: &str = "tiller.agent";

/// Type of the entry with a [`DelegatedTaskEnd`](tiller_core::delegated_task::DelegatedTaskEnd).
pub(crate) const END_TYPE: &str = "tiller.agent_end";

/// Type of the entry with a [`BackgroundCall`](tiller_core::delegated_task::BackgroundCall).
pub(crate) const BACKGROUND_TYPE: &str = "tiller.background_tasks";

/// Type of the entry with a [`BackgroundCallEnd`](tiller_core::delegated_task::BackgroundCallEnd).
pub(crate) const BACKGROUND_END_TYPE: &str = "tiller.background_tasks_end";

/// Returns the entry for the start or the end of tasks.
pub(crate) fn agent_entry(custom_type: &str, data: &impl Serialize) -> EntryBody {
    EntryBody::Custom { custom_type: custom_type.to_owned(), data: serde_json::to_value(data).ok() }
}

/// A note that tells the model about the end of background tasks.
pub(crate) struct BackgroundNote {
    pub text: String,
    /// The call that delegated the tasks.
    pub call: Option<BackgroundCall>,
}

impl BackgroundNote {
    /// Returns the entries with the note, and with the end of the call's tasks.
    pub(crate) fn entries(&self) -> impl Iterator<Item = EntryBody> + use<> {
        let (custom_type, content) = (AGENT_NOTE_TYPE.to_owned(), Content::Text(self.text.clone()));
        let note = EntryBody::CustomMessage { custom_type, content, display: true };
        let end = self.call.as_ref().map(|call| agent_entry(BACKGROUND_END_TYPE, &call.end()));
        [note].into_iter().chain(end)
    }
}

/// Returns the entries that add the agents' usage to the delegating session's totals.
pub(crate) fn usage_entries(used: Vec<ModelUsage>) -> impl Iterator<Item = EntryBody> {
    let used = used.into_iter().filter(|used| used.usage.total().0 > 0);
    used.map(|ModelUsage { model, usage }| EntryBody::Usage {
        kind: "agent".to_owned(),
        provider: model.provider,
        model: model.id,
        usage,
    })
}

pub(crate) fn cost_of(used: &[ModelUsage]) -> Usd {
    used.iter().fold(Usd::default(), |sum, used| sum + used.usage.cost.total)
}

/// Subtracts the earlier usage from the current usage.
pub(super) fn usage_since(before: &[ModelUsage], now: Vec<ModelUsage>) -> Vec<ModelUsage> {
    let usage = now.into_iter().map(|now| {
        let earlier = before.iter().find(|earlier| earlier.model == now.model);
        let usage = earlier.map_or_else(|| now.usage.clone(), |earlier| now.usage.since(&earlier.usage));
        ModelUsage { usage, ..now }
    });
    usage.collect()
}
