//! The background jobs of a session: commands that continue after their call has returned.
//!
//! Each command and its output belong to a task; the table owns the tasks, so that dropping it kills all
//! jobs. The session's driver reads the changes from the table and notifies the model of jobs that have
//! ended.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use tiller_core::background_job::{CommandJob, JobStatus};
use tiller_core::id::JobId;
use tiller_core::unit::UnixMs;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::output_capture::{CapturedOutput, OutputCapture};
use super::output_reader::OutputReader;
use super::truncation::OutputLimits;
use crate::process::{Exit, ExitStatus, ProcessError, RunningCommand};

/// Limits of the last lines in a notice: enough for the error that ended a job.
const LAST_LINES: OutputLimits = OutputLimits { max_lines: 10, max_chars: 2_000 };

/// Limits of the last line in a list.
const LAST_LINE: OutputLimits = OutputLimits { max_lines: 1, max_chars: 200 };

/// Maximum number of ended jobs that can still be read; older ones are dropped.
const MAX_ENDED: usize = 50;

/// The background jobs of a session. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct JobTable {
    shared: Arc<JobTableInner>,
}

#[derive(Debug, Default)]
struct JobTableInner {
    /// A mutex, because tools and the driver use the table from their own tasks; never held across an await.
    state: Mutex<TableState>,
    /// The number of changes.
    version: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct TableState {
    /// The highest number of a job so far.
    last_number: u64,
    jobs: Vec<Arc<Job>>,
    /// One task per job; dropping them kills the jobs.
    tasks: JoinSet<()>,
    /// Changes that the driver hasn't taken yet.
    changes: Vec<JobChange>,
}

/// A change to the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobChange {
    /// A job has started.
    Started(CommandJob),
    /// A job has ended.
    Ended {
        /// The job.
        job: CommandJob,
        /// A warning for the user.
        warning: Option<String>,
    },
}

/// An ended job that the model hasn't been notified of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEndNote {
    /// The job.
    pub id: JobId,
    /// The note for the model.
    pub text: String,
}

/// A job.
#[derive(Debug)]
struct Job {
    id: JobId,
    command: String,
    since: UnixMs,
    status: watch::Sender<JobStatus>,
    stop: Notify,
    record: Mutex<JobRecord>,
}

#[derive(Debug)]
struct JobRecord {
    reader: OutputReader,
    /// Notices about the end, for the model.
    notices: Vec<String>,
    /// True if the model knows about the end.
    is_reported: bool,
}

/// A running command that becomes a job.
pub(super) struct NewJob {
    pub(super) command: String,
    pub(super) running: RunningCommand,
    pub(super) capture: OutputCapture,
    /// Time after which the job is stopped; `None` for no limit.
    pub(super) timeout: Option<Duration>,
    /// Reviews the command at its end.
    pub(super) review: JobReview,
}

/// A function that gets the last lines of an ended command, and whether it failed, and returns notices about
/// it.
pub(super) type JobReview = Box<dyn FnOnce(&str, bool) -> EndNotices + Send>;

/// Notices about an ended command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EndNotices {
    /// Notices for the model.
    pub(super) for_model: Vec<String>,
    /// A warning for the user.
    pub(super) warning: Option<String>,
}

/// A job with its output since the last read.
pub(super) struct JobOutput {
    pub(super) status: JobStatus,
    pub(super) output: CapturedOutput,
    /// Notices about the end.
    pub(super) notices: Vec<String>,
    /// The file with the whole output.
    pub(super) file: Option<PathBuf>,
}

