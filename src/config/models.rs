//! `models.json`: the user's own servers and models, in the format of pi's file of that name.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroU64;
use std::path::Path;

use jsonc_parser::{ParseOptions, parse_to_serde_value};
use secrecy::SecretString;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::environment::Environment;
use super::error::{ConfigError, read};
use crate::provider::catalog::{self, ImageInput, ModelFacts, Price, ThinkingControl};
use crate::provider::compat::{Compat, CompatOverrides};
use crate::provider::wire_format::WireFormat;
use crate::unit::{Tokens, Usd};

/// The contents of the file.
#[derive(Debug, Default)]
pub(super) struct UserModels {
    pub(super) providers: BTreeMap<String, UserProvider>,
    /// Warnings for the user about ignored entries.
    pub(super) warnings: Vec<String>,
}

/// A provider's entry in the file.
#[derive(Clone, Debug, Default)]
pub struct UserProvider {
    /// The server.
    pub base_url: Option<String>,
    /// The wire format.
    pub api: Option<WireFormat>,
    /// The key.
    pub key: Option<ConfigKey>,
    /// True if the key is sent as `authorization: Bearer`, regardless of the wire format.
    pub auth_header: bool,
    /// Headers of every request, each with its value.
    pub headers: Vec<(String, ConfigKey)>,
    /// Parameters that the server accepts.
    pub compat: CompatOverrides,
    /// The environment variables that the entry names.
    pub variables: Vec<String>,
    /// The reason the provider isn't usable; also among the warnings.
    pub problem: Option<ProviderProblem>,
    models: Vec<ModelEntry>,
}

/// The reason a provider isn't usable.
#[derive(Clone, Debug)]
pub enum ProviderProblem {
    /// Its entry is invalid, so its server is unknown.
    Invalid(String),
    /// A variable that it names isn't set; another key may replace it.
    Unset(String),
}

/// A key or the value of a header, or the command that prints it.
#[derive(Clone, Debug)]
pub enum ConfigKey {
    /// The value.
    Value(SecretString),
    /// A shell command; the first line of its output is the value.
    Command(String),
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProviderEntry {
    base_url: Option<String>,
    api: Option<WireFormat>,
    api_key: Option<String>,
    auth_header: bool,
    headers: BTreeMap<String, String>,
    compat: CompatOverrides,
    /// Parsed one by one, so that an invalid one costs only itself.
    models: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelEntry {
    #[serde(deserialize_with = "nonempty")]
    id: String,
    name: Option<String>,
    api: Option<WireFormat>,
    reasoning: Option<bool>,
    input: Option<Vec<String>>,
    context_window: Option<NonZeroU64>,
    max_tokens: Option<NonZeroU64>,
    cost: Option<CostEntry>,
    #[serde(default)]
    compat: Option<CompatOverrides>,
}

/// Dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct CostEntry {
    #[serde(deserialize_with = "price")]
    input: Usd,
    #[serde(deserialize_with = "price")]
    output: Usd,
    #[serde(deserialize_with = "price")]
    cache_read: Usd,
    #[serde(deserialize_with = "price")]
    cache_write: Usd,
}

fn nonempty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() { Err(serde::de::Error::custom("it is empty")) } else { Ok(text) }
}

fn price<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Usd, D::Error> {
    let price = f64::deserialize(deserializer)?;
    if price < 0.0 { Err(serde::de::Error::custom("it is negative")) } else { Ok(Usd(price)) }
}

/// The fields of a provider. Its name is accepted but not shown.
const PROVIDER_FIELDS: &[&str] =
    &["api", "apiKey", "authHeader", "baseUrl", "compat", "headers", "models", "name"];

/// The fields of a model.
const MODEL_FIELDS: &[&str] =
    &["api", "compat", "contextWindow", "cost", "id", "input", "maxTokens", "name", "reasoning"];

