//! Parsing of servers' model lists. One parser covers all servers: they name the same facts differently, and
//! most omit some.

mod fetch;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_core::unit::{Tokens, Usd};

pub use fetch::fetch;

use crate::catalog::{self, ImageInput, ModelFacts, Price, ThinkingControl};

/// A model as listed by its server; facts that the server omits are `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ListedModel {
    /// The id for requests.
    pub id: String,
    /// The context window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Tokens>,
    /// Maximum tokens of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<Tokens>,
    /// True if images are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// True if PDF files are accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files: Option<bool>,
    /// True if the model can think.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinks: Option<bool>,
    /// Its prices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
}

impl ListedModel {
    /// Returns the model's facts. Cataloged facts take precedence, with the listed price if they have
    /// none; then listed facts, then assumed ones.
    #[must_use]
    pub fn facts(&self, provider: &str) -> ModelFacts {
        if let Some(facts) = catalog::facts(provider, &self.id) {
            let takes_pdf = facts.takes_pdf || self.files == Some(true);
            return ModelFacts { price: facts.price.or(self.price), takes_pdf, ..facts };
        }
        let assumed = catalog::assumed(provider, &self.id);
        let facts = match self.window {
            Some(window) => assumed.with_window(window),
            None => assumed,
        };
        let thinks_by_effort = self.thinks == Some(true) && facts.thinking == ThinkingControl::Never;
        ModelFacts {
            max_output: self.max_output.map_or(facts.max_output, |most| most.min(facts.window)),
            image_input: match self.images {
                Some(true) => ImageInput::Supported,
                Some(false) => ImageInput::Unsupported,
                None => facts.image_input,
            },
            takes_pdf: self.files.unwrap_or(facts.takes_pdf),
            thinking: if thinks_by_effort { ThinkingControl::LOW_TO_HIGH } else { facts.thinking },
            price: self.price,
            ..facts
        }
    }
}

/// A page of a server's list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ModelPage {
    pub models: Vec<ListedModel>,
    /// The query parameters of the next page, or its URL.
    pub next: Option<String>,
}

/// Parses a page: `{data: [..]}` of OpenAI and most others, `{models: [..]}` of Gemini and Ollama, or a bare
/// list. Entries that can't chat or call tools are omitted, judging by their facts or by the words of their id.
pub(crate) fn parse_page(body: &Value) -> Option<ModelPage> {
    let entries =
        body.as_array().or_else(|| ["data", "models"].iter().find_map(|key| body[key].as_array()))?;
    let models = entries.iter().filter(|entry| is_usable(entry)).filter_map(parse_model).collect();
    let next = match (body["links"]["next"].as_str(), body["nextPageToken"].as_str()) {
        (Some(address), _) => Some(address.to_owned()),
        (None, Some(token)) => Some(format!("pageToken={token}")),
        (None, None) if body["has_more"] == true => {
            body["last_id"].as_str().map(|last| format!("after_id={last}"))
        }
        (None, None) => None,
    };
    Some(ModelPage { models, next })
}

/// Words of an id that name another kind of model than one that chats.
const OTHER_KINDS: &[&str] = &[
    "embed",
    "embedding",
    "embeddings",
    "rerank",
    "moderation",
    "whisper",
    "transcribe",
    "tts",
    "speech",
    "audio",
    "realtime",
    "image",
    "dall",
    "sora",
    "babbage",
    "davinci",
];

fn is_of_other_kind(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let name = id.rsplit('/').next().unwrap_or_default();
    name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| OTHER_KINDS.contains(&word))
}

/// Returns false for an entry that states that it doesn't support conversations with tools.
fn is_usable(entry: &Value) -> bool {
    let lacks = |key: &str, wanted: &str| {
        entry[key].as_array().is_some_and(|list| list.iter().all(|item| item != wanted))
    };
    let is_other = matches!(
        entry["type"].as_str(),
        Some(
            "embedding" | "embeddings" | "image" | "video" | "audio" | "rerank" | "moderation" | "transcribe"
        )
    );
    !is_other
        && !lacks("supported_parameters", "tools")
        && !lacks("supportedGenerationMethods", "generateContent")
        && entry["capabilities"]["completion_chat"] != false
        && entry["active"] != false
}

