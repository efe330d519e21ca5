//! The blocks of an answer whose format doesn't number them: text and thinking grow until something else comes.

use tiller_core::surrogates::{Joiner, Wtf8};

use crate::StreamEvent;

/// The numbers of an answer's blocks, and its open block of text or thinking.
#[derive(Default)]
pub(crate) struct AnswerBlocks {
    count: usize,
    open: Option<ProseBlock>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProseKind {
    Text,
    Thinking,
}

impl ProseKind {
    fn part(self, block: usize, text: String) -> StreamEvent {
        match self {
            Self::Text => StreamEvent::Text { block, text },
            Self::Thinking => StreamEvent::Thinking { block, text },
        }
    }
}

/// A block of text or thinking.
struct ProseBlock {
    kind: ProseKind,
    number: usize,
    joiner: Joiner,
}

impl AnswerBlocks {
    /// Returns the number of a new block.
    pub(crate) fn begin(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// Appends a piece to the open block, or to a new one if that is of another kind.
    pub(crate) fn write(&mut self, kind: ProseKind, text: Option<Wtf8>, parts: &mut Vec<StreamEvent>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        let prose = self.open_prose(kind, parts);
        parts.push(kind.part(prose.number, prose.joiner.push(text)));
    }

    /// Signs the open block of thinking, or a new one, and ends it.
    pub(crate) fn sign_thinking(&mut self, signature: String, parts: &mut Vec<StreamEvent>) {
        let block = self.open_prose(ProseKind::Thinking, parts).number;
        parts.push(StreamEvent::Signature { block, text: signature });
        self.end_prose(parts);
    }

    /// Ends the open block.
    pub(crate) fn end_prose(&mut self, parts: &mut Vec<StreamEvent>) {
        if let Some(mut prose) = self.open.take() {
            parts.extend(prose.joiner.finish().map(|text| prose.kind.part(prose.number, text)));
            parts.push(StreamEvent::End { block: prose.number });
        }
    }

    fn open_prose(&mut self, kind: ProseKind, parts: &mut Vec<StreamEvent>) -> &mut ProseBlock {
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            self.end_prose(parts);
        }
        let count = &mut self.count;
        self.open.get_or_insert_with(|| {
            *count += 1;
            ProseBlock { kind, number: *count - 1, joiner: Joiner::default() }
        })
    }
}
