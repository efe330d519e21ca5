//! The rows of the providers. Servers, headers and quirks follow each provider's documentation, seen
//! 2026-11-23; the fields for earlier thinking follow the sources given with the rows, seen 2026-11-28.

use super::entry::ProviderDescriptor;
use crate::compat::{CallIds, Compat, MaxTokensField, ThinkingField, ThinkingFormat};
use crate::http::KeyHeader;
use crate::wire_format::WireFormat;

/// A provider with Chat Completions and a bearer token.
const fn chat(
    names: (&'static str, &'static str),
    variables: (&'static str, &'static str),
    base_url: &'static str,
    page: &'static str,
    compat: Compat,
) -> ProviderDescriptor {
    ProviderDescriptor {
        name: names.0,
        display_name: names.1,
        key_variable: variables.0,
        key_header: KeyHeader::Bearer,
        page,
        base_url_variable: variables.1,
        base_url,
        wire_format: WireFormat::OpenAiChat,
        custom_server_format: WireFormat::OpenAiChat,
        compat,
        silent_overflow: false,
        window_advice: "",
    }
}

/// A provider with Anthropic's Messages.
const fn messages(
    names: (&'static str, &'static str),
    variables: (&'static str, &'static str),
    base_url: &'static str,
    page: &'static str,
) -> ProviderDescriptor {
    ProviderDescriptor {
        key_header: KeyHeader::XApiKey,
        wire_format: WireFormat::AnthropicMessages,
        custom_server_format: WireFormat::AnthropicMessages,
        ..chat(names, variables, base_url, page, Compat::COMMON)
    }
}

/// A provider with Responses at its own server.
const fn responses(provider: ProviderDescriptor) -> ProviderDescriptor {
    ProviderDescriptor { wire_format: WireFormat::OpenAiResponses, ..provider }
}

const COMPLETION_TOKENS: Compat =
    Compat { max_tokens_field: MaxTokensField::MaxCompletionTokens, ..Compat::COMMON };

/// Servers that require the thinking of earlier answers, at least between calls (api-docs.deepseek.com,
/// platform.kimi.ai, docs.z.ai/guides/capabilities/thinking-mode, docs.fireworks.ai/guides/reasoning; for
/// Together, `interleaved` of its models in models.dev).
const RETURNS_THINKING: Compat = Compat { thinking_field: ThinkingField::ReasoningContent, ..Compat::COMMON };

/// Routers to models of other providers.
const ROUTER: Compat =
    Compat { thinking_format: ThinkingFormat::Reasoning, reasoning_details: true, ..Compat::COMMON };

/// Servers that run open models with their chat templates.
const CHAT_TEMPLATE: Compat = Compat { thinking_format: ThinkingFormat::ChatTemplate, ..Compat::COMMON };

