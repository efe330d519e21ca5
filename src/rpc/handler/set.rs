//! How the session is to behave from now on.

use serde_json::{Value, json};

use super::{Handler, HandlerResult, told};
use crate::agent::compaction::Automatic;
use crate::agent::retry::RetryMode;
use crate::agent::{Approver, CycleScope, Direction};
use crate::rpc::command::{Set, Switch};

impl Handler {
    pub(super) async fn set(&self, set: Set) -> HandlerResult {
        let agent = &self.agent;
        match set {
            Set::Model { provider, model } => {
                let chosen = agent.set_model(format!("{provider}/{model}")).await?;
                return told(self.model(&chosen).await?);
            }
            Set::NextModel => return self.next_model().await,
            Set::Thinking(level) => {
                return told(json!({"level": agent.set_thinking(level).await?}));
            }
            Set::NextThinking => {
                let level = agent.cycle_thinking().await?;
                return told(level.map_or(Value::Null, |level| json!({"level": level})));
            }
            Set::SteeringMode(mode) => agent.set_steering_mode(mode).await?,
            Set::FollowUpMode(mode) => agent.set_follow_up_mode(mode).await?,
            Set::AutoCompaction(Switch::On) => agent.set_auto_compaction(Automatic::On).await?,
            Set::AutoCompaction(Switch::Off) => agent.set_auto_compaction(Automatic::Off).await?,
            Set::AutoRetry(Switch::On) => agent.set_auto_retry(RetryMode::On).await?,
            Set::AutoRetry(Switch::Off) => agent.set_auto_retry(RetryMode::Off).await?,
            Set::Approvals(Switch::On) => agent.set_audience(Approver::Present).await?,
            Set::Approvals(Switch::Off) => agent.set_audience(Approver::Absent).await?,
            // The way out has been told.
            Set::Deltas(_) => {}
        }
        Ok(None)
    }

    async fn next_model(&self) -> HandlerResult {
        let Some(chosen) = self.agent.cycle_model(Direction::Forward).await? else {
            return told(Value::Null);
        };
        told(json!({
            "model": self.model(&chosen.model).await?,
            "thinkingLevel": chosen.thinking,
            "isScoped": chosen.scope == CycleScope::Listed,
        }))
    }
}
