//! The reasoning item of an answer, stored as the signature of its thinking block.
//!
//! The signature is the item itself as JSON, as in pi's sessions: servers require that the next request
//! repeats it as received, and some verify its summary or text together with the encrypted content. The item
//! keeps its id, which some servers require. `status` is omitted, because the API rejects it in requests.
//!
//! Responses aren't stored, so the server can't look up an item by its id ("Item with id 'rs_…' not found").
//! An item with neither encrypted content nor text has no signature, and neither does an item that was cut
//! off by an abort.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "reasoning")]
pub(super) struct ReasoningItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Required in requests, even if empty.
    summary: Option<Vec<Value>>,
    /// The text, from servers that run open models.
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_content: Option<String>,
}

impl ReasoningItem {
    /// Parses a received item; `None` if it can't be sent back.
    ///
    /// # Errors
    /// If the JSON has another shape.
    pub(super) fn parse(json: &RawValue) -> serde_json::Result<Option<Self>> {
        let item = serde_json::from_str::<Self>(json.get()).or_else(|error| {
            let repaired = tiller_core::surrogates::replace_lone(json.get());
            repaired.map_or(Err(error), |json| serde_json::from_str(&json))
        })?;
        Ok(item.sendable())
    }

    /// Returns the item in a signature; `None` if the signature isn't one or can't be sent back.
    pub(super) fn from_signature(signature: &str) -> Option<Self> {
        serde_json::from_str::<Self>(signature).ok()?.sendable()
    }

    fn sendable(self) -> Option<Self> {
        let item = Self {
            id: self.id.filter(|id| !id.is_empty()),
            summary: Some(self.summary.unwrap_or_default()),
            content: self.content.filter(|content| !content.is_empty()),
            encrypted_content: self.encrypted_content.filter(|content| !content.is_empty()),
        };
        (item.content.is_some() || item.encrypted_content.is_some()).then_some(item)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(json: &str) -> Option<ReasoningItem> {
        ReasoningItem::parse(&RawValue::from_string(json.to_owned()).unwrap()).unwrap()
    }

    #[test]
    fn reasoning_item_is_its_signature() {
        let item = parse(
            r#"{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm\ud83d"}],"encrypted_content":"gA","status":null,"content":[]}"#,
        );
        let signature = serde_json::to_string(&item).unwrap();
        assert_eq!(
            signature,
            r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm�"}],"encrypted_content":"gA"}"#
        );
        assert_eq!(ReasoningItem::from_signature(&signature), item);
    }

    #[test]
    fn reasoning_item_without_summary_or_id_is_sent() {
        let text = json!({ "type": "reasoning_text", "text": "hm" });
        let item = parse(&json!({ "type": "reasoning", "id": "", "content": [text] }).to_string());
        let expected = json!({ "type": "reasoning", "summary": [], "content": [text] });
        assert_eq!(serde_json::to_value(item).unwrap(), expected);
    }

    #[test]
    fn reasoning_item_that_only_the_server_knows_is_not_sent() {
        let signature =
            r#"{"type":"reasoning","id":"rs_1","summary":[],"content":null,"encrypted_content":null}"#;
        assert_eq!(parse(signature), None);
        for signature in [signature, "c2Vhb", "", "[]", r#"{"encrypted_content":7}"#] {
            assert_eq!(ReasoningItem::from_signature(signature), None, "{signature}");
        }
    }
}
