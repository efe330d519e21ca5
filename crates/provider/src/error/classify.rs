//! Classification of error responses.
//!
//! Providers report overflow and quota only in the text, so the text is checked before the status: an
//! exceeded quota has status 429, an overflow 400 or 500. Only 413 is an overflow regardless of the text. A
//! message about rates is never an overflow, even if it mentions "too many tokens". URLs in a message are
//! ignored: with any error they may point to pages about billing and rate limits.

use std::time::Duration;

use serde_json::Value;

use super::retry_delay_text::{parse_delay, parse_retry_delay};
use super::{FailureKind, ProviderFault, hints};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ErrorResponse {
    /// The HTTP status; 0 inside a stream.
    pub status: u16,
    /// Its machine-readable type, code and reasons: `rate_limit_error`, `insufficient_quota`,
    /// `API_KEY_INVALID`.
    pub kind: String,
    /// The message; may be empty.
    pub message: String,
    /// The delay that the headers request.
    pub retry_after: Option<Duration>,
    /// The delay in the body, outside its message.
    pub retry_delay: Option<Duration>,
}

/// Texts about rate limits, in lower case.
const RATE: &[&str] = &[
    "rate limit",
    "rate_limit",
    "ratelimit",
    "rate-limit",
    "too many requests",
    "per minute",
    "per second",
    "per day",
    "throttl",
    "overloaded",
    "service unavailable",
];

/// Texts about an exceeded quota or used-up credit, in lower case.
const QUOTA: &[&str] = &[
    "insufficient_quota",
    "insufficient quota",
    "exceeded your current quota",
    "billing",
    "credit balance",
    "insufficient credit",
    "insufficient balance",
    "insufficient funds",
    "out of credits",
    "spending limit",
    "usage limit",
    "payment required",
    "perday",
];

/// Texts about limits that don't end within minutes, whatever delay Gemini states: a daily quota, and a limit
/// of zero.
const LASTING: &[&str] = &["perday", "limit: 0"];

/// Texts about an invalid key that come with status 400 (xAI, Gemini) or in a stream, in lower case.
const AUTH: &[&str] = &[
    "incorrect api key",
    "invalid api key",
    "api key not valid",
    "api_key_invalid",
    "wrong_api_key",
    "invalid_api_key",
];

/// Texts about a lack of resources that a retry can't fix (Ollama), in lower case.
const PERMANENT: &[&str] = &["requires more system memory"];

/// Texts about a single request above the limit per minute (Groq, OpenAI), in lower case: only a smaller
/// request can succeed.
const TOO_LARGE: &[&str] = &["request too large for"];

/// Texts about a conversation that exceeds the window, in lower case. Observed with these providers and
/// servers: Anthropic, OpenAI, Gemini, xAI, Groq, OpenRouter, llama.cpp, LM Studio, vLLM, MiniMax, Kimi,
/// Mistral, Ollama.
const OVERFLOW: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "request_too_large",
    "input is too long",
    "exceeds the context window",
    "maximum context length",
    "maximum prompt length",
    "reduce the length of the messages",
    "exceeds the available context size",
    "greater than the context length",
    "context window exceeds limit",
    "exceeded model token limit",
    "context_length_exceeded",
    "too many tokens",
    "exceed context limit",
    "prompt exceeds max length",
    "context size has been exceeded",
    "when context the overflows",
];

/// Classifies an error response and returns it as a fault with a message to show.
pub(crate) fn classify(response: &ErrorResponse) -> ProviderFault {
    let failure = classify_failure(response);
    let message = match (response.message.as_str(), response.status) {
        ("", 0) if response.kind.is_empty() => "an error without a message".to_owned(),
        ("", 0) => response.kind.clone(),
        ("", status) => format!("HTTP status {status}"),
        (message, _) => message.to_owned(),
    };
    let status = Some(response.status).filter(|status| *status != 0 && !response.message.is_empty());
    let fault = ProviderFault { status, ..ProviderFault::new(failure, message) };
    match hints::for_response(failure, response.status) {
        Some(hint) => fault.with_hint(hint),
        None => fault,
    }
}

