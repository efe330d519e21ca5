//! Commands of the user's own, `!` and `!!`: what they print, and the record they leave.

use super::handle::RunningBash;
use crate::message::BashExecutionMessage;
use crate::process::ExitStatus;
use crate::unit::UnixMs;

pub(super) use crate::tool::truncation::Capture;

/// The record of a command that is over; without an exit status it was stopped.
pub(super) fn record(
    running: super::driver::Bash,
    status: Option<ExitStatus>,
    exclude_from_context: bool,
    timestamp: UnixMs,
) -> BashExecutionMessage {
    let captured = running.output.finish();
    BashExecutionMessage {
        command: running.line,
        output: captured.text,
        exit_code: status.and_then(ExitStatus::code),
        cancelled: status.is_none(),
        truncated: captured.truncated,
        full_output_path: captured.full_output_path.map(|path| path.display().to_string()),
        exclude_from_context,
        timestamp,
    }
}
