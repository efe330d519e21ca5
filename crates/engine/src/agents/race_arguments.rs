//! The options of a race, and the arguments of `/race`. Pure.

use serde::{Deserialize, Serialize};
use tiller_core::id::EntryId;

/// Number of lanes if the arguments don't set one.
pub const DEFAULT_LANES: usize = 3;

/// The form of the arguments.
const RACE_USAGE: &str = "[-n N | --models A,B] [--check COMMAND] [--from ENTRY] PROMPT";

/// Options of a race.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RaceOptions {
    /// The prompt.
    pub prompt: String,
    /// The entry that the prompt follows; `None` for the session's leaf. A race can start with a prefix or suffix
    /// of the id; its record has the whole id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EntryId>,
    /// The model of each lane: `[provider/]id[:thinking]`, or part of an id; `None` for the session's
    /// model.
    pub models: Vec<Option<String>>,
    /// A shell command whose exit status accepts or rejects a result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
}

impl RaceOptions {
    /// Parses the arguments of `/race`: options, then the prompt. Values with spaces must be quoted.
    ///
    /// # Errors
    /// If a value is missing or invalid, or the prompt is missing.
    pub fn parse(arguments: &str) -> Result<Self, String> {
        let mut options = Self::default();
        let mut count = DEFAULT_LANES;
        let mut rest = arguments.trim();
        while let Some((name, after)) = take_option(rest) {
            let (value, after) = take_value(after).ok_or_else(|| format!("{name} needs a value"))?;
            match name {
                "-n" => count = value.parse().map_err(|_| format!("-n: `{value}` is not a number"))?,
                "--models" => options.models = split_models(&value),
                "--from" => options.from = Some(EntryId::new(value)),
                _ => options.check = Some(value),
            }
            rest = after;
        }
        let first = rest.split_whitespace().next().unwrap_or_default();
        if first.len() > 1 && first.starts_with('-') {
            return Err(format!("unknown option {first}; usage: /race {RACE_USAGE}"));
        }
        if rest.is_empty() {
            return Err(format!("usage: /race {RACE_USAGE}"));
        }
        if options.models.is_empty() {
            options.models = vec![None; count];
        }
        Ok(Self { prompt: rest.to_owned(), ..options })
    }
}

/// Parses a list of models, one for each lane.
#[must_use]
pub fn split_models(list: &str) -> Vec<Option<String>> {
    list.split(',')
        .map(str::trim)
        .filter(|model| !model.is_empty())
        .map(|model| Some(model.to_owned()))
        .collect()
}

fn take_option(text: &str) -> Option<(&'static str, &str)> {
    let name = ["-n", "--models", "--check", "--from"].into_iter().find(|name| {
        text.strip_prefix(name).is_some_and(|after| after.is_empty() || after.starts_with([' ', '=']))
    })?;
    Some((name, text[name.len()..].trim_start_matches('=').trim_start()))
}

/// Splits off a word or a quoted string and returns it with the rest of the text.
fn take_value(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let (value, rest) = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => text.split_once(char::is_whitespace).unwrap_or((text, "")),
    };
    (!value.is_empty()).then(|| (value.to_owned(), rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn race_arguments_are_options_and_the_prompt() {
        let parsed = RaceOptions::parse("-n 2 --check 'cargo test -q' Fix the -n option.").unwrap();
        let expected = RaceOptions {
            prompt: "Fix the -n option.".into(),
            models: vec![None, None],
            check: Some("cargo test -q".into()),
            ..RaceOptions::default()
        };
        assert_eq!(parsed, expected);
        let parsed = RaceOptions::parse("--from 01ABC Go.").unwrap();
        assert_eq!((parsed.from, parsed.prompt.as_str()), (Some(EntryId::new("01ABC")), "Go."));
        let parsed = RaceOptions::parse("--models=opus, --check true Go.").unwrap();
        assert_eq!(parsed.models, [Some("opus".to_owned())]);
        assert_eq!(RaceOptions::parse("Go.").unwrap().models.len(), DEFAULT_LANES);
    }

    #[test]
    fn race_arguments_wrong_ones_are_named() {
        let error = |text: &str| RaceOptions::parse(text).unwrap_err();
        assert_eq!(error("-n two Go."), "-n: `two` is not a number");
        assert_eq!(error("--check"), "--check needs a value");
        assert_eq!(error("--check 'open Go."), "--check needs a value");
        assert!(error("-n 2").starts_with("usage: /race "));
        assert!(error("-n 2 -x hi").starts_with("unknown option -x; usage: /race "));
    }
}
