//! The id that a client gives a command: any JSON, returned byte for byte.

use serde::Serialize;
use serde_json::value::RawValue;

/// An id as received. It is never parsed, because its numbers may exceed every numeric type.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Id(Box<RawValue>);

impl Id {
    /// Returns the id of a command; `null` counts as none.
    pub(super) fn from_field(field: &RawValue) -> Option<Self> {
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
