//! Accumulates a streamed message: takes stream events, returns deltas, and gives access to the partial
//! message. Pure.

use serde_json::Value;
use tiller_core::event::AssistantDelta;
use tiller_core::id::CallId;
use tiller_core::message::{AssistantBlock, AssistantMessage, StopReason, ToolCall, Usage};
use tiller_provider::StreamEvent;

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub(crate) struct MessageBuilder {
    /// Everything except the content.
    head: AssistantMessage,
    blocks: Vec<ContentBuilder>,
}

#[derive(Clone, Debug)]
struct ContentBuilder {
    /// The provider's number for the block.
    number: usize,
    kind: BlockContent,
    open: bool,
}

#[derive(Clone, Debug)]
enum BlockContent {
    Text { text: String, signature: String },
    Thinking { text: String, signature: String },
    Call(CallBuilder),
}

/// A call under construction.
#[derive(Clone, Debug)]
struct CallBuilder {
    id: CallId,
    name: String,
    arguments: String,
    signature: String,
}

impl CallBuilder {
    fn new(id: CallId, name: String) -> Self {
        Self { id, name, arguments: String::new(), signature: String::new() }
    }

    fn call(&self) -> ToolCall {
        ToolCall {
            thought_signature: (!self.signature.is_empty()).then(|| self.signature.clone()),
            ..ToolCall::from_streamed(self.id.clone(), self.name.clone(), &self.arguments)
        }
    }
}

/// An update for subscribers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum MessageUpdate {
    /// New content.
    Delta(AssistantDelta),
    /// The message is complete.
    Finished(StopReason),
    /// Details for diagnosis.
    Trace(&'static str, Value),
}

impl MessageBuilder {
    /// Creates an empty message; `head` contains the model and the time.
    #[must_use]
    pub(crate) fn new(head: AssistantMessage) -> Self {
        Self { head, blocks: Vec::new() }
    }

    /// Returns the token usage so far.
    #[must_use]
    pub(crate) fn usage(&self) -> &Usage {
        &self.head.usage
    }

    /// Applies a stream event.
    pub(crate) fn apply(&mut self, part: StreamEvent) -> Vec<MessageUpdate> {
        match part {
            StreamEvent::Text { block, text } => self.append(block, empty_text(), text),
            StreamEvent::Thinking { block, text } => self.append(block, thinking(), text),
            StreamEvent::Signature { block, text } => self.push_signature(block, &text),
            StreamEvent::Call { block, id, name } => {
                let id = self.unique_id(block, id);
                let kind = BlockContent::Call(CallBuilder::new(id, name));
                self.find_or_open(block, kind).1.into_iter().map(MessageUpdate::Delta).collect()
            }
            StreamEvent::Arguments { block, json } => self.append(block, unannounced_call(block), json),
            StreamEvent::End { block } => self.end(block).into_iter().collect(),
            StreamEvent::Usage(usage) => {
                self.head.usage = usage;
                Vec::new()
            }
            StreamEvent::Finished(reason) => {
                let mut updates = self.end_all();
                updates.push(MessageUpdate::Finished(reason));
                updates
            }
            StreamEvent::Trace { name, data } => vec![MessageUpdate::Trace(name, data)],
        }
    }

    /// Returns the message so far, without empty blocks.
    #[must_use]
    pub(crate) fn message(&self) -> AssistantMessage {
        let content = self.blocks.iter().filter_map(ContentBuilder::block).collect();
        AssistantMessage { content, ..self.head.clone() }
    }

    fn append(&mut self, number: usize, kind: BlockContent, delta: String) -> Vec<MessageUpdate> {
        let (at, started) = self.find_or_open(number, kind);
        let delta = match &mut self.blocks[at].kind {
            BlockContent::Text { text, .. } => {
                text.push_str(&delta);
                AssistantDelta::TextDelta { content_index: at, delta }
            }
            BlockContent::Thinking { text, .. } => {
                text.push_str(&delta);
                AssistantDelta::ThinkingDelta { content_index: at, delta }
            }
            BlockContent::Call(call) => {
                call.arguments.push_str(&delta);
                AssistantDelta::ToolcallDelta { content_index: at, delta }
            }
        };
        started.into_iter().chain([delta]).map(MessageUpdate::Delta).collect()
    }

