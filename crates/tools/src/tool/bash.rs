//! `bash`: runs a command in the shell.

use std::error::Error as _;
use std::path::PathBuf;
use std::time::Duration;

use nix::sys::signal::Signal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tiller_core::ansi::StyleRun;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolTraits};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::environment::{BashTimes, ToolEnvironment};
use super::output_capture::{CapturedOutput, OutputCapture, PREVIEW_INTERVAL};
use super::truncation::OutputLimits;
use super::{ToolOutput, ToolProgress, TypedTool};
use crate::process::{Exit, ExitStatus, ProcessError, Runner, Running, ShellCommand};

#[derive(Debug)]
pub(super) struct BashTool {
    runner: Runner,
    cwd: PathBuf,
    limits: OutputLimits,
    times: BashTimes,
    scratch: PathBuf,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Command line for the shell.
    command: String,
    /// Seconds after which the command is stopped.
    #[serde(default)]
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

impl From<&ToolEnvironment> for BashTool {
    fn from(environment: &ToolEnvironment) -> Self {
        let ToolEnvironment { workspace, runner, limits, bash, scratch } = environment.clone();
        Self { runner, cwd: workspace.root().to_owned(), limits, times: bash, scratch }
    }
}

impl TypedTool for BashTool {
    type Arguments = Arguments;
    const NAME: &'static str = "bash";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::Named("command"),
        output: OutputKind::Command,
        ..ToolTraits::new(Access::Executes)
    };

    fn description(&self) -> String {
        let BashTimes { timeout_s, max_timeout_s } = self.times;
        let OutputLimits { max_lines, max_chars } = self.limits;
        format!(
            "Runs a command line in {} in the working directory, and answers with what it printed and its exit code. \
             There is no terminal and no stdin; each call is a new shell. It is stopped after {timeout_s} seconds \
             (timeout: at most {max_timeout_s}), and what it leaves running in the background is stopped when it ends. \
             Of output over {max_lines} lines or {max_chars} characters the end is shown.",
            self.runner.shell().file_name().unwrap_or_default().display()
        )
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.command.trim().is_empty() {
            return Err("argument `command`: must not be empty".into());
        }
        if arguments.command.contains('\0') {
            return Err("argument `command`: must not contain NUL characters".into());
        }
        let max = self.times.max_timeout_s;
        match arguments.timeout {
            Some(0) => Err("argument `timeout`: at least 1 second".into()),
            Some(seconds) if seconds > max => Err(format!("argument `timeout`: at most {max} seconds")),
            Some(_) | None => Ok(()),
        }
    }

    fn prepare(&self) {
        self.runner.start_standby();
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let seconds = arguments.timeout.unwrap_or(self.times.timeout_s);
        let command = ShellCommand { line: arguments.command, cwd: self.cwd.clone() };
        let mut running = match self.runner.start(&command) {
            Ok(running) => running,
            Err(error) => return failure(&error),
        };
        let mut capture = OutputCapture::new(self.limits, &self.scratch);
        let deadline = Instant::now() + Duration::from_secs(seconds);
        let snapshot = capture.snapshot_fn();
        progress.on_cancel(move || partial_output(snapshot()));
        let end_reason = read_output(&mut running, &mut capture, deadline, &progress).await;
        match running.wait().await {
            Ok(exit) => output(capture.finish().await, exit, end_reason, seconds),
            Err(error) => failure(&error),
        }
    }
}

/// The reason why the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndReason {
    Exited,
    Timeout,
}

async fn read_output(
    running: &mut Running,
    capture: &mut OutputCapture,
    deadline: Instant,
    progress: &ToolProgress,
) -> EndReason {
    let mut end_reason = EndReason::Exited;
    let mut ticks = interval(PREVIEW_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_new = false;
    loop {
        tokio::select! {
            biased;
            () = sleep_until(deadline), if end_reason == EndReason::Exited => {
                running.stop();
                end_reason = EndReason::Timeout;
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
                None => return end_reason,
            },
        }
    }
}

/// Returns the output of a stopped command.
fn partial_output(capture: CapturedOutput) -> ToolOutput {
    let CapturedOutput { mut text, strokes, notice, full_output } = capture;
    if let Some(notice) = notice {
        end_line(&mut text);
        text.push_str(&format!("[{notice}]"));
    }
    let mut details = Map::new();
    add_details(&mut details, &strokes, full_output);
    let details = (!details.is_empty()).then_some(Value::Object(details));
    ToolOutput { details, ..ToolOutput::text(text) }
}

/// Adds styles and the path of the full output to `details`.
fn add_details(details: &mut Map<String, Value>, strokes: &[StyleRun], full_output: Option<PathBuf>) {
    if let Some(path) = full_output {
        details.insert("fullOutputPath".into(), json!(path.display().to_string()));
    }
    if !strokes.is_empty() {
        details.insert("strokes".into(), json!(strokes));
    }
}

fn end_line(text: &mut String) {
    if !text.ends_with('\n') {
        text.push('\n');
    }
}

fn failure(error: &ProcessError) -> ToolOutput {
    let cause = error.source().map(|source| format!(": {source}")).unwrap_or_default();
    ToolOutput::error(format!("the command did not finish: {error}{cause}"))
}

fn output(capture: CapturedOutput, exit: Exit, end_reason: EndReason, seconds: u64) -> ToolOutput {
    let CapturedOutput { mut text, strokes, notice, full_output } = capture;
    if text.is_empty() {
        text.push_str("[no output]");
    }
    for notice in notice.clone().into_iter().chain(notices(exit, end_reason, seconds)) {
        end_line(&mut text);
        text.push_str(&format!("[{notice}]"));
    }
    let is_timeout = end_reason == EndReason::Timeout;
    let mut details = Map::new();
    details.insert("exitCode".into(), json!(exit.status.code()));
    details.insert("timedOut".into(), json!(is_timeout));
    add_details(&mut details, &strokes, full_output);
    let is_error = is_timeout || exit.status != ExitStatus::Code(0);
    ToolOutput { details: Some(Value::Object(details)), warning: notice, is_error, ..ToolOutput::text(text) }
}

/// Lists the notices about the end, for the model.
fn notices(exit: Exit, end_reason: EndReason, seconds: u64) -> Vec<String> {
    let reason = match (end_reason, exit.status) {
        (EndReason::Timeout, _) => Some(format!("stopped after {seconds} s, with everything it had started")),
        (EndReason::Exited, ExitStatus::Code(0)) => None,
        (EndReason::Exited, ExitStatus::Code(code)) => Some(format!("exit code {code}")),
        (EndReason::Exited, ExitStatus::Signal(signal)) => Some(match Signal::try_from(signal) {
            Ok(name) => format!("killed by signal {signal} ({name})"),
            Err(_) => format!("killed by signal {signal}"),
        }),
    };
    let leftovers = match exit.leftovers {
        0 => None,
        1 => Some("a process that it left in the background was stopped".into()),
        count => Some(format!("{count} processes that it left in the background were stopped")),
    };
    reason.into_iter().chain(leftovers).collect()
}
