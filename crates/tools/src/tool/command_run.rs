//! Runs commands for tools: streams the output, stops the command at its timeout, and reports its end.

use std::convert::Infallible;
use std::error::Error as _;
use std::future::pending;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tiller_core::ansi::StyleRun;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::environment::ToolEnvironment;
use super::notice::push_notice;
use super::output_capture::{CapturedOutput, OutputCapture, PREVIEW_INTERVAL};
use super::truncation::OutputLimits;
use super::{ToolOutput, ToolProgress};
use crate::process::{Exit, ExitStatus, ProcessError, RunningCommand};

/// The text that replaces empty output.
const NO_OUTPUT: &str = "[no output]";

/// Limits of a command.
#[derive(Clone, Debug)]
pub(super) struct CommandLimits {
    /// The tool's name, for the notice about truncated output.
    pub tool: &'static str,
    /// Limits of the output for the model.
    pub output: OutputLimits,
    /// Time after which the command is stopped, in seconds.
    pub timeout_s: u64,
    /// Directory for outputs that exceed the limits.
    pub scratch: PathBuf,
    /// The text that replaces empty output of a command that wasn't stopped.
    pub empty_notice: &'static str,
}

impl CommandLimits {
    /// Returns the limits for a tool.
    pub(super) fn new(tool: &'static str, environment: &ToolEnvironment) -> Self {
        Self {
            tool,
            output: environment.limits,
            timeout_s: environment.bash.timeout_s,
            scratch: environment.scratch.clone(),
            empty_notice: NO_OUTPUT,
        }
    }

    /// Returns the same limits with another timeout, in seconds.
    pub(super) fn with_timeout(&self, timeout_s: u64) -> Self {
        Self { timeout_s, ..self.clone() }
    }
}

/// Runs a started command to its end. `details` are `{exitCode, timedOut, fullOutputPath?, strokes?}`.
pub(super) async fn run(
    started: Result<RunningCommand, ProcessError>,
    limits: &CommandLimits,
    progress: &ToolProgress,
) -> ToolOutput {
    match run_until(started, limits, progress, pending::<Infallible>()).await {
        CommandEnd::Output(output) => output,
        CommandEnd::Interrupted(never, _) => match never {},
    }
}

/// The end of a foreground command.
pub(super) enum CommandEnd<I> {
    /// The command has ended; this is the result of its call.
    Output(ToolOutput),
    /// The command was interrupted and continues to run.
    Interrupted(I, Box<ForegroundCommand>),
}

/// A running command and its output so far.
pub(super) struct ForegroundCommand {
    pub(super) running: RunningCommand,
    pub(super) capture: OutputCapture,
}

impl ForegroundCommand {
    pub(super) fn new(running: RunningCommand, limits: &CommandLimits) -> Self {
        Self { running, capture: OutputCapture::new(limits.tool, limits.output, &limits.scratch) }
    }
}

/// Runs a started command like [`run`], to its end or until `interruption`.
pub(super) async fn run_until<I>(
    started: Result<RunningCommand, ProcessError>,
    limits: &CommandLimits,
    progress: &ToolProgress,
    interruption: impl Future<Output = I>,
) -> CommandEnd<I> {
    let mut command = match started {
        Ok(running) => Box::new(ForegroundCommand::new(running, limits)),
        Err(error) => return CommandEnd::Output(failure(&error)),
    };
    let deadline = Instant::now() + Duration::from_secs(limits.timeout_s);
    let snapshot = command.capture.snapshot_fn();
    progress.on_cancel(move || partial_output(snapshot()));
    let end_reason = match read_output(&mut command, deadline, progress, interruption).await {
        ReadEnd::Ended(reason) => reason,
        ReadEnd::Interrupted(interruption) => return CommandEnd::Interrupted(interruption, command),
    };
    let ForegroundCommand { running, capture } = *command;
    CommandEnd::Output(match running.wait().await {
        Ok(exit) => output(capture.finish().await, exit, end_reason, limits),
        Err(error) => failure(&error),
    })
}

/// The reason the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndCause {
    Exited,
    Timeout,
}

/// The reason to stop reading output.
enum ReadEnd<I> {
    Ended(EndCause),
    Interrupted(I),
}

