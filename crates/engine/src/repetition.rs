//! Detection of calls that a model repeats without progress. Pure.

use serde_json::Value;
use tiller_core::message::ToolCall;

use super::approvals::Approver;

/// Number of consecutive equal calls that count as a loop.
const LOOP_LENGTH: usize = 5;

/// Counts consecutive equal calls.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    last: Option<(String, Value)>,
    count: usize,
}

impl Repetition {
    /// Counts a call. Returns a reason to stop it if it is part of a loop: every fifth consecutive call with the
    /// same tool and arguments if the user is asked, else the fifth and all after it.
    pub(crate) fn count(&mut self, call: &ToolCall, approver: Approver) -> Option<String> {
        let is_same = self
            .last
            .as_ref()
            .is_some_and(|(name, arguments)| (name, arguments) == (&call.name, &call.arguments));
        if is_same {
            self.count += 1;
        } else {
            *self = Self { last: Some((call.name.clone(), call.arguments.clone())), count: 1 };
        }
        let is_loop = match approver {
            Approver::Present => self.count.is_multiple_of(LOOP_LENGTH),
            Approver::Absent => self.count >= LOOP_LENGTH,
        };
        is_loop.then(|| format!("the same call for the {}th time in a row", self.count))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn repetition_asks_at_every_fifth_equal_call() {
        let call = |command: &str| ToolCall {
            id: "c".into(),
            name: "bash".into(),
            arguments: json!({ "command": command }),
            raw_arguments: None,
            thought_signature: None,
        };
        let mut repetition = Repetition::default();
        let mut asks = |commands: &str, approver| -> Vec<usize> {
            let asked =
                commands.split(' ').map(|command| repetition.count(&call(command), approver).is_some());
            asked.enumerate().filter(|(_, asks)| *asks).map(|(at, _)| at).collect()
        };
        assert_eq!(asks("a a a a b a a a a a a", Approver::Present), [9]);
        assert_eq!(asks("a a a a", Approver::Present), [3], "the tenth");
        assert_eq!(asks("b b b b b b b a", Approver::Absent), [4, 5, 6]);
    }
}
