//! Model providers: the [`Provider`] trait, its requests and its streamed answers.
//!
//! A provider encodes a [`Request`] in its wire format and decodes the answer into [`StreamEvent`]s. It is
//! stateless, doesn't retry, and receives keys and URLs at construction. [`registry`] lists the usable
//! providers, [`catalog`] the models with their prices; the [wire formats](wire_format) are [`anthropic`],
//! [`gemini`], [`openai_chat`] and [`openai_responses`], over `http` and [`sse`].

mod accepted_calls;
mod answer_blocks;
pub mod anthropic;
pub mod catalog;
pub mod compat;
pub mod demo;
pub mod descriptor;
pub mod error;
pub mod gemini;
mod http;
pub mod local_servers;
mod mixed_formats;
pub mod model_list;
pub mod openai_chat;
pub mod openai_responses;
mod placeholders;
pub mod registry;
pub mod scripted;
pub mod sse;
mod unavailable;
pub mod wire_format;

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use serde_json::Value;
use tiller_core::id::CallId;
use tiller_core::message::{Message, StopReason, ThinkingLevel, Usage};
use tiller_core::tool_spec::ToolSpec;
use tiller_core::unit::Tokens;

pub use anthropic::Anthropic;
pub use catalog::{ImageInput, ModelFacts, ThinkingControl};
pub use error::{FailureKind, ProviderError};
pub use gemini::Gemini;
pub use http::{ApiKey, Endpoint, KeyHeader, ProxyUse, Timeouts, base_url_fault, ensure_crypto, http_client};
pub use mixed_formats::MixedFormats;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use registry::{
    CycleDirection, FactSource, Model, ModelError, ProviderRegistry, ResolvedModel, ScopedModel,
};
pub use unavailable::UnavailableProvider;

/// A service that answers requests. Implemented once per wire format; tests and embedders add their own.
///
/// # Examples
/// ```
/// use futures_util::stream;
/// use tiller_core::message::StopReason;
/// use tiller_provider::{Provider, ProviderStream, Request, StreamEvent};
///
/// struct Greeter;
///
/// impl Provider for Greeter {
///     fn name(&self) -> &str {
///         "greeter"
///     }
///
///     fn api(&self) -> &'static str {
///         "greeter"
///     }
///
///     fn stream(&self, _request: Request) -> ProviderStream {
///         let events = [
///             StreamEvent::Text { block: 0, text: "Hello!".to_owned() },
///             StreamEvent::Finished(StopReason::Stop),
///         ];
///         Box::pin(stream::iter(events.map(Ok)))
///     }
/// }
/// ```
pub trait Provider: Send + Sync {
    /// The provider's name, as in `--provider`, settings and the log.
    fn name(&self) -> &str;

    /// The wire format's name in the log: `anthropic-messages`, `google-generative-ai`, `openai-completions`,
    /// `openai-responses`.
    fn api(&self) -> &'static str;

    /// Returns the provider for requests to a model, if the server serves that model in another wire format.
    /// `None` if it is this provider.
    fn for_model(&self, _id: &str) -> Option<Arc<dyn Provider>> {
        None
    }

    /// Sends the request and streams the answer. Dropping the stream drops the connection.
    ///
    /// The stream ends after [`StreamEvent::Finished`] or after an error. If the connection ends early, the
    /// provider reports [`FailureKind::Interrupted`].
    fn stream(&self, request: Request) -> ProviderStream;
}

/// A streamed answer.
pub type ProviderStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;

/// A request to a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// The model.
    pub model: Arc<ModelFacts>,
    /// The system prompt; may be empty.
    pub system: String,
    /// The conversation, in the order and with the pairs of calls and results that providers require.
    pub messages: Vec<Arc<Message>>,
    /// The available tools.
    pub tools: Arc<[ToolSpec]>,
    /// Permission for the model to call tools.
    pub tool_choice: ToolChoice,
    /// Maximum tokens in the answer.
    pub max_tokens: Tokens,
    /// Sampling temperature; omitted if `None`.
    pub temperature: Option<f64>,
    /// The thinking level, clamped to the model's levels.
    pub thinking: ThinkingLevel,
    /// Prompt cache key: identifies the conversation so the provider can reuse its cached prefix.
    pub cache_key: Option<String>,
}

/// Permission for the model to call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// No calls: the model must give a final answer. The tools are still declared, because earlier calls
    /// refer to them.
    None,
}

/// An event of a streamed answer. `block` counts the answer's blocks from 0; events of several blocks may
/// interleave, and a block begins with its first event.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// Text delta.
    Text {
        /// The block.
        block: usize,
        /// The delta.
        text: String,
    },
    /// Thinking delta.
    Thinking {
        /// The block.
        block: usize,
        /// The delta.
        text: String,
    },
    /// Signature delta.
    Signature {
        /// The block.
        block: usize,
        /// The delta.
        text: String,
    },
    /// A tool call begins.
    Call {
        /// The block.
        block: usize,
        /// The provider's id for the call.
        id: CallId,
        /// The tool's name.
        name: String,
    },
    /// Argument delta of a call: a fragment of JSON text.
    Arguments {
        /// The block.
        block: usize,
        /// The fragment.
        json: String,
    },
    /// The block is complete. Some providers don't report this.
    End {
        /// The block.
        block: usize,
    },
    /// Token counts so far, cumulative, without cost; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is complete.
    Finished(StopReason),
    /// A debugging detail; the stream continues.
    Trace {
        /// The kind of detail.
        name: &'static str,
        /// The data, truncated.
        data: Value,
    },
}