/// The providers that need a key, in the order in which models are searched and listed.
pub const PROVIDERS: &[ProviderDescriptor] = &[
    messages(
        ("anthropic", "Anthropic"),
        ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"),
        "https://api.anthropic.com",
        "platform.claude.com/settings/keys",
    ),
    // Many servers imitate its Chat Completions, few imitate its Responses.
    responses(chat(
        ("openai", "OpenAI"),
        ("OPENAI_API_KEY", "OPENAI_BASE_URL"),
        "https://api.openai.com/v1",
        "platform.openai.com/api-keys",
        // While they think, its models accept only the default temperature.
        Compat { thinking_temperature: false, ..Compat::COMMON },
    )),
    ProviderDescriptor {
        key_header: KeyHeader::XGoogApiKey,
        wire_format: WireFormat::Gemini,
        custom_server_format: WireFormat::Gemini,
        ..chat(
            ("gemini", "Google Gemini"),
            ("GEMINI_API_KEY", "GEMINI_BASE_URL"),
            "https://generativelanguage.googleapis.com/v1beta",
            "aistudio.google.com/apikey",
            Compat::COMMON,
        )
    },
    chat(
        ("openrouter", "OpenRouter"),
        ("OPENROUTER_API_KEY", "OPENROUTER_BASE_URL"),
        "https://openrouter.ai/api/v1",
        "openrouter.ai/settings/keys",
        Compat { cache_marks: &["anthropic/"], ..ROUTER },
    ),
    responses(chat(
        ("xai", "xAI"),
        ("XAI_API_KEY", "XAI_BASE_URL"),
        "https://api.x.ai/v1",
        "console.x.ai",
        COMPLETION_TOKENS,
    )),
    chat(
        ("deepseek", "DeepSeek"),
        ("DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL"),
        "https://api.deepseek.com",
        "platform.deepseek.com/api_keys",
        Compat { thinking_format: ThinkingFormat::ThinkingTypeAndEffort, ..RETURNS_THINKING },
    ),
    chat(
        ("mistral", "Mistral"),
        ("MISTRAL_API_KEY", "MISTRAL_BASE_URL"),
        "https://api.mistral.ai/v1",
        "console.mistral.ai/api-keys",
        // It rejects unknown fields, and sends usage without being asked.
        Compat {
            streams_usage: false,
            call_ids: CallIds::NineAlphanumeric,
            thinking_field: ThinkingField::ContentPart,
            ..Compat::COMMON
        },
    ),
    chat(
        ("groq", "Groq"),
        ("GROQ_API_KEY", "GROQ_BASE_URL"),
        "https://api.groq.com/openai/v1",
        "console.groq.com/keys",
        // It rejects `reasoning_content` (groq-python, `ChatCompletionAssistantMessageParam`).
        Compat { thinking_field: ThinkingField::Reasoning, ..COMPLETION_TOKENS },
    ),
    chat(
        ("moonshot", "Moonshot AI (Kimi)"),
        ("MOONSHOT_API_KEY", "MOONSHOT_BASE_URL"),
        "https://api.moonshot.ai/v1",
        "platform.kimi.ai/console/api-keys",
        Compat {
            max_tokens_field: MaxTokensField::MaxCompletionTokens,
            thinking_format: ThinkingFormat::ThinkingType,
            thinking_temperature: false,
            cache_key: true,
            ..RETURNS_THINKING
        },
    ),
    chat(
        ("zai", "Z.AI (GLM)"),
        ("ZAI_API_KEY", "ZAI_BASE_URL"),
        "https://api.z.ai/api/paas/v4",
        "z.ai/manage-apikey/apikey-list",
        Compat {
            // docs.z.ai/guides/capabilities/thinking-mode, docs.z.ai/guides/tools/stream-tool.
            thinking_format: ThinkingFormat::Zai,
            tool_stream: true,
            tool_choice_none: false,
            ..RETURNS_THINKING
        },
    ),
    ProviderDescriptor {
        silent_overflow: true,
        ..chat(
            ("cerebras", "Cerebras"),
            ("CEREBRAS_API_KEY", "CEREBRAS_BASE_URL"),
            "https://api.cerebras.ai/v1",
            "cloud.cerebras.ai",
            // It has no field for earlier thinking and rejects unknown fields: it reads thinking from the
            // text, with marks that differ between model families
            // (inference-docs.cerebras.ai/capabilities/reasoning).
            COMPLETION_TOKENS,
        )
    },
    chat(
        ("together", "Together AI"),
        ("TOGETHER_API_KEY", "TOGETHER_BASE_URL"),
        "https://api.together.ai/v1",
        "api.together.ai/settings/api-keys",
        RETURNS_THINKING,
    ),
    chat(
        ("fireworks", "Fireworks AI"),
        ("FIREWORKS_API_KEY", "FIREWORKS_BASE_URL"),
        "https://api.fireworks.ai/inference/v1",
        "app.fireworks.ai/settings/users/api-keys",
        RETURNS_THINKING,
    ),
    messages(
        ("minimax", "MiniMax"),
        ("MINIMAX_API_KEY", "MINIMAX_BASE_URL"),
        "https://api.minimax.io/anthropic",
        "platform.minimax.io",
    ),
    chat(
        ("nvidia", "NVIDIA NIM"),
        ("NVIDIA_API_KEY", "NVIDIA_BASE_URL"),
        "https://integrate.api.nvidia.com/v1",
        "build.nvidia.com/settings/api-keys",
        CHAT_TEMPLATE,
    ),
    chat(
        ("vercel", "Vercel AI Gateway"),
        ("AI_GATEWAY_API_KEY", "AI_GATEWAY_BASE_URL"),
        "https://ai-gateway.vercel.sh/v1",
        "vercel.com/ai-gateway",
        ROUTER,
    ),
    // It has no public server: the URL contains the name of the resource.
    ProviderDescriptor {
        key_header: KeyHeader::ApiKey,
        wire_format: WireFormat::OpenAiResponses,
        custom_server_format: WireFormat::OpenAiResponses,
        ..chat(
            ("azure", "Azure OpenAI"),
            ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_BASE_URL"),
            "",
            "learn.microsoft.com/azure/ai-foundry/openai",
            Compat::COMMON,
        )
    },
    messages(
        ("bedrock", "Amazon Bedrock (Claude)"),
        ("AWS_BEARER_TOKEN_BEDROCK", "BEDROCK_BASE_URL"),
        "https://bedrock-mantle.us-east-1.api.aws/anthropic",
        "docs.aws.amazon.com/bedrock/latest/userguide/api-keys.html",
    ),
    // Last, because many users set its variable only to download models.
    chat(
        ("huggingface", "Hugging Face"),
        ("HF_TOKEN", "HF_BASE_URL"),
        "https://router.huggingface.co/v1",
        "huggingface.co/settings/tokens",
        Compat::COMMON,
    ),
];