    fn push_signature(&mut self, number: usize, delta: &str) -> Vec<MessageUpdate> {
        let (at, started) = self.find_or_open(number, thinking());
        match &mut self.blocks[at].kind {
            BlockContent::Text { signature, .. }
            | BlockContent::Thinking { signature, .. }
            | BlockContent::Call(CallBuilder { signature, .. }) => signature.push_str(delta),
        }
        started.into_iter().map(MessageUpdate::Delta).collect()
    }

    /// Returns a unique id. Some servers give several calls of an answer the same id, which would make their
    /// results indistinguishable.
    fn unique_id(&self, number: usize, id: CallId) -> CallId {
        let is_used = self.blocks.iter().any(|block| {
            block.number != number && matches!(&block.kind, BlockContent::Call(call) if call.id == id)
        });
        if is_used { CallId::new(format!("{id}-{number}")) } else { id }
    }

    /// Returns the block with a number, or opens it. Streams nearly always extend the newest block, so the
    /// search starts there.
    fn find_or_open(&mut self, number: usize, kind: BlockContent) -> (usize, Option<AssistantDelta>) {
        if let Some(at) = self.blocks.iter().rposition(|block| block.number == number) {
            return (at, None);
        }
        let content_index = self.blocks.len();
        let started = match &kind {
            BlockContent::Text { .. } => AssistantDelta::TextStart { content_index },
            BlockContent::Thinking { .. } => AssistantDelta::ThinkingStart { content_index },
            BlockContent::Call(CallBuilder { id, name, .. }) => {
                AssistantDelta::ToolcallStart { content_index, id: id.clone(), name: name.clone() }
            }
        };
        self.blocks.push(ContentBuilder { number, kind, open: true });
        (content_index, Some(started))
    }

    fn end(&mut self, number: usize) -> Option<MessageUpdate> {
        let at = self.blocks.iter().rposition(|block| block.number == number && block.open)?;
        self.close(at)
    }

    fn end_all(&mut self) -> Vec<MessageUpdate> {
        (0..self.blocks.len()).filter_map(|at| self.close(at)).collect()
    }

    fn close(&mut self, content_index: usize) -> Option<MessageUpdate> {
        let block = &mut self.blocks[content_index];
        if !std::mem::take(&mut block.open) {
            return None;
        }
        let ended = match &block.kind {
            BlockContent::Text { text, .. } => {
                AssistantDelta::TextEnd { content_index, content: text.clone() }
            }
            BlockContent::Thinking { text, .. } => {
                AssistantDelta::ThinkingEnd { content_index, content: text.clone() }
            }
            BlockContent::Call(call) => AssistantDelta::ToolcallEnd { content_index, tool_call: call.call() },
        };
        Some(MessageUpdate::Delta(ended))
    }
}

impl ContentBuilder {
    fn block(&self) -> Option<AssistantBlock> {
        match &self.kind {
            BlockContent::Text { text, signature } => (!text.is_empty()).then(|| AssistantBlock::Text {
                text: text.clone(),
                text_signature: (!signature.is_empty()).then(|| signature.clone()),
            }),
            BlockContent::Thinking { text, signature } if text.is_empty() && signature.is_empty() => None,
            BlockContent::Thinking { text, signature } => Some(AssistantBlock::Thinking {
                thinking: text.clone(),
                thinking_signature: (!signature.is_empty()).then(|| signature.clone()),
            }),
            BlockContent::Call(call) => Some(AssistantBlock::ToolCall(call.call())),
        }
    }
}

fn empty_text() -> BlockContent {
    BlockContent::Text { text: String::new(), signature: String::new() }
}

fn thinking() -> BlockContent {
    BlockContent::Thinking { text: String::new(), signature: String::new() }
}

