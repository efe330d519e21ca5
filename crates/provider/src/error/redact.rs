//! Removal of secrets from providers' messages, which may quote a rejected key.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};

/// Prefix of the keys of the providers that tiller knows.
const KEY_PREFIX: &str = "sk-";

/// Minimum length of a key: the `x` that users configure for local servers is in too many words.
const MIN_KEY_LENGTH: usize = 4;

/// Words that users configure as the key of a server that needs none. They aren't secret, and messages contain them.
const PLACEHOLDERS: &[&str] = &["demo", "dummy", "EMPTY", "local", "lm-studio", "none", "ollama", "test"];

/// Length below which a key of letters or digits alone is only replaced as a whole word, and text after a prefix isn't
/// a key: `sk-learn` isn't one.
const DISTINCT_LENGTH: usize = 8;

/// Replaces `key`, and any other text that looks like a key, with `[key]`.
///
/// The key is also found in base64, standard or URL-safe, even as part of a longer encoded text, and with any
/// of its characters percent-encoded or JSON-escaped, repeatedly. A key shorter than 4 bytes, or a common
/// placeholder, isn't replaced.
pub(crate) fn redact_secrets(text: &str, key: Option<&str>) -> String {
    let is_secret = |key: &&str| key.len() >= MIN_KEY_LENGTH && !PLACEHOLDERS.contains(key);
    let text = match key.map(str::trim).filter(is_secret) {
        Some(key) => redact_key(text, key),
        None => text.to_owned(),
    };
    redact_key_like(&text)
}

fn redact_key(text: &str, key: &str) -> String {
    let needles = needles(key);
    let is_kind: fn(char) -> bool = if key.starts_with(|c: char| c.is_ascii_digit()) {
        |c| c.is_ascii_digit()
    } else {
        char::is_alphabetic
    };
    let is_word = key.len() < DISTINCT_LENGTH && key.chars().all(is_kind);
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let preceding = &text[..text.len() - rest.len()];
        let strip = |needle: &String| {
            let remaining = strip_encoded(rest, needle)?;
            let is_part = ends_in_word(preceding, is_kind) || remaining.starts_with(is_kind);
            (!is_part || needle != key || !is_word).then_some(remaining)
        };
        match needles.iter().find_map(strip) {
            Some(remaining) => {
                redacted.push_str("[key]");
                rest = remaining;
            }
            None => {
                redacted.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    redacted
}

/// Returns true if a text ends in a character of a kind that isn't part of an encoded one: `%3D`, `\n`.
fn ends_in_word(text: &str, is_kind: fn(char) -> bool) -> bool {
    let has_escape = |start: &str, length: usize| {
        let tail = text.len().checked_sub(length).and_then(|at| text.get(at..));
        let code = tail.and_then(|tail| tail.strip_prefix(start));
        code.is_some_and(|code| code.chars().all(|c| c.is_ascii_hexdigit()))
    };
    let is_encoded = ["\\n", "\\r", "\\t"].iter().any(|escape| text.ends_with(escape))
        || has_escape("%", 3)
        || has_escape("\\u", 6);
    text.ends_with(is_kind) && !is_encoded
}

/// Returns the key and its base64 forms; where one is a prefix of another, the longer one comes first.
fn needles(key: &str) -> Vec<String> {
    let mut needles = vec![key.to_owned()];
    for engine in [STANDARD, URL_SAFE] {
        let padded = engine.encode(key);
        needles.extend([padded.clone(), padded.trim_end_matches('=').to_owned()]);
        for preceding in 0..3_usize {
            // Keep only the characters that depend on the key alone if this many bytes precede it.
            let encoded = engine.encode([&[0; 2][..preceding], key.as_bytes()].concat());
            let (start, end) = ((preceding * 8).div_ceil(6), (preceding + key.len()) * 8 / 6);
            needles.push(encoded[start..end].to_owned());
        }
    }
    needles
}

/// Strips `needle` from the beginning of a string in which each of its characters may be encoded.
fn strip_encoded<'a>(text: &'a str, needle: &str) -> Option<&'a str> {
    needle.chars().try_fold(text, |rest, c| {
        rest.strip_prefix(c).or_else(|| strip_escaped(rest, c)).or_else(|| strip_percent(rest, c))
    })
}

/// Strips `c` as `\uXXXX` or after backslashes, one per level of encoding.
fn strip_escaped(text: &str, c: char) -> Option<&str> {
    let escape = text.trim_start_matches('\\');
    if escape.len() == text.len() {
        return None;
    }
    if let Some(rest) = escape.strip_prefix(c) {
        return Some(rest);
    }
    let unit = format!("{:04x}", u32::from(c));
    let digits = escape.strip_prefix('u')?;
    let is_match = digits.get(..unit.len())?.eq_ignore_ascii_case(&unit);
    is_match.then(|| &digits[unit.len()..])
}

/// Strips `c` as `%XX`, where the percent sign may itself be encoded as `%25`.
fn strip_percent(text: &str, c: char) -> Option<&str> {
    let mut utf_8 = [0; 4];
    c.encode_utf8(&mut utf_8).bytes().try_fold(text, |rest, byte| {
        let mut digits = rest.strip_prefix('%')?;
        let hex = format!("{byte:02x}");
        loop {
            let candidate = digits.get(..hex.len())?;
            if candidate.eq_ignore_ascii_case(&hex) {
                return Some(&digits[hex.len()..]);
            }
            digits = digits.strip_prefix("25")?;
        }
    })
}

