//! Responses to commands, encoded as lines.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::value::RawValue;

use super::id::Id;

/// A command's result: no data, data, or an error text.
pub(super) type ResponseOutcome = Result<Option<Box<RawValue>>, String>;

#[derive(Debug)]
pub(super) struct ResponseBody {
    /// The command's id as received, if it has one.
    pub(super) id: Option<Id>,
    /// The command's name; `parse` for a line that isn't a command.
    pub(super) command: String,
    pub(super) outcome: ResponseOutcome,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a Id>,
    #[serde(rename = "type")]
    kind: &'static str,
    command: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl ResponseBody {
    pub(super) fn write_line(&self, out: &mut impl Write) -> io::Result<()> {
        let (data, error) = match &self.outcome {
            Ok(data) => (data.as_deref(), None),
            Err(error) => (None, Some(error.as_str())),
        };
        let response = Response {
            id: self.id.as_ref(),
            kind: "response",
            command: &self.command,
            success: self.outcome.is_ok(),
            data,
            error,
        };
        serde_json::to_writer(&mut *out, &response)?;
        out.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn line(id: Option<Value>, outcome: ResponseOutcome) -> Value {
        let mut out = Vec::new();
        let id = id.map(Id::from);
        ResponseBody { id, command: "fork".into(), outcome }.write_line(&mut out).unwrap();
        assert_eq!(out.pop(), Some(b'\n'));
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn response_has_id_and_outcome() {
        let response = |rest: Value| {
            let mut expected = json!({"type": "response", "command": "fork"});
            expected.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            expected
        };
        assert_eq!(line(None, Ok(None)), response(json!({"success": true})));
        let null = Ok(Some(RawValue::NULL.to_owned()));
        assert_eq!(line(Some(7.into()), null), response(json!({"id": 7, "success": true, "data": null})));
        let failed = line(Some("a".into()), Err("no".into()));
        assert_eq!(failed, response(json!({"id": "a", "success": false, "error": "no"})));
    }
}
