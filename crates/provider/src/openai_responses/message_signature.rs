//! The phase of an answer's message, stored as the signature of its text.
//!
//! In gpt-5.3-codex and later, a message has a `phase`: `commentary` between calls, or `final_answer`. Later
//! requests must repeat it; otherwise the model takes its commentary for answers and stops early
//! (developers.openai.com/api/docs/guides/reasoning#phase-parameter). The signature is the same as in pi's
//! sessions.

use serde::{Deserialize, Serialize};

/// The signature's version.
const VERSION: u8 = 1;

/// The signature of a message.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MessageSignature {
    v: u8,
    /// The message's id. It isn't sent, because it refers to a stored response.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    phase: String,
}

impl MessageSignature {
    /// Returns the signature of a message; `None` for one without a phase.
    pub(super) fn signature(id: Option<&str>, phase: Option<String>) -> Option<String> {
        let phase = phase.filter(|phase| !phase.is_empty())?;
        serde_json::to_string(&Self { v: VERSION, id: id.map(str::to_owned), phase }).ok()
    }

    /// Returns the phase in a signature, if it has one.
    pub(super) fn phase(signature: &str) -> Option<String> {
        serde_json::from_str::<Self>(signature).ok().map(|mark| mark.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn message_mark_is_its_signature() {
        let signature = MessageSignature::signature(Some("msg_1"), Some("final_answer".into())).unwrap();
        assert_eq!(signature, r#"{"v":1,"id":"msg_1","phase":"final_answer"}"#);
        assert_eq!(MessageSignature::phase(&signature).as_deref(), Some("final_answer"));
        assert_eq!(MessageSignature::signature(Some("msg_1"), None), None);
        for other in ["msg_1", r#"{"v":1,"id":"msg_1"}"#, "c2Vhb", ""] {
            assert_eq!(MessageSignature::phase(other), None, "{other}");
        }
    }
}
