//! What a client calls a command: any JSON, handed back to the letter.

use serde::Serialize;
use serde_json::value::RawValue;

/// An id as it was given. It is never taken apart: numbers may be larger than any that we could hold.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Box<RawValue>);

impl Id {
    /// The id that stands in a command; `null` is none.
    pub(super) fn of(field: &RawValue) -> Option<Self> {
        (field.get() != "null").then(|| Self(field.to_owned()))
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
