//! The entries that end delegated tasks which were interrupted when tiller exited.

use std::path::Path;
use std::time::SystemTime;

use tiller_core::delegated_task::DelegatedTaskEnd;
use tiller_core::unit::UnixMs;
use tiller_session::{EntryBody, ModelUsage, SessionError, Totals, Writer};

use super::interrupted_call::unreported_note;
use super::log_entries::{BackgroundNote, END_TYPE, agent_entry, usage_entries, usage_since};
use super::task_record::{TaskRecord, TaskRecords};

/// Reason recorded for a task that had no end when its session was opened again.
const INTERRUPTED: &str = "interrupted when tiller exited";

impl TaskRecords {
    /// Returns entries that end all tasks without an end, with the usage of their agents, and notes about the
    /// background tasks that haven't been reported to the model. Call it only while no agent of the session is
    /// running. Skips tasks that a fork has copied, which belong to the other session, and tasks whose log is
    /// open in another process.
    pub(crate) fn interrupted_entries(&self) -> Vec<EntryBody> {
        let mut entries = Vec::new();
        for TaskRecord { start, since, end } in &self.tasks {
            let (None, Some(path)) = (end, &start.path) else { continue };
            if path.parent() != self.dir.as_deref() {
                continue;
            }
            match path.exists().then(|| used_since(path, *since)).transpose() {
                Ok(used) => entries.extend(usage_entries(used.unwrap_or_default())),
                Err(SessionError::Locked { .. }) => continue,
                Err(error) => {
                    tracing::warn!(path = %path.display(), %error, "the usage of an agent can't be read")
                }
            }
            let (agent_id, error) = (start.agent_id.clone(), Some(INTERRUPTED.to_owned()));
            let branch = start.worktree.as_ref().map(|worktree| worktree.branch.clone());
            entries.push(agent_entry(
                END_TYPE,
                &DelegatedTaskEnd { branch, ..DelegatedTaskEnd::new(agent_id, error) },
            ));
        }
        for unreported in &self.unreported {
            let text = unreported_note(unreported, &self.tasks);
            entries.extend(BackgroundNote { text, call: Some(unreported.call.clone()) }.entries());
        }
        entries
    }
}

/// Returns an agent's usage since a time, read from its log. The agent's own agents were interrupted too;
/// their usage is recorded first.
fn used_since(path: &Path, since: UnixMs) -> Result<Vec<ModelUsage>, SessionError> {
    let mut writer = Writer::open(path)?;
    let reader = writer.reader();
    let ends = TaskRecords::new(&reader, &reader.tiller_entries()?.0).interrupted_entries();
    if !ends.is_empty() {
        writer.append_all(ends, SystemTime::now().into())?;
    }
    let (mut all, mut before) = (Totals::default(), Totals::default());
    reader.visit(0, |entry| {
        let Ok(entry) = entry else { return };
        all.add(&entry.body);
        if entry.timestamp < since {
            before.add(&entry.body);
        }
    })?;
    Ok(usage_since(&before.models, all.models))
}
