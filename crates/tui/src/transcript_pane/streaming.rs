//! Streams the model's answer into live blocks.

use tiller_core::event::AssistantDelta;
use tiller_render::MarkdownStream;

use super::TranscriptPane;
use crate::block::{Block, BlockKind};
use crate::tool_call::{CallState, ToolCallBlock};

impl TranscriptPane {
    /// Adds a delta to the streaming answer. Content blocks usually arrive in order; the index selects the
    /// right one if several are streamed in parallel.
    pub(super) fn append_delta(&mut self, delta: &AssistantDelta) {
        match delta {
            AssistantDelta::TextDelta { content_index, delta } => {
                let block = self.live_block(*content_index, || {
                    BlockKind::StreamingAnswer(Box::new(MarkdownStream::new(80)))
                });
                if let BlockKind::StreamingAnswer(stream) = &mut block.kind {
                    stream.push(delta);
                }
            }
            AssistantDelta::ThinkingDelta { content_index, delta } => {
                let block = self.live_block(*content_index, || BlockKind::StreamingThinking(Box::default()));
                if let BlockKind::StreamingThinking(thinking) = &mut block.kind {
                    thinking.push(delta);
                }
                block.invalidate();
            }
            AssistantDelta::ToolcallStart { content_index, id, name } => {
                let call = ToolCallBlock {
                    id: id.clone(),
                    name: name.clone(),
                    args: serde_json::Value::Null,
                    traits: self.transcript.context().tools.traits(name),
                    state: CallState::Streaming(0),
                };
                self.live_block(*content_index, || BlockKind::Call(Box::new(call)));
            }
            AssistantDelta::ToolcallDelta { content_index, delta } => {
                let block = self.live_block(*content_index, || BlockKind::Thinking(String::new()));
                if let BlockKind::Call(call) = &mut block.kind
                    && let CallState::Streaming(bytes) = &mut call.state
                {
                    *bytes += delta.len();
                }
                block.invalidate();
            }
            AssistantDelta::ToolcallEnd { content_index, tool_call } => {
                let call = ToolCallBlock::new(tool_call, &self.transcript.context().tools);
                let block = self.live_block(*content_index, || BlockKind::Thinking(String::new()));
                block.kind = BlockKind::Call(Box::new(call));
                block.invalidate();
            }
            AssistantDelta::TextStart { .. }
            | AssistantDelta::TextEnd { .. }
            | AssistantDelta::ThinkingStart { .. }
            | AssistantDelta::ThinkingEnd { .. } => return,
        }
        self.transcript.note_growth();
    }

    /// Returns the live block at an index of the answer; earlier blocks that haven't started are empty.
    fn live_block(&mut self, at: usize, make: impl FnOnce() -> BlockKind) -> &mut Block {
        let live = &mut self.transcript.live;
        let begins = live.len() <= at || live[at].is_blank();
        while live.len() <= at {
            live.push(Block::new(BlockKind::Thinking(String::new())));
        }
        if begins {
            live[at] = Block::new(make());
        }
        &mut live[at]
    }
}
