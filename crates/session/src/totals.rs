//! Totals of a log or a branch: message counts, and usage by model. Pure, except for the two [`Reader`]
//! methods.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tiller_core::id::EntryId;
use tiller_core::message::{Message, ModelRef, Usage};

use super::entry::{EntryBody, SummaryModel};
use super::error::SessionError;
use super::reader::Reader;

/// Totals over entries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Totals {
    /// User messages.
    pub user_messages: usize,
    /// Answers, including failed and aborted ones.
    pub assistant_messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// Tool results.
    pub tool_results: usize,
    /// Records of `!` and `!!` commands.
    pub bash_executions: usize,
    /// Usage of answers, summaries and other logged requests.
    pub usage: Usage,
    /// The same usage by model, in the order of first use. Usage without a model is omitted.
    pub models: Vec<ModelUsage>,
    /// The model that last answered or was selected; a summary without a model is attributed to this one.
    #[serde(skip)]
    latest: Option<ModelRef>,
}

/// Usage of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// The model.
    pub model: ModelRef,
    /// Tokens and cost.
    pub usage: Usage,
}

impl Totals {
    /// The number of messages of all roles.
    #[must_use]
    pub fn messages(&self) -> usize {
        self.user_messages + self.assistant_messages + self.tool_results + self.bash_executions
    }

    /// Adds an entry.
    pub fn add(&mut self, body: &EntryBody) {
        match body {
            EntryBody::Message(entry) => self.add_message(&entry.message),
            EntryBody::ModelChange { provider, model_id } => {
                self.latest = Some(ModelRef { provider: provider.clone(), id: model_id.clone() });
            }
            EntryBody::Compaction(compaction) => {
                self.add_usage(self.summary_model(compaction.made_by.as_ref()), compaction.usage.as_ref());
            }
            EntryBody::BranchSummary { usage, made_by, .. } => {
                self.add_usage(self.summary_model(made_by.as_ref()), usage.as_ref());
            }
            EntryBody::Usage { provider, model, usage, .. } => {
                self.add_usage(Some(ModelRef { provider: provider.clone(), id: model.clone() }), Some(usage));
            }
            EntryBody::ThinkingLevelChange { .. }
            | EntryBody::ContextEdit { .. }
            | EntryBody::Custom { .. }
            | EntryBody::CustomMessage { .. }
            | EntryBody::Label { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Unknown => {}
        }
    }

    fn add_message(&mut self, message: &Message) {
        match message {
            Message::User(_) => self.user_messages += 1,
            Message::ToolResult(_) => self.tool_results += 1,
            Message::BashExecution(_) => self.bash_executions += 1,
            Message::System(_) => {}
            Message::Assistant(answer) => {
                self.assistant_messages += 1;
                self.tool_calls += answer.tool_calls().count();
                if !answer.provider.is_empty() {
                    self.latest =
                        Some(ModelRef { provider: answer.provider.clone(), id: answer.model.clone() });
                }
                self.add_usage(self.latest.clone(), Some(&answer.usage));
            }
        }
    }

    fn summary_model(&self, summary_model: Option<&SummaryModel>) -> Option<ModelRef> {
        summary_model.map(ModelRef::from).or_else(|| self.latest.clone())
    }

    fn add_usage(&mut self, model: Option<ModelRef>, usage: Option<&Usage>) {
        let Some(usage) = usage.filter(|usage| **usage != Usage::default()) else { return };
        self.usage.add(usage);
        let Some(model) = model else { return };
        match self.models.iter_mut().find(|total| total.model == model) {
            Some(total) => total.usage.add(usage),
            None => {
                let mut counted = Usage::default();
                counted.add(usage);
                self.models.push(ModelUsage { model, usage: counted });
            }
        }
    }
}

impl Reader {
    /// Returns the totals of the log, over all branches. Reads every entry; damaged ones don't count.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn totals(&self) -> Result<Totals, SessionError> {
        let mut tally = Totals::default();
        self.visit(0, |entry| {
            if let Ok(entry) = entry {
                tally.add(&entry.body);
            }
        })?;
        Ok(tally)
    }

    /// Returns the totals of the path to `leaf`. Reads every entry of it; damaged ones don't count.
    ///
    /// # Errors
    /// If there is no entry `leaf`, or the file can't be read.
    pub fn totals_to(&self, leaf: &EntryId) -> Result<Totals, SessionError> {
        let mut tally = Totals::default();
        for id in self.path_to(leaf)? {
            match self.entry(&id) {
                Ok(entry) => tally.add(&entry.body),
                Err(SessionError::Damaged { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(tally)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tiller_core::message::{AssistantMessage, Cost, ToolCall, UserMessage};
    use tiller_core::unit::{Tokens, UnixMs, Usd};

    use super::*;
    use crate::entry::Compaction;

    fn usage(input: u64, dollars: f64) -> Usage {
        let cost = Cost { total: Usd(dollars), ..Cost::default() };
        Usage { input: Tokens(input), cost, ..Usage::default() }
    }

    fn answer(model: &str, spent: Usage, calls: usize) -> EntryBody {
        let call = |at| ToolCall::from_streamed(format!("c{at}").as_str().into(), "bash".into(), "");
        let content = (0..calls).map(|at| tiller_core::message::AssistantBlock::ToolCall(call(at))).collect();
        let answer = AssistantMessage {
            provider: "p".into(),
            model: model.into(),
            usage: spent,
            content,
            ..AssistantMessage::default()
        };
        EntryBody::message(Arc::new(Message::Assistant(answer)))
    }

    #[test]
    fn totals_usage_is_grouped_by_model() {
        let compaction = Compaction {
            summary: String::new(),
            first_kept_entry_id: "x".into(),
            tokens_before: Tokens(0),
            details: None,
            usage: Some(usage(5, 0.5)),
            made_by: None,
        };
        let made_by = Some(SummaryModel { provider: "p".into(), model: "b".into() });
        let summary_model = Compaction { made_by, ..compaction.clone() };
        let user = Message::User(UserMessage::text("hi", UnixMs(0)));
        let entries = [
            EntryBody::message(Arc::new(user)),
            answer("a", usage(10, 1.0), 2),
            EntryBody::Compaction(compaction),
            EntryBody::Compaction(summary_model),
            EntryBody::ModelChange { provider: "p".into(), model_id: "b".into() },
            answer("b", usage(20, 2.0), 0),
            answer("b", Usage::default(), 0),
            answer("a", usage(1, 0.25), 0),
        ];
        let mut totals = Totals::default();
        entries.iter().for_each(|entry| totals.add(entry));
        let spent: Vec<(&str, Tokens, Usd)> = totals
            .models
            .iter()
            .map(|model| (model.model.id.as_str(), model.usage.input, model.usage.cost.total))
            .collect();
        assert_eq!(spent, [("a", Tokens(16), Usd(1.75)), ("b", Tokens(25), Usd(2.5))]);
        assert_eq!((totals.usage.input, totals.usage.cost.total), (Tokens(41), Usd(4.25)));
        assert_eq!((totals.user_messages, totals.assistant_messages, totals.tool_calls), (1, 4, 2));
        assert_eq!(totals.messages(), 5);
    }
}
