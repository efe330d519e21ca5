//! Background jobs: the model's commands that keep running after their call has returned.

use serde::{Deserialize, Serialize};

use crate::id::JobId;
use crate::unit::UnixMs;

/// The type of the entries that notify the model of the end of a job.
pub const JOB_NOTE_TYPE: &str = "tiller.job_end";

/// Longest command in a notice, in characters.
const MAX_COMMAND: usize = 100;

/// A background job, as front ends show it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandJob {
    /// Its id.
    pub job_id: JobId,
    /// The command line.
    pub command: String,
    /// The time at which it became a job.
    pub since: UnixMs,
    /// Its status.
    #[serde(flatten)]
    pub status: JobStatus,
    /// The last line of its output that isn't blank; empty without output.
    pub last_line: String,
}

impl CommandJob {
    /// Returns the first line of the command, shortened.
    #[must_use]
    pub fn short_command(&self) -> String {
        let mut lines = self.command.trim().lines();
        let first = lines.next().unwrap_or_default();
        let short: String = first.chars().take(MAX_COMMAND).collect();
        if short.len() < first.len() || lines.next().is_some() { format!("{short} …") } else { short }
    }
}

/// The status of a background job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum JobStatus {
    /// It is running.
    Running,
    /// It has exited.
    Exited {
        /// Its exit status.
        exit_code: i32,
    },
    /// It was killed by a signal.
    Killed {
        /// The signal.
        signal: i32,
    },
    /// It was stopped on request.
    Stopped,
    /// It was stopped at the timeout that its call set.
    TimedOut,
    /// Running it failed.
    Failed {
        /// The error.
        message: String,
    },
}

impl JobStatus {
    /// Returns true until it has ended.
    #[must_use]
    pub const fn is_running(&self) -> bool {
        matches!(self, Self::Running)
    }

    /// Returns the exit status, if it has exited.
    #[must_use]
    pub const fn exit_code(&self) -> Option<i32> {
        match self {
            Self::Exited { exit_code } => Some(*exit_code),
            Self::Running | Self::Killed { .. } | Self::Stopped | Self::TimedOut | Self::Failed { .. } => {
                None
            }
        }
    }
}

impl std::fmt::Display for JobStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Running => f.write_str("running"),
            Self::Exited { exit_code } => write!(f, "ended with exit status {exit_code}"),
            Self::Killed { signal } => write!(f, "killed by signal {signal}"),
            Self::Stopped => f.write_str("stopped"),
            Self::TimedOut => f.write_str("stopped at its timeout"),
            Self::Failed { message } => write!(f, "failed: {message}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(command: &str, status: JobStatus) -> CommandJob {
        let (command, last_line) = (command.to_owned(), "ok".to_owned());
        CommandJob { job_id: "job_1".into(), command, since: UnixMs(7), status, last_line }
    }

    #[test]
    fn background_job_is_one_flat_object() {
        let job = job("ls", JobStatus::Exited { exit_code: 2 });
        let expected = json!({
            "jobId": "job_1", "command": "ls", "since": 7, "status": "exited", "exitCode": 2, "lastLine": "ok"
        });
        assert_eq!(serde_json::to_value(job).unwrap(), expected);
    }

    #[test]
    fn short_command_is_the_start_of_the_first_line() {
        let short = |command: &str| job(command, JobStatus::Running).short_command();
        assert_eq!(short("cargo watch"), "cargo watch");
        assert_eq!(short("cd a\nls"), "cd a …");
        assert_eq!(short(&"x".repeat(101)), format!("{} …", "x".repeat(100)));
    }
}
