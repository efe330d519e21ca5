//! Accumulator of a streamed message: stream events in, deltas out, with access to the partial message. Pure.

use serde_json::Value;
use tiller_core::event::AssistantDelta;
use tiller_core::id::CallId;
use tiller_core::message::{AssistantBlock, AssistantMessage, StopReason, ToolCall, Usage};
use tiller_provider::StreamEvent;

/// A message under construction.
#[derive(Clone, Debug, Default)]
pub struct MessageBuilder {
    /// Everything except the content.
    head: AssistantMessage,
    blocks: Vec<Growing>,
}

#[derive(Clone, Debug)]
struct Growing {
    /// The provider's number of the block.
    number: usize,
    kind: Kind,
    open: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Text(String),
    Thinking { text: String, signature: String },
    Call { id: CallId, name: String, arguments: String },
}

/// An update for subscribers.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageUpdate {
    /// New content.
    Delta(AssistantDelta),
    /// The message is complete.
    Finished(StopReason),
    /// Details for diagnosis.
    Trace(&'static str, Value),
}

impl MessageBuilder {
    /// Creates an empty message; `head` names the model and the time.
    #[must_use]
    pub fn new(head: AssistantMessage) -> Self {
        Self { head, blocks: Vec::new() }
    }

    /// Returns the tokens so far.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.head.usage
    }

    /// Applies a stream event.
    pub fn take(&mut self, part: StreamEvent) -> Vec<MessageUpdate> {
        match part {
            StreamEvent::Text { block, text } => self.grow(block, Kind::Text(String::new()), text),
            StreamEvent::Thinking { block, text } => self.grow(block, thinking(), text),
            StreamEvent::Signature { block, text } => self.sign(block, &text),
            StreamEvent::Call { block, id, name } => {
                let id = self.unused(block, id);
                let kind = Kind::Call { id, name, arguments: String::new() };
                self.find_or_open(block, kind).1.into_iter().map(MessageUpdate::Delta).collect()
            }
            StreamEvent::Arguments { block, json } => self.grow(block, unnamed_call(block), json),
            StreamEvent::End { block } => self.end(block).into_iter().collect(),
            StreamEvent::Usage(usage) => {
                self.head.usage = usage;
                Vec::new()
            }
            StreamEvent::Finished(reason) => {
                let mut growth = self.end_all();
                growth.push(MessageUpdate::Finished(reason));
                growth
            }
            StreamEvent::Trace { name, data } => vec![MessageUpdate::Trace(name, data)],
        }
    }

    /// Returns the message so far; blocks without content are left out.
    #[must_use]
    pub fn message(&self) -> AssistantMessage {
        let content = self.blocks.iter().filter_map(Growing::block).collect();
        AssistantMessage { content, ..self.head.clone() }
    }

    fn grow(&mut self, number: usize, kind: Kind, piece: String) -> Vec<MessageUpdate> {
        let (at, started) = self.find_or_open(number, kind);
        let delta = match &mut self.blocks[at].kind {
            Kind::Text(text) => {
                text.push_str(&piece);
                AssistantDelta::TextDelta { content_index: at, delta: piece }
            }
            Kind::Thinking { text, .. } => {
                text.push_str(&piece);
                AssistantDelta::ThinkingDelta { content_index: at, delta: piece }
            }
            Kind::Call { arguments, .. } => {
                arguments.push_str(&piece);
                AssistantDelta::ToolcallDelta { content_index: at, delta: piece }
            }
        };
        started.into_iter().chain([delta]).map(MessageUpdate::Delta).collect()
    }

    fn sign(&mut self, number: usize, piece: &str) -> Vec<MessageUpdate> {
        let (at, started) = self.find_or_open(number, thinking());
        if let Kind::Thinking { signature, .. } = &mut self.blocks[at].kind {
            signature.push_str(piece);
        }
        started.into_iter().map(MessageUpdate::Delta).collect()
    }

    /// Returns a unique id. Some servers give several calls of an answer the same id, and their results would be
    /// indistinguishable.
    fn unused(&self, number: usize, id: CallId) -> CallId {
        let is_used = self.blocks.iter().any(|block| {
            block.number != number && matches!(&block.kind, Kind::Call { id: used, .. } if *used == id)
        });
        if is_used { CallId::new(format!("{id}-{number}")) } else { id }
    }

    /// Returns the block of a number, or opens it. Streams nearly always extend the newest block, so the search
    /// begins there.
    fn find_or_open(&mut self, number: usize, kind: Kind) -> (usize, Option<AssistantDelta>) {
        if let Some(at) = self.blocks.iter().rposition(|block| block.number == number) {
            return (at, None);
        }
        let content_index = self.blocks.len();
        let started = match &kind {
            Kind::Text(_) => AssistantDelta::TextStart { content_index },
            Kind::Thinking { .. } => AssistantDelta::ThinkingStart { content_index },
            Kind::Call { id, name, .. } => {
                AssistantDelta::ToolcallStart { content_index, id: id.clone(), name: name.clone() }
            }
        };
        self.blocks.push(Growing { number, kind, open: true });
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
            Kind::Text(text) => AssistantDelta::TextEnd { content_index, content: text.clone() },
            Kind::Thinking { text, .. } => {
                AssistantDelta::ThinkingEnd { content_index, content: text.clone() }
            }
            Kind::Call { id, name, arguments } => AssistantDelta::ToolcallEnd {
                content_index,
                tool_call: ToolCall::from_streamed(id.clone(), name.clone(), arguments),
            },
        };
        Some(MessageUpdate::Delta(ended))
    }
}

impl Growing {
    fn block(&self) -> Option<AssistantBlock> {
        match &self.kind {
            Kind::Text(text) => (!text.is_empty()).then(|| AssistantBlock::Text { text: text.clone() }),
            Kind::Thinking { text, signature } if text.is_empty() && signature.is_empty() => None,
            Kind::Thinking { text, signature } => Some(AssistantBlock::Thinking {
                thinking: text.clone(),
                thinking_signature: (!signature.is_empty()).then(|| signature.clone()),
            }),
            Kind::Call { id, name, arguments } => {
                Some(AssistantBlock::ToolCall(ToolCall::from_streamed(id.clone(), name.clone(), arguments)))
            }
        }
    }
}

fn thinking() -> Kind {
    Kind::Thinking { text: String::new(), signature: String::new() }
}

/// A call whose arguments arrive without an announcement: a provider's error; the call will be refused as unknown.
fn unnamed_call(block: usize) -> Kind {
    Kind::Call {
        id: CallId::new(format!("unannounced-{block}")),
        name: String::new(),
        arguments: String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(partial: &mut MessageBuilder, parts: Vec<StreamEvent>) -> Vec<MessageUpdate> {
        parts.into_iter().flat_map(|part| partial.take(part)).collect()
    }

    fn text(block: usize, text: &str) -> StreamEvent {
        StreamEvent::Text { block, text: text.into() }
    }

    #[test]
    fn interleaved_blocks_are_gathered_each_on_its_own() {
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
    fn a_block_starts_with_its_first_piece_and_the_end_closes_what_is_open() {
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
    fn calls_that_share_an_id_are_told_apart() {
        let mut partial = MessageBuilder::default();
        let call = |block| StreamEvent::Call { block, id: "same".into(), name: "bash".into() };
        feed(&mut partial, vec![call(0), call(1)]);
        let message = partial.message();
        let ids: Vec<&str> = message.tool_calls().map(|call| call.id.as_str()).collect();
        assert_eq!(ids, ["same", "same-1"]);
    }

    #[test]
    fn thinking_keeps_its_seal() {
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
}