/// The servers that run on the user's machine, in the order in which they are queried for models.
pub const LOCAL_SERVERS: &[ProviderDescriptor] = &[
    ProviderDescriptor {
        window_advice: "OLLAMA_CONTEXT_LENGTH=32768 ollama serve",
        ..chat(
            ("ollama", "Ollama"),
            ("OLLAMA_API_KEY", "OLLAMA_BASE_URL"),
            "http://127.0.0.1:11434/v1",
            "ollama.com",
            // `FromChatRequest` in its `openai/openai.go`.
            Compat { thinking_field: ThinkingField::Reasoning, ..Compat::COMMON },
        )
    },
    ProviderDescriptor {
        window_advice: "lms load MODEL --context-length 32768",
        ..chat(
            ("lmstudio", "LM Studio"),
            ("LMSTUDIO_API_KEY", "LMSTUDIO_BASE_URL"),
            "http://127.0.0.1:1234/v1",
            "lmstudio.ai",
            // Its documentation names no field for earlier thinking.
            Compat::COMMON,
        )
    },
    ProviderDescriptor {
        window_advice: "llama-server -c 32768",
        ..chat(
            ("llamacpp", "llama.cpp"),
            ("LLAMACPP_API_KEY", "LLAMACPP_BASE_URL"),
            "http://127.0.0.1:8080/v1",
            "github.com/ggml-org/llama.cpp",
            // `common_chat_msgs_parse_oaicompat`, github.com/ggml-org/llama.cpp/pull/16934.
            Compat { thinking_field: ThinkingField::ReasoningContent, ..CHAT_TEMPLATE },
        )
    },
    ProviderDescriptor {
        window_advice: "vllm serve MODEL --max-model-len 32768",
        ..chat(
            ("vllm", "vLLM"),
            ("VLLM_API_KEY", "VLLM_BASE_URL"),
            "http://127.0.0.1:8000/v1",
            "docs.vllm.ai",
            // docs.vllm.ai, "Interleaved Thinking"; before 0.12 it was `reasoning_content`.
            Compat { thinking_field: ThinkingField::Reasoning, ..CHAT_TEMPLATE },
        )
    },
];
