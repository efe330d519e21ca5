//! Events of compaction and branch summaries.

use tiller_core::event::{CompactionChoice, CompactionReason};
use tiller_core::unit::UnixMs;
use tiller_engine::{Summarizing, SummaryOf};

use crate::app::App;
use crate::block::NoticeLevel;
use crate::dialog::Dialog;
use crate::picker::{PickerChoice, PickerItem};
use crate::tool_call::one_line;

impl App {
    pub(super) fn summary_started(&mut self, of: SummaryOf, since: UnixMs) {
        self.model.activity.summary = Some(Summarizing { of, since, retry: None, failed: None });
    }

    pub(super) fn compaction_ended(&mut self, reason: CompactionReason, error: Option<&str>) {
        self.model.activity.summary = None;
        self.compositor.close_failure_dialog();
        let Some(error) = error else { return };
        match reason {
            // The command's own result reports it.
            CompactionReason::Manual => {}
            CompactionReason::Threshold => {
                self.add_notice(NoticeLevel::Warning, format!("compaction failed: {error}"), None);
            }
            CompactionReason::Overflow => {
                let hint = "use /model, /tree or /new to continue".to_owned();
                self.add_notice(NoticeLevel::Error, error, Some(hint));
            }
        }
    }

    /// Opens the dialog about a failed summary.
    pub(crate) fn open_failure_dialog(&mut self, error: &str) {
        self.compositor.close_failure_dialog();
        let item = |choice: CompactionChoice| {
            let label = match choice {
                CompactionChoice::Retry => "try again",
                CompactionChoice::Truncate => "drop the older messages without a summary",
                CompactionChoice::GoOn => "continue without compacting",
            };
            PickerItem::new(label, PickerChoice::AfterFailure(choice))
        };
        let title = format!("summary failed: {}", one_line(error));
        let items = CompactionChoice::ALL.map(item).to_vec();
        let dialog = Dialog { title, items };
        _ = self.with_overlays(|overlays, cx| overlays.open_dialog(dialog, cx));
    }
}