fn classify_failure(response: &ErrorResponse) -> FailureKind {
    let text = remove_urls(&format!("{} {}", response.kind, response.message).to_lowercase());
    let contains_any = |needles: &[&str]| needles.iter().any(|needle| text.contains(needle));
    let stated_delay = parse_retry_delay(&text).or(response.retry_delay);
    let transient = FailureKind::Transient { retry_after: response.retry_after.or(stated_delay) };
    // Gemini calls every limit a quota; a temporary one states a delay.
    let is_temporary = stated_delay.is_some() && !contains_any(LASTING);
    if response.status == 413 {
        return FailureKind::Overflow;
    }
    if response.status == 402 || (contains_any(QUOTA) && !is_temporary) {
        return FailureKind::Quota;
    }
    if contains_any(AUTH) {
        return FailureKind::Auth;
    }
    if contains_any(TOO_LARGE) {
        return FailureKind::Overflow;
    }
    if contains_any(PERMANENT) {
        return FailureKind::Fatal;
    }
    if contains_any(RATE) || is_temporary {
        return transient;
    }
    if contains_any(OVERFLOW) || is_token_count_overflow(&text) {
        return FailureKind::Overflow;
    }
    match response.status {
        401 | 403 => FailureKind::Auth,
        408 | 425 | 429 | 500.. => transient,
        0 => classify_kind(&response.kind, transient),
        _ => FailureKind::Fatal,
    }
}

fn remove_urls(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !word.contains("://"));
    words.collect::<Vec<_>>().join(" ")
}

/// Checks for Gemini's "The input token count (1200000) exceeds the maximum number of tokens allowed".
fn is_token_count_overflow(text: &str) -> bool {
    text.contains("input token count") && text.contains("exceeds the maximum")
}

/// Classifies by the error type inside a stream, which has no status. Anthropic's error types correspond to
/// statuses (platform.claude.com/docs/en/api/errors, seen 2026-11-21). OpenRouter puts the status into the
/// code. OpenAI's codes about images (`invalid_image`, `image_too_large`) reject the request.
fn classify_kind(kind: &str, transient: FailureKind) -> FailureKind {
    let is = |names: &[&str]| kind.split_whitespace().any(|word| names.contains(&word));
    if is(&["authentication_error", "permission_error", "401", "403"]) {
        return FailureKind::Auth;
    }
    if is(&["invalid_request_error", "not_found_error", "invalid_prompt", "400", "404", "422"])
        || kind.contains("image")
    {
        return FailureKind::Fatal;
    }
    transient
}

/// Parses the body of an error response: JSON in the shapes that providers use, a web page's title, or plain
/// text.
pub(crate) fn parse_error_response(status: u16, body: &str) -> ErrorResponse {
    let body = body.trim();
    let response = match serde_json::from_str::<Value>(body) {
        Ok(value) => parse_json(&value),
        Err(_) => {
            let message = if body.starts_with('<') { page_title(body) } else { body.to_owned() };
            ErrorResponse { message, ..ErrorResponse::default() }
        }
    };
    ErrorResponse { status, ..response }
}

fn parse_json(value: &Value) -> ErrorResponse {
    let inner = value.get(0).unwrap_or(value);
    let error = inner.get("error").or_else(|| inner.pointer("/errors/0")).unwrap_or(inner);
    let text = |key: &str| error.get(key).map(to_text).filter(|text| !text.is_empty());
    let mut kinds: Vec<String> = [text("type"), text("code"), text("status")].into_iter().flatten().collect();
    let details = || error.get("details").and_then(Value::as_array).into_iter().flatten();
    kinds.extend(details().flat_map(detail_kinds).map(str::to_owned));
    let retry_delay =
        details().find_map(|detail| parse_delay(detail.get("retryDelay").and_then(Value::as_str)?));
    let message = text("message").or_else(|| text("detail")).or_else(|| error.as_str().map(str::to_owned));
    let message = message.or_else(|| inner.get("message").map(to_text)).unwrap_or_default();
    // OpenRouter wraps the upstream provider's message.
    let message = match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) => format!("{message}: {raw}"),
        None => message,
    };
    ErrorResponse { kind: kinds.join(" "), message, retry_delay, ..ErrorResponse::default() }
}

