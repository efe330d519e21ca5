//! The jobs that run outside the loop: streams, tools, the user's command, syncs.
//!
//! Every job reports over one bounded channel and carries the number of the turn that started it. The set owns the
//! jobs: dropping it stops them all.

use std::collections::HashMap;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, Stream, StreamExt, stream};
use tiller_core::event::{ApprovalRequest, ToolOutcome};
use tiller_core::id::CallId;
use tiller_core::message::{BashExecutionMessage, ToolCall, ToolResultMessage, joined_text};
use tiller_provider::{Provider, ProviderError, ProviderStream, Request};
use tiller_session::FsFile;
use tiller_tools::process::{NetworkAccess, RunningCommand};
use tiller_tools::tool::{
    JobTable, OutputCapture, OutputOptions, Tool, ToolInvocation, ToolOutput, ToolProgress, limit_output,
};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};

use super::clock::now;
use super::job_event::JobEvent;
use super::resource_state;
use super::summarize_job::SummaryJob;
use crate::bash::BashJob;
use crate::extension::ExtensionHost;
use crate::handle::{Reply, RunningBash, RunningCall};
use crate::resources::ResourceReloader;
use crate::turn::TurnNumber;

/// Timeout of a preview before an approval request: enough to read a large file from a slow disk.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(2);

/// The running jobs.
pub(super) struct Jobs {
    tasks: JoinSet<()>,
    events: mpsc::Sender<JobEvent>,
    /// The stream, or the job before it.
    stream: Option<AbortHandle>,
    /// The job before the calls.
    plan: Option<AbortHandle>,
    calls: HashMap<CallId, CallJob>,
    bash: Option<BashJob>,
}

/// A call's tool, with the context of its run.
pub(super) struct CallTarget {
    pub tool: Arc<dyn Tool>,
    /// The extensions, which may revise the result.
    pub host: ExtensionHost,
    /// Limits of the result, if the tool doesn't limit it itself.
    pub limited: Option<OutputOptions>,
    /// The network access that a rule grants to the call.
    pub network: NetworkAccess,
}

/// Truncates a result to the limits.
async fn limit(output: ToolOutput, tool: String, options: OutputOptions) -> ToolOutput {
    let limited = spawn_blocking(move || limit_output(output, &tool, &options)).await;
    limited.unwrap_or_else(|error| ToolOutput::error(format!("the result could not be read: {error}")))
}

/// A running call.
struct CallJob {
    task: AbortHandle,
    snapshot: RunningCall,
    progress: ToolProgress,
}

impl CallJob {
    /// Returns the partial result.
    fn partial_result(&self) -> ToolOutcome {
        match self.progress.partial_result() {
            Some(ToolOutput { content, details, .. }) => ToolOutcome { content, details },
            None => self.snapshot.partial.clone(),
        }
    }
}

impl Jobs {
    /// Starts the jobs that run as long as the driver: the resource reloader and the watcher of background
    /// jobs.
    pub(super) fn new(
        report: mpsc::Sender<JobEvent>,
        reloader: ResourceReloader,
        background: &JobTable,
    ) -> Self {
        let mut tasks = JoinSet::new();
        tasks.spawn(resource_state::run_reloader(reloader, report.clone()));
        tasks.spawn(report_background_jobs(background.subscribe(), report.clone()));
        Self { tasks, events: report, stream: None, plan: None, calls: HashMap::new(), bash: None }
    }

    /// Waits until a job is over and removes it; waits forever if there is none.
    pub(super) async fn reap(&mut self) {
        match self.tasks.join_next().await {
            Some(_) => {}
            None => std::future::pending().await,
        }
    }

    /// Streams the answer to a request.
    pub(super) fn stream(&mut self, turn: TurnNumber, provider: &dyn Provider, request: Request) {
        self.follow_stream(turn, provider.stream(request));
    }

    /// Fails a request with an error instead of sending it.
    pub(super) fn refuse(&mut self, turn: TurnNumber, error: ProviderError) {
        self.follow_stream(turn, Box::pin(stream::iter([Err(error)])));
    }

