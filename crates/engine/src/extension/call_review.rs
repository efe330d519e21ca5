//! What extensions think of a call: rewrites one after the other, and of all opinions the strictest.

use std::sync::Arc;

use serde_json::Value;
use tiller_core::message::ToolCall;
use tiller_tools::tool::Tool;

use super::CallVerdict;
use super::host::{ExtensionHost, Hook, LoadedExtension};

/// A call that was judged.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReviewedCall {
    /// The call as it would run.
    pub(crate) call: ToolCall,
    /// What the extensions together think of it.
    pub(crate) opinion: CallOpinion,
    /// Who rewrote its arguments.
    pub(crate) rewritten_by: Vec<String>,
}

/// What extensions together think of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallOpinion {
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

impl CallOpinion {
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

/// What one extension says of a call.
enum Saying {
    Thinks(CallOpinion),
    WantsOtherwise(Value),
}

impl ExtensionHost {
    /// What the extensions think of a call of that tool. Each sees the arguments that those before it left. Whoever judged
    /// other arguments than the final ones is asked once more about those, so that no guard is gone round by a rewrite.
    pub(crate) async fn judge(&self, call: ToolCall, tool: &dyn Tool) -> ReviewedCall {
        let mut judged = ReviewedCall { call, opinion: CallOpinion::Fine, rewritten_by: Vec::new() };
        let mut saw_others = 0;
        for (at, member) in self.members().iter().enumerate() {
            match self.ask_about(member, &judged.call).await {
                Saying::Thinks(opinion) => judged.hear(opinion),
                Saying::WantsOtherwise(arguments) => {
                    match rewrite(&mut judged, arguments, member.extension.name(), tool) {
                        Ok(()) => saw_others = at,
                        Err(opinion) => judged.hear(opinion),
                    }
                }
            }
            if judged.is_forbidden() {
                return judged;
            }
        }
        for member in &self.members()[..saw_others] {
            let opinion = match self.ask_about(member, &judged.call).await {
                Saying::Thinks(opinion) => opinion,
                Saying::WantsOtherwise(_) => {
                    let name = member.extension.name();
                    CallOpinion::Unjudged(format!(
                        "extension {name} wants other arguments than those it was given in the end"
                    ))
                }
            };
            judged.hear(opinion);
            if judged.is_forbidden() {
                break;
            }
        }
        judged
    }

    /// Asks one extension. To want the arguments that there are is to have nothing against them.
    async fn ask_about(&self, member: &LoadedExtension, call: &ToolCall) -> Saying {
        let (extension, seen) = (Arc::clone(&member.extension), call.clone());
        let work = async move { extension.tool_call(&seen).await };
        let name = member.extension.name();
        Saying::Thinks(match self.attempt(member, Hook::ToolCall, work).await {
            Ok(CallVerdict::Allow) => CallOpinion::Fine,
            Ok(CallVerdict::Ask { reason }) => CallOpinion::Doubtful(format!("{reason} (extension {name})")),
            Ok(CallVerdict::Deny { reason }) => {
                CallOpinion::Forbidden(format!("{reason} (extension {name})"))
            }
            Ok(CallVerdict::Rewrite { arguments }) if arguments == call.arguments => CallOpinion::Fine,
            Ok(CallVerdict::Rewrite { arguments }) => return Saying::WantsOtherwise(arguments),
            Err(trouble) => CallOpinion::Unjudged(format!(
                "extension {name}, which judges calls, {}",
                trouble.text(self.timeout())
            )),
        })
    }
}

impl ReviewedCall {
    fn hear(&mut self, opinion: CallOpinion) {
        self.opinion = std::mem::take(&mut self.opinion).or(opinion);
    }

    fn is_forbidden(&self) -> bool {
        matches!(self.opinion, CallOpinion::Forbidden(_))
    }
}

/// Takes other arguments if the tool takes them. Else nobody has judged what would run: somebody wanted it otherwise.
fn rewrite(
    judged: &mut ReviewedCall,
    arguments: Value,
    name: &str,
    tool: &dyn Tool,
) -> Result<(), CallOpinion> {
    let checked =
        if arguments.is_object() { tool.check(&arguments) } else { Err("they are no object".to_owned()) };
    checked.map_err(|why| {
        CallOpinion::Unjudged(format!("extension {name} gave it other arguments that are invalid: {why}"))
    })?;
    judged.call.arguments = arguments;
    judged.rewritten_by.push(name.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_opinions_the_stricter_one_counts() {
        let doubt = |reason: &str| CallOpinion::Doubtful(reason.into());
        let silence = |reason: &str| CallOpinion::Unjudged(reason.into());
        let no = |reason: &str| CallOpinion::Forbidden(reason.into());
        for (first, second, expected) in [
            (CallOpinion::Fine, CallOpinion::Fine, CallOpinion::Fine),
            (CallOpinion::Fine, doubt("b"), doubt("b")),
            (doubt("a"), CallOpinion::Fine, doubt("a")),
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
