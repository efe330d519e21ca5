//! Fallback models (the setting `fallback`), used until the end of the run when the session's model fails.
//! Pure: the turn machine selects the model, and the driver switches to it.

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_provider::FailureKind;

/// A model listed in the setting `fallback`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FallbackModel {
    /// The model.
    pub model: ModelRef,
    /// The thinking level; `None` keeps the current level.
    pub thinking: Option<ThinkingLevel>,
}

/// Returns the listed models that can answer after a failure of `provider`. A key, a quota or a certificate
/// belongs to a provider, so after such a failure only models of other providers qualify. For an invalid or
/// too long request, no model qualifies.
#[must_use]
pub(crate) fn candidates(
    failure: FailureKind,
    provider: &str,
    listed: Vec<FallbackModel>,
) -> Vec<FallbackModel> {
    let may_answer = |candidate: &FallbackModel| match failure {
        FailureKind::Transient { .. } | FailureKind::Interrupted => true,
        FailureKind::Auth | FailureKind::Quota | FailureKind::Unreachable => {
            candidate.model.provider != provider
        }
        FailureKind::Overflow | FailureKind::Fatal => false,
    };
    listed.into_iter().filter(may_answer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(name: &str) -> FallbackModel {
        let (provider, id) = name.split_once('/').unwrap();
        FallbackModel { model: ModelRef { provider: provider.into(), id: id.into() }, thinking: None }
    }

    #[test]
    fn candidates_depend_on_the_failure() {
        let listed = || ["a/one", "a/two", "b/one"].map(model).to_vec();
        let names = |failure| {
            let found = candidates(failure, "a", listed());
            found.iter().map(|candidate| candidate.model.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(FailureKind::Transient { retry_after: None }), ["a/one", "a/two", "b/one"]);
        assert_eq!(names(FailureKind::Interrupted), ["a/one", "a/two", "b/one"]);
        assert_eq!(names(FailureKind::Auth), ["b/one"]);
        assert_eq!(names(FailureKind::Quota), ["b/one"]);
        assert_eq!(names(FailureKind::Unreachable), ["b/one"]);
        assert_eq!(names(FailureKind::Overflow), [""; 0]);
        assert_eq!(names(FailureKind::Fatal), [""; 0]);
    }
}
