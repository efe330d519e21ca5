//! `bash`: runs a command in the shell.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits};

use super::command_run::{self, CommandEnd, CommandLimits, ForegroundCommand};
use super::environment::{BashTimes, ToolEnvironment};
use super::job_table::{EndNotices, JobReview, JobTable, NewJob};
use super::notice::push_notice;
use super::sandboxed_run::{SandboxReview, SandboxedRunner};
use super::truncation::OutputLimits;
use super::{ToolOutput, ToolProgress, TypedTool};
use crate::process::ShellCommand;

#[derive(Debug)]
pub(super) struct BashTool {
    runner: SandboxedRunner,
    cwd: PathBuf,
    limits: CommandLimits,
    times: BashTimes,
    jobs: JobTable,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Command line for the shell.
    command: String,
    /// Seconds after which the command is stopped.
    #[serde(default)]
    timeout: Option<NonZeroU64>,
    /// Return immediately and keep the command running as a job, until it ends or is stopped. For servers, watchers and long builds. Default: false.
    #[serde(default)]
    background: bool,
    /// Run it without the sandbox, if the user allows that. Only for a command that the sandbox has refused. Default: false.
    #[serde(default)]
    unsandboxed: bool,
}

impl From<&ToolEnvironment> for BashTool {
    fn from(environment: &ToolEnvironment) -> Self {
        let ToolEnvironment { workspace, bash, jobs, .. } = environment;
        let (limits, cwd) = (CommandLimits::new(Self::NAME, environment), workspace.root().to_owned());
        Self { runner: environment.into(), cwd, limits, times: *bash, jobs: jobs.clone() }
    }
}

impl TypedTool for BashTool {
    type Arguments = Arguments;
    const NAME: &'static str = "bash";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::Named("command"),
        output: OutputKind::Command,
        set: Some(ToolSet::Bash),
        uses_sandbox: true,
        has_jobs: true,
        ..ToolTraits::new(Access::Executes)
    };

    fn description(&self) -> String {
        let BashTimes { timeout_s, max_timeout_s } = self.times;
        let OutputLimits { max_lines, max_chars } = self.limits.output;
        let sandbox = self.runner.describe();
        let sandbox = sandbox.map(|restrictions| format!(" Commands {restrictions}.")).unwrap_or_default();
        format!(
            "Runs a command line in {} in the working directory, and returns its output and exit code. \
             There is no terminal and no stdin; each call is a new shell. It is stopped after {timeout_s} seconds \
             (timeout: at most {max_timeout_s}), and processes that it leaves behind are stopped when it ends; \
             with background: true it keeps running as a job, see the tool job, by default without a timeout. \
             Output over {max_lines} lines or {max_chars} characters is cut to its beginning and end.{sandbox}",
            self.runner.unrestricted().shell().file_name().unwrap_or_default().display()
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
            Some(seconds) if seconds.get() > max && !arguments.background => {
                Err(format!("argument `timeout`: at most {max} seconds"))
            }
            Some(_) | None => Ok(()),
        }
    }

    fn prepare(&self) {
        self.runner.unrestricted().start_standby();
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let Arguments { command: line, timeout, unsandboxed, background } = arguments;
        let sandboxed = self.runner.with_network(progress.network());
        let review = if unsandboxed { None } else { sandboxed.review() };
        let runner = if unsandboxed { sandboxed.unrestricted().clone() } else { sandboxed.runner() };
        let started = runner.start(&ShellCommand { line: line.clone(), cwd: self.cwd.clone() });
        if background {
            let timeout = timeout.map(|seconds| Duration::from_secs(seconds.get()));
            let command = match started {
                Ok(running) => ForegroundCommand::new(running, &self.limits),
                Err(error) => return command_run::failure(&error),
            };
            return self
                .keep_as_job(command, JobOrigin { line, review, timeout, text: "runs in the background as" })
                .await;
        }
        let limits = self.limits.with_timeout(timeout.map_or(self.times.timeout_s, NonZeroU64::get));
        match command_run::run_until(started, &limits, &progress, progress.background_requested()).await {
            CommandEnd::Output(mut output) => {
                review.into_iter().for_each(|review| review.complete(&mut output));
                output
            }
            CommandEnd::Interrupted((), command) => {
                let text = "moved to the background by the user as";
                self.keep_as_job(*command, JobOrigin { line, review, timeout: None, text }).await
            }
        }
    }
}

/// Properties of a command that becomes a job.
struct JobOrigin {
    line: String,
    review: Option<SandboxReview>,
    timeout: Option<Duration>,
    /// The text for the model that precedes the id.
    text: &'static str,
}

impl BashTool {
    /// Turns a running command into a job. `details` of the result are `{jobId, fullOutputPath?, strokes?}`.
    async fn keep_as_job(&self, command: ForegroundCommand, origin: JobOrigin) -> ToolOutput {
        let ForegroundCommand { running, capture } = command;
        let JobOrigin { line, review, timeout, text: origin } = origin;
        let review: JobReview = match review {
            Some(review) => Box::new(move |text, is_error| review.notices(text, is_error)),
            None => Box::new(|_, _| EndNotices::default()),
        };
        let job = self.jobs.adopt(NewJob { command: line, running, capture, timeout, review }).await;
        let Some(reading) = self.jobs.read(&job) else { return ToolOutput::error("the session has ended") };
        let file = reading.file.as_ref().map(|path| format!("; its full output goes to {}", path.display()));
        let mut text = reading.output.text;
        let started = format!("{origin} {job}{}", file.unwrap_or_default());
        for notice in reading.output.notice.iter().chain([&started]) {
            push_notice(&mut text, notice);
        }
        let mut details = Map::from_iter([("jobId".to_owned(), json!(job))]);
        command_run::add_details(&mut details, &reading.output.style_runs, reading.file);
        ToolOutput { details: Some(details.into()), ..ToolOutput::text(text) }
    }
}
