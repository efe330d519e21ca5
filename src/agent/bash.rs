//! Commands of the user's own, `!` and `!!`: what they print, and the record they leave.

use super::handle::{BashContext, RunningBash};
use crate::id::EntryId;
use crate::message::BashExecutionMessage;
use crate::process::ExitStatus;
use crate::unit::UnixMs;

pub(super) use crate::tool::truncation::Capture;

/// A command at work.
#[derive(Debug)]
pub(super) struct Bash {
    /// The entry that says it began.
    pub(super) id: EntryId,
    pub(super) line: String,
    pub(super) context: BashContext,
    pub(super) since: UnixMs,
    pub(super) output: Capture,
}

impl Bash {
    /// The record of the command now that it is over; without an exit status it was stopped.
    pub(super) fn into_record(self, status: Option<ExitStatus>, timestamp: UnixMs) -> BashExecutionMessage {
        let captured = self.output.finish();
        BashExecutionMessage {
            command: self.line,
            output: captured.text,
            exit_code: status.and_then(ExitStatus::code),
            cancelled: status.is_none(),
            truncated: captured.truncated,
            full_output_path: captured.full_output_path.map(|path| path.display().to_string()),
            exclude_from_context: self.context == BashContext::Exclude,
            timestamp,
        }
    }
}

impl From<&Bash> for RunningBash {
    fn from(bash: &Bash) -> Self {
        let Bash { id, line, context, since, output } = bash;
        Self { id: id.clone(), line: line.clone(), context: *context, since: *since, output: output.shown() }
    }
}
