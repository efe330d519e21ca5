//! An item of an answer while it is being received: a message, reasoning or a call, with the text of its
//! parts so far.
//!
//! Each part may arrive in deltas, as a complete text, or both. The complete text adds only what the deltas
//! lacked.

use serde_json::Value;
use tiller_core::surrogates::{SurrogateJoiner, Wtf8};

use crate::StreamEvent;
use crate::http::Damage;

/// The kind of an item, which is also that of its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputItemKind {
    Message,
    Reasoning,
    Call,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartKind {
    Text,
    /// A refusal, shown as the answer's text.
    Refusal,
    Summary,
    /// The reasoning's text, from servers that run open models.
    ReasoningText,
    Arguments,
}

impl PartKind {
    pub(super) const fn item(self) -> OutputItemKind {
        match self {
            Self::Text | Self::Refusal => OutputItemKind::Message,
            Self::Summary | Self::ReasoningText => OutputItemKind::Reasoning,
            Self::Arguments => OutputItemKind::Call,
        }
    }
}

/// A part of an item, by its kind and index.
pub(super) type PartKey = (PartKind, u64);

pub(super) struct OutputItem {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) kind: OutputItemKind,
    pub(super) is_open: bool,
    /// The number of its block in [`StreamEvent`]s.
    block: usize,
    parts: Vec<ItemPart>,
}

struct ItemPart {
    key: PartKey,
    /// The text so far.
    text: String,
    joiner: SurrogateJoiner,
}

impl OutputItem {
    pub(super) fn new(index: Option<u64>, id: Option<String>, kind: OutputItemKind, block: usize) -> Self {
        Self { index, id, kind, is_open: true, block, parts: Vec::new() }
    }

    /// Adds a delta to a part.
    pub(super) fn push(&mut self, key: PartKey, delta: Wtf8, events: &mut Vec<StreamEvent>) {
        if delta.is_empty() {
            return;
        }
        if let Some(at) = self.find_or_add(key, events) {
            let part = &mut self.parts[at];
            let text = part.joiner.push(delta);
            part.text.push_str(&text);
            self.emit(text, events);
        }
    }

    /// Adds the rest of the complete text. Servers define that text differently, so one that contradicts the
    /// deltas is ignored; arguments with another meaning count as damage, so that the call doesn't run.
    pub(super) fn complete(
        &mut self,
        key: PartKey,
        complete_text: String,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), Damage> {
        if complete_text.is_empty() {
            return Ok(());
        }
        let Some(at) = self.find_or_add(key, events) else { return Ok(()) };
        let part = &mut self.parts[at];
        if let Some(rest) = complete_text.strip_prefix(part.text.as_str()) {
            let rest = rest.to_owned();
            part.text = complete_text;
            part.joiner = SurrogateJoiner::default();
            self.emit(rest, events);
        } else if self.kind == OutputItemKind::Call && !is_same_json(&part.text, &complete_text) {
            return Err(Damage::Order("the arguments of a tool call differ from their deltas"));
        }
        Ok(())
    }

    /// Ends the item, with its signature, if any.
    pub(super) fn end(&mut self, signature: Option<String>, events: &mut Vec<StreamEvent>) {
        self.is_open = false;
        for mut part in std::mem::take(&mut self.parts) {
            self.emit(part.joiner.finish().unwrap_or_default(), events);
        }
        events.extend(signature.map(|text| StreamEvent::Signature { block: self.block, text }));
        events.push(StreamEvent::End { block: self.block });
    }

    /// Returns the position of a part, adding it if necessary. A blank line separates parts of reasoning. If
    /// an item has both a summary and a text, only the one that arrives first is shown, since one may repeat
    /// the other; the other part isn't added.
    fn find_or_add(&mut self, key: PartKey, events: &mut Vec<StreamEvent>) -> Option<usize> {
        if let Some(at) = self.parts.iter().rposition(|part| part.key == key) {
            return Some(at);
        }
        if self.kind == OutputItemKind::Reasoning
            && let Some(first) = self.parts.first()
        {
            if first.key.0 != key.0 {
                return None;
            }
            self.emit("\n\n".to_owned(), events);
        }
        self.parts.push(ItemPart { key, text: String::new(), joiner: SurrogateJoiner::default() });
        Some(self.parts.len() - 1)
    }

    fn emit(&self, text: String, events: &mut Vec<StreamEvent>) {
        if text.is_empty() {
            return;
        }
        let block = self.block;
        events.push(match self.kind {
            OutputItemKind::Message => StreamEvent::Text { block, text },
            OutputItemKind::Reasoning => StreamEvent::Thinking { block, text },
            OutputItemKind::Call => StreamEvent::Arguments { block, json: text },
        });
    }
}

fn is_same_json(one: &str, other: &str) -> bool {
    let parse = |json: &str| serde_json::from_str::<Value>(json).ok();
    parse(one).is_some_and(|value| Some(value) == parse(other))
}
