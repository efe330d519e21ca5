//! What a client calls a command: any JSON, handed back to the letter.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

/// An id as it was given. It is never taken apart: numbers may be larger than any that we could hold.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Box<RawValue>);

impl Id {
    /// The id in a line that holds an object; `null` is none.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let fields: HashMap<String, &RawValue> = serde_json::from_slice(line).ok()?;
        let id = fields.get("id").filter(|id| id.get() != "null")?;
        Some(Self((*id).to_owned()))
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

#[cfg(test)]
impl From<serde_json::Value> for Id {
    fn from(value: serde_json::Value) -> Self {
        Self(serde_json::value::to_raw_value(&value).unwrap())
    }
}

#[cfg(test)]
impl From<&str> for Id {
    fn from(text: &str) -> Self {
        serde_json::Value::from(text).into()
    }
}
