//! Front matter: YAML at the head of a Markdown file, between two lines of `---`. Pure.
//!
//! Skills and templates start with it. Unknown keys are ignored, so that files written for other programs can
//! be read. A head that is neither YAML, nor YAML with unquoted sentences, nor plain lines of `key: value` is an
//! error that names the line of the file.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use serde_saphyr::{DefaultMessageFormatter, SnippetMode};

/// The line before and after the YAML.
const FENCE: &str = "---";

/// The reason front matter can't be parsed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    /// The second fence is missing.
    #[error("the front matter is not closed; end it with a `---` line")]
    Unclosed,
    /// It isn't YAML, or has values of the wrong type.
    #[error("the front matter can't be parsed: {0}")]
    Yaml(String),
}

/// Splits a string into its parsed front matter (the default without one) and its body, trimmed of blank
/// lines.
///
/// # Errors
/// If the front matter has no end or can't be parsed as `T`.
pub fn parse<T: DeserializeOwned + Default>(text: &str) -> Result<(T, &str), FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((first, rest)) = text.split_once('\n').filter(|(first, _)| first.trim_end() == FENCE) else {
        return Ok((T::default(), text.trim()));
    };
    let (yaml, body) = split(rest).ok_or(FrontMatterError::Unclosed)?;
    if yaml.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok((T::default(), body.trim()));
    }
    let lines_before = first.lines().count();
    let plain = || parse_plain(yaml).and_then(|head| serde_json::from_value(head).ok());
    let head = parse_yaml(yaml).or_else(|error| {
        let head = parse_yaml(&quote_sentences(yaml)).ok().or_else(plain);
        head.ok_or_else(|| FrontMatterError::Yaml(describe(&error, lines_before)))
    })?;
    Ok((head, body.trim()))
}

fn parse_yaml<T: DeserializeOwned>(yaml: &str) -> Result<T, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(yaml, options())
}

/// Quotes the sentences with a colon, as in `description: Use when: it rains`, which other programs accept unquoted.
fn quote_sentences(yaml: &str) -> String {
    let quote = |line: &str| match line.split_once(": ") {
        Some((key, value)) if is_key(key) && is_sentence_with_colon(value.trim()) => {
            format!("{key}: '{}'\n", value.trim().replace('\'', "''"))
        }
        _ => format!("{line}\n"),
    };
    yaml.lines().map(quote).collect()
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

/// Returns true for a value that isn't YAML because of its colon.
fn is_sentence_with_colon(value: &str) -> bool {
    let is_quoted = ['"', '\''].iter().any(|quote| value.starts_with(*quote) && value.ends_with(*quote));
    (value.contains(": ") || value.ends_with(':')) && !is_quoted && !value.starts_with(['[', '{'])
}

/// Explains that a key is missing: there is no front matter, it isn't valid YAML, or it lacks the key.
#[must_use]
pub fn missing(text: &str, key: &str) -> String {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let head = text.split_once('\n').filter(|(first, _)| first.trim_end() == FENCE);
    let Some((yaml, _)) = head.and_then(|(_, rest)| split(rest)) else {
        return format!("no front matter; it needs at least `{key}`");
    };
    let is_readable = || parse_yaml::<serde::de::IgnoredAny>(&quote_sentences(yaml)).is_ok();
    match parse_yaml::<serde::de::IgnoredAny>(yaml) {
        Err(error) if !is_readable() => FrontMatterError::Yaml(describe(&error, 1)).to_string(),
        Ok(_) | Err(_) => format!("the front matter has no `{key}`"),
    }
}

/// Returns limits far above the needs of any front matter. Files may be untrusted, and a few lines of aliases can
/// expand to gigabytes.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { budget: serde_saphyr::budget! { max_nodes: 10_000, max_aliases: 100 } }
}

/// Parses lines of `key: value`, each value taken literally, as other programs do: their files have values
/// such as `argument-hint: [a] [b]` and sentences with colons, which aren't valid YAML. `None` if the text
/// uses YAML syntax.
fn parse_plain(head: &str) -> Option<Value> {
    let mut values = Map::new();
    for line in head.lines().map(str::trim_end).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (key, value) = line.split_once(':')?;
        let value = value.trim();
        // Only YAML has anchors, aliases, blocks, lists over several lines, and lists of quoted texts.
        let is_yaml_list = [('[', ']'), ('{', '}')].iter().any(|(open, close)| {
            value.starts_with(*open) && (!value.contains(*close) || value.contains(['"', '\'']))
        });
        if !is_key(key) || is_yaml_list || value.starts_with(['&', '*', '|', '>']) {
            return None;
        }
        values.insert(
            key.to_owned(),
            match value {
                "true" => Value::Bool(true),
                "false" => Value::Bool(false),
                text => Value::String(unquote(text).to_owned()),
            },
        );
    }
    Some(Value::Object(values))
}

/// Removes quotes around the entire text.
fn unquote(text: &str) -> &str {
    let strip = |quote| text.strip_prefix(quote).and_then(|text: &str| text.strip_suffix(quote));
    strip('"').or_else(|| strip('\'')).unwrap_or(text)
}

