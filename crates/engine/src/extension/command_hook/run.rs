//! Runs a single hook command with JSON on stdin, and captures its output.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tempfile::NamedTempFile;
use tiller_tools::process::{PipedChild, Program, Runner};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::answer::HookOutput;

/// Bytes kept from the beginning of a stream.
const MAX_START: usize = 1024 * 1024;

/// Bytes kept from the end of a stream, where the supervisor reports the exit.
const MAX_END: usize = 16 * 1024;

/// Runs the command with a file as stdin. Its stdin ends after the input, while the pipe that keeps the
/// command alive stays open.
const WRAPPER: &str = r#"exec "$0" -c "$1" < "$2""#;

/// The environment of commands.
#[derive(Clone, Debug)]
pub struct HookEnvironment {
    /// Starts the commands in its shell.
    pub runner: Runner,
    /// The working directory.
    pub cwd: PathBuf,
    /// Names of environment variables withheld from the commands.
    pub withheld_variables: Vec<String>,
    /// Additional environment variables.
    pub variables: Vec<(String, String)>,
}

impl HookEnvironment {
    /// Runs a command to its end. If it takes longer than `limit`, or the future is dropped, the command is
    /// killed with all its descendants.
    pub(super) async fn run(&self, line: &str, input: &Value, limit: Duration) -> Result<HookOutput, String> {
        let ended = timeout(limit, self.run_to_end(line, input)).await;
        ended.unwrap_or_else(|_| Err(format!("took longer than {} s and was killed", limit.as_secs())))
    }

    async fn run_to_end(&self, line: &str, input: &Value) -> Result<HookOutput, String> {
        let input_file = write_input(input.to_string()).await?;
        let (shell, path) = (self.runner.shell(), input_file.path());
        let program = Program {
            path: shell.to_owned(),
            arguments: ["-c", WRAPPER, &shell.to_string_lossy(), line, &path.to_string_lossy()]
                .map(str::to_owned)
                .to_vec(),
            cwd: self.cwd.clone(),
            withheld: self.withheld_variables.clone(),
            variables: self.variables.clone(),
        };
        let child = self.runner.start_piped(&program).map_err(|error| error.to_string())?;
        // `lifeline` stays open until both streams have ended.
        let PipedChild { stdin: lifeline, stdout, stderr, supervisor: _supervisor } = child;
        let (stdout, stderr) = tokio::join!(read_text(stdout), read_text(stderr));
        drop(lifeline);
        let (stderr, report) = stderr.trim_end_matches('\n').rsplit_once('\n').unwrap_or(("", &stderr));
        let exit = PipedChild::end(report).map_err(|error| error.to_string())?;
        Ok(HookOutput { status: exit.status, stdout, stderr: stderr.to_owned() })
    }
}

/// Writes the input to a file that only the user can read. The file is removed when the handle is dropped.
async fn write_input(input: String) -> Result<NamedTempFile, String> {
    let written = spawn_blocking(move || {
        let mut file = NamedTempFile::with_prefix("tiller-hook-")?;
        file.write_all(input.as_bytes())?;
        Ok(file)
    });
    let written = written.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    written.map_err(|error| format!("its input could not be written: {error}"))
}

/// Reads a stream to its end, without the middle of a long stream.
async fn read_text(mut stream: impl AsyncRead + Unpin) -> String {
    let (mut start, mut end) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut chunk).await {
        let (to_start, to_end) = chunk[..count].split_at(count.min(MAX_START - start.len()));
        start.extend_from_slice(to_start);
        end.extend_from_slice(to_end);
        let excess = end.len().saturating_sub(MAX_END);
        end.drain(..excess);
    }
    start.append(&mut end);
    String::from_utf8_lossy(&start).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn read_text_long_stream_keeps_both_ends() {
        let text = [b"start".to_vec(), vec![b'x'; MAX_START + MAX_END], b"\ncode 0 leftovers 0\n".to_vec()];
        let text = text.concat();
        let read = read_text(&text[..]).await;
        assert_eq!(read.len(), MAX_START + MAX_END);
        assert!(read.starts_with("startx") && read.ends_with("x\ncode 0 leftovers 0\n"));
    }
}
