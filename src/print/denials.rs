//! The summary line about calls that were denied in a non-interactive session. Pure.

use tiller_core::counted::counted;

use crate::event::{AllowedBy, Denial, DenialCause};

/// Maximum number of reasons to list; further ones are counted.
const MAX_REASONS: usize = 3;

/// The denied calls of a run, grouped by reason.
#[derive(Debug, Default)]
pub(super) struct Denials {
    groups: Vec<(DenialReason, usize)>,
}

#[derive(Debug, PartialEq, Eq)]
enum DenialReason {
    /// No approver was present; the flag that would have allowed the call, if any.
    NoApprover(Option<AllowedBy>),
    /// Forbidden by the approval mode, a rule or an extension, for this reason.
    Forbidden(String),
}

impl Denials {
    pub(super) fn add(&mut self, denial: &Denial) {
        let group = match denial.cause {
            DenialCause::NoApprover => DenialReason::NoApprover(denial.allowed_by),
            DenialCause::Policy | DenialCause::Extension | DenialCause::Loop => {
                DenialReason::Forbidden(denial.reason.clone())
            }
        };
        match self.groups.iter_mut().find(|(other, _)| *other == group) {
            Some((_, count)) => *count += 1,
            None => self.groups.push((group, 1)),
        }
    }

    /// Returns one line for stderr; `None` if nothing was denied.
    pub(super) fn line(&self) -> Option<String> {
        let reasons = self.groups.iter().take(MAX_REASONS).map(|(group, count)| group.line(*count));
        let rest: usize = self.groups.iter().skip(MAX_REASONS).map(|(_, count)| count).sum();
        let rest = (rest > 0).then(|| format!("{} for other reasons", were_denied(rest)));
        let parts: Vec<String> = reasons.chain(rest).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl DenialReason {
    fn line(&self, count: usize) -> String {
        let (denied, pronoun) = (were_denied(count), if count == 1 { "it" } else { "them" });
        let unapproved = format!("{denied}, because no one could approve {pronoun}");
        match self {
            Self::NoApprover(Some(AllowedBy::Auto)) => {
                format!("{unapproved}; --yes or --approval auto allows {pronoun}")
            }
            Self::NoApprover(Some(AllowedBy::Yes)) => format!("{unapproved}; --yes allows {pronoun}"),
            Self::NoApprover(None) => format!("{unapproved}, and no option allows {pronoun}"),
            Self::Forbidden(reason) => {
                format!("{denied} ({})", reason.split_whitespace().collect::<Vec<_>>().join(" "))
            }
        }
    }
}

fn were_denied(count: usize) -> String {
    counted(count, "call was denied", "calls were denied")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(denied: &[(DenialCause, &str, Option<AllowedBy>)]) -> Option<String> {
        let mut denials = Denials::default();
        for (cause, reason, allowed_by) in denied {
            denials.add(&Denial {
                tool_call_id: "c1".into(),
                tool_name: "bash".into(),
                cause: *cause,
                reason: (*reason).to_owned(),
                allowed_by: *allowed_by,
            });
        }
        denials.line()
    }

    #[test]
    fn denials_line_says_what_would_allow_the_calls() {
        let (asks, auto, yes) = (DenialCause::NoApprover, Some(AllowedBy::Auto), Some(AllowedBy::Yes));
        for (denied, expected) in [
            (vec![], None),
            (
                vec![(asks, "runs a command", auto), (asks, "runs a command", auto)],
                Some(
                    "2 calls were denied, because no one could approve them; \
                     --yes or --approval auto allows them",
                ),
            ),
            (
                vec![(asks, "sudo", yes)],
                Some("1 call was denied, because no one could approve it; --yes allows it"),
            ),
            (
                vec![(asks, "a guard failed", None)],
                Some("1 call was denied, because no one could approve it, and no option allows it"),
            ),
            (
                vec![(DenialCause::Policy, "read-only mode forbids it", None), (asks, "x", auto)],
                Some(
                    "1 call was denied (read-only mode forbids it); 1 call was denied, because no one could \
                     approve it; --yes or --approval auto allows it",
                ),
            ),
            (
                vec![(DenialCause::Extension, "not\non  fridays", None)],
                Some("1 call was denied (not on fridays)"),
            ),
        ] {
            assert_eq!(line(&denied).as_deref(), expected, "{denied:?}");
        }
    }

    #[test]
    fn denials_line_names_three_reasons_at_most() {
        let reasons = ["a", "b", "c", "d", "e"].map(|reason| (DenialCause::Policy, reason, None));
        let line = line(&reasons).unwrap();
        assert!(line.ends_with("denied (c); 2 calls were denied for other reasons"), "{line}");
    }
}
