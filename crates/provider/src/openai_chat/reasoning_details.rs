//! The `reasoning_details` of an answer: thinking in the format of the provider behind a router. The model
//! can continue its thinking only if they are sent back unchanged
//! (openrouter.ai/docs/use-cases/reasoning-tokens#preserving-reasoning-blocks, 2026-11-24).
//!
//! The log stores them as the signature of the answer's thinking: a JSON array.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tiller_core::surrogates::replace_lone;

/// Types of details whose pieces are joined, and the field with the piece.
const JOINED: [(&str, &str); 2] = [("reasoning.text", "text"), ("reasoning.summary", "summary")];

type Detail = Map<String, Value>;

/// Collects the details of one answer.
#[derive(Default)]
pub(super) struct ReasoningDetails {
    details: Vec<Detail>,
    /// True if a detail can't be parsed: the others are useless without it.
    is_incomplete: bool,
}

impl ReasoningDetails {
    /// Adds the details of a delta.
    pub(super) fn add(&mut self, json: &RawValue) {
        let replaced = replace_lone(json.get());
        match serde_json::from_str::<Vec<Detail>>(replaced.as_deref().unwrap_or(json.get())) {
            Ok(details) => details.into_iter().for_each(|detail| self.add_detail(detail)),
            Err(_) => self.is_incomplete = true,
        }
    }

    /// Appends a detail, or joins it to the last one if it continues its text.
    fn add_detail(&mut self, detail: Detail) {
        let kind = detail.get("type").and_then(Value::as_str);
        let field = JOINED.iter().find(|(joined, _)| kind == Some(joined)).map(|(_, field)| *field);
        let continues =
            |last: &Detail| ["type", "index"].iter().all(|key| last.get(*key) == detail.get(*key));
        match (field, self.details.last_mut()) {
            (Some(field), Some(last)) if continues(last) => join(last, detail, field),
            _ => self.details.push(detail),
        }
    }

    /// Returns true if no details arrived.
    pub(super) fn is_empty(&self) -> bool {
        self.details.is_empty()
    }

    /// Returns the details as a signature; `None` without complete ones.
    pub(super) fn signature(&self) -> Option<String> {
        let is_complete = !self.is_empty() && !self.is_incomplete;
        is_complete.then(|| serde_json::to_string(&self.details).ok()).flatten()
    }
}

/// Joins a piece to a detail: its text is appended, its other fields replace the previous ones.
fn join(last: &mut Detail, piece: Detail, field: &str) {
    for (key, value) in piece {
        match (last.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if key == field => text.push_str(&more),
            (_, value) => _ = last.insert(key, value),
        }
    }
}

/// Parses the details in a signature; `None` for another kind of signature.
pub(super) fn from_signature(signature: &str) -> Option<Value> {
    serde_json::from_str(signature).ok().filter(Value::is_array)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signature(deltas: &[Value]) -> Option<Value> {
        let mut details = ReasoningDetails::default();
        for delta in deltas {
            details.add(&serde_json::value::to_raw_value(delta).unwrap());
        }
        from_signature(&details.signature()?)
    }

    #[test]
    fn details_of_the_same_index_are_joined() {
        let text = |index: u64, text: &str| json!({"type": "reasoning.text", "text": text, "index": index});
        let summary = |text: &str| json!({"type": "reasoning.summary", "summary": text, "index": 2});
        let encrypted = json!({"type": "reasoning.encrypted", "data": "eA==", "index": 2});
        let signed = json!({"type": "reasoning.text", "text": null, "signature": "c2ln", "index": 0});
        let deltas = [
            json!([text(0, "a")]),
            json!([text(0, "b")]),
            json!([signed, text(1, "c")]),
            json!([summary("d")]),
            json!([]),
            json!([summary("e"), encrypted, encrypted]),
        ];
        let expected = json!([
            {"type": "reasoning.text", "text": "ab", "signature": "c2ln", "index": 0},
            text(1, "c"),
            summary("de"),
            encrypted,
            encrypted,
        ]);
        assert_eq!(signature(&deltas), Some(expected));
    }

    #[test]
    fn details_that_are_not_understood_void_all() {
        assert_eq!(signature(&[json!([])]), None);
        assert_eq!(signature(&[json!([{"type": "reasoning.text", "text": "a"}]), json!("b")]), None);
        assert_eq!(from_signature("c2ln"), None);
    }
}