fn parse_model(entry: &Value) -> Option<ListedModel> {
    let id = ["id", "model", "name", "key"].iter().find_map(|key| entry[key].as_str())?;
    if id.is_empty() || is_of_other_kind(id) {
        return None;
    }
    let tokens = |keys: &[&str]| keys.iter().find_map(|key| entry[key].as_u64()).filter(|count| *count > 0);
    let top = &entry["top_provider"];
    Some(ListedModel {
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        window: tokens(&[
            "loaded_context_length",
            "context_length",
            "context_window",
            "max_model_len",
            "max_context_length",
            "inputTokenLimit",
            "max_input_tokens",
        ])
        .map(Tokens),
        max_output: tokens(&["max_completion_tokens", "max_output_tokens", "outputTokenLimit", "max_tokens"])
            .or_else(|| top["max_completion_tokens"].as_u64())
            .map(Tokens),
        images: images(entry),
        files: contains(&entry["architecture"]["input_modalities"], "file"),
        thinks: thinks(entry),
        price: price(&entry["pricing"]),
    })
}

fn contains(list: &Value, wanted: &str) -> Option<bool> {
    Some(list.as_array()?.iter().any(|item| item == wanted))
}

fn images(entry: &Value) -> Option<bool> {
    contains(&entry["architecture"]["input_modalities"], "image")
        .or_else(|| contains(&entry["input_modalities"], "image"))
        .or_else(|| contains(&entry["tags"], "vision"))
        .or_else(|| entry["supports_image_in"].as_bool())
        .or_else(|| entry["supports_image_input"].as_bool())
        .or_else(|| entry["capabilities"]["vision"].as_bool())
        .or_else(|| (entry["type"] == "vlm").then_some(true))
}

fn thinks(entry: &Value) -> Option<bool> {
    contains(&entry["supported_parameters"], "reasoning")
        .or_else(|| contains(&entry["tags"], "reasoning"))
        .or_else(|| entry["supports_reasoning"].as_bool())
        .or_else(|| entry["thinking"].as_bool())
}