impl JobTable {
    /// Turns a running command into a job.
    pub(super) async fn adopt(&self, new: NewJob) -> JobId {
        let NewJob { command, running, mut capture, timeout, review } = new;
        capture.keep_file().await;
        let reader = OutputReader::new(&capture);
        let record = Mutex::new(JobRecord { reader, notices: Vec::new(), is_reported: false });
        let mut state = self.shared.state();
        state.last_number = state.last_number.saturating_add(1);
        let id = JobId::numbered(state.last_number);
        let status = watch::Sender::new(JobStatus::Running);
        let since = UnixMs::from(SystemTime::now());
        let job = Arc::new(Job { id: id.clone(), command, since, status, stop: Notify::new(), record });
        while state.tasks.try_join_next().is_some() {}
        let task = JobTask { running, capture, job: Arc::clone(&job), table: Arc::downgrade(&self.shared) };
        state.tasks.spawn(task.run(timeout.and_then(|timeout| Instant::now().checked_add(timeout)), review));
        state.changes.push(JobChange::Started(job.describe()));
        state.jobs.push(job);
        state.forget_oldest();
        drop(state);
        self.shared.announce();
        id
    }

    /// Lists the jobs, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<CommandJob> {
        self.shared.state().jobs.iter().map(|job| job.describe()).collect()
    }

    /// Returns the output of a job since the last read; `None` if there is no such job.
    pub(super) fn read(&self, id: &JobId) -> Option<JobOutput> {
        let job = self.find(id)?;
        // The status is read first: output that arrives in between is included, and an end in between is
        // reported later.
        let status = job.status.borrow().clone();
        let mut record = job.record();
        let output = record.reader.read_new();
        record.is_reported |= !status.is_running();
        let (notices, file) = (record.notices.clone(), record.reader.file());
        Some(JobOutput { status, output, notices, file })
    }

    /// Waits for the end of a job; returns immediately if there is no such job.
    pub async fn wait(&self, id: &JobId) {
        let Some(mut status) = self.find(id).map(|job| job.status.subscribe()) else { return };
        // The job itself owns the sender.
        let _ = status.wait_for(|status| !status.is_running()).await;
    }

    /// Stops a job with all its descendants. Returns false if no such job is running.
    #[must_use]
    pub fn stop(&self, id: &JobId) -> bool {
        let Some(job) = self.find(id).filter(|job| job.status.borrow().is_running()) else { return false };
        job.stop.notify_one();
        true
    }

    /// Kills and drops all jobs, without recording changes.
    pub fn clear(&self) {
        let mut state = self.shared.state();
        let last_number = state.last_number;
        *state = TableState { last_number, ..TableState::default() };
    }

    /// Numbers further jobs after `number`, which the session has used before, so that ids are unique within a
    /// session.
    pub fn number_after(&self, number: u64) {
        let mut state = self.shared.state();
        state.last_number = state.last_number.max(number);
    }

    /// Returns a receiver that is notified of changes.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.shared.version.subscribe()
    }

    /// Takes the changes since the last call, in order.
    #[must_use]
    pub fn take_changes(&self) -> Vec<JobChange> {
        std::mem::take(&mut self.shared.state().changes)
    }

    /// Returns notes about the ended jobs that the model hasn't been notified of.
    #[must_use]
    pub fn end_notes(&self) -> Vec<JobEndNote> {
        let state = self.shared.state();
        state.jobs.iter().filter_map(|job| job.end_note()).collect()
    }

    /// Records that the model knows about the end of a job.
    pub fn mark_reported(&self, id: &JobId) {
        if let Some(job) = self.find(id) {
            job.record().is_reported = true;
        }
    }

    fn find(&self, id: &JobId) -> Option<Arc<Job>> {
        self.shared.state().jobs.iter().find(|job| job.id == *id).cloned()
    }
}

impl JobTableInner {
    fn state(&self) -> MutexGuard<'_, TableState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        self.version.send_modify(|version| *version += 1);
    }

    fn ended(&self, job: &Job, warning: Option<String>) {
        let mut state = self.state();
        // The job may have been dropped together with its session.
        if state.jobs.iter().any(|known| known.id == job.id) {
            state.changes.push(JobChange::Ended { job: job.describe(), warning });
            drop(state);
            self.announce();
        }
    }
}

impl TableState {
    /// Drops the oldest ended jobs if there are too many.
    fn forget_oldest(&mut self) {
        let is_over = |job: &Arc<Job>| !job.status.borrow().is_running() && job.record().is_reported;
        let ended = self.jobs.iter().filter(|job| is_over(job)).count();
        if let Some(oldest) = self.jobs.iter().position(is_over).filter(|_| ended > MAX_ENDED) {
            self.jobs.remove(oldest);
        }
    }
}

