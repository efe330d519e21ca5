//! Detection of calls that a model repeats without progress. Pure.

use serde_json::Value;
use tiller_core::message::ToolCall;

/// Number of consecutive equal calls that count as a loop.
pub(crate) const LOOP_LENGTH: usize = 5;

/// Counts consecutive equal calls.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    last: Option<(String, Value)>,
    count: usize,
    /// The call that the user declined last. Needn't be `last`: all calls of an answer are counted before the first
    /// approval request.
    declined: Option<(String, Value)>,
}

impl Repetition {
    /// Notes that the user has allowed or declined a call. After an allowed one, the count starts again.
    pub(crate) fn note_answer(&mut self, (name, arguments): (&str, &Value), is_allowed: bool) {
        self.declined = (!is_allowed).then(|| (name.to_owned(), arguments.clone()));
        if is_allowed && is_call(self.last.as_ref(), name, arguments) {
            self.count = 0;
        }
    }

    /// Returns true for a call that the user has declined, and that the model repeats.
    pub(crate) fn is_declined(&self, call: &ToolCall) -> bool {
        is_call(self.declined.as_ref(), &call.name, &call.arguments)
    }

    /// Counts a call, and returns the number of consecutive calls with the same tool and arguments.
    pub(crate) fn count(&mut self, call: &ToolCall) -> usize {
        if is_call(self.last.as_ref(), &call.name, &call.arguments) {
            self.count += 1;
        } else {
            let last = Some((call.name.clone(), call.arguments.clone()));
            *self = Self { last, count: 1, declined: None };
        }
        self.count
    }
}

fn is_call(known: Option<&(String, Value)>, name: &str, arguments: &Value) -> bool {
    known.is_some_and(|known| (&*known.0, &known.1) == (name, arguments))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repetition_counts_equal_calls_in_a_row() {
        let call = |command: &str| ToolCall {
            id: "c".into(),
            name: "bash".into(),
            arguments: json!({ "command": command }),
            raw_arguments: None,
            thought_signature: None,
        };
        let mut repetition = Repetition::default();
        let counts: Vec<usize> = "a a b b b a".split(' ').map(|it| repetition.count(&call(it))).collect();
        assert_eq!(counts, [1, 2, 1, 2, 3, 1]);
    }
}
