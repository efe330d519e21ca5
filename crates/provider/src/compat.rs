//! The differences between Chat Completions servers as data: the parameters that a request may contain.
//! Answers of all servers are decoded in the same way.
//!
//! Each provider descriptor has one [`Compat`]; `models.json` overrides fields of it with
//! [`CompatOverrides`].

use serde::Deserialize;

/// The parameters that a server's Chat Completions accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compat {
    /// The field that limits the length of the answer.
    pub max_tokens_field: MaxTokensField,
    /// True if `stream_options: {include_usage: true}` is accepted.
    pub streams_usage: bool,
    /// The parameters of thinking.
    pub thinking_format: ThinkingFormat,
    /// True if a temperature is accepted while the model thinks.
    pub thinking_temperature: bool,
    /// The field in which the thinking of earlier answers is sent back.
    pub thinking_field: ThinkingField,
    /// True if the `reasoning_details` of earlier answers are accepted.
    pub reasoning_details: bool,
    /// The accepted ids of tool calls.
    pub call_ids: CallIds,
    /// True if the arguments of calls are streamed only with `tool_stream: true`.
    pub tool_stream: bool,
    /// True if `tool_choice: "none"` is accepted.
    pub tool_choice_none: bool,
    /// True if a result needs the name of its tool.
    pub result_name: bool,
    /// True if a user message may not follow a result: a short answer is inserted between them.
    pub answer_after_results: bool,
    /// True if `prompt_cache_key` is accepted.
    pub cache_key: bool,
    /// Prefixes of the ids of models whose text may be marked with Anthropic's `cache_control`.
    pub cache_marks: &'static [&'static str],
}

/// The field that limits the length of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`: OpenAI's thinking models reject the other one.
    MaxCompletionTokens,
}

/// The parameters of thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkingFormat {
    /// None are accepted.
    None,
    /// `reasoning_effort: "low"`.
    ReasoningEffort,
    /// `reasoning: {effort: "low"}`, and `{enabled: false}` without thinking.
    Reasoning,
    /// `thinking: {type: "enabled" | "disabled"}`.
    ThinkingType,
    /// `thinking` as above, and `reasoning_effort`.
    ThinkingTypeAndEffort,
    /// The same, with `thinking.clear_thinking: false`: otherwise the thinking of earlier answers is dropped.
    Zai,
    /// `enable_thinking: true | false`.
    EnableThinking,
    /// `chat_template_kwargs: {enable_thinking: true | false}`, for servers that run open models.
    ChatTemplate,
}

/// The field in which the thinking of earlier answers is sent back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingField {
    /// It isn't sent back.
    None,
    /// `reasoning_content`. An answer with calls always has it, even empty.
    ReasoningContent,
    /// `reasoning`, in answers that have thinking.
    Reasoning,
    /// A part of `content`, of the type `thinking`, as Mistral sends it.
    ContentPart,
}

/// The accepted ids of tool calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallIds {
    /// At most 40 letters, digits, `_` and `-`: the limit of OpenAI ("string too long. Expected a string with
    /// maximum length 40").
    UpTo40,
    /// Exactly nine letters and digits.
    NineAlphanumeric,
}

impl Compat {
    /// The parameters that most servers accept: Chat Completions before OpenAI's thinking models.
    pub const COMMON: Self = Self {
        max_tokens_field: MaxTokensField::MaxTokens,
        streams_usage: true,
        thinking_format: ThinkingFormat::ReasoningEffort,
        thinking_temperature: true,
        thinking_field: ThinkingField::None,
        reasoning_details: false,
        call_ids: CallIds::UpTo40,
        tool_stream: false,
        tool_choice_none: true,
        result_name: false,
        answer_after_results: false,
        cache_key: false,
        cache_marks: &[],
    };
}

impl Default for Compat {
    fn default() -> Self {
        Self::COMMON
    }
}

/// The fields of a [`Compat`] that a user sets for a server or a model, under pi's names where pi has them.
/// Other keys are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CompatOverrides {
    max_tokens_field: Option<MaxTokensField>,
    supports_usage_in_streaming: Option<bool>,
    supports_reasoning_effort: Option<bool>,
    thinking_format: Option<NamedThinkingFormat>,
    supports_temperature_with_thinking: Option<bool>,
    thinking_field: Option<ThinkingField>,
    supports_reasoning_details: Option<bool>,
    zai_tool_stream: Option<bool>,
    supports_tool_choice_none: Option<bool>,
    supports_prompt_cache_key: Option<bool>,
    requires_tool_result_name: Option<bool>,
    requires_assistant_after_tool_result: Option<bool>,
    requires_mistral_tool_ids: Option<bool>,
    cache_control_format: Option<CacheControlFormat>,
}