/// JSON with comments and trailing commas, as in pi.
const SYNTAX: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Returns the paths of fields without effect, in a provider and its models.
fn unknown_fields(entry: &Value) -> Vec<String> {
    let unknown = |value: &Value, known: &[&str], prefix: &str| -> Vec<String> {
        let keys = value.as_object().into_iter().flat_map(Map::keys);
        keys.filter(|key| !known.contains(&key.as_str())).map(|key| format!("{prefix}{key}")).collect()
    };
    let models = entry["models"].as_array().into_iter().flatten().enumerate();
    let of_models = models.flat_map(|(at, model)| unknown(model, MODEL_FIELDS, &format!("models[{at}].")));
    unknown(entry, PROVIDER_FIELDS, "").into_iter().chain(of_models).collect()
}

/// Reads the file; empty if it doesn't exist. Invalid models are skipped; a provider that is invalid itself has
/// a [`UserProvider::problem`]. Both are warned about.
pub(super) fn load(path: &Path, environment: &Environment) -> Result<UserModels, ConfigError> {
    if !path.exists() {
        return Ok(UserModels::default());
    }
    let mut models = UserModels::default();
    let file: Value = match parse_to_serde_value(&read(path)?, &SYNTAX) {
        Ok(file) => file,
        Err(error) => {
            models.warnings.push(format!("ignoring {}", ConfigError::not_jsonc(path, &error)));
            return Ok(models);
        }
    };
    let no_providers = Map::new();
    let providers = file["providers"].as_object().unwrap_or_else(|| {
        models.warnings.push(format!("{} has no `providers` object", path.display()));
        &no_providers
    });
    for (name, entry) in providers {
        let mut entry = entry.clone();
        let removed = remove_unknown_compat(&mut entry);
        let removed =
            removed.into_iter().map(|field| format!("`{field}` has an unknown value and is ignored"));
        let unknown = unknown_fields(&entry).into_iter();
        let unknown = unknown.map(|field| format!("`{field}` isn't supported and is ignored"));
        let mut warnings: Vec<String> = removed.chain(unknown).collect();
        // The text of an error could quote a key.
        let parsed = ProviderEntry::deserialize(&entry).ok().filter(|_| entry.is_object());
        let provider = match parsed {
            Some(entry) => resolve(entry, environment, &mut warnings),
            None => UserProvider {
                problem: Some(ProviderProblem::Invalid(problem_of(&entry))),
                ..UserProvider::default()
            },
        };
        warnings.extend(provider.problem.as_ref().map(ToString::to_string));
        models.providers.insert(name.clone(), provider);
        let warnings = warnings.into_iter();
        models.warnings.extend(warnings.map(|warning| format!("{}: `{name}`: {warning}", path.display())));
    }
    Ok(models)
}

/// Removes fields of `compat` with unknown values, in a provider and its models, and returns their paths. pi
/// adds values over time, and most servers still work without one of them.
fn remove_unknown_compat(entry: &mut Value) -> Vec<String> {
    let mut removed = remove_unknown(entry.get_mut("compat"), "compat");
    let models = entry.get_mut("models").and_then(Value::as_array_mut);
    for (at, model) in models.into_iter().flatten().enumerate() {
        removed.extend(remove_unknown(model.get_mut("compat"), &format!("models[{at}].compat")));
    }
    removed
}

fn remove_unknown(compat: Option<&mut Value>, path: &str) -> Vec<String> {
    let mut removed = Vec::new();
    if let Some(fields) = compat.and_then(Value::as_object_mut) {
        fields.retain(|key, value| {
            let is_known = CompatOverrides::deserialize(&single_field(key, value)).is_ok();
            removed.extend((!is_known).then(|| format!("{path}.{key}")));
            is_known
        });
    }
    removed
}

fn single_field(key: &str, value: &Value) -> Value {
    Value::Object([(key.to_owned(), value.clone())].into_iter().collect())
}

