//! What is done to a session besides going on with it: names, labels, branches hidden, moved to and summed up.
//!
//! Each is one more entry after the leaf; nothing that was written before changes, and every one can be taken back by another.

use serde_json::Value;
use tiller_core::id::EntryId;
use tiller_core::message::Usage;
use tiller_core::unit::UnixMs;

use super::entry::{EntryBody, SummaryModel, TillerEntry};
use super::error::SessionError;
use super::writer::{Appended, Writer};

/// Whether a branch is in the drawn tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    /// It is.
    Shown,
    /// It isn't, until it is shown again.
    Hidden,
}

/// What is left where a branch was left.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BranchSummaryText {
    /// What happened there.
    pub summary: String,
    /// Files read and modified, among others.
    pub details: Option<Value>,
    /// What making the summary cost, if a model made it.
    pub usage: Option<Usage>,
    /// Which model that was.
    pub made_by: Option<SummaryModel>,
}

impl From<&str> for BranchSummaryText {
    fn from(summary: &str) -> Self {
        Self { summary: summary.to_owned(), ..Self::default() }
    }
}

impl Writer {
    /// Names the session; nothing or a blank name takes its name away.
    ///
    /// # Errors
    /// When it could not be written.
    pub fn name(&mut self, name: Option<&str>, now: UnixMs) -> Result<Vec<Appended>, SessionError> {
        self.append(EntryBody::SessionInfo { name: filled(name) }, now)
    }

    /// Labels an entry; nothing or a blank label takes its label away.
    ///
    /// # Errors
    /// When there is no such entry, or the label could not be written.
    pub fn label(
        &mut self,
        target: &EntryId,
        label: Option<&str>,
        now: UnixMs,
    ) -> Result<Vec<Appended>, SessionError> {
        self.reader().path_to(target)?;
        self.append(EntryBody::Label { target_id: target.clone(), label: filled(label) }, now)
    }

    /// Takes an entry and everything that follows it out of the drawn tree, or brings them back.
    ///
    /// # Errors
    /// When there is no such entry, when it is to be hidden and lies on the path to the leaf, or when that could not be
    /// written.
    pub fn hide(
        &mut self,
        target: &EntryId,
        visibility: Visibility,
        now: UnixMs,
    ) -> Result<Vec<Appended>, SessionError> {
        let reader = self.reader();
        reader.path_to(target)?;
        let path = reader.leaf().map(|leaf| reader.path_to(&leaf)).transpose()?.unwrap_or_default();
        let hidden = visibility == Visibility::Hidden;
        if hidden && path.contains(target) {
            return Err(SessionError::InUse(target.clone()));
        }
        self.append(EntryBody::own(&TillerEntry::Hide { target_id: target.clone(), hidden }), now)
    }

    /// Moves the leaf to an earlier entry, or before the first one, and leaves a summary there of the branch that was left.
    ///
    /// # Errors
    /// When there is no such entry, or the summary could not be written.
    pub fn branch_with_summary(
        &mut self,
        to: Option<&EntryId>,
        summary: impl Into<BranchSummaryText>,
        now: UnixMs,
    ) -> Result<Vec<Appended>, SessionError> {
        let BranchSummaryText { summary, details, usage, made_by } = summary.into();
        let from_id = self.reader().leaf().map_or_else(|| "root".to_owned(), |leaf| leaf.to_string());
        let body = EntryBody::BranchSummary { from_id, summary, details, usage, made_by };
        self.append_to(to, body, now)
    }
}

fn filled(text: Option<&str>) -> Option<String> {
    text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}
