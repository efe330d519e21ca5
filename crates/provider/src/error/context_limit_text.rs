//! How large a model's window is, in the words with which a provider refuses what doesn't fit into it. Pure.
//!
//! A server of the user's own may run a model with far less than the model could take, and this is the only way it ever says so.

use tiller_core::unit::Tokens;

/// What stands before the limit, in lower case; of several numbers in a text the one behind it counts.
const BEFORE: [&str; 11] = [
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

/// Less than this no server has; the number is something else.
const LEAST: u64 = 256;

/// The window that a refusal names.
pub(super) fn spoken_window(text: &str) -> Option<Tokens> {
    let text = text.to_lowercase();
    let numbers = BEFORE.iter().filter_map(|before| number(&text[text.find(before)? + before.len()..]));
    numbers.filter(|number| *number >= LEAST).map(Tokens).next()
}

/// `8192`, `8,192`, `8192.`
fn number(text: &str) -> Option<u64> {
    let is_part = |c: char| c.is_ascii_digit() || c == ',';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    text[..end].replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_read_in_every_form_that_was_seen() {
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
            assert_eq!(spoken_window(text), window.map(Tokens), "{text}");
        }
    }
}
