//! What is told of summaries.

use crate::agent::{Summarizing, SummaryOf};
use crate::event::{CompactionChoice, CompactionReason};
use crate::tui::app::App;
use crate::tui::block::Level;
use crate::tui::call::one_line;
use crate::tui::picker::{Choice, Item};
use crate::tui::question::Question;
use crate::unit::UnixMs;

impl App {
    pub(super) fn summary_began(&mut self, of: SummaryOf, since: UnixMs) {
        self.work.summary = Some(Summarizing { of, since, retry: None, failed: None });
    }

    pub(super) fn compaction_ended(&mut self, reason: CompactionReason, error: Option<&str>) {
        self.work.summary = None;
        self.forget_failure();
        let Some(error) = error else { return };
        match reason {
            // Whoever asked for it is told by the answer.
            CompactionReason::Manual => {}
            CompactionReason::Threshold => {
                self.say(Level::Warning, format!("the conversation was not made shorter: {error}"), None);
            }
            CompactionReason::Overflow => {
                let hint = "/model, /tree and /new lead there".to_owned();
                self.say(Level::Error, error, Some(hint));
            }
        }
    }

    /// Asks what to do about a summary that could not be made.
    pub(in crate::tui) fn ask_what_to_do(&mut self, error: &str) {
        self.forget_failure();
        let item = |choice: CompactionChoice| {
            let label = match choice {
                CompactionChoice::Retry => "try again",
                CompactionChoice::Truncate => "leave the older part out, without a summary",
                CompactionChoice::GoOn => "go on as it is",
            };
            Item::new(label, Choice::AfterFailure(choice))
        };
        let title = format!("no summary: {}", one_line(error));
        let items = CompactionChoice::ALL.map(item).to_vec();
        self.ask(Question { title, items });
    }
}
