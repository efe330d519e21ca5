//! The line of an entry in a session log, as events carry it.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;
use serde_json::value::RawValue;

/// The line of an entry in a session log: a JSON object, without the newline. It is serialized as that object.
/// Clones share the text.
#[derive(Clone, Debug)]
pub struct EntryLine(Arc<str>);

impl EntryLine {
    /// Creates a line from JSON. Not checked here, because most lines are never serialized: serializing an invalid one
    /// fails.
    #[must_use]
    pub fn new(json: &str) -> Self {
        Self(json.into())
    }

    /// Returns the JSON.
    #[must_use]
    pub fn get(&self) -> &str {
        &self.0
    }
}

impl Serialize for EntryLine {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for EntryLine {
    /// Serde buffers the fields of an internally tagged enum, and `RawValue` can't be deserialized from that buffer.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entry = Value::deserialize(deserializer)?;
        serde_json::to_string(&entry).map(|json| Self::new(&json)).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_serialized_as_it_is_written() {
        let line = EntryLine::new(r#"{"type": "usage"}"#);
        assert_eq!(serde_json::to_string(&line).unwrap(), r#"{"type": "usage"}"#);
        assert!(serde_json::to_string(&EntryLine::new("{")).is_err());
    }
}