/// Parses prices: strings are dollars per token, numbers dollars per million tokens.
fn price(pricing: &Value) -> Option<Price> {
    let per_million = |keys: &[&str]| {
        keys.iter().find_map(|key| match &pricing[key] {
            Value::String(text) => text.parse::<f64>().ok().map(|price| price * 1e6),
            value => value.as_f64(),
        })
    };
    let input = per_million(&["prompt", "input"])?;
    let output = per_million(&["completion", "output"])?;
    // A router that chooses the model itself lists -1.
    let is_known = input >= 0.0 && output >= 0.0;
    is_known.then(|| Price {
        input: Usd(input),
        output: Usd(output),
        cache_read: Usd(per_million(&["input_cache_read", "cached_input"]).unwrap_or(input)),
        cache_write: Usd(per_million(&["input_cache_write"]).unwrap_or(input)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn listed(id: &str) -> ListedModel {
        ListedModel { id: id.to_owned(), ..ListedModel::default() }
    }

    fn window(id: &str, window: u64) -> ListedModel {
        ListedModel { window: Some(Tokens(window)), ..listed(id) }
    }

    fn price(input: f64, output: f64, cache_read: f64) -> Option<Price> {
        let [input, output, cache_read] = [input, output, cache_read].map(Usd);
        Some(Price { input, output, cache_read, cache_write: input })
    }

    fn read(body: &Value) -> Vec<ListedModel> {
        let round = |price: Usd| Usd((price.0 * 1e6).round() / 1e6);
        let rounded = |model: ListedModel| ListedModel {
            price: model.price.map(|price| Price {
                input: round(price.input),
                output: round(price.output),
                cache_read: round(price.cache_read),
                cache_write: round(price.cache_write),
            }),
            ..model
        };
        parse_page(body).unwrap().models.into_iter().map(rounded).collect()
    }

    #[test]
    fn page_of_each_provider_is_read() {
        assert_eq!(read(&json!({"data": [{"id": "gpt-x", "object": "model"}]})), [listed("gpt-x")]);
        let gemini = json!({"models": [
            {"name": "models/gemini-x", "inputTokenLimit": 1000, "outputTokenLimit": 10,
             "supportedGenerationMethods": ["generateContent"], "thinking": true},
            {"name": "models/embed", "supportedGenerationMethods": ["embedContent"]},
        ]});
        let expected =
            ListedModel { max_output: Some(Tokens(10)), thinks: Some(true), ..window("gemini-x", 1000) };
        assert_eq!(read(&gemini), [expected]);
        let openrouter = json!({"data": [{
            "id": "a/b", "context_length": 5000,
            "architecture": {"input_modalities": ["text", "image", "file"]},
            "pricing": {"prompt": "0.0000015", "completion": "0.000006", "input_cache_read": "0.0000001"},
            "top_provider": {"max_completion_tokens": 700},
            "supported_parameters": ["tools", "reasoning"],
        }, {"id": "no/tools", "supported_parameters": ["temperature"]}]});
        let expected = ListedModel {
            max_output: Some(Tokens(700)),
            images: Some(true),
            files: Some(true),
            thinks: Some(true),
            price: price(1.5, 6.0, 0.1),
            ..window("a/b", 5000)
        };
        assert_eq!(read(&openrouter), [expected]);
        let together = json!([
            {"id": "x/chat", "type": "chat", "context_length": 9, "pricing": {"input": 0.2, "output": 0.6}},
            {"id": "x/image", "type": "image"},
        ]);
        assert_eq!(read(&together), [ListedModel { price: price(0.2, 0.6, 0.2), ..window("x/chat", 9) }]);
        assert_eq!(parse_page(&json!({"error": "no"})), None);
        assert_eq!(parse_page(&json!("text")), None);
    }

    #[test]
    fn page_without_ids_that_name_other_kinds() {
        let others = [
            "",
            "text-embedding-3-small",
            "whisper-1",
            "tts-1-hd",
            "gpt-4o-mini-tts",
            "dall-e-3",
            "sora-2",
            "omni-moderation-latest",
            "gpt-image-1",
            "babbage-002",
            "davinci-002",
            "gpt-4o-transcribe",
            "gpt-realtime",
            "accounts/x/models/Whisper-v3",
        ];
        let ids = others.into_iter().chain(["gpt-4o", "gpt-imagery"]);
        let page: Vec<Value> = ids.map(|id| json!({ "id": id, "object": "model" })).collect();
        assert_eq!(read(&json!({ "data": page })), [listed("gpt-4o"), listed("gpt-imagery")]);
    }

    #[test]
    fn page_of_each_local_server_is_read() {
        let vllm = json!({"data": [{"id": "q", "max_model_len": 32768}]});
        assert_eq!(read(&vllm), [window("q", 32_768)]);
        let lmstudio = json!({"data": [
            {"id": "l", "type": "vlm", "max_context_length": 9000, "loaded_context_length": 4096},
            {"id": "e", "type": "embeddings"},
        ]});
        assert_eq!(read(&lmstudio), [ListedModel { images: Some(true), ..window("l", 4_096) }]);
    }

    #[test]
    fn page_names_the_next_one() {
        let next = |body: Value| parse_page(&body).unwrap().next;
        let address = "/api/v1/models?offset=500";
        assert_eq!(next(json!({"data": [], "links": {"next": address}})), Some(address.to_owned()));
        assert_eq!(next(json!({"models": [], "nextPageToken": "t"})), Some("pageToken=t".to_owned()));
        assert_eq!(
            next(json!({"data": [], "has_more": true, "last_id": "m"})),
            Some("after_id=m".to_owned())
        );
        assert_eq!(next(json!({"data": [], "has_more": false, "last_id": "m"})), None);
    }

    #[test]
    fn facts_cataloged_without_price_take_the_listed_one() {
        let claude = listed("claude-opus-5-5");
        let listed = ListedModel { price: price(1.5, 6.0, 0.1), ..listed("z-ai/glm-5.3") };
        let cataloged = catalog::facts("openrouter", "z-ai/glm-5.3").unwrap();
        assert_eq!(cataloged.price, None, "the case that is tested");
        assert_eq!(listed.facts("openrouter"), ModelFacts { price: listed.price, ..cataloged });
        let own = ListedModel { price: price(9.0, 9.0, 9.0), ..claude };
        assert_eq!(Some(own.facts("anthropic")), catalog::facts("anthropic", "claude-opus-5-5"));
    }

    #[test]
    fn facts_prefer_the_catalog_to_the_list() {
        let opus = ListedModel { window: Some(Tokens(1)), ..listed("claude-opus-5-5") }.facts("anthropic");
        assert_eq!(Some(opus), catalog::facts("anthropic", "claude-opus-5-5"));
        let local = ListedModel {
            window: Some(Tokens(4_096)),
            images: Some(false),
            thinks: Some(true),
            ..listed("qwen3:8b")
        };
        let facts = local.facts("ollama");
        assert_eq!((facts.window, facts.max_output), (Tokens(4_096), Tokens(1_024)));
        assert_eq!(facts.image_input, ImageInput::Unsupported);
        assert_eq!(facts.thinking, ThinkingControl::LOW_TO_HIGH);
    }
}