/// The names of thinking formats in pi's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NamedThinkingFormat {
    Openai,
    Openrouter,
    Deepseek,
    Zai,
    Qwen,
    QwenChatTemplate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CacheControlFormat {
    Anthropic,
}

impl CompatOverrides {
    /// Returns `compat` with the overrides applied.
    #[must_use]
    pub fn apply(self, compat: Compat) -> Compat {
        let named = self.thinking_format.map(|format| match format {
            NamedThinkingFormat::Openai => ThinkingFormat::ReasoningEffort,
            NamedThinkingFormat::Openrouter => ThinkingFormat::Reasoning,
            NamedThinkingFormat::Deepseek => ThinkingFormat::ThinkingTypeAndEffort,
            NamedThinkingFormat::Zai => ThinkingFormat::Zai,
            NamedThinkingFormat::Qwen => ThinkingFormat::EnableThinking,
            NamedThinkingFormat::QwenChatTemplate => ThinkingFormat::ChatTemplate,
        });
        let thinking_format = match (named, self.supports_reasoning_effort) {
            (Some(format), _) => format,
            (None, Some(false)) => ThinkingFormat::None,
            (None, Some(true)) => ThinkingFormat::ReasoningEffort,
            (None, None) => compat.thinking_format,
        };
        let call_ids = match self.requires_mistral_tool_ids {
            Some(true) => CallIds::NineAlphanumeric,
            Some(false) => CallIds::UpTo40,
            None => compat.call_ids,
        };
        Compat {
            max_tokens_field: self.max_tokens_field.unwrap_or(compat.max_tokens_field),
            streams_usage: self.supports_usage_in_streaming.unwrap_or(compat.streams_usage),
            thinking_format,
            thinking_temperature: self
                .supports_temperature_with_thinking
                .unwrap_or(compat.thinking_temperature),
            thinking_field: self.thinking_field.unwrap_or(compat.thinking_field),
            reasoning_details: self.supports_reasoning_details.unwrap_or(compat.reasoning_details),
            tool_stream: self.zai_tool_stream.unwrap_or(compat.tool_stream),
            tool_choice_none: self.supports_tool_choice_none.unwrap_or(compat.tool_choice_none),
            cache_key: self.supports_prompt_cache_key.unwrap_or(compat.cache_key),
            call_ids,
            result_name: self.requires_tool_result_name.unwrap_or(compat.result_name),
            answer_after_results: self
                .requires_assistant_after_tool_result
                .unwrap_or(compat.answer_after_results),
            cache_marks: self.cache_control_format.map_or(compat.cache_marks, |_| &[""]),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn overrides_change_only_what_they_name() {
        let overrides = |value| serde_json::from_value::<CompatOverrides>(value).unwrap();
        let other = Compat { cache_key: true, ..Compat::COMMON };
        assert_eq!(overrides(json!({})).apply(other), other);
        let all = overrides(json!({
            "maxTokensField": "max_completion_tokens",
            "supportsUsageInStreaming": false,
            "supportsReasoningEffort": true,
            "thinkingFormat": "qwen-chat-template",
            "supportsTemperatureWithThinking": false,
            "thinkingField": "reasoning",
            "supportsReasoningDetails": true,
            "zaiToolStream": true,
            "supportsToolChoiceNone": false,
            "supportsPromptCacheKey": true,
            "requiresToolResultName": true,
            "requiresAssistantAfterToolResult": true,
            "requiresMistralToolIds": true,
            "cacheControlFormat": "anthropic",
            "supportsStore": false,
        }));
        let expected = Compat {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            streams_usage: false,
            thinking_format: ThinkingFormat::ChatTemplate,
            thinking_temperature: false,
            thinking_field: ThinkingField::Reasoning,
            reasoning_details: true,
            tool_stream: true,
            tool_choice_none: false,
            cache_key: true,
            call_ids: CallIds::NineAlphanumeric,
            result_name: true,
            answer_after_results: true,
            cache_marks: &[""],
        };
        assert_eq!(all.apply(Compat::COMMON), expected);
        let none = overrides(json!({ "supportsReasoningEffort": false })).apply(Compat::COMMON);
        assert_eq!(none.thinking_format, ThinkingFormat::None);
    }
}