/// A call whose arguments arrive without an announcement, which is an error of the provider; the call will be
/// refused as unknown.
fn unannounced_call(block: usize) -> BlockContent {
    BlockContent::Call(CallBuilder::new(CallId::new(format!("unannounced-{block}")), String::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(partial: &mut MessageBuilder, parts: Vec<StreamEvent>) -> Vec<MessageUpdate> {
        parts.into_iter().flat_map(|part| partial.apply(part)).collect()
    }

    fn text(block: usize, text: &str) -> StreamEvent {
        StreamEvent::Text { block, text: text.into() }
    }

    #[test]
    fn builder_interleaved_blocks_are_collected_separately() {
        let mut partial = MessageBuilder::default();
        let call = |block, id: &str| StreamEvent::Call { block, id: id.into(), name: "bash".into() };
        let arguments = |block, json: &str| StreamEvent::Arguments { block, json: json.into() };
        feed(
            &mut partial,
            vec![
                text(0, "hi"),
                call(1, "a"),
                call(2, "b"),
                arguments(1, r#"{"x":"#),
                arguments(2, r#"{"y":2}"#),
                arguments(1, "1}"),
            ],
        );
        let message = partial.message();
        let arguments: Vec<_> = message.tool_calls().map(|call| call.arguments.to_string()).collect();
        assert_eq!(arguments, [r#"{"x":1}"#, r#"{"y":2}"#]);
        assert_eq!(message.joined_text(), "hi");
    }

    #[test]
    fn builder_first_delta_starts_a_block_and_end_closes_open_ones() {
        let mut partial = MessageBuilder::default();
        assert_eq!(
            feed(&mut partial, vec![text(7, "a"), text(7, "b"), StreamEvent::Finished(StopReason::Stop)]),
            [
                MessageUpdate::Delta(AssistantDelta::TextStart { content_index: 0 }),
                MessageUpdate::Delta(AssistantDelta::TextDelta { content_index: 0, delta: "a".into() }),
                MessageUpdate::Delta(AssistantDelta::TextDelta { content_index: 0, delta: "b".into() }),
                MessageUpdate::Delta(AssistantDelta::TextEnd { content_index: 0, content: "ab".into() }),
                MessageUpdate::Finished(StopReason::Stop),
            ]
        );
    }

    #[test]
    fn builder_calls_with_the_same_id_get_unique_ids() {
        let mut partial = MessageBuilder::default();
        let call = |block| StreamEvent::Call { block, id: "same".into(), name: "bash".into() };
        feed(&mut partial, vec![call(0), call(1)]);
        let message = partial.message();
        let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["same", "same-1"]);
    }

    #[test]
    fn builder_thinking_keeps_its_signature() {
        let mut partial = MessageBuilder::default();
        feed(
            &mut partial,
            vec![
                StreamEvent::Thinking { block: 0, text: "hm".into() },
                StreamEvent::Signature { block: 0, text: "se".into() },
                StreamEvent::Signature { block: 0, text: "al".into() },
            ],
        );
        let expected =
            AssistantBlock::Thinking { thinking: "hm".into(), thinking_signature: Some("seal".into()) };
        assert_eq!(partial.message().content, [expected]);
    }

    #[test]
    fn builder_text_keeps_its_signature() {
        let mut partial = MessageBuilder::default();
        let signature = StreamEvent::Signature { block: 0, text: "seal".into() };
        feed(&mut partial, vec![text(0, "hi"), signature]);
        let expected = AssistantBlock::Text { text: "hi".into(), text_signature: Some("seal".into()) };
        assert_eq!(partial.message().content, [expected]);
    }

    #[test]
    fn builder_call_keeps_its_signature() {
        let mut partial = MessageBuilder::default();
        let updates = feed(
            &mut partial,
            vec![
                StreamEvent::Call { block: 0, id: "a".into(), name: "bash".into() },
                StreamEvent::Signature { block: 0, text: "seal".into() },
                StreamEvent::End { block: 0 },
            ],
        );
        let call = ToolCall {
            thought_signature: Some("seal".into()),
            ..ToolCall::from_streamed("a".into(), "bash".into(), "")
        };
        let end = AssistantDelta::ToolcallEnd { content_index: 0, tool_call: call.clone() };
        assert_eq!(updates.last(), Some(&MessageUpdate::Delta(end)));
        assert_eq!(partial.message().content, [AssistantBlock::ToolCall(call)]);
    }
}
