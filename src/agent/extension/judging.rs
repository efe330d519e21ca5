//! What extensions think of a call: rewrites one after the other, and of all opinions the strictest.

use std::sync::Arc;

use serde_json::Value;

use super::CallVerdict;
use super::crew::{Crew, Hook};
use crate::message::ToolCall;
use crate::tool::Tool;

/// A call that was judged.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::agent) struct Judged {
    /// The call as it would run.
    pub(in crate::agent) call: ToolCall,
    /// What the extensions together think of it.
    pub(in crate::agent) opinion: Opinion,
    /// Who rewrote its arguments.
    pub(in crate::agent) rewritten_by: Vec<String>,
}

/// What extensions together think of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::agent) enum Opinion {
    /// Nothing against it.
    #[default]
    Fine,
    /// Somebody should say yes first, for this reason.
    Doubtful(String),
    /// Who was to guard it came to no opinion, for this reason. Unlike a doubt, no flag answers it beforehand.
    Unjudged(String),
    /// It must not run, for this reason.
    Forbidden(String),
}

impl Opinion {
    /// The stricter one of two; of equals the first.
    fn or(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }

    const fn strictness(&self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Doubtful(_) => 1,
            Self::Unjudged(_) => 2,
            Self::Forbidden(_) => 3,
        }
    }
}

impl Crew {
    /// What the extensions think of a call of that tool. Each sees the arguments that those before it left.
    pub(in crate::agent) async fn judge(&self, call: ToolCall, tool: &dyn Tool) -> Judged {
        let mut judged = Judged { call, opinion: Opinion::Fine, rewritten_by: Vec::new() };
        for member in self.members() {
            let (extension, seen) = (Arc::clone(&member.extension), judged.call.clone());
            let work = async move { extension.tool_call(&seen).await };
            let name = member.extension.name();
            let opinion = match self.attempt(member, Hook::ToolCall, work).await {
                Ok(CallVerdict::Allow) => Opinion::Fine,
                Ok(CallVerdict::Ask { reason }) => Opinion::Doubtful(format!("{reason} (extension {name})")),
                Ok(CallVerdict::Deny { reason }) => {
                    Opinion::Forbidden(format!("{reason} (extension {name})"))
                }
                Ok(CallVerdict::Rewrite { arguments }) => rewrite(&mut judged, arguments, name, tool),
                Err(trouble) => Opinion::Unjudged(format!(
                    "extension {name}, which judges calls, {}",
                    trouble.text(self.timeout())
                )),
            };
            judged.opinion = judged.opinion.or(opinion);
            if matches!(judged.opinion, Opinion::Forbidden(_)) {
                break;
            }
        }
        judged
    }
}

/// Takes other arguments if the tool takes them. Else nobody has judged what would run: somebody wanted it otherwise.
fn rewrite(judged: &mut Judged, arguments: Value, name: &str, tool: &dyn Tool) -> Opinion {
    let checked =
        if arguments.is_object() { tool.check(&arguments) } else { Err("they are no object".to_owned()) };
    match checked {
        Ok(()) => {
            judged.call.arguments = arguments;
            judged.rewritten_by.push(name.to_owned());
            Opinion::Fine
        }
        Err(why) => {
            Opinion::Unjudged(format!("extension {name} gave it other arguments that are invalid: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_opinions_the_stricter_one_counts() {
        let doubt = |reason: &str| Opinion::Doubtful(reason.into());
        let silence = |reason: &str| Opinion::Unjudged(reason.into());
        let no = |reason: &str| Opinion::Forbidden(reason.into());
        for (first, second, expected) in [
            (Opinion::Fine, Opinion::Fine, Opinion::Fine),
            (Opinion::Fine, doubt("b"), doubt("b")),
            (doubt("a"), Opinion::Fine, doubt("a")),
            (doubt("a"), doubt("b"), doubt("a")),
            (doubt("a"), silence("b"), silence("b")),
            (silence("a"), doubt("b"), silence("a")),
            (silence("a"), no("b"), no("b")),
            (doubt("a"), no("b"), no("b")),
            (no("a"), doubt("b"), no("a")),
            (no("a"), no("b"), no("a")),
        ] {
            assert_eq!(first.clone().or(second.clone()), expected, "{first:?} {second:?}");
        }
    }
}