    fn follow_stream(&mut self, turn: TurnNumber, parts: ProviderStream) {
        self.stop_stream();
        let (report, end) = (self.events.clone(), self.events.clone());
        let forwarding = forward(parts, report, move |part| JobEvent::StreamPart { turn, part });
        let task = async move {
            // A panic in a provider ends its stream early, like a broken connection.
            let _ = AssertUnwindSafe(forwarding).catch_unwind().await;
            let _ = end.send(JobEvent::StreamEnded { turn }).await;
        };
        self.stream = Some(self.tasks.spawn(task));
    }

    /// Waits before a retry. The wait can be stopped like a stream.
    pub(super) fn sleep(&mut self, turn: TurnNumber, delay: Duration) {
        self.stop_stream();
        let report = self.events.clone();
        self.stream = Some(self.tasks.spawn(async move {
            tokio::time::sleep(delay).await;
            let _ = report.send(JobEvent::RetryDue { turn }).await;
        }));
    }

    /// Starts the job that runs before a request.
    pub(super) fn open(&mut self, work: impl Future<Output = JobEvent> + Send + 'static) {
        self.stop_stream();
        self.stream = Some(self.spawn(work));
    }

    /// Starts the job that runs before calls.
    pub(super) fn plan(&mut self, work: impl Future<Output = JobEvent> + Send + 'static) {
        self.plan = Some(self.spawn(work));
    }

    /// Previews a call for its approval request. A preview that fails or takes too long is omitted.
    pub(super) fn preview(&mut self, tool: Arc<dyn Tool>, request: ApprovalRequest) {
        self.plan(async move {
            let attempt = async {
                match tool.preview(&request.args) {
                    Some(attempt) => Some(attempt.await),
                    None => None,
                }
            };
            let outcome =
                AssertUnwindSafe(tokio::time::timeout(PREVIEW_TIMEOUT, attempt)).catch_unwind().await;
            let preview = outcome.ok().and_then(Result::ok).flatten();
            JobEvent::Previewed(ApprovalRequest { preview, ..request })
        });
    }

    /// Starts a job that reports its result.
    pub(super) fn spawn(&mut self, work: impl Future<Output = JobEvent> + Send + 'static) -> AbortHandle {
        let report = self.events.clone();
        self.tasks.spawn(async move {
            let _ = report.send(work.await).await;
        })
    }

    /// Starts a job that sends its own events.
    pub(super) fn spawn_silent(&mut self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.tasks.spawn(work)
    }

    /// Returns the sender of job events.
    pub(super) fn sender(&self) -> mpsc::Sender<JobEvent> {
        self.events.clone()
    }

