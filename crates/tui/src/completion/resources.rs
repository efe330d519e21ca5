//! Completion of server resources after `@`, as `@SERVER:URI`.

use tiller_engine::ServedResource;

use crate::completion::candidate::{Candidate, OnAccept};
use crate::text::one_line;

/// Returns the resources that a message can mention, each with the name after the `@`. A mention ends at
/// whitespace, and its URI contains `://`.
pub(super) fn mentions(resources: &[ServedResource]) -> Vec<(String, &ServedResource)> {
    let is_plain = |uri: &str| !uri.chars().any(|c| c.is_whitespace() || c.is_control());
    let can_be_named = |resource: &&ServedResource| resource.uri.contains("://") && is_plain(&resource.uri);
    let named = resources.iter().filter(can_be_named);
    named.map(|resource| (format!("{}:{}", resource.server, resource.uri), resource)).collect()
}

/// Converts a resource into a candidate. For a template, the part before the first variable is inserted, and
/// typing continues there.
pub(super) fn candidate(mention: &str, resource: &ServedResource) -> Candidate {
    let insert = match mention.split_once('{').filter(|_| resource.is_template) {
        Some((start, _)) => format!("@{start}"),
        None => format!("@{mention} "),
    };
    let parts = [resource.name.as_str(), resource.description.as_str()];
    let about: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Candidate {
        name: one_line(mention),
        about: one_line(&about.join(": ")),
        insert,
        then: OnAccept::GoOn,
        ..Candidate::default()
    }
}