/// Splits a string at the closing fence.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_end() == FENCE {
            return Some((&text[..at], &text[at + line.len()..]));
        }
        at += line.len();
    }
    None
}

/// Formats an error as one line, with the line number in the file instead of the head.
fn describe(error: &serde_saphyr::Error, lines_before: usize) -> String {
    let formatter = DefaultMessageFormatter;
    let line_offset = u64::try_from(lines_before).unwrap_or_default();
    let options = serde_saphyr::render_options! {
        formatter: &formatter,
        snippets: SnippetMode::Off,
        line_offset: line_offset,
    };
    error.render_with_options(options).lines().next().unwrap_or("not YAML").to_owned()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Head {
        name: Option<String>,
        size: Option<u32>,
    }

    fn head(text: &str) -> Result<(Option<String>, String), FrontMatterError> {
        parse::<Head>(text).map(|(head, body)| (head.name, body.to_owned()))
    }

    #[test]
    fn missing_names_the_reason() {
        let reason = |text: &str| missing(text, "description");
        for text in ["", "Body", "# Title\n---\n"] {
            assert_eq!(reason(text), "no front matter; it needs at least `description`", "{text}");
        }
        assert_eq!(reason("---\nname: a\n---\nBody"), "the front matter has no `description`");
        assert_eq!(reason("---\nname: a: b\n---\nBody"), "the front matter has no `description`");
        let broken = reason("---\nname: a\ntools: [\n---\nBody");
        assert!(broken.starts_with("the front matter can't be parsed: "), "{broken}");
    }

    #[test]
    fn parse_head_and_body_with_any_line_ends() {
        let expected = Ok((Some("x".to_owned()), "Body.\n---\nMore.".to_owned()));
        assert_eq!(head("---\nname: x\nother: [1, 2]\n---\n\nBody.\n---\nMore.\n"), expected);
        let windows = head("\u{feff}---\r\nname: x\r\n---\r\nBody.\r\n").unwrap();
        assert_eq!(windows, (Some("x".to_owned()), "Body.".to_owned()));
    }

    #[test]
    fn parse_without_head_is_all_body() {
        assert_eq!(head("# Title\n---\n"), Ok((None, "# Title\n---".to_owned())));
        assert_eq!(head(""), Ok((None, String::new())));
        assert_eq!(head("---\n# nothing but a remark\n---\nBody"), Ok((None, "Body".to_owned())));
    }

    #[test]
    fn parse_list_without_end_is_an_error() {
        for value in ["[bash, write_file", "{name: x", "[\"bash, write_file]"] {
            let parsed = head(&format!("---\nother: {value}\nname: x\n---\nBody"));
            assert!(matches!(parsed, Err(FrontMatterError::Yaml(_))), "{parsed:?}");
        }
        assert_eq!(head("---\nother: [a] [b]\nname: x\n---\n").unwrap().0, Some("x".to_owned()));
    }

    #[test]
    fn parse_head_without_end_is_an_error() {
        assert_eq!(head("---\nname: x\n"), Err(FrontMatterError::Unclosed));
    }

    #[test]
    fn parse_invalid_yaml_error_names_line_of_file() {
        let error = parse::<Head>("---\nname: x\nsize: large\n---\n").unwrap_err().to_string();
        assert!(error.contains("line 3") && !error.contains('\n'), "{error}");
        let error = head("---\nname: [x\n  y\n---\n").unwrap_err().to_string();
        assert!(error.contains("line ") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn parse_plain_lines_are_taken_literally() {
        for (line, name) in [
            ("name: [a] [b]", "[a] [b]"),
            ("name: Use when: it rains", "Use when: it rains"),
            ("name: \"quoted\"\nother: a: b", "quoted"),
        ] {
            assert_eq!(
                head(&format!("---\n{line}\n---\nBody")),
                Ok((Some(name.into()), "Body".into())),
                "{line}"
            );
        }
        assert!(matches!(head("---\nname: a: b\n  more\n---\n"), Err(FrontMatterError::Yaml(_))));
    }

    #[test]
    fn parse_sentence_with_colon_keeps_lists_of_other_keys() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        struct Lists {
            about: String,
            names: Vec<String>,
        }
        let about = "Use it. Examples:\\n <example>Context: 'it's' \"raining\"</example>";
        for names in ["[a, b]", "\n  - a\n  - b", "\n- \"a\"\n- b"] {
            let text = format!("---\nabout: {about}\nnames: {names}\nhooks:\n  x:\n    - y: [z]\n---\nBody");
            let expected = Lists { about: about.to_owned(), names: vec!["a".to_owned(), "b".to_owned()] };
            assert_eq!(parse(&text), Ok((expected, "Body")), "{names}");
        }
    }

    #[test]
    fn parse_head_with_alias_bomb_is_refused() {
        let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let before = level - 1;
            let inner = vec![format!("*a{before}"); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{inner}]\n"));
        }
        text.push_str("---\n");
        assert!(matches!(head(&text), Err(FrontMatterError::Yaml(_))));
    }
}
