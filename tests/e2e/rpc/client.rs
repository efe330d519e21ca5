//! A client of the JSON-lines protocol.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::sandbox::Sandbox;

/// Maximum time to wait for a line.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The binary in `--mode rpc`, and both ends of the connection.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    lines: Option<Receiver<Value>>,
}

impl Client {
    pub(super) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut command = sandbox.command(&[&["--mode", "rpc"], arguments].concat());
        let mut child = sandbox.start(command.stdin(Stdio::piped()));
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Self { child, stdin, stdout, lines: None }
    }

    /// Sends a command and starts reading.
    pub(super) fn send(&mut self, command: &Value) {
        self.send_bytes(command.to_string().as_bytes());
    }

    pub(super) fn send_bytes(&mut self, line: &[u8]) {
        self.read();
        self.write(line);
    }

    /// Sends a command without reading anything.
    pub(super) fn send_unread(&mut self, command: &Value) {
        self.write(command.to_string().as_bytes());
    }

    fn write(&mut self, line: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(&[line, b"\n"].concat()).unwrap();
        stdin.flush().unwrap();
    }

    /// Starts reading, if it hasn't.
    pub(super) fn read(&mut self) {
        let Some(stdout) = self.stdout.take() else { return };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n') {
                let line = serde_json::from_slice(&line.unwrap()).unwrap();
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// The next line.
    pub(super) fn line(&mut self) -> Value {
        self.lines.as_ref().unwrap().recv_timeout(TIMEOUT).expect("a line of output")
    }

    /// Lines up to the next event of a type, or the response to a command of that name, which is the last one.
    pub(super) fn wait_for(&mut self, name: &str) -> Vec<Value> {
        let mut lines = Vec::new();
        loop {
            let line = self.line();
            let is_last = line["type"] == name || line["type"] == "response" && line["command"] == name;
            lines.push(line);
            if is_last {
                return lines;
            }
        }
    }

    /// Closes stdin.
    pub(super) fn hang_up(&mut self) {
        drop(self.stdin.take());
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id().try_into().unwrap()), signal).unwrap();
    }

    /// The remaining lines.
    pub(super) fn rest(&mut self) -> Vec<Value> {
        self.read();
        self.lines.take().unwrap().iter().collect()
    }

    /// Waits for the exit; returns the exit code.
    pub(super) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// Closes stdin and waits for the exit; returns the exit code.
    pub(super) fn end(mut self) -> Option<i32> {
        self.hang_up();
        self.rest();
        self.wait()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // A process left by a failed test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
