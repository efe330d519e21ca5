//! Operations on a session: naming, labeling, hiding branches, and branching with a summary.
//!
//! Each appends one entry after the leaf. Earlier lines never change, and each operation can be undone by
//! another one.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::message::Usage;
use tiller_core::unit::UnixMs;

use super::entry::{EntryBody, SummaryModel, TillerEntry};
use super::error::SessionError;
use super::writer::{AppendedEntry, Writer};

/// Visibility of a branch in the tree view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Visibility {
    /// The branch is shown.
    Shown,
    /// The branch is hidden until it is shown again.
    Hidden,
}

/// A summary of the abandoned branch, for the new one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchSummaryText {
    /// The summary.
    pub summary: String,
    /// Structured details, such as files read and modified.
    pub details: Option<Value>,
    /// Usage of the request, if a model wrote the summary.
    pub usage: Option<Usage>,
    /// The model that wrote it.
    pub made_by: Option<SummaryModel>,
}

impl From<&str> for BranchSummaryText {
    fn from(summary: &str) -> Self {
        Self { summary: summary.to_owned(), ..Self::default() }
    }
}

impl Writer {
    /// Names the session; `None` or a blank name removes the name.
    ///
    /// # Errors
    /// If it could not be written.
    pub fn name(&mut self, name: Option<&str>, now: UnixMs) -> Result<Vec<AppendedEntry>, SessionError> {
        self.append(EntryBody::SessionInfo { name: name.and_then(normalize_name) }, now)
    }

    /// Labels an entry; `None` or a blank label removes the label.
    ///
    /// # Errors
    /// If there is no such entry, or the label could not be written.
    pub fn label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
        now: UnixMs,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        self.reader().path_to(target)?;
        self.append(
            EntryBody::Label { target_id: target.clone(), label: label.and_then(normalize_name) },
            now,
        )
    }

    /// Hides an entry and its descendants in the tree view, or shows them again.
    ///
    /// # Errors
    /// If there is no such entry, if the entry to hide is on the path to the leaf, or if the write fails.
    pub fn hide(
        &mut self,
        target: &EntryId,
        visibility: Visibility,
        now: UnixMs,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        let reader = self.reader();
        reader.path_to(target)?;
        let path = reader.leaf().map(|leaf| reader.path_to(&leaf)).transpose()?.unwrap_or_default();
        let hidden = visibility == Visibility::Hidden;
        if hidden && path.contains(target) {
            return Err(SessionError::InUse(target.clone()));
        }
        self.append(EntryBody::from_tiller(&TillerEntry::Hide { target_id: target.clone(), hidden }), now)
    }

    /// Moves the leaf to an earlier entry, or before the first one, and appends a summary of the abandoned
    /// branch there.
    ///
    /// # Errors
    /// If there is no such entry, or the summary could not be written.
    pub fn branch_with_summary(
        &mut self,
        to: Option<&EntryId>,
        summary: impl Into<BranchSummaryText>,
        now: UnixMs,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        let BranchSummaryText { summary, details, usage, made_by } = summary.into();
        let from_id = self.reader().leaf().map_or_else(|| "root".to_owned(), |leaf| leaf.to_string());
        let body = EntryBody::BranchSummary { from_id, summary, details, usage, made_by };
        self.append_to(to, body, now)
    }
}

/// Returns a session's name or an entry's label as it is stored: each run of white space and control characters becomes
/// a space, because front ends show it on one line. `None` if nothing is left.
#[must_use]
pub fn normalize_name(text: &str) -> Option<String> {
    let words = text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty());
    Some(words.collect::<Vec<_>>().join(" ")).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalize_name_replaces_control_characters() {
        for (text, name) in [
            (" parser ", Some("parser")),
            ("parser\n\t bug", Some("parser bug")),
            ("\u{1b}[31mred\u{0}\u{7}alert\u{85}", Some("[31mred alert")),
            ("für Élise", Some("für Élise")),
            (" \n", None),
            ("\u{0}", None),
        ] {
            assert_eq!(normalize_name(text).as_deref(), name, "{text:?}");
        }
    }
}
