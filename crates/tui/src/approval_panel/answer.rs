//! The answers to an approval request.

use tiller_core::event::ApprovalRequest;

use crate::keymap::table::KeyCommand;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalAnswer {
    Once,
    Session,
    /// Saves a rule in the settings after the user has seen and possibly edited it.
    Always,
    Deny,
    DenyWithReason,
}

impl ApprovalAnswer {
    /// The possible answers; "this session" and "always" require a rule.
    pub(crate) fn possible(request: &ApprovalRequest) -> Vec<Self> {
        let all = [Self::Once, Self::Session, Self::Always, Self::Deny, Self::DenyWithReason];
        all.into_iter().filter(|answer| answer.is_possible(request)).collect()
    }

    fn is_possible(self, request: &ApprovalRequest) -> bool {
        match self {
            Self::Session => !request.rule.is_empty(),
            Self::Always => request.proposed.is_some(),
            Self::Once | Self::Deny | Self::DenyWithReason => true,
        }
    }

    /// Returns the command of the key for this answer.
    pub(crate) fn command(self) -> KeyCommand {
        match self {
            Self::Once => KeyCommand::Allow,
            Self::Session => KeyCommand::AllowSession,
            Self::Always => KeyCommand::AllowAlways,
            Self::Deny => KeyCommand::Deny,
            Self::DenyWithReason => KeyCommand::DenyWithReason,
        }
    }

    pub(crate) fn denies(self) -> bool {
        matches!(self, Self::Deny | Self::DenyWithReason)
    }
}
