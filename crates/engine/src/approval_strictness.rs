//! The order of the approval modes. Pure.

use tiller_tools::policy::ApprovalMode;

/// Returns the stricter of two approval modes. In a session in plan mode, an agent is read-only: it has no
/// plan to present.
pub(super) fn stricter(session: ApprovalMode, agent: ApprovalMode) -> ApprovalMode {
    match if is_looser(session, agent) { agent } else { session } {
        ApprovalMode::Plan => ApprovalMode::ReadOnly,
        mode => mode,
    }
}

/// Returns true if an approval mode is more permissive than another one.
pub(super) fn is_looser(mode: ApprovalMode, other: ApprovalMode) -> bool {
    let strictness = |mode| match mode {
        ApprovalMode::Auto => 0,
        ApprovalMode::Ask => 1,
        ApprovalMode::Plan => 2,
        ApprovalMode::ReadOnly => 3,
    };
    strictness(mode) < strictness(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stricter_mode_is_never_looser_than_the_sessions() {
        use ApprovalMode::{Ask, Auto, Plan, ReadOnly};
        let cases = [
            ((Auto, Ask), Ask),
            ((Ask, Auto), Ask),
            ((Plan, Auto), ReadOnly),
            ((Auto, Plan), ReadOnly),
            ((ReadOnly, Ask), ReadOnly),
        ];
        for ((session, agent), expected) in cases {
            assert_eq!(stricter(session, agent), expected, "{session:?} {agent:?}");
        }
    }
}
