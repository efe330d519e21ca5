//! The answers to an approval request.

use tiller_core::event::ApprovalRequest;

use crate::keymap::KeyCommand;

/// An answer to an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalAnswer {
    Once,
    Session,
    Deny,
    DenyWithReason,
}

impl ApprovalAnswer {
    /// The possible answers; "this session" requires a rule.
    pub(crate) fn possible(request: &ApprovalRequest) -> Vec<Self> {
        let all = [Self::Once, Self::Session, Self::Deny, Self::DenyWithReason];
        all.into_iter().filter(|answer| *answer != Self::Session || !request.rule.is_empty()).collect()
    }

    /// The command of the key that gives this answer.
    pub(crate) fn command(self) -> KeyCommand {
        match self {
            Self::Once => KeyCommand::Allow,
            Self::Session => KeyCommand::AllowSession,
            Self::Deny => KeyCommand::Deny,
            Self::DenyWithReason => KeyCommand::DenyWithReason,
        }
    }

    pub(crate) fn denies(self) -> bool {
        matches!(self, Self::Deny | Self::DenyWithReason)
    }
}