/// Describes the part of a provider's entry that can't be parsed.
fn problem_of(entry: &Value) -> String {
    let Some(fields) = entry.as_object() else { return "the entry is not an object".to_owned() };
    let is_valid = |key: &str, value: &Value| ProviderEntry::deserialize(&single_field(key, value)).is_ok();
    let field = fields.iter().find(|(key, value)| !is_valid(key, value));
    match field {
        Some((key, _)) if key == "api" => {
            let known = WireFormat::ALL.map(|format| serde_json::to_value(format).unwrap_or_default());
            let known: Vec<&str> = known.iter().filter_map(Value::as_str).collect();
            format!("`api` must be one of {}", known.join(", "))
        }
        Some((key, _)) => format!("`{key}` must be {}", expected_value(key)),
        None => "the entry is invalid".to_owned(),
    }
}

/// Describes the accepted values of a field.
fn expected_value(field: &str) -> &'static str {
    match field {
        "authHeader" | "reasoning" => "true or false",
        "headers" => "an object of strings",
        "models" => "a list",
        "compat" => "an object",
        "id" => "a string that isn't empty",
        "contextWindow" | "maxTokens" => "a whole number of tokens above 0",
        "cost" => "an object of numbers from 0, in dollars per million tokens",
        "input" => "a list of strings, such as [\"text\", \"image\"]",
        "api" => "a wire format, as for the provider",
        _ => "a string",
    }
}

/// Describes the problem of a model that can't be parsed.
fn problem_of_model(model: &Value) -> String {
    let Some(fields) = model.as_object() else { return "it is not an object".to_owned() };
    let is_valid = |key: &str, value: &Value| {
        let id = Value::from("id");
        let fields = [("id".to_owned(), id), (key.to_owned(), value.clone())];
        ModelEntry::deserialize(Value::Object(fields.into_iter().collect())).is_ok()
    };
    match fields.iter().find(|(key, value)| !is_valid(key, value)) {
        _ if !fields.contains_key("id") => "it has no `id`".to_owned(),
        Some((key, _)) => format!("`{key}` must be {}", expected_value(key)),
        None => "it is invalid".to_owned(),
    }
}

/// Resolves the values of an entry and adds warnings about models that are skipped.
fn resolve(entry: ProviderEntry, environment: &Environment, warnings: &mut Vec<String>) -> UserProvider {
    let texts = entry.api_key.iter().chain(entry.headers.values());
    let variables = texts.filter_map(|text| variable_of(text, environment)).map(str::to_owned).collect();
    let mut problem = None;
    let mut key = None;
    match entry.api_key.map(|text| resolve_text(&text, environment)) {
        Some(Ok(value)) => key = Some(value),
        Some(Err(text)) => problem = Some(ProviderProblem::Unset(format!("`apiKey`: {text}"))),
        None => {}
    }
    let mut headers = Vec::new();
    for (header, text) in entry.headers {
        match resolve_text(&text, environment) {
            Ok(value) => headers.push((header, value)),
            Err(text) => problem = Some(ProviderProblem::Unset(format!("header `{header}`: {text}"))),
        }
    }
    let mut models = Vec::new();
    for (at, model) in entry.models.iter().enumerate() {
        match ModelEntry::deserialize(model) {
            Ok(model) => models.push(model),
            Err(_) => warnings.push(format!("`models[{at}]` is ignored: {}", problem_of_model(model))),
        }
    }
    let ProviderEntry { base_url, api, auth_header, compat, .. } = entry;
    UserProvider { base_url, api, key, auth_header, headers, compat, variables, problem, models }
}

/// Returns the name of the variable that a string refers to.
fn variable_of<'a>(text: &'a str, environment: &Environment) -> Option<&'a str> {
    match text.strip_prefix('$') {
        Some(name) => Some(name.strip_prefix('{').and_then(|name| name.strip_suffix('}')).unwrap_or(name)),
        None => environment.value(text).map(|_| text),
    }
}