fn redact_key_like(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(KEY_PREFIX) {
        let (preceding, candidate) = rest.split_at(start);
        let end = candidate.find(|c: char| !is_key_char(c)).unwrap_or(candidate.len());
        let begins_word = !preceding.ends_with(is_key_char);
        redacted.push_str(preceding);
        redacted.push_str(if begins_word && end >= KEY_PREFIX.len() + DISTINCT_LENGTH {
            "[key]"
        } else {
            &candidate[..end]
        });
        rest = &candidate[end..];
    }
    redacted + rest
}

/// Checks for a character of a key. Keys are also quoted in short form: `sk-abc***********xyz`.
fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redact_key_in_every_encoding_is_replaced() {
        let key = "sk-ant/Ab+9?~_x-é";
        let base64 = |text: &str| STANDARD.encode(text);
        let url_safe = |text: &str| URL_SAFE.encode(text);
        for encoded in [
            key.to_owned(),
            base64(key),
            base64(key).trim_end_matches('=').to_owned(),
            url_safe(key),
            url_safe(key).trim_end_matches('=').to_owned(),
            base64(key).replace('+', "%2B").replace('/', "%2f").replace('=', "%3D"),
            base64(key).replace('/', "\\/"),
            "sk-ant%2FAb%2B9%3F~_x-%C3%A9".to_owned(),
            "sk-ant%252FAb%252b9%253F~_x-%25c3%25a9".to_owned(),
            key.bytes().map(|byte| format!("%{byte:02X}")).collect(),
            "sk\\u002dant\\/Ab\\u002B9?~_x-\\u00e9".to_owned(),
            "sk\\\\u002Dant\\\\/Ab+9?~_x-\\\\u00E9".to_owned(),
            key.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect(),
        ] {
            let text = format!("refused `{encoded}`, {encoded}");
            assert_eq!(redact_secrets(&text, Some(key)), "refused `[key]`, [key]", "{encoded}");
        }
    }

    #[test]
    fn redact_key_inside_longer_base64_is_replaced() {
        let key = "secret-key-0123456789";
        for preceding in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "z", "zz"] {
                for engine in [STANDARD, URL_SAFE] {
                    let encoded = engine.encode(format!("{preceding}{key}{after}"));
                    let redacted = redact_secrets(&format!("Basic {encoded} refused"), Some(key));
                    assert!(
                        redacted.contains("[key]") && redacted.len() < 35,
                        "{preceding} {after}: {redacted}"
                    );
                }
            }
        }
    }

    #[test]
    fn redact_short_key_is_replaced_but_not_in_a_word() {
        let key = "hunter2";
        let basic = STANDARD.encode("user:hunter2");
        for (text, redacted) in [
            ("bad key Bearer hunter2", "bad key Bearer [key]"),
            ("`hunter2`, key=hunter2.", "`[key]`, key=[key]."),
            ("hunter2-hunter2", "[key]-[key]"),
            ("%68unter2", "[key]"),
        ] {
            assert_eq!(redact_secrets(text, Some(key)), redacted);
        }
        assert!(redact_secrets(&basic, Some(key)).contains("[key]"), "{basic}");
        assert_eq!(
            redact_secrets("secretly %20secret, secret1", Some("secret")),
            "secretly %20[key], [key]1"
        );
        assert_eq!(redact_secrets(r"?key%3Dsecret\nsecret", Some("secret")), r"?key%3D[key]\n[key]");
        assert_eq!(redact_secrets("12345 pin 1234", Some("1234")), "12345 pin [key]");
        assert_eq!(redact_secrets("run: ollama pull qwen", Some("ollama")), "run: ollama pull qwen");
        assert_eq!(redact_secrets("no abc", Some("abc")), "no abc");
    }

    #[test]
    fn redact_text_that_only_resembles_the_key_stays() {
        for text in ["secret%2Dkey%2", "c2VjcmV0LWtleS0wMTIz", "\\u0073ecret-key", "100%25 %2", "é%C3", "\\"]
        {
            assert_eq!(redact_secrets(text, Some("secret-key-0123456789")), text);
        }
    }

    #[test]
    fn redact_keys_are_replaced_and_words_are_not() {
        let cases = [
            (
                "Incorrect API key provided: sk-proj-ab****************wxyz.",
                "Incorrect API key provided: [key].",
            ),
            ("(sk-ant-api03-AbC_dEf-123)", "([key])"),
            ("use sk-learn on the task-management-board", "use sk-learn on the task-management-board"),
            ("key my+own/key= refused, my+own/key=", "key [key] refused, [key]"),
            ("sk-", "sk-"),
            ("", ""),
        ];
        for (text, redacted) in cases {
            assert_eq!(redact_secrets(text, Some(" my+own/key=\n")), redacted);
        }
        assert_eq!(redact_secrets("nothing here", Some("")), "nothing here");
        assert_eq!(redact_secrets("a short key in context", Some("x")), "a short key in context");
        assert_eq!(redact_secrets("nothing here", None), "nothing here");
    }
}