/// Returns the reason in a detail of a Google error (`google.rpc.ErrorInfo`), and the exceeded quotas
/// (`google.rpc.QuotaFailure`).
fn detail_kinds(detail: &Value) -> impl Iterator<Item = &str> {
    let violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
    let quotas = violations.filter_map(|violation| violation.get("quotaId"));
    detail.get("reason").into_iter().chain(quotas).filter_map(Value::as_str)
}

fn to_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn page_title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let title = lower.find("<title").and_then(|start| {
        let from = start + lower[start..].find('>')? + 1;
        Some(page[from..from + lower[from..].find("</title")?].trim())
    });
    match title.filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page: {title}"),
        None => "a web page".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRANSIENT: FailureKind = FailureKind::Transient { retry_after: None };

    /// Status, body, and the expected failure.
    const ANSWERS: &[(u16, &str, FailureKind)] = &[
        (
            429,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your rate limit of 40,000 input tokens per minute"}}"#,
            TRANSIENT,
        ),
        (
            429,
            r#"{"error":{"message":"Too many tokens, please wait before trying again. Rate limit."}}"#,
            TRANSIENT,
        ),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, TRANSIENT),
        (500, "<html><head><TITLE>Bad gateway</TITLE></head></html>", TRANSIENT),
        (408, "", TRANSIENT),
        (503, "upstream connect error", TRANSIENT),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            FailureKind::Quota,
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            FailureKind::Quota,
        ),
        (402, "", FailureKind::Quota),
        (
            401,
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#,
            FailureKind::Auth,
        ),
        (403, r#"{"message":"Forbidden"}"#, FailureKind::Auth),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}"#,
            FailureKind::Overflow,
        ),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            FailureKind::Overflow,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 128000 tokens.","code":"context_length_exceeded"}}"#,
            FailureKind::Overflow,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).","status":"INVALID_ARGUMENT"}}]"#,
            FailureKind::Overflow,
        ),
        (
            500,
            r#"{"error":{"code":500,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error"}}"#,
            FailureKind::Overflow,
        ),
        (400, "", FailureKind::Fatal),
        (413, "", FailureKind::Overflow),
        (413, "<html><head><title>413 Request Entity Too Large</title></head></html>", FailureKind::Overflow),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"messages: roles must alternate"}}"#,
            FailureKind::Fatal,
        ),
        (404, r#"{"error":"model 'x' not found"}"#, FailureKind::Fatal),
        (307, "", FailureKind::Fatal),
        (
            0,
            r#"{"error":{"type":"invalid_request_error","code":"invalid_api_key","message":"No."}}"#,
            FailureKind::Auth,
        ),
        (0, r#"{"error":{"code":"image_too_large","message":"No."}}"#, FailureKind::Fatal),
    ];

    /// Observed error responses of each provider, by name.
    const BY_PROVIDER: &[(&str, u16, &str, FailureKind)] = &[
        (
            "anthropic: window",
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 198214 + 8192 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            FailureKind::Overflow,
        ),
        (
            "openai: rate",
            429,
            r#"{"error":{"message":"Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 14567, Requested 24754. Please try again in 18.5s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            transient_after(18_500),
        ),
        (
            "openai: server",
            500,
            r#"{"error":{"message":"The server had an error while processing your request","type":"server_error"}}"#,
            TRANSIENT,
        ),
        (
            "openrouter: credits",
            402,
            r#"{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 30104.","code":402,"metadata":{"provider_name":null}}}"#,
            FailureKind::Quota,
        ),
        (
            "openrouter: upstream",
            429,
            r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"some/model is temporarily rate-limited upstream","provider_name":"X"}}}"#,
            TRANSIENT,
        ),
        (
            "openrouter: window",
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 140000 tokens","code":400}}"#,
            FailureKind::Overflow,
        ),
        (
            "groq: rate, with a link to billing",
            429,
            r#"{"error":{"message":"Rate limit reached for model `llama-3.3-70b-versatile` on tokens per minute (TPM): Limit 6000, Used 5034, Requested 1443. Please try again in 4.5s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","type":"tokens","code":"rate_limit_exceeded"}}"#,
            transient_after(4_500),
        ),
        (
            "groq: more than a minute's worth",
            413,
            r#"{"error":{"message":"Request too large for model `llama-3.1-8b-instant` on tokens per minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            FailureKind::Overflow,
        ),
        (
            "openai: more than a minute's worth",
            429,
            r#"{"error":{"message":"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 35364. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
            FailureKind::Overflow,
        ),
        (
            "groq: window",
            400,
            r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            FailureKind::Overflow,
        ),
        (
            "cerebras: rate",
            429,
            r#"{"message":"Tokens per minute limit exceeded - too many tokens processed.","type":"too_many_tokens_error","param":"quota","code":"token_quota_exceeded"}"#,
            TRANSIENT,
        ),
        (
            "cerebras: queue",
            429,
            r#"{"message":"Requests per second limit exceeded - too many requests sent.","type":"too_many_requests_error","param":"quota","code":"request_quota_exceeded"}"#,
            TRANSIENT,
        ),
        (
            "cerebras: window",
            400,
            r#"{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","type":"invalid_request_error","code":"context_length_exceeded"}"#,
            FailureKind::Overflow,
        ),
        (
            "cerebras: key",
            401,
            r#"{"message":"Wrong API Key","type":"invalid_request_error","param":"api_key","code":"wrong_api_key"}"#,
            FailureKind::Auth,
        ),
        (
            "mistral: capacity",
            429,
            r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":null}"#,
            TRANSIENT,
        ),
        (
            "mistral: window",
            400,
            r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error","code":"3051"}"#,
            FailureKind::Overflow,
        ),
        ("mistral: key", 401, r#"{"message":"Unauthorized","request_id":"x"}"#, FailureKind::Auth),
        (
            "xai: rate",
            429,
            r#"{"code":"Some resource has been exhausted","error":"Too many tokens for team x and model grok-4. Your team's rate limit is - Tokens per Minute (actual/limit): 65605/16000."}"#,
            TRANSIENT,
        ),
        (
            "xai: window",
            400,
            r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}"#,
            FailureKind::Overflow,
        ),
        (
            "xai: key, as a bad request",
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: na***ys. You can obtain an API key from https://console.x.ai."}"#,
            FailureKind::Auth,
        ),
        (
            "gemini: a minute's quota",
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 10, model: gemini-2.5-pro\nPlease retry in 20.25s.","status":"RESOURCE_EXHAUSTED"}}]"#,
            transient_after(20_250),
        ),
        (
            "gemini: no quota at all",
            429,
            r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 0, model: gemini-2.5-pro\nPlease retry in 20.25s.","status":"RESOURCE_EXHAUSTED"}}]"#,
            FailureKind::Quota,
        ),
        (
            "gemini: overloaded",
            503,
            r#"[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]"#,
            TRANSIENT,
        ),
        (
            "gemini: key, as a bad request",
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#,
            FailureKind::Auth,
        ),
        (
            "gemini: a minute's quota, with the delay next to the message",
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaMetric":"generativelanguage.googleapis.com/generate_content_free_tier_input_token_count","quotaId":"GenerateContentInputTokensPerModelPerMinute-FreeTier","quotaValue":"250000"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#,
            transient_after(17_000),
        ),
        (
            "gemini: a day's quota",
            429,
            r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.\n* Quota exceeded for metric: generate_content_free_tier_requests, limit: 20, model: gemini-2.5-flash\nPlease retry in 17.6s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}"#,
            FailureKind::Quota,
        ),
        (
            "gemini: rate",
            429,
            r#"{"error":{"code":429,"message":"Resource has been exhausted (e.g. check quota).","status":"RESOURCE_EXHAUSTED"}}"#,
            TRANSIENT,
        ),
        (
            "gemini: expired key",
            400,
            r#"{"error":{"code":400,"message":"API key expired. Please renew the API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}]}}"#,
            FailureKind::Auth,
        ),
        (
            "gemini: no permission",
            403,
            r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers.","status":"PERMISSION_DENIED"}}"#,
            FailureKind::Auth,
        ),
        (
            "gemini: region",
            400,
            r#"{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}"#,
            FailureKind::Fatal,
        ),
        (
            "gemini: missing signature",
            400,
            r#"{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts.","status":"INVALID_ARGUMENT"}}"#,
            FailureKind::Fatal,
        ),
        (
            "ollama: memory",
            500,
            r#"{"error":{"message":"model requires more system memory (2.7 GiB) than is available (2.3 GiB)","type":"api_error"}}"#,
            FailureKind::Fatal,
        ),
        (
            "ollama: model",
            404,
            r#"{"error":{"message":"model \"qwen9\" not found, try pulling it first","type":"api_error"}}"#,
            FailureKind::Fatal,
        ),
        (
            "llama.cpp: loading",
            503,
            r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#,
            TRANSIENT,
        ),
        (
            "llama.cpp: window",
            400,
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error"}}"#,
            FailureKind::Overflow,
        ),
        (
            "lm studio: window",
            400,
            r#"{"error":"Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough."}"#,
            FailureKind::Overflow,
        ),
        (
            "lm studio: window, mlx",
            400,
            r#"{"error":"Context size has been exceeded."}"#,
            FailureKind::Overflow,
        ),
        (
            "lm studio: crash",
            500,
            r#"{"error":"The model has crashed without additional information."}"#,
            TRANSIENT,
        ),
        (
            "deepseek: balance",
            402,
            r#"{"error":{"message":"Insufficient Balance","type":"unknown_error"}}"#,
            FailureKind::Quota,
        ),
        (
            "zai: window",
            400,
            r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
            FailureKind::Overflow,
        ),
    ];

    const fn transient_after(ms: u64) -> FailureKind {
        FailureKind::Transient { retry_after: Some(Duration::from_millis(ms)) }
    }

    #[test]
    fn classify_each_provider_message() {
        for (name, status, body, failure) in BY_PROVIDER {
            assert_eq!(classify(&parse_error_response(*status, body)).failure, *failure, "{name}");
        }
    }

    #[test]
    fn classify_each_status_and_text() {
        for (status, body, failure) in ANSWERS {
            assert_eq!(classify(&parse_error_response(*status, body)).failure, *failure, "{status} {body}");
        }
    }

    #[test]
    fn classify_keeps_the_provider_message() {
        let cases = [
            (400, r#"{"error":{"message":"bad\n thing"}}"#, "bad thing (HTTP status 400)"),
            (404, r#"{"error":"model 'x' not found"}"#, "model 'x' not found (HTTP status 404)"),
            (422, r#"{"detail":"no such field"}"#, "no such field (HTTP status 422)"),
            (400, r#"{"message":"nope","error":null}"#, "nope (HTTP status 400)"),
            (
                502,
                "<!doctype html><html><title> Bad gateway </title>…",
                "a web page: Bad gateway (HTTP status 502)",
            ),
            (502, "<html>", "a web page (HTTP status 502)"),
            (503, "no healthy upstream", "no healthy upstream (HTTP status 503)"),
            (500, "", "HTTP status 500"),
            (
                429,
                r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"slow down"}}}"#,
                "Provider returned error: slow down (HTTP status 429)",
            ),
        ];
        for (status, body, message) in cases {
            assert_eq!(classify(&parse_error_response(status, body)).text(str::to_owned), message);
        }
    }

    #[test]
    fn classify_long_message_is_cut_before_the_status() {
        let json = format!(r#"{{"error":{{"message":"{}"}}}}"#, "é".repeat(10_000));
        for body in ["word ".repeat(10_000), json] {
            let text = classify(&parse_error_response(500, &body)).text(str::to_owned);
            assert_eq!(text.chars().count(), 500 + "… (HTTP status 500)".chars().count());
            assert!(text.ends_with("… (HTTP status 500)"));
        }
    }

    #[test]
    fn classify_in_stream_uses_the_error_type() {
        let failure = |kind: &str| {
            classify_failure(&ErrorResponse {
                kind: kind.into(),
                message: "oh".into(),
                ..ErrorResponse::default()
            })
        };
        assert_eq!(failure("overloaded_error"), TRANSIENT);
        assert_eq!(failure("api_error"), TRANSIENT);
        assert_eq!(failure("server_error 502"), TRANSIENT);
        assert_eq!(failure("authentication_error"), FailureKind::Auth);
        assert_eq!(failure("invalid_request_error"), FailureKind::Fatal);
    }

    #[test]
    fn classify_requested_delay_is_kept() {
        let retry_after = Some(Duration::from_secs(7));
        let response = ErrorResponse { retry_after, ..parse_error_response(429, "") };
        assert_eq!(classify(&response).failure, FailureKind::Transient { retry_after });
    }
}
