//! `job`: lists background jobs, reads their output, waits for them and stops them.

use std::num::NonZeroU64;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, json};
use tiller_core::background_job::CommandJob;
use tiller_core::id::JobId;
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits, WaitingArgument};
use tiller_core::unit::UnixMs;
use tokio::time::sleep;

use super::command_run::add_details;
use super::environment::{BashTimes, ToolEnvironment};
use super::job_table::{JobOutput, JobTable};
use super::notice::push_notice;
use super::{ToolOutput, ToolProgress, TypedTool};

#[derive(Debug)]
pub(super) struct JobTool {
    table: JobTable,
    times: BashTimes,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// `list` the jobs, `read` a job's output since the last read, `wait` for its end and read, or `stop` it and read.
    action: JobAction,
    /// Id of the job, such as `job_1`. Required for all actions except `list`.
    #[serde(default)]
    id: Option<String>,
    /// Maximum seconds to wait, with `wait`. The job keeps running after that. Default: the timeout of bash.
    #[serde(default)]
    timeout: Option<NonZeroU64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum JobAction {
    List,
    Read,
    Wait,
    Stop,
}

impl From<&ToolEnvironment> for JobTool {
    fn from(environment: &ToolEnvironment) -> Self {
        Self { table: environment.jobs.clone(), times: environment.bash }
    }
}

impl TypedTool for JobTool {
    type Arguments = Arguments;
    const NAME: &'static str = "job";
    const TRAITS: ToolTraits = ToolTraits {
        shown_argument: ShownArgument::Joined(&["action", "id"]),
        output: OutputKind::Command,
        set: Some(ToolSet::Bash),
        waiting: Some(WaitingArgument { name: "action", value: "wait" }),
        never_parallel: true,
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        format!(
            "Lists the background jobs that bash has started, reads their new output, waits for them, or stops \
             them. A wait ends after {} seconds (timeout: at most {}), or when the user sends a message. You are notified \
             when a job ends on its own, so don't poll.",
            self.times.timeout_s, self.times.max_timeout_s
        )
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        if arguments.id.is_none() && arguments.action != JobAction::List {
            return Err("argument `id`: required for this action".into());
        }
        let max = self.times.max_timeout_s;
        match arguments.timeout {
            Some(seconds) if seconds.get() > max => Err(format!("argument `timeout`: at most {max} seconds")),
            Some(_) | None => Ok(()),
        }
    }

    async fn run(&self, arguments: Arguments, progress: ToolProgress) -> ToolOutput {
        let Some(id) = arguments.id.map(JobId::new) else { return self.list() };
        match arguments.action {
            JobAction::List => return self.list(),
            JobAction::Read => {}
            JobAction::Wait => self.wait(&id, arguments.timeout, &progress).await,
            JobAction::Stop => {
                if self.table.stop(&id) {
                    self.table.wait(&id).await;
                }
            }
        }
        match self.table.read(&id) {
            Some(reading) => output(&id, reading),
            None => self.unknown(&id),
        }
    }
}

impl JobTool {
    fn list(&self) -> ToolOutput {
        let jobs = self.table.list();
        if jobs.is_empty() {
            return ToolOutput::text("no background jobs");
        }
        let lines: Vec<String> = jobs.iter().map(line).collect();
        ToolOutput::text(lines.join("\n"))
    }

    async fn wait(&self, id: &JobId, timeout: Option<NonZeroU64>, progress: &ToolProgress) {
        let seconds = timeout.map_or(self.times.timeout_s, NonZeroU64::get);
        tokio::select! {
            () = self.table.wait(id) => {}
            () = progress.end_wait_requested() => {}
            () = sleep(Duration::from_secs(seconds)) => {}
        }
    }

    fn unknown(&self, id: &JobId) -> ToolOutput {
        let jobs = self.table.list();
        let known: Vec<&str> = jobs.iter().map(|job| job.job_id.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        ToolOutput::error(format!("no job `{id}`; available: {known}"))
    }
}

fn line(job: &CommandJob) -> String {
    let started = UnixMs::to_iso(job.since);
    format!("{}: {}, started {started}: {}", job.job_id, job.status, job.short_command())
}

/// Returns the result of reading a job. `details` are `{jobId, exitCode?, fullOutputPath?, strokes?}`.
fn output(id: &JobId, reading: JobOutput) -> ToolOutput {
    let JobOutput { status, output, notices, .. } = reading;
    let mut text = output.text;
    if text.is_empty() {
        text.push_str("[no new output]");
    }
    let state = format!("{id}: {status}");
    for notice in output.notice.iter().chain([&state]).chain(&notices) {
        push_notice(&mut text, notice);
    }
    let mut details = Map::from_iter([("jobId".to_owned(), json!(id))]);
    if let Some(code) = status.exit_code() {
        details.insert("exitCode".into(), json!(code));
    }
    add_details(&mut details, &output.style_runs, output.full_output);
    ToolOutput { details: Some(details.into()), warning: output.notice, ..ToolOutput::text(text) }
}
