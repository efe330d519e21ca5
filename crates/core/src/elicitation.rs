//! Questions to the user from tool servers (MCP elicitation) and from tiller itself: forms and URLs, the
//! answers, and their validation. Pure.

mod field;
mod format;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::field::{ChoiceOption, FieldKind, FormField, Limits};
pub use self::format::TextFormat;
use crate::delegated_task::RequestingAgent;
use crate::id::ElicitationId;

/// A question that waits for the user's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ElicitationRequest {
    /// The question.
    pub elicitation_id: ElicitationId,
    /// The requesting server, by its configured name; `None` for tiller itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The requesting agent; `None` for the session itself.
    #[serde(flatten)]
    pub agent: Option<RequestingAgent>,
    /// The question's text.
    pub message: String,
    /// The requested answer.
    #[serde(flatten)]
    pub kind: ElicitationKind,
}

/// The requested answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "camelCase")]
pub enum ElicitationKind {
    /// Values for fields.
    Form {
        /// The fields, in the server's order.
        fields: Vec<FormField>,
    },
    /// A visit to a web page, where the user answers.
    Url {
        /// The address: `https` or `http`.
        url: String,
        /// The host that a browser would connect to.
        host: String,
    },
}

impl ElicitationRequest {
    /// Returns the display name of the asker.
    #[must_use]
    pub fn asker(&self) -> String {
        self.server.as_ref().map_or_else(|| "tiller".to_owned(), |server| format!("MCP server {server}"))
    }
}

/// The user's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ElicitationAnswer {
    /// The values of the form by field name, or consent to open the address.
    Accept(Map<String, Value>),
    /// The user refuses; the server may continue without the answer.
    Decline,
    /// The user dismissed the question.
    Cancel,
}

impl ElicitationAnswer {
    /// Returns the action's name in the protocol.
    #[must_use]
    pub const fn action(&self) -> ElicitationAction {
        match self {
            Self::Accept(_) => ElicitationAction::Accept,
            Self::Decline => ElicitationAction::Decline,
            Self::Cancel => ElicitationAction::Cancel,
        }
    }
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAction {
    /// The user answered.
    Accept,
    /// The user refused.
    Decline,
    /// The user dismissed the question, or it was withdrawn.
    Cancel,
}

impl ElicitationKind {
    /// Checks the values of an accepted answer against the fields.
    ///
    /// # Errors
    /// Describes the first invalid, missing or unknown field in a sentence.
    pub fn check(&self, values: &Map<String, Value>) -> Result<(), String> {
        let fields = match self {
            Self::Form { fields } => fields.as_slice(),
            Self::Url { .. } => &[],
        };
        if let Some(unknown) = values.keys().find(|name| fields.iter().all(|field| field.name != **name)) {
            return Err(format!("no field is named {unknown}"));
        }
        for field in fields {
            let checked = match values.get(&field.name) {
                Some(value) => field.kind.check(value),
                None if field.required => Err("a value is required".to_owned()),
                None => Ok(()),
            };
            checked.map_err(|problem| format!("{}: {problem}", field.name))?;
        }
        Ok(())
    }
}
