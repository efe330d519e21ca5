//! Detection of model servers on this machine, with their models and context windows.
//!
//! A server is queried through its native API, because Chat Completions doesn't report the window with which
//! a model is served: Ollama's default is 4,096 tokens, and it truncates longer prompts silently.

use std::time::Duration;

use futures_util::future::join_all;
use reqwest::{Client, RequestBuilder, Url};
use serde_json::{Value, json};
use tiller_core::unit::Tokens;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::catalog::ModelFacts;
use crate::descriptor::ProviderDescriptor;
use crate::error::hints;
use crate::http::{Endpoint, client_builder, is_loopback};
use crate::model_list::{ListedModel, parse_page};
use crate::{demo, scripted};

/// Timeout of a connection to this machine: a server accepts immediately.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(300);

/// Timeout of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);

/// The default window of Ollama and LM Studio on a machine with little graphics memory. Neither reports
/// another setting before the model is loaded.
const UNLOADED_WINDOW: u64 = 4_096;

/// Statuses of a server that runs but can't be used: without its key, or before it has loaded its model.
const REFUSALS: [u16; 3] = [401, 403, 503];

/// Maximum number of models whose details are requested from Ollama.
const MAX_DETAILS: usize = 50;

/// Minimum useful window: the system prompt and the tools alone take several thousand tokens.
const SMALL_WINDOW: Tokens = Tokens(16_384);

impl ModelFacts {
    /// Returns a warning and the command to fix it, if a local server serves the model with a small window.
    #[must_use]
    pub fn window_warning(&self) -> Option<String> {
        let server = ProviderDescriptor::find(&self.provider).filter(|server| server.is_local())?;
        (self.window < SMALL_WINDOW).then(|| {
            format!(
                "{}/{} has a context window of only {} tokens, too small for most tasks; to enlarge it: {}",
                self.provider, self.id, self.window, server.window_advice
            )
        })
    }

    /// Returns true if requests to the model may have a cost that tiller doesn't know: the model has no
    /// price, and its server isn't on this machine.
    #[must_use]
    pub fn has_unknown_cost(&self) -> bool {
        let is_free = [demo::NAME, scripted::NAME].contains(&&*self.provider)
            || ProviderDescriptor::find(&self.provider).is_some_and(ProviderDescriptor::is_local);
        self.price.is_none() && !is_free
    }
}

/// Queries local servers for their models in parallel, with the keys and headers of their endpoints; each
/// query takes at most `limit`. For a server that refuses access or isn't ready, the error is the reason.
/// Servers that don't answer are omitted.
pub async fn find_all(
    servers: impl IntoIterator<Item = Endpoint>,
    limit: Duration,
) -> Vec<(Endpoint, Result<Vec<ModelFacts>, String>)> {
    let asked = servers.into_iter().map(async |endpoint| {
        let found = match timeout(limit, find_models(&endpoint)).await.unwrap_or(Err(SearchFailure::NoServer))
        {
            Ok(models) => Ok(models),
            Err(SearchFailure::NoServer) => return None,
            Err(SearchFailure::Status(status)) => Err(refusal(&endpoint, status)),
        };
        Some((endpoint, found))
    });
    join_all(asked).await.into_iter().flatten().collect()
}

/// The reason a search found no models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchFailure {
    /// No server answers at the address, or it belongs to another program.
    NoServer,
    /// The server refuses access or isn't ready.
    Status(u16),
}

/// Describes a server that returns one of the [`REFUSALS`].
fn refusal(endpoint: &Endpoint, status: u16) -> String {
    let advice = match status {
        503 => "it may still be loading its model".to_owned(),
        _ => hints::for_key(&endpoint.name, &endpoint.key_name, endpoint.key.is_some()),
    };
    format!("its server returns HTTP status {status}; {advice}")
}

/// Queries a local server for its models.
async fn find_models(endpoint: &Endpoint) -> Result<Vec<ModelFacts>, SearchFailure> {
    let no_server = SearchFailure::NoServer;
    let root = Url::parse(&endpoint.base_url).map_err(|_| no_server)?;
    if is_loopback(&endpoint.base_url) && !accepts(&root).await {
        return Err(no_server);
    }
    let access = endpoint.resolve_access().await.map_err(|_| no_server)?;
    let headers = endpoint.access_headers(&access).map_err(|_| no_server)?;
    let client = client_builder(&endpoint.base_url, endpoint.certificates.as_deref(), &endpoint.proxy);
    let client = client.map_err(|_| no_server)?.timeout(ANSWER_TIMEOUT).default_headers(headers);
    let client = client.build().map_err(|_| no_server)?;
    let server_client = ServerClient { client, root };
    let models = match endpoint.name.as_str() {
        "ollama" => server_client.ollama().await?,
        "llamacpp" => server_client.llamacpp().await?,
        "lmstudio" => lmstudio_models(&server_client.get("/api/v0/models").await?).ok_or(no_server)?,
        _ => {
            let models = parse_page(&server_client.get("/v1/models").await?).ok_or(no_server)?.models;
            models.into_iter().filter(|model| model.window.is_some()).collect()
        }
    };
    let facts: Vec<ModelFacts> = models.iter().map(|model| model.facts(&endpoint.name)).collect();
    if facts.is_empty() { Err(no_server) } else { Ok(facts) }
}

