//! Prompts and requests for summaries. Pure.

use std::sync::Arc;

use tiller_core::message::{Message, ThinkingLevel, UserMessage};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::{ModelFacts, Request, ToolChoice};
use tiller_session::context::ProjectedMessage;

use super::CompactionError;
use super::summary_input::transcript;

const SUMMARIZER: &str = include_str!("../../../../prompts/system/summarizer.md");
const SUMMARY: &str = include_str!("../../../../prompts/system/summary.md");
const UPDATE: &str = include_str!("../../../../prompts/system/summary_update.md");
const SPLIT_TURN: &str = include_str!("../../../../prompts/system/split_turn.md");
const BRANCH: &str = include_str!("../../../../prompts/system/branch_summary.md");

/// Maximum tokens of a summary: several pages; a longer summary would save too little.
const MAX_SUMMARY_TOKENS: Tokens = Tokens(8_192);

/// UTF-16 units per token, the same ratio as in all token estimates.
const UNITS_PER_TOKEN: u64 = 4;

/// Minimum tokens of conversation that are worth a request.
const MIN_CONVERSATION_TOKENS: u64 = 128;

/// The kind of summary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A first summary.
    Summary,
    /// An update of an earlier summary.
    Update {
        /// The earlier summary, without the quoted first message and the file lists.
        previous: String,
    },
    /// The context needed to understand the rest of a split turn.
    SplitTurn,
    /// A summary of an abandoned branch.
    Branch,
}

/// A summary request: the prompt and the messages that it covers.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryRequest {
    /// The kind of summary.
    pub prompt: Prompt,
    /// Oldest first.
    pub messages: Vec<ProjectedMessage>,
    /// Number of earlier messages that aren't in `messages` because they weren't loaded.
    pub unloaded: usize,
}

/// The text of one summary request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedRequest {
    /// The system prompt of the request.
    pub system: &'static str,
    /// The conversation and the instructions.
    pub text: String,
    /// Maximum tokens of the answer.
    pub max_tokens: Tokens,
}

impl SummaryRequest {
    /// Renders the request within a model's window. `attempt` counts from 0; each further attempt halves the
    /// space for the conversation, because the token estimate was too low.
    ///
    /// # Errors
    /// [`CompactionError::NoRoom`] if the window has too little space for a conversation.
    pub fn render(
        &self,
        instructions: Option<&str>,
        model: &ModelFacts,
        attempt: u32,
    ) -> Result<RenderedRequest, CompactionError> {
        let instructions_text = self.prompt.instructions_for(instructions);
        let max_tokens = Tokens(MAX_SUMMARY_TOKENS.0.min(model.max_output.0).min(model.window.0 / 4).max(1));
        let prompt_tokens = (SUMMARIZER.len() + instructions_text.len()) as u64 / UNITS_PER_TOKEN;
        // Covers the provider's own additions and the error of the estimate.
        let margin = model.window.0 / 20;
        let room = model.window.0.saturating_sub(max_tokens.0 + prompt_tokens + margin) >> attempt;
        if room < MIN_CONVERSATION_TOKENS {
            return Err(CompactionError::NoRoom);
        }
        let conversation = transcript(&self.messages, self.unloaded, room * UNITS_PER_TOKEN);
        let text = format!("<conversation>\n{conversation}\n</conversation>\n\n{instructions_text}");
        Ok(RenderedRequest { system: SUMMARIZER.trim_end(), text, max_tokens })
    }
}

impl Prompt {
    fn instructions_for(&self, instructions: Option<&str>) -> String {
        let mut text = match self {
            Self::Summary => SUMMARY.to_owned(),
            Self::Update { previous } => {
                format!(
                    "<previous-summary>\n{previous}\n</previous-summary>\n\n{UPDATE}\n{SECTIONS}{SUMMARY}"
                )
            }
            Self::SplitTurn => SPLIT_TURN.to_owned(),
            Self::Branch => BRANCH.to_owned(),
        };
        if let Some(words) = instructions {
            text.push_str("\nThe user specifically asked for:\n");
            text.push_str(words);
            text.push('\n');
        }
        text.trim_end().to_owned()
    }
}