async fn read_output<I>(
    ForegroundCommand { running, capture }: &mut ForegroundCommand,
    deadline: Instant,
    progress: &ToolProgress,
    interruption: impl Future<Output = I>,
) -> ReadEnd<I> {
    tokio::pin!(interruption);
    let mut end_reason = EndCause::Exited;
    let mut ticks = interval(PREVIEW_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_new = false;
    loop {
        tokio::select! {
            biased;
            interruption = &mut interruption, if end_reason == EndCause::Exited => {
                return ReadEnd::Interrupted(interruption);
            }
            () = sleep_until(deadline), if end_reason == EndCause::Exited => {
                running.stop();
                end_reason = EndCause::Timeout;
            }
            _ = ticks.tick(), if is_new => {
                progress.show_styled(capture.preview_tail());
                is_new = false;
            }
            chunk = running.chunk() => match chunk {
                Some(chunk) => {
                    capture.push(&chunk).await;
                    is_new = true;
                }
                None => return ReadEnd::Ended(end_reason),
            },
        }
    }
}

/// Returns the output of a stopped command.
fn partial_output(capture: CapturedOutput) -> ToolOutput {
    let CapturedOutput { mut text, style_runs, notice, full_output } = capture;
    if let Some(notice) = notice {
        push_notice(&mut text, &notice);
    }
    let mut details = Map::new();
    add_details(&mut details, &style_runs, full_output);
    let details = (!details.is_empty()).then_some(Value::Object(details));
    ToolOutput { details, ..ToolOutput::text(text) }
}

/// Adds styles and the path of the full output to `details`.
pub(super) fn add_details(
    details: &mut Map<String, Value>,
    style_runs: &[StyleRun],
    full_output: Option<PathBuf>,
) {
    if let Some(path) = full_output {
        details.insert("fullOutputPath".into(), json!(path.display().to_string()));
    }
    if !style_runs.is_empty() {
        details.insert("strokes".into(), json!(style_runs));
    }
}

pub(super) fn failure(error: &ProcessError) -> ToolOutput {
    let cause = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    ToolOutput::error(format!("the command did not finish: {error}{cause}"))
}

fn output(capture: CapturedOutput, exit: Exit, end_reason: EndCause, limits: &CommandLimits) -> ToolOutput {
    let CapturedOutput { mut text, style_runs, notice, full_output } = capture;
    let is_timeout = end_reason == EndCause::Timeout;
    if text.is_empty() {
        // A stopped command might have printed more.
        text.push_str(if is_timeout { NO_OUTPUT } else { limits.empty_notice });
    }
    for notice in notice.clone().into_iter().chain(notices(exit, end_reason, limits.timeout_s)) {
        push_notice(&mut text, &notice);
    }
    let mut details = Map::new();
    details.insert("exitCode".into(), json!(exit.status.code()));
    details.insert("timedOut".into(), json!(is_timeout));
    add_details(&mut details, &style_runs, full_output);
    let is_error = is_timeout || exit.status != ExitStatus::Code(0);
    ToolOutput { details: Some(Value::Object(details)), warning: notice, is_error, ..ToolOutput::text(text) }
}

/// Lists the notices about the end, for the model.
fn notices(exit: Exit, end_reason: EndCause, seconds: u64) -> Vec<String> {
    let reason = match (end_reason, exit.status) {
        (EndCause::Timeout, _) => {
            Some(format!("stopped after {seconds} s, along with everything it had started"))
        }
        (EndCause::Exited, status) => status.failure(),
    };
    let leftovers = match exit.leftovers {
        0 => None,
        1 => Some("a process that it left in the background was stopped".into()),
        count => Some(format!("{count} processes that it left in the background were stopped")),
    };
    reason.into_iter().chain(leftovers).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_without_text_has_a_notice_of_the_tool() {
        let limits = CommandLimits {
            tool: "git_status",
            output: OutputLimits::default(),
            timeout_s: 5,
            scratch: PathBuf::new(),
            empty_notice: "[nothing has changed]",
        };
        let text = |end_reason, status| {
            let exit = Exit { status, leftovers: 0 };
            let output = output(CapturedOutput::default(), exit, end_reason, &limits);
            tiller_core::message::joined_text(&output.content)
        };
        assert_eq!(text(EndCause::Exited, ExitStatus::Code(0)), "[nothing has changed]");
        let stopped = text(EndCause::Timeout, ExitStatus::Signal(9));
        assert_eq!(stopped, "[no output]\n[stopped after 5 s, along with everything it had started]");
    }
}