/// Returns true if something accepts connections at an address of this machine. Where nothing does, as on most
/// machines, this is cheaper than an HTTP client.
async fn accepts(address: &Url) -> bool {
    let (Some(host), Some(port)) = (address.host_str(), address.port_or_known_default()) else {
        return false;
    };
    let host = host.trim_matches(['[', ']']);
    matches!(timeout(CONNECT_TIMEOUT, TcpStream::connect((host, port))).await, Ok(Ok(_)))
}

struct ServerClient {
    client: Client,
    /// The base URL of the server's Chat Completions.
    root: Url,
}

impl ServerClient {
    /// Returns the URL of a path of the native API, which is next to the `v1` of Chat Completions. A reverse
    /// proxy may add a prefix to both.
    fn url(&self, path: &str) -> Url {
        let base = self.root.path().trim_end_matches('/');
        let prefix = base.strip_suffix("/v1").unwrap_or(base);
        let mut url = self.root.clone();
        url.set_path(&format!("{prefix}{path}"));
        url
    }

    async fn get(&self, path: &str) -> Result<Value, SearchFailure> {
        Self::read(self.client.get(self.url(path))).await
    }

    async fn post(&self, path: &str, body: &Value) -> Result<Value, SearchFailure> {
        Self::read(self.client.post(self.url(path)).json(body)).await
    }

    async fn read(request: RequestBuilder) -> Result<Value, SearchFailure> {
        let response = request.send().await.map_err(|_| SearchFailure::NoServer)?;
        let status = response.status().as_u16();
        if REFUSALS.contains(&status) {
            return Err(SearchFailure::Status(status));
        }
        let response = response.error_for_status().map_err(|_| SearchFailure::NoServer)?;
        response.json().await.map_err(|_| SearchFailure::NoServer)
    }

    async fn ollama(&self) -> Result<Vec<ListedModel>, SearchFailure> {
        let tags = self.get("/api/tags").await?;
        let loaded = self.get("/api/ps").await.unwrap_or_default();
        let tags = tags["models"].as_array().ok_or(SearchFailure::NoServer)?;
        let names = tags.iter().filter_map(|model| model["name"].as_str());
        let models = names.take(MAX_DETAILS).map(async |name| {
            let details = self.post("/api/show", &json!({ "model": name })).await.unwrap_or_default();
            ollama_model(name, &details, &loaded)
        });
        Ok(join_all(models).await.into_iter().flatten().collect())
    }

    async fn llamacpp(&self) -> Result<Vec<ListedModel>, SearchFailure> {
        let (properties, list) = (self.get("/props").await?, self.get("/v1/models").await?);
        llamacpp_models(&properties, &list).ok_or(SearchFailure::NoServer)
    }
}

/// Parses the list of llama.cpp's server. A server that routes to several models reports the window 0, and
/// lists the windows of the models that it has loaded.
fn llamacpp_models(properties: &Value, list: &Value) -> Option<Vec<ListedModel>> {
    let positive = |value: &Value| value.as_u64().filter(|window| *window > 0).map(Tokens);
    let common = positive(&properties["default_generation_settings"]["n_ctx"]);
    let images = properties["modalities"]["vision"].as_bool().filter(|_| common.is_some());
    let entries = list["data"].as_array()?;
    let with_window = |model: ListedModel| {
        let entry = entries.iter().find(|entry| entry["id"] == model.id.as_str());
        let window = common.or_else(|| positive(&entry?["meta"]["n_ctx"]));
        ListedModel { window, images, ..model }
    };
    Some(parse_page(list)?.models.into_iter().map(with_window).collect())
}

/// Returns a model of Ollama with its window: as loaded, else from its model file, else Ollama's default.
/// `None` if it can't call tools.
fn ollama_model(name: &str, details: &Value, loaded: &Value) -> Option<ListedModel> {
    let capabilities = details["capabilities"].as_array();
    let can = |capability: &str| capabilities.map(|list| list.iter().any(|item| item == capability));
    if can("tools") == Some(false) {
        return None;
    }
    let running =
        loaded["models"].as_array().and_then(|list| list.iter().find(|model| model["name"] == name));
    let as_loaded = running.and_then(|model| model["context_length"].as_u64());
    let parameters = details["parameters"].as_str().unwrap_or_default();
    let as_set = parameters.lines().find_map(|line| line.strip_prefix("num_ctx")?.trim().parse().ok());
    let trained = details["model_info"]
        .as_object()
        .and_then(|info| info.iter().find(|(key, _)| key.ends_with(".context_length")))
        .and_then(|(_, length)| length.as_u64());
    let window: u64 = as_loaded.or(as_set).unwrap_or(UNLOADED_WINDOW);
    Some(ListedModel {
        id: name.to_owned(),
        window: Some(Tokens(window.min(trained.unwrap_or(u64::MAX)))),
        images: can("vision"),
        thinks: can("thinking"),
        ..ListedModel::default()
    })
}

