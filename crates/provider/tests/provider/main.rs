//! The providers through their public API, against a mock server.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

mod bodies;
mod connections;
mod damage;
mod failures;
mod format_changes;
mod gemini;
mod imported;
mod local_servers;
mod recorded_responses;
mod recorded_streams;
mod responses_bodies;
mod streams;

use std::sync::Arc;

use futures_util::StreamExt;
use serde_json::json;
use tiller_core::message::{Message, ThinkingLevel, UserMessage};
use tiller_core::tool_spec::{Access, ToolSpec, ToolTraits};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::catalog;
use tiller_provider::compat::Compat;
use tiller_provider::descriptor::ProviderDescriptor;
use tiller_provider::{
    Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, Provider, ProviderError, Request, StreamEvent,
    ToolChoice,
};
use tiller_test_support::mock_server::{MockServer, Reply};

/// The number of wire formats.
const FORMATS: usize = 4;

/// Returns a provider of each wire format for the server, with a key.
fn providers(server: &MockServer) -> [Arc<dyn Provider>; FORMATS] {
    [
        Arc::new(anthropic(server)),
        Arc::new(open_ai(server)),
        Arc::new(open_ai_responses(server)),
        Arc::new(gemini(server)),
    ]
}

/// Starts a server with this reply for each of the [`providers`].
fn server_for_all(reply: &Reply) -> MockServer {
    MockServer::start(std::iter::repeat_n(reply.clone(), FORMATS))
}

fn anthropic(server: &MockServer) -> Anthropic {
    Anthropic::new(anthropic_endpoint(server)).unwrap()
}

fn anthropic_endpoint(server: &MockServer) -> Endpoint {
    ProviderDescriptor::find("anthropic")
        .unwrap()
        .endpoint(Some(&server.url))
        .with_key("hush-hush-key".into())
}

fn gemini(server: &MockServer) -> Gemini {
    Gemini::new(gemini_endpoint(server)).unwrap()
}

fn gemini_endpoint(server: &MockServer) -> Endpoint {
    let base_url = format!("{}/v1beta", server.url);
    let gemini = ProviderDescriptor::find("gemini").unwrap();
    gemini.endpoint(Some(&base_url)).with_key("hush-hush-key".into())
}

fn open_ai(server: &MockServer) -> OpenAiChat {
    OpenAiChat::new(open_ai_endpoint(server), Compat::COMMON).unwrap()
}

fn open_ai_responses(server: &MockServer) -> OpenAiResponses {
    OpenAiResponses::new(open_ai_endpoint(server)).unwrap()
}

fn open_ai_endpoint(server: &MockServer) -> Endpoint {
    Endpoint::new("openai", format!("{}/v1/", server.url), "OPENAI_API_KEY").with_key("hush-hush-key".into())
}

/// Returns a request with the prompt "hello".
fn hello(model: &str) -> Request {
    let provider = match model.split_once('-') {
        Some(("claude", _)) => "anthropic",
        Some(("gemini", _)) => "gemini",
        _ => "openai",
    };
    let facts = catalog::facts(provider, model).unwrap_or_else(|| catalog::assumed(provider, model));
    Request {
        model: Arc::new(facts),
        system: "Be brief.".into(),
        messages: vec![Arc::new(Message::User(UserMessage::text("hello", UnixMs(0))))],
        tools: Arc::new([]),
        tool_choice: ToolChoice::Auto,
        max_tokens: Tokens(4_000),
        temperature: None,
        thinking: ThinkingLevel::Off,
        cache_key: None,
    }
}

fn list_files() -> ToolSpec {
    let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    ToolSpec {
        name: "list_files".into(),
        description: "Lists files.".into(),
        parameters: Arc::new(parameters),
        traits: ToolTraits::new(Access::Reads),
    }
}

async fn collect(provider: &dyn Provider, request: Request) -> Vec<Result<StreamEvent, ProviderError>> {
    provider.stream(request).collect().await
}

/// Returns the error that ends a provider's stream.
async fn failure(provider: &dyn Provider, request: Request) -> ProviderError {
    collect(provider, request).await.pop().unwrap().unwrap_err()
}
