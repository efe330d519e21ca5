//! Takes secrets out of texts that others wrote: providers quote the key that they refuse.

/// What keys of the providers tiller knows begin with.
const KEY_PREFIX: &str = "sk-";

/// Fewest characters of a key, its prefix aside: `sk-learn` is none, nor is the `x` that local servers are given.
const SHORTEST_KEY: usize = 8;

/// Replaces `key` itself, and whatever else looks like a key, by `[key]`.
pub(in crate::provider) fn without_secrets(text: &str, key: Option<&str>) -> String {
    let text = match key.map(str::trim).filter(|key| key.len() >= SHORTEST_KEY) {
        Some(key) => text.replace(key, "[key]"),
        None => text.to_owned(),
    };
    without_lookalikes(&text)
}

fn without_lookalikes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(KEY_PREFIX) {
        let (before, found) = rest.split_at(start);
        let end = found.find(|c: char| !is_key_char(c)).unwrap_or(found.len());
        let begins_word = !before.ends_with(is_key_char);
        clean.push_str(before);
        clean.push_str(if begins_word && end >= KEY_PREFIX.len() + SHORTEST_KEY {
            "[key]"
        } else {
            &found[..end]
        });
        rest = &found[end..];
    }
    clean + rest
}

/// Keys are quoted shortened too: `sk-abc***********xyz`.
fn is_key_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_replaced_and_words_are_not() {
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
        for (text, clean) in cases {
            assert_eq!(without_secrets(text, Some(" my+own/key=\n")), clean);
        }
        assert_eq!(without_secrets("nothing here", Some("")), "nothing here");
        assert_eq!(without_secrets("a short key in context", Some("x")), "a short key in context");
        assert_eq!(without_secrets("nothing here", None), "nothing here");
    }
}
