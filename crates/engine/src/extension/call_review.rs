//! Reviews of calls by extensions. Rewrites are applied one after the other, and the strictest verdict
//! applies.

use std::sync::Arc;

use serde_json::Value;
use tiller_core::message::ToolCall;
use tiller_tools::tool::Tool;

use super::CallVerdict;
use super::host::{ExtensionHost, Hook, LoadedExtension};

/// A call after its review.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReviewedCall {
    /// The call with its final arguments.
    pub(crate) call: ToolCall,
    /// The extensions' combined verdict.
    pub(crate) opinion: CallOpinion,
    /// Names of the extensions that changed the arguments.
    pub(crate) rewritten_by: Vec<String>,
}

/// The combined verdict of the extensions on a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CallOpinion {
    /// No objection.
    #[default]
    Allow,
    /// Needs approval, for this reason.
    Ask(String),
    /// A guard failed to reach a verdict, for this reason. Unlike a request for approval, this can't be
    /// answered in advance by a flag.
    Failed(String),
    /// Must not run, for this reason.
    Deny(String),
}

impl CallOpinion {
    /// Returns the stricter of the two; the first if they are equal.
    fn stricter(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }

    const fn strictness(&self) -> u8 {
        match self {
            Self::Allow => 0,
            Self::Ask(_) => 1,
            Self::Failed(_) => 2,
            Self::Deny(_) => 3,
        }
    }
}

/// One extension's verdict.
enum HookReply {
    Opinion(CallOpinion),
    /// New arguments, and an opinion on the call with them.
    Rewrite(Value, CallOpinion),
}

impl ExtensionHost {
    /// Reviews a call. Each extension sees the arguments as changed by earlier extensions. An extension that
    /// saw other arguments than the final ones reviews the call again, so that a rewrite can't bypass a
    /// guard.
    pub(crate) async fn review_call(&self, call: ToolCall, tool: &dyn Tool) -> ReviewedCall {
        let mut review = ReviewedCall { call, opinion: CallOpinion::Allow, rewritten_by: Vec::new() };
        let mut saw_others = 0;
        for (at, member) in self.members().iter().enumerate() {
            match self.call_hook(member, &review.call).await {
                HookReply::Opinion(opinion) => review.apply_reply(opinion),
                HookReply::Rewrite(arguments, opinion) => {
                    match rewrite(&mut review, arguments, member.extension.name(), tool) {
                        Ok(()) => {
                            saw_others = at;
                            review.apply_reply(opinion);
                        }
                        Err(opinion) => review.apply_reply(opinion),
                    }
                }
            }
            if review.is_forbidden() {
                return review;
            }
        }
        for member in &self.members()[..saw_others] {
            let opinion = match self.call_hook(member, &review.call).await {
                HookReply::Opinion(opinion) => opinion,
                HookReply::Rewrite(..) => {
                    let name = member.extension.name();
                    CallOpinion::Failed(format!("extension {name} tried to change the final arguments"))
                }
            };
            review.apply_reply(opinion);
            if review.is_forbidden() {
                break;
            }
        }
        review
    }

    /// Runs one extension's hook. A rewrite to the current arguments has no effect.
    async fn call_hook(&self, member: &LoadedExtension, call: &ToolCall) -> HookReply {
        let (extension, reviewed) = (Arc::clone(&member.extension), call.clone());
        let work = async move { extension.tool_call(&reviewed).await };
        let label = member.extension.label();
        let ask = |reason: String| CallOpinion::Ask(format!("{reason} ({label})"));
        HookReply::Opinion(match self.run_hook(member, Hook::ToolCall, work).await {
            Ok(CallVerdict::Allow) => CallOpinion::Allow,
            Ok(CallVerdict::Ask { reason }) => ask(reason),
            Ok(CallVerdict::Deny { reason }) => CallOpinion::Deny(format!("{reason} ({label})")),
            Ok(CallVerdict::Rewrite { arguments, approval }) => {
                let opinion = approval.map_or(CallOpinion::Allow, ask);
                if arguments != call.arguments {
                    return HookReply::Rewrite(arguments, opinion);
                }
                opinion
            }
            Err(failure) => CallOpinion::Failed(format!(
                "{label}, which reviews calls, {}",
                failure.text(self.limit(member))
            )),
        })
    }
}

impl ReviewedCall {
    fn apply_reply(&mut self, opinion: CallOpinion) {
        self.opinion = std::mem::take(&mut self.opinion).stricter(opinion);
    }

    fn is_forbidden(&self) -> bool {
        matches!(self.opinion, CallOpinion::Deny(_))
    }
}

/// Applies new arguments if the tool accepts them. Otherwise the call counts as not reviewed, because an
/// extension wanted it changed.
fn rewrite(
    review: &mut ReviewedCall,
    arguments: Value,
    name: &str,
    tool: &dyn Tool,
) -> Result<(), CallOpinion> {
    let checked =
        if arguments.is_object() { tool.check(&arguments) } else { Err("they are not an object".to_owned()) };
    checked.map_err(|error| {
        CallOpinion::Failed(format!("extension {name} changed its arguments to invalid ones: {error}"))
    })?;
    review.call.arguments = arguments;
    review.rewritten_by.push(name.to_owned());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_opinion_stricter_one_counts() {
        let doubt = |reason: &str| CallOpinion::Ask(reason.into());
        let silence = |reason: &str| CallOpinion::Failed(reason.into());
        let no = |reason: &str| CallOpinion::Deny(reason.into());
        for (first, second, expected) in [
            (CallOpinion::Allow, CallOpinion::Allow, CallOpinion::Allow),
            (CallOpinion::Allow, doubt("b"), doubt("b")),
            (doubt("a"), CallOpinion::Allow, doubt("a")),
            (doubt("a"), doubt("b"), doubt("a")),
            (doubt("a"), silence("b"), silence("b")),
            (silence("a"), doubt("b"), silence("a")),
            (silence("a"), no("b"), no("b")),
            (doubt("a"), no("b"), no("b")),
            (no("a"), doubt("b"), no("a")),
            (no("a"), no("b"), no("a")),
        ] {
            assert_eq!(first.clone().stricter(second.clone()), expected, "{first:?} {second:?}");
        }
    }
}