    /// Forwards events from another task while the driver runs.
    pub(super) fn forward<T: Send + 'static>(
        &mut self,
        mut events: mpsc::Receiver<T>,
        to_event: impl Fn(T) -> JobEvent + Send + 'static,
    ) {
        let report = self.events.clone();
        self.tasks.spawn(async move {
            while let Some(event) = events.recv().await {
                if report.send(to_event(event)).await.is_err() {
                    return;
                }
            }
        });
    }

    /// Starts a summary.
    pub(super) fn summarize(&mut self, number: u64, maker: SummaryJob) -> AbortHandle {
        self.tasks.spawn(maker.run(number, self.events.clone()))
    }

    pub(super) fn stop_stream(&mut self) {
        if let Some(task) = self.stream.take() {
            task.abort();
        }
    }

    /// Runs a call. A tool that panics yields an error result.
    pub(super) fn run(&mut self, turn: TurnNumber, call: ToolCall, callee: CallTarget) {
        let CallTarget { tool, host, limited, network } = callee;
        let running = RunningCall {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments: call.arguments.clone(),
            since: now(),
            partial: ToolOutcome::default(),
        };
        let (report, id) = (self.events.clone(), call.id.clone());
        let progress = self.progress(call.id.clone()).with_network(network);
        let tool_progress = progress.clone();
        let task = async move {
            let invocation = ToolInvocation { arguments: call.arguments.clone(), progress: tool_progress };
            let output = AssertUnwindSafe(tool.run(invocation)).catch_unwind().await;
            let output =
                output.unwrap_or_else(|_| ToolOutput::error("crashed: the tool failed inside tiller"));
            let output = match limited {
                Some(options) => limit(output, call.name.clone(), options).await,
                None => output,
            };
            let output = host.revise_result(&call, output).await;
            let result = ToolResultMessage {
                tool_call_id: call.id,
                tool_name: call.name,
                content: output.content,
                details: output.details,
                is_error: output.is_error,
                timestamp: now(),
            };
            let _ = report.send(JobEvent::ToolEnded { turn, result, warning: output.warning }).await;
        };
        self.calls.insert(id, CallJob { task: self.tasks.spawn(task), snapshot: running, progress });
    }

    /// Each progress report replaces the previous one, so a report is dropped if the channel is full.
    fn progress(&self, call: CallId) -> ToolProgress {
        let (report, id) = (self.events.clone(), call.clone());
        let show = move |printed| {
            let _ = report.try_send(JobEvent::ToolProgress { call: id.clone(), printed });
        };
        ToolProgress::new(show).of_call(call)
    }

    pub(super) fn stop_tools(&mut self) {
        if let Some(task) = self.plan.take() {
            task.abort();
        }
        for (_, call) in self.calls.drain() {
            call.task.abort();
        }
    }

    /// Moves the running calls of tools accepted by `has_jobs` to the background. Returns false if there are
    /// none.
    pub(super) fn move_to_background(&self, has_jobs: impl Fn(&str) -> bool) -> bool {
        let calls = self.calls.values().filter(|call| has_jobs(&call.snapshot.name));
        calls.map(|call| call.progress.move_to_background()).count() > 0
    }

    /// Ends the waits of running calls.
    pub(super) fn end_waits(&self) {
        self.calls.values().for_each(|call| call.progress.end_wait());
    }

    /// Removes a call that is over.
    pub(super) fn remove_call(&mut self, call: &CallId) {
        self.calls.remove(call);
    }

    pub(super) fn call_mut(&mut self, call: &CallId) -> Option<&mut RunningCall> {
        self.calls.get_mut(call).map(|call| &mut call.snapshot)
    }

    pub(super) fn calls(&self) -> impl Iterator<Item = &RunningCall> {
        self.calls.values().map(|call| &call.snapshot)
    }

    /// Returns the partial results of running calls that have one.
    pub(super) fn partial_results(&self) -> HashMap<CallId, ToolOutcome> {
        let partial_result = |(id, call): (&CallId, &CallJob)| (id.clone(), call.partial_result());
        self.calls
            .iter()
            .map(partial_result)
            .filter(|(_, outcome)| !joined_text(&outcome.content).is_empty())
            .collect()
    }

    /// Starts the job of a command that has just started.
    pub(super) fn bash(&mut self, snapshot: RunningBash, process: RunningCommand, capture: OutputCapture) {
        let (bash, job) = BashJob::start(snapshot, process, capture, self.events.clone());
        self.tasks.spawn(job);
        self.bash = Some(bash);
    }

    /// Registers the reply channel for the running command's record.
    pub(super) fn await_bash(&mut self, reply: Reply<BashExecutionMessage>) {
        if let Some(bash) = &mut self.bash {
            bash.reply = Some(reply);
        }
    }

    pub(super) fn bash_running(&self) -> Option<&RunningBash> {
        self.bash.as_ref().map(|bash| &bash.shown)
    }

    pub(super) fn bash_mut(&mut self) -> Option<&mut BashJob> {
        self.bash.as_mut()
    }

    /// Removes the command that is over.
    pub(super) fn take_bash(&mut self) -> Option<BashJob> {
        self.bash.take()
    }

    pub(super) fn sync(&mut self, file: Arc<dyn FsFile>) {
        let report = self.events.clone();
        self.tasks.spawn(async move {
            let synced = tokio::task::spawn_blocking(move || tiller_session::sync(&*file)).await;
            let result = synced.unwrap_or_else(|error| Err(io::Error::other(error)));
            let _ = report.send(JobEvent::Synced(result)).await;
        });
    }
}

/// Reports changes to the background jobs.
async fn report_background_jobs(mut version: watch::Receiver<u64>, report: mpsc::Sender<JobEvent>) {
    while version.changed().await.is_ok() {
        if report.send(JobEvent::BackgroundJobsChanged).await.is_err() {
            return;
        }
    }
}

/// Forwards the items of a stream while the receiver exists.
async fn forward<T, R>(
    mut parts: impl Stream<Item = T> + Unpin,
    report: mpsc::Sender<R>,
    to_event: impl Fn(T) -> R,
) {
    while let Some(part) = parts.next().await {
        if report.send(to_event(part)).await.is_err() {
            return;
        }
    }
}
