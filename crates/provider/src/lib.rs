//! Models and how to ask them: the [`Provider`] trait, what goes in and what streams out.
//!
//! A provider encodes a [`Request`] in its own dialect and turns what streams back into [`Part`]s; it neither retries
//! nor keeps state, and gets keys and URLs from whoever makes it. Who may be asked, and what a model costs, is in
//! [`catalog`] and [`roster`]; the protocols are [`anthropic`] and [`openai_chat`], over `http` and [`sse`].

pub mod anthropic;
pub mod catalog;
pub mod demo;
pub mod descriptor;
pub mod error;
mod http;
pub mod openai_chat;
mod placeholders;
pub mod registry;
pub mod scripted;
pub mod sse;
mod unavailable;

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use serde_json::Value;
use tiller_core::id::CallId;
use tiller_core::message::{Message, StopReason, ThinkingLevel, ToolSpec, Usage};
use tiller_core::unit::Tokens;

pub use anthropic::Anthropic;
pub use catalog::{ImageInput, ModelFacts};
pub use error::{FailureKind, ProviderError};
pub use http::{Endpoint, Timeouts, ensure_crypto};
pub use openai_chat::OpenAiChat;
pub use registry::{Direction, FactSource, Model, ModelError, ProviderRegistry, ResolvedModel, ScopedModel};
pub use unavailable::UnavailableProvider;

/// A service that answers requests. Implemented once a protocol; tests and embedders add their own.
pub trait Provider: Send + Sync {
    /// The provider's name, as in `--provider`, settings and the log.
    fn name(&self) -> &str;

    /// The protocol it speaks, as the log names it: `anthropic-messages`, `openai-completions`.
    fn api(&self) -> &'static str;

    /// Sends the request and streams the answer. Dropping the stream drops the connection.
    ///
    /// The stream ends after [`Part::Finished`] or after an error; one that ends without either is an error of
    /// the provider's, and it reports it as [`Failure::Interrupted`].
    fn stream(&self, request: Request) -> ProviderStream;
}

/// An answer as it arrives.
pub type ProviderStream = Pin<Box<dyn Stream<Item = Result<StreamEvent, ProviderError>> + Send>>;

/// One question to a model.
#[derive(Clone, Debug)]
pub struct Request {
    /// The provider's id for the model.
    pub model: String,
    /// The system prompt; may be empty.
    pub system: String,
    /// The conversation, already in the order and with the pairs of calls and results that providers insist on.
    pub messages: Vec<Arc<Message>>,
    /// The tools on offer.
    pub tools: Arc<[ToolSpec]>,
    /// Whether the model may call them.
    pub tool_choice: ToolChoice,
    /// Most tokens of the answer.
    pub max_tokens: Tokens,
    /// Sampling temperature; `None` isn't sent.
    pub temperature: Option<f64>,
    /// How much to think; already clamped to what the model can do.
    pub thinking: ThinkingLevel,
}

/// Whether the model may call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// No: a final answer is wanted. The tools are still described, because earlier calls refer to them.
    None,
}

/// A piece of an answer. `block` counts the answer's blocks from 0; pieces of several blocks may interleave, and a
/// block begins with its first piece.
#[derive(Clone, Debug, PartialEq)]
pub enum StreamEvent {
    /// More text.
    Text {
        /// The block.
        block: usize,
        /// The piece.
        text: String,
    },
    /// More thinking.
    Thinking {
        /// The block.
        block: usize,
        /// The piece.
        text: String,
    },
    /// The seal of a thinking block.
    Signature {
        /// The block.
        block: usize,
        /// The piece of the seal.
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
    /// More of a call's arguments: a fragment of JSON text.
    Arguments {
        /// The block.
        block: usize,
        /// The fragment.
        json: String,
    },
    /// The block is complete. A provider that doesn't tell leaves it out.
    End {
        /// The block.
        block: usize,
    },
    /// Token counts so far, cumulative, without cost; a later one replaces an earlier one.
    Usage(Usage),
    /// The answer is complete.
    Finished(StopReason),
    /// Something to show only to those who look closely; the stream goes on.
    Trace {
        /// What kind of thing.
        name: &'static str,
        /// The thing, capped.
        data: Value,
    },
}