/// Resolves `!COMMAND`, `$NAME`, `${NAME}` and, as in pi, the bare name of a variable that is set. Any other
/// text is the value.
fn resolve_text(text: &str, environment: &Environment) -> Result<ConfigKey, String> {
    if let Some(command) = text.strip_prefix('!') {
        return Ok(ConfigKey::Command(command.trim().to_owned()));
    }
    let value = |text: &str| ConfigKey::Value(SecretString::from(text.to_owned()));
    match variable_of(text, environment) {
        None => Ok(value(text)),
        Some(name) => {
            environment.value(name).map(value).ok_or_else(|| format!("the variable {name} is not set"))
        }
    }
}

impl fmt::Display for ProviderProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Invalid(text) | Self::Unset(text)) = self;
        f.write_str(text)
    }
}

impl UserProvider {
    /// Returns the facts of the models that the user lists: those in the entry, completed with those `served`
    /// by a server on this machine, or with cataloged or assumed ones.
    pub(crate) fn models<'a>(
        &'a self,
        provider: &'a str,
        compat: Compat,
        served: &'a [ModelFacts],
    ) -> impl Iterator<Item = ModelFacts> + 'a {
        self.models.iter().map(move |model| model.facts(provider, (compat, self.compat), served))
    }

    /// Iterates over the models for which the entry specifies a wire format, with that format.
    pub(crate) fn named_formats(&self) -> impl Iterator<Item = (&str, WireFormat)> {
        self.models.iter().filter_map(|model| Some((model.id.as_str(), model.api?)))
    }

    /// Returns the facts of a model listed by the catalog or the server, with the overrides in the entry.
    pub(crate) fn adapt(&self, facts: ModelFacts) -> ModelFacts {
        ModelFacts { compat: facts.compat.map(|compat| self.compat.apply(compat)), ..facts }
    }
}

impl ModelEntry {
    /// Returns the model's facts. `compat` is the provider's, and `overrides` are those in the file.
    fn facts(
        &self,
        provider: &str,
        (compat, overrides): (Compat, CompatOverrides),
        served: &[ModelFacts],
    ) -> ModelFacts {
        let known =
            || catalog::facts(provider, &self.id).unwrap_or_else(|| catalog::assumed(provider, &self.id));
        let base = match (self.context_window, self.served(served)) {
            (Some(window), _) => known().with_window(Tokens(window.get())),
            (None, Some(found)) => ModelFacts { id: self.id.clone(), name: self.id.clone(), ..found.clone() },
            (None, None) => known(),
        };
        let of_model = base.compat.map(|compat| overrides.apply(compat));
        let price = self.cost.map(|cost| Price {
            input: cost.input,
            output: cost.output,
            cache_read: cost.cache_read,
            cache_write: cost.cache_write,
        });
        ModelFacts {
            name: self.name.clone().unwrap_or(base.name),
            max_output: self.max_tokens.map_or(base.max_output, |most| Tokens(most.get())).min(base.window),
            thinking: match (self.reasoning, base.thinking) {
                (Some(false), _) => ThinkingControl::Never,
                (Some(true), ThinkingControl::Never) => ThinkingControl::LOW_TO_HIGH,
                (Some(true) | None, thinking) => thinking,
            },
            image_input: match &self.input {
                Some(kinds) if kinds.iter().any(|kind| kind == "image") => ImageInput::Supported,
                Some(_) => ImageInput::Unsupported,
                None => base.image_input,
            },
            takes_pdf: base.takes_pdf || self.input.iter().flatten().any(|kind| kind == "pdf"),
            price: price.or(base.price),
            compat: self.compat.map(|own| own.apply(of_model.unwrap_or(compat))).or(of_model),
            ..base
        }
    }

