//! Parsing of a model's context window from the text of an overflow error. Pure.
//!
//! A user's own server may run a model with a much smaller window than the model supports, and reports it
//! only there.

use tiller_core::unit::Tokens;

/// Strings before the limit, in lower case. A message may contain other numbers too.
const PREFIXES: [&str; 11] = [
    "maximum context length is ",
    "maximum context length of ",
    "maximum prompt length is ",
    "context size (",
    "context length (",
    "context length of only ",
    "n_ctx: ",
    "model token limit: ",
    "tokens allowed (",
    "too large for model with ",
    " > ",
];

/// Minimum window of any server; a smaller number isn't a window.
const MIN_WINDOW: u64 = 256;

/// Returns the window that an overflow error states.
pub(super) fn parse_context_limit(text: &str) -> Option<Tokens> {
    let text = text.to_lowercase();
    let numbers =
        PREFIXES.iter().filter_map(|prefix| parse_number(&text[text.find(prefix)? + prefix.len()..]));
    numbers.filter(|parse_number| *parse_number >= MIN_WINDOW).map(Tokens).next()
}

/// Parses `8192`, `8,192`, `8192.`
fn parse_number(text: &str) -> Option<u64> {
    let is_part = |c: char| c.is_ascii_digit() || c == ',';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text[..end].replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_context_limit_every_observed_form() {
        for (text, window) in [
            (
                "This model's maximum context length is 8192 tokens. However, you requested 9,000 tokens.",
                Some(8_192),
            ),
            ("prompt is too long: 210000 tokens > 200000 maximum", Some(200_000)),
            (
                "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease them",
                Some(200_000),
            ),
            ("request (5000 tokens) exceeds the available context size (4096 tokens)", Some(4_096)),
            (
                "The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000>= n_ctx: 2048).",
                Some(2_048),
            ),
            ("greater than the context length of only 4,096 tokens", Some(4_096)),
            (
                "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                Some(1_048_576),
            ),
            (
                "This model's maximum prompt length is 131072 but the request contains 200000 tokens.",
                Some(131_072),
            ),
            ("Your request exceeded model token limit: 8192 (requested: 9000)", Some(8_192)),
            (
                "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
                Some(32_768),
            ),
            ("maximum context length is 12", None),
            ("maximum context length is exceeded", None),
            ("prompt is too long", None),
            ("", None),
        ] {
            assert_eq!(parse_context_limit(text), window.map(Tokens), "{text}");
        }
    }
}
