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
    /// True if the user's last answer to one of them was a "no".
    pub(crate) is_declined: bool,
}

impl Repetition {
    /// Notes that the user has allowed or declined a call. After an allowed one, the count starts again.
    pub(crate) fn note_answer(&mut self, (name, arguments): (&str, &Value), is_allowed: bool) {
        if self.is_last(name, arguments) {
            self.is_declined = !is_allowed;
            self.count = if is_allowed { 0 } else { self.count };
        }
    }

    fn is_last(&self, name: &str, arguments: &Value) -> bool {
        self.last.as_ref().is_some_and(|last| (&*last.0, &last.1) == (name, arguments))
    }

    /// Counts a call, and returns the number of consecutive calls with the same tool and arguments.
    pub(crate) fn count(&mut self, call: &ToolCall) -> usize {
        if self.is_last(&call.name, &call.arguments) {
            self.count += 1;
        } else {
            let last = Some((call.name.clone(), call.arguments.clone()));
            *self = Self { last, count: 1, is_declined: false };
        }
        self.count
    }
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