/// Precedes the section instructions in an update.
const SECTIONS: &str = "These are the instructions that a summary follows:\n\n";

impl RenderedRequest {
    /// Converts it to a request for a model. The request offers no tools.
    #[must_use]
    pub fn into_request(self, model: &ModelFacts, now: UnixMs) -> Request {
        let message = Message::User(UserMessage::text(self.text, now));
        Request {
            model: Arc::new(model.clone()),
            system: self.system.to_owned(),
            messages: vec![message.into()],
            tools: [].into(),
            tool_choice: ToolChoice::Auto,
            max_tokens: self.max_tokens,
            temperature: None,
            thinking: model.clamp(ThinkingLevel::Off),
            cache_key: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_provider::catalog;

    use super::*;

    use crate::compaction::retention::tests::conversation;

    fn request(prompt: Prompt, messages: &[ProjectedMessage]) -> SummaryRequest {
        SummaryRequest { prompt, messages: messages.to_vec(), unloaded: 0 }
    }

    fn model(window: u64) -> ModelFacts {
        ModelFacts { window: Tokens(window), ..catalog::assumed("p", "m") }
    }

    #[test]
    fn prompt_has_conversation_then_instructions_then_users_text() {
        let rendered = request(Prompt::Summary, &conversation("u a"))
            .render(Some("mind the lexer"), &model(100_000), 0)
            .unwrap();
        assert!(
            rendered.text.starts_with(
                "<conversation>\n[User] said\n\n[Assistant] said\n</conversation>\n\nWrite a summary"
            ),
            "{}",
            rendered.text
        );
        assert!(
            rendered.text.ends_with("The user specifically asked for:\nmind the lexer"),
            "{}",
            rendered.text
        );
        assert_eq!(rendered.max_tokens, MAX_SUMMARY_TOKENS);
    }

    #[test]
    fn prompt_names_every_section_of_a_summary() {
        let previous = "It began.".to_owned();
        for prompt in [Prompt::Summary, Prompt::Update { previous }] {
            let text =
                request(prompt.clone(), &conversation("u a")).render(None, &model(100_000), 0).unwrap().text;
            for section in [
                "## Goal\n",
                "## Constraints and Preferences\n",
                "## Progress\n### Done\n",
                "### In Progress\n",
                "### Blocked\n",
                "## Key Decisions\n",
                "## Pending Work\n",
                "## Next Steps\n",
                "## Critical Context\n",
            ] {
                assert!(text.contains(section), "{section} in {text}");
            }
        }
    }

    #[test]
    fn prompt_update_includes_the_earlier_summary() {
        let prompt = Prompt::Update { previous: "It began.".into() };
        let text =
            request(prompt.clone(), &conversation("u a")).render(None, &model(100_000), 0).unwrap().text;
        assert!(
            text.contains("</conversation>\n\n<previous-summary>\nIt began.\n</previous-summary>"),
            "{text}"
        );
    }

    #[test]
    fn prompt_fits_the_window_and_shrinks_at_each_attempt() {
        let long = conversation(&"u a ".repeat(4_000));
        let length = |window, attempt| {
            let rendered = request(Prompt::Summary, &long).render(None, &model(window), attempt).unwrap();
            (rendered.text.len() + rendered.system.len()) as u64 / 4 + rendered.max_tokens.0
        };
        assert!(length(8_000, 0) <= 8_000);
        assert!(length(8_000, 0) > 7_000);
        assert!(length(8_000, 1) < length(8_000, 0) - 1_000);
        let error = request(Prompt::Summary, &long).render(None, &model(700), 0);
        assert_eq!(error, Err(CompactionError::NoRoom));
    }

    #[test]
    fn prompt_request_has_no_tools_and_no_thinking() {
        let rendered =
            request(Prompt::SplitTurn, &conversation("u a1 r1")).render(None, &model(100_000), 0).unwrap();
        let request = rendered.into_request(&model(100_000), UnixMs(1));
        assert!(request.tools.is_empty());
        assert_eq!(request.messages.len(), 1);
        assert_eq!(request.thinking, ThinkingLevel::Off);
    }
}