    /// Finds the entry's model among a server's models. Ollama completes an id without a tag with the tag
    /// `latest`.
    fn served<'a>(&self, served: &'a [ModelFacts]) -> Option<&'a ModelFacts> {
        let is_latest = |id: &str| id.strip_suffix(":latest") == Some(self.id.as_str());
        let exact = served.iter().find(|facts| facts.id == self.id);
        exact.or_else(|| served.iter().find(|facts| is_latest(&facts.id)))
    }
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;
    use serde_json::json;

    use super::*;
    use crate::provider::compat::MaxTokensField;

    fn load_json(file: &Value) -> UserModels {
        load_text(&file.to_string())
    }

    fn load_text(file: &str) -> UserModels {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("models.json");
        std::fs::write(&path, file).unwrap();
        let environment = Environment {
            variables: [("MY_KEY".to_owned(), "secret".to_owned())].into(),
            ..Environment::default()
        };
        load(&path, &environment).unwrap()
    }

    fn value(key: Option<&ConfigKey>) -> String {
        match key {
            Some(ConfigKey::Value(value)) => value.expose_secret().to_owned(),
            Some(ConfigKey::Command(command)) => format!("!{command}"),
            None => "none".to_owned(),
        }
    }

    #[test]
    fn file_with_comments_and_trailing_commas_is_read() {
        let text = r#"{
            // Mine.
            "providers": {
                "mine": { "baseUrl": "http://x/*y*/", /* "api": "z", */ "models": [
                    { "id": "m//n", "contextWindow": 200000, "cost": { "input": 0.25, "output": 1 }, },
                ], },
            },
        }"#;
        let models = load_text(text);
        assert_eq!(models.warnings, [""; 0]);
        let mine = &models.providers["mine"];
        assert_eq!(mine.base_url.as_deref(), Some("http://x/*y*/"));
        let facts = mine.models("mine", Compat::COMMON, &[]).next().unwrap();
        assert_eq!((&*facts.id, facts.window), ("m//n", Tokens(200_000)));
        assert_eq!(facts.price.map(|price| price.input), Some(Usd(0.25)));
    }

    #[test]
    fn file_error_has_its_position() {
        for (text, expected) in [
            ("{\n  // a\n  \"a\": b}", "line 3, column 8: invalid JSON: unexpected token"),
            ("{", "line 1, column 2: invalid JSON: unterminated object"),
            ("{\"a\": 'b'}", "line 1, column 7: invalid JSON: single-quoted strings are not allowed"),
        ] {
            let warnings = load_text(text).warnings;
            assert!(warnings[0].ends_with(expected), "{warnings:?}");
        }
    }

    #[test]
    fn model_with_a_useless_value_is_ignored() {
        for (field, value, problem) in [
            ("contextWindow", json!(0), "`contextWindow` must be a whole number of tokens above 0"),
            ("maxTokens", json!(0), "`maxTokens` must be a whole number of tokens above 0"),
            ("id", json!(""), "`id` must be a string that isn't empty"),
            (
                "cost",
                json!({ "input": -1 }),
                "`cost` must be an object of numbers from 0, in dollars per million tokens",
            ),
        ] {
            let mut model = json!({ "id": "m" });
            model[field] = value;
            let models = load_json(&json!({ "providers": { "mine": { "models": [model, { "id": "n" }] } } }));
            let expected = format!("`mine`: `models[0]` is ignored: {problem}");
            assert!(models.warnings[0].ends_with(&expected), "{:?}", models.warnings);
            assert_eq!(models.providers["mine"].models.len(), 1, "{field}");
        }
    }

    #[test]
    fn keys_are_literals_variables_or_commands() {
        let cases = [
            ("sk-1", "sk-1"),
            ("$MY_KEY", "secret"),
            ("${MY_KEY}", "secret"),
            ("MY_KEY", "secret"),
            ("!op read key", "!op read key"),
            ("OTHER_KEY", "OTHER_KEY"),
        ];
        for (text, expected) in cases {
            let models = load_json(&json!({"providers": {"mine": {"apiKey": text}}}));
            assert_eq!(value(models.providers["mine"].key.as_ref()), expected);
            assert_eq!(models.warnings, [""; 0]);
        }
        let models = load_json(&json!({"providers": {"mine": {"apiKey": "$NONE", "baseUrl": "http://x"}}}));
        assert!(models.warnings[0].ends_with("`mine`: `apiKey`: the variable NONE is not set"));
        assert_eq!(models.providers["mine"].base_url.as_deref(), Some("http://x"));
    }

    #[test]
    fn headers_and_formats_of_models_are_read() {
        let models = load_json(&json!({"providers": {"mine": {
            "headers": {"x-team": "$MY_KEY", "x-token": "!print token"},
            "models": [{"id": "a"}, {"id": "b", "api": "anthropic-messages"}],
        }}}));
        assert_eq!(models.warnings, [""; 0]);
        let mine = &models.providers["mine"];
        let headers: Vec<_> = mine.headers.iter().map(|(name, it)| (&**name, value(Some(it)))).collect();
        assert_eq!(headers, [("x-team", "secret".to_owned()), ("x-token", "!print token".to_owned())]);
        let formats: Vec<_> = mine.named_formats().collect();
        assert_eq!(formats, [("b", WireFormat::AnthropicMessages)]);
    }

    #[test]
    fn model_overrides_only_what_it_names() {
        let models = load_json(&json!({"providers": {"anthropic": {"models": [
            {"id": "claude-opus-5-5", "cost": {"input": 1, "output": 2, "cacheRead": 0.1, "cacheWrite": 1}},
            {"id": "new", "name": "New", "reasoning": true, "input": ["text", "image"], "contextWindow": 40000,
             "maxTokens": 5000, "compat": {"maxTokensField": "max_completion_tokens"}},
        ]}}}));
        let facts: Vec<_> = models.providers["anthropic"].models("anthropic", Compat::COMMON, &[]).collect();
        let opus = catalog::facts("anthropic", "claude-opus-5-5").unwrap();
        assert_eq!(facts[0], ModelFacts { price: facts[0].price, ..opus });
        assert_eq!(facts[0].price.unwrap().output, Usd(2.0));
        let new = &facts[1];
        assert_eq!((new.name.as_str(), new.window, new.max_output), ("New", Tokens(40_000), Tokens(5_000)));
        assert_eq!((new.thinking, new.image_input), (ThinkingControl::LOW_TO_HIGH, ImageInput::Supported));
        assert!(new.compat.is_some());
    }

    #[test]
    fn model_without_window_has_that_of_its_server() {
        let models = load_json(&json!({"providers": {"ollama": {"models": [
            {"id": "qwen3:8b"},
            {"id": "llama", "name": "Llama", "input": ["text"]},
            {"id": "qwen3:4b", "contextWindow": 40000},
            {"id": "gone"},
        ]}}}));
        let served = ["qwen3:8b", "llama:latest", "qwen3:4b"].map(|id| ModelFacts {
            image_input: ImageInput::Supported,
            ..catalog::assumed("ollama", id).with_window(Tokens(4_096))
        });
        let facts: Vec<_> = models.providers["ollama"].models("ollama", Compat::COMMON, &served).collect();
        assert_eq!(facts[0], served[0]);
        let llama = &facts[1];
        assert_eq!((llama.id.as_str(), llama.name.as_str(), llama.window), ("llama", "Llama", Tokens(4_096)));
        assert_eq!(llama.image_input, ImageInput::Unsupported);
        assert_eq!([facts[2].window, facts[3].window], [Tokens(40_000), Tokens(128_000)]);
    }

    #[test]
    fn compat_of_provider_applies_to_models_with_their_own() {
        let models = load_json(&json!({"providers": {"openai": {
            "compat": {"maxTokensField": "max_tokens"}, "models": [{"id": "gpt-5"}],
        }}}));
        let openai = &models.providers["openai"];
        let gpt = catalog::facts("openai", "gpt-5").unwrap();
        let expected = Some(Compat { max_tokens_field: MaxTokensField::MaxTokens, ..gpt.compat.unwrap() });
        assert_eq!(openai.models("openai", Compat::COMMON, &[]).next().unwrap().compat, expected);
        assert_eq!(openai.adapt(gpt).compat, expected);
    }

    #[test]
    fn compat_with_unknown_value_loses_only_that() {
        let models = load_json(&json!({"providers": {"mine": {
            "baseUrl": "http://x",
            "compat": {"thinkingFormat": "telepathy", "supportsUsageInStreaming": false},
            "models": [{"id": "a"}, {"id": "b", "compat": {"maxTokensField": 7}}],
        }}}));
        let tails = models.warnings.iter().map(|warning| warning.split_once(": ").unwrap().1);
        let expected = [
            "`mine`: `compat.thinkingFormat` has an unknown value and is ignored",
            "`mine`: `models[1].compat.maxTokensField` has an unknown value and is ignored",
        ];
        assert_eq!(tails.collect::<Vec<_>>(), expected);
        let mine = &models.providers["mine"];
        let compat = Compat { streams_usage: false, ..Compat::COMMON };
        assert_eq!((mine.compat.apply(Compat::COMMON), mine.models.len()), (compat, 2));
    }

    #[test]
    fn unsupported_fields_are_named() {
        let models = load_json(&json!({"providers": {"mine": {
            "name": "Mine", "baseUrl": "http://x", "authHeader": true, "modelOverrides": {"a": {}},
            "models": [{"id": "a", "headers": {"x-key": "hush"}}, {"id": "b"}],
        }}}));
        let tails = models.warnings.iter().map(|warning| warning.split_once(": ").unwrap().1);
        let expected = ["modelOverrides", "models[0].headers"]
            .map(|field| format!("`mine`: `{field}` isn't supported and is ignored"));
        assert_eq!(tails.collect::<Vec<_>>(), expected);
        assert!(models.providers["mine"].auth_header);
    }

    #[test]
    fn wrong_entries_are_named_without_their_values() {
        let models = load_json(&json!({"providers": {
            "a": {"apiKey": 7},
            "b": {"api": "telnet", "apiKey": "sk-hush"},
            "c": [],
            "d": {"models": [{"id": "x"}, {"name": "no id"}]},
            "e": {"models": {}},
            "f": {"models": [{"id": "x", "contextWindow": "large"}, {"id": "y"}]},
            "h": {"authHeader": "yes"},
            "good": {"baseUrl": "http://x"},
        }}));
        let tails = models.warnings.iter().map(|warning| warning.split_once(": ").unwrap().1);
        let expected = [
            "`a`: `apiKey` must be a string",
            "`b`: `api` must be one of anthropic-messages, openai-completions, openai-responses, \
             google-generative-ai",
            "`c`: the entry is not an object",
            "`d`: `models[1]` is ignored: it has no `id`",
            "`e`: `models` must be a list",
            "`f`: `models[0]` is ignored: `contextWindow` must be a whole number of tokens above 0",
            "`h`: `authHeader` must be true or false",
        ];
        assert_eq!(tails.collect::<Vec<_>>(), expected);
        let has_problem = |name: &str| models.providers[name].problem.is_some();
        assert_eq!(
            ["a", "b", "c", "d", "e", "f", "h", "good"].map(has_problem),
            [true, true, true, false, true, false, true, false]
        );
        let ids: Vec<_> = models.providers["f"].models.iter().map(|model| model.id.as_str()).collect();
        assert_eq!(ids, ["y"]);
        assert!(load_json(&json!({})).warnings[0].ends_with("models.json has no `providers` object"));
    }
}
