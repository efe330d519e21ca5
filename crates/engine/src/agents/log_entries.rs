//! Entries about agents in the delegating session's log, and the usage that they record. Pure.

use serde::Serialize;
use tiller_core::unit::Usd;
use tiller_session::{EntryBody, ModelUsage};

/// Type of the entry with a [`DelegatedTask`](tiller_core::delegated_task::DelegatedTask).
pub(crate) const START_TYPE: &str = "tiller.agent";

/// Type of the entry with a [`DelegatedTaskEnd`](tiller_core::delegated_task::DelegatedTaskEnd).
pub(crate) const END_TYPE: &str = "tiller.agent_end";

/// Returns the entry for the start or the end of a task.
pub(crate) fn agent_entry(custom_type: &str, data: &impl Serialize) -> EntryBody {
    EntryBody::Custom { custom_type: custom_type.to_owned(), data: serde_json::to_value(data).ok() }
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