/// Parses LM Studio's list. For a model that isn't loaded, it has only the maximum window.
fn lmstudio_models(list: &Value) -> Option<Vec<ListedModel>> {
    let entries = list["data"].as_array()?;
    let is_loaded =
        |id: &str| entries.iter().any(|entry| entry["id"] == id && entry["loaded_context_length"].is_u64());
    let unloaded = Tokens(UNLOADED_WINDOW);
    let with_window = |model: ListedModel| match is_loaded(&model.id) {
        true => model,
        false => {
            ListedModel { window: Some(model.window.map_or(unloaded, |most| most.min(unloaded))), ..model }
        }
    };
    Some(parse_page(list)?.models.into_iter().map(with_window).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog;

    #[test]
    fn has_unknown_cost_without_price_of_remote_server() {
        let is_unknown = |provider: &str, id: &str| {
            let facts = crate::catalog::facts(provider, id);
            facts.unwrap_or_else(|| crate::catalog::assumed(provider, id)).has_unknown_cost()
        };
        assert!(is_unknown("openrouter", "z-ai/glm-5.3") && is_unknown("work", "coder"));
        assert!(
            !is_unknown("openai", "gpt-5") && !is_unknown("ollama", "qwen3") && !is_unknown("demo", "tour")
        );
    }

    #[test]
    fn window_warning_is_for_small_windows_of_local_servers() {
        let warning = |provider: &str, window| {
            catalog::assumed(provider, "m").with_window(Tokens(window)).window_warning()
        };
        assert_eq!(
            warning("ollama", 4_096).unwrap(),
            "ollama/m has a context window of only 4.1k tokens, too small for most tasks; to enlarge it: \
             OLLAMA_CONTEXT_LENGTH=32768 ollama serve"
        );
        assert!(warning("vllm", 16_383).unwrap().ends_with("vllm serve MODEL --max-model-len 32768"));
        assert_eq!([warning("ollama", 16_384), warning("openai", 4_096)], [None, None]);
    }

    #[test]
    fn lmstudio_window_is_assumed_until_the_model_is_loaded() {
        let list = json!({"data": [
            {"id": "a", "state": "loaded", "max_context_length": 131_072, "loaded_context_length": 32_768},
            {"id": "b", "state": "not-loaded", "max_context_length": 131_072},
            {"id": "c", "state": "not-loaded", "max_context_length": 2_048},
        ]});
        let windows = lmstudio_models(&list).unwrap().into_iter().map(|model| model.window.unwrap().0);
        assert_eq!(windows.collect::<Vec<_>>(), [32_768, 4_096, 2_048]);
    }

    #[test]
    fn llamacpp_router_lists_the_windows_of_loaded_models() {
        let list =
            json!({"data": [{"id": "a", "meta": {"n_ctx": 8_192, "n_ctx_train": 40_960}}, {"id": "b"}]});
        let read = |window: u64| {
            let properties = json!({
                "default_generation_settings": {"n_ctx": window},
                "modalities": {"vision": true},
            });
            let models = llamacpp_models(&properties, &list).unwrap();
            models.into_iter().map(|model| (model.window, model.images)).collect::<Vec<_>>()
        };
        assert_eq!(read(0), [(Some(Tokens(8_192)), None), (None, None)]);
        let single = (Some(Tokens(4_096)), Some(true));
        assert_eq!(read(4_096), [single, single]);
    }

    #[test]
    fn ollama_window_is_the_one_really_served() {
        let details = |parameters: &str, capabilities: &[&str]| {
            json!({
                "parameters": parameters,
                "capabilities": capabilities,
                "model_info": {"qwen3.context_length": 40_960},
            })
        };
        let loaded = json!({"models": [{"name": "a", "context_length": 8_192}]});
        let window = |name: &str, parameters: &str| {
            ollama_model(name, &details(parameters, &["completion", "tools"]), &loaded).unwrap().window
        };
        assert_eq!(window("b", ""), Some(Tokens(4_096)));
        assert_eq!(window("b", "stop \"x\"\nnum_ctx                        32768"), Some(Tokens(32_768)));
        assert_eq!(window("b", "num_ctx 99999"), Some(Tokens(40_960)), "never more than trained");
        assert_eq!(window("a", "num_ctx 32768"), Some(Tokens(8_192)), "as loaded");
        assert_eq!(ollama_model("c", &details("", &["completion"]), &loaded), None, "no tools");
        let model = ollama_model("d", &details("", &["tools", "vision", "thinking"]), &loaded).unwrap();
        assert_eq!((model.images, model.thinks), (Some(true), Some(true)));
        let unknown = ollama_model("e", &Value::Null, &Value::Null).unwrap();
        assert_eq!((unknown.window, unknown.images), (Some(Tokens(4_096)), None), "an old version");
    }
}