impl Job {
    fn record(&self) -> MutexGuard<'_, JobRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn describe(&self) -> CommandJob {
        CommandJob {
            job_id: self.id.clone(),
            command: self.command.clone(),
            since: self.since,
            status: self.status.borrow().clone(),
            last_line: self.record().reader.last_lines(LAST_LINE).trim().to_owned(),
        }
    }

    /// Returns the note about the end, if the job has ended and the model hasn't been notified of it.
    fn end_note(&self) -> Option<JobEndNote> {
        let job = self.describe();
        let record = self.record();
        if job.status.is_running() || record.is_reported {
            return None;
        }
        // The model's own requests count as reported.
        let by = if job.status == JobStatus::Stopped { " by the user" } else { "" };
        let (id, command) = (&job.job_id, job.short_command());
        let mut text = format!("Background job {id} (`{command}`) {}{by}.", past_tense(&job.status));
        if record.reader.has_new() {
            let _ = write!(text, " Its last lines:\n{}", record.reader.last_lines(LAST_LINES));
        }
        for notice in &record.notices {
            let _ = write!(text, "\n[{notice}]");
        }
        Some(JobEndNote { id: id.clone(), text })
    }
}

/// Returns the status of an ended job as a predicate.
fn past_tense(status: &JobStatus) -> String {
    match status {
        JobStatus::Killed { .. } | JobStatus::Stopped | JobStatus::TimedOut => format!("was {status}"),
        JobStatus::Running | JobStatus::Exited { .. } | JobStatus::Failed { .. } => status.to_string(),
    }
}

/// The task of a job.
struct JobTask {
    running: RunningCommand,
    capture: OutputCapture,
    job: Arc<Job>,
    table: Weak<JobTableInner>,
}

/// The reason a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JobEnd {
    Itself,
    Request,
    Timeout,
}

impl JobTask {
    async fn run(mut self, deadline: Option<Instant>, review: JobReview) {
        let reason = self.read_output(deadline).await;
        let Self { running, capture, job, table } = self;
        let status = status_of(reason, running.wait().await);
        drop(capture);
        let is_failure = !matches!(status, JobStatus::Exited { exit_code: 0 } | JobStatus::Stopped);
        let last_lines = job.record().reader.last_lines(LAST_LINES);
        let EndNotices { for_model, warning } = review(&last_lines, is_failure);
        job.record().notices = for_model;
        job.status.send_replace(status);
        if let Some(table) = table.upgrade() {
            table.ended(&job, warning);
        }
    }

    async fn read_output(&mut self, deadline: Option<Instant>) -> JobEnd {
        let mut reason = JobEnd::Itself;
        let deadline_at = deadline.unwrap_or_else(Instant::now);
        loop {
            tokio::select! {
                biased;
                () = self.job.stop.notified(), if reason == JobEnd::Itself => {
                    self.running.stop();
                    reason = JobEnd::Request;
                }
                () = sleep_until(deadline_at), if deadline.is_some() && reason == JobEnd::Itself => {
                    self.running.stop();
                    reason = JobEnd::Timeout;
                }
                chunk = self.running.chunk() => match chunk {
                    Some(chunk) => self.capture.push(&chunk).await,
                    None => return reason,
                },
            }
        }
    }
}

fn status_of(reason: JobEnd, end: Result<Exit, ProcessError>) -> JobStatus {
    match (reason, end) {
        (JobEnd::Request, _) => JobStatus::Stopped,
        (JobEnd::Timeout, _) => JobStatus::TimedOut,
        (JobEnd::Itself, Ok(Exit { status: ExitStatus::Code(exit_code), .. })) => {
            JobStatus::Exited { exit_code }
        }
        (JobEnd::Itself, Ok(Exit { status: ExitStatus::Signal(signal), .. })) => JobStatus::Killed { signal },
        (JobEnd::Itself, Err(error)) => JobStatus::Failed { message: error.to_string() },
    }
}
