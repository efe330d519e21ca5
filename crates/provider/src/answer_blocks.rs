//! The blocks of an answer in a format that doesn't number them: a block of text or thinking ends when
//! another kind of block begins.

use tiller_core::surrogates::{SurrogateJoiner, Wtf8};

use crate::StreamEvent;

/// Numbers the blocks of an answer, and holds its open block of text or thinking.
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
    joiner: SurrogateJoiner,
    signature: Option<String>,
}

impl AnswerBlocks {
    /// Starts a block and returns its number.
    pub(crate) fn begin(&mut self) -> usize {
        self.count += 1;
        self.count - 1
    }

    /// Appends text to the open block; starts a block if the open one is of another kind.
    pub(crate) fn write(&mut self, kind: ProseKind, text: Option<Wtf8>, parts: &mut Vec<StreamEvent>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else { return };
        let prose = self.open_prose(kind, parts);
        parts.push(kind.part(prose.number, prose.joiner.push(text)));
    }

    /// Signs the open block of thinking, or a new one, and ends it.
    pub(crate) fn sign_thinking(&mut self, signature: String, parts: &mut Vec<StreamEvent>) {
        self.open_prose(ProseKind::Thinking, parts).signature = Some(signature);
        self.end_prose(parts);
    }

    /// Signs the open block, if it is text; a later signature replaces this one.
    pub(crate) fn sign_text(&mut self, signature: String) {
        if let Some(open) = self.open.as_mut().filter(|open| open.kind == ProseKind::Text) {
            open.signature = Some(signature);
        }
    }

    /// Ends the open block.
    pub(crate) fn end_prose(&mut self, parts: &mut Vec<StreamEvent>) {
        if let Some(mut prose) = self.open.take() {
            let block = prose.number;
            parts.extend(prose.joiner.finish().map(|text| prose.kind.part(block, text)));
            parts.extend(prose.signature.map(|text| StreamEvent::Signature { block, text }));
            parts.push(StreamEvent::End { block });
        }
    }

    fn open_prose(&mut self, kind: ProseKind, parts: &mut Vec<StreamEvent>) -> &mut ProseBlock {
        if self.open.as_ref().is_some_and(|open| open.kind != kind) {
            self.end_prose(parts);
        }
        let count = &mut self.count;
        self.open.get_or_insert_with(|| {
            *count += 1;
            ProseBlock { kind, number: *count - 1, joiner: SurrogateJoiner::default(), signature: None }
        })
    }
}
