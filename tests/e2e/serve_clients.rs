//! The clients in examples/clients: a chat, an approval, and servers that restart.

use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::spawn;
use std::time::Duration;

use super::sandbox::Sandbox;
use super::serve::Served;

/// Longest wait for output; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(60);

const SCRIPT: &[&str] = &[
    r#"{"text": "Hello from the model."}"#,
    r#"{"calls": [{"name": "bash", "arguments": {"command": "touch allowed"}}]}"#,
    r#"{"text": "Made it."}"#,
    r#"{"when": "think", "text": "Thinking", "hang": true}"#,
    r#"{"text": "Back again."}"#,
    r#"{"text": "Resumed."}"#,
];

/// A running client.
struct Client {
    child: Child,
    stdin: ChildStdin,
    output: Receiver<Vec<u8>>,
    unread: String,
}

impl Client {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, output) = channel();
        spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(count @ 1..) = stdout.read(&mut bytes) {
                let _ = sender.send(bytes[..count].to_vec());
            }
        });
        Self { child, stdin, output, unread: String::new() }
    }

    /// Reads up to a string; returns what was before it.
    fn wait_for(&mut self, text: &str) -> String {
        loop {
            if let Some((before, rest)) = self.unread.split_once(text) {
                let (before, rest) = (before.to_owned(), rest.to_owned());
                self.unread = rest;
                return before;
            }
            let bytes = self.output.recv_timeout(PATIENCE);
            let bytes = bytes.unwrap_or_else(|error| panic!("no {text:?} in {:?}: {error}", self.unread));
            self.unread.push_str(std::str::from_utf8(&bytes).unwrap());
        }
    }

    fn enter(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    /// Ends the input; returns the exit code.
    fn end(self) -> Option<i32> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        child.wait().unwrap().code()
    }
}

/// Returns true if an interpreter is installed.
fn is_installed(interpreter: &str) -> bool {
    match Command::new(interpreter).arg("--version").stdout(Stdio::null()).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Not captured, as `println!` would be.
            let _ = writeln!(std::io::stderr(), "SKIPPED: no {interpreter}");
            false
        }
        status => status.unwrap().success(),
    }
}

fn client_command(interpreter: &str, client: &str) -> Command {
    let mut command = Command::new(interpreter);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/clients").join(client));
    command
}

/// Drives a client, unless its interpreter isn't installed.
fn drive(interpreter: &str, client: &str) {
    if !is_installed(interpreter) {
        return;
    }
    let sandbox = Sandbox::new();
    let script = sandbox.script(SCRIPT);
    let serve = |address: &str| Served::start_scripted(&sandbox, &script, address);
    let server = serve("127.0.0.1:0");
    let (address, token) = (server.address.clone(), server.token.clone());
    let start = |more: &[&str]| {
        let mut command = client_command(interpreter, client);
        command
            .args(["--url", &format!("http://{address}")])
            .args(more)
            .current_dir(sandbox.project())
            .env("TILLER_TOKEN", &token);
        Client::start(command)
    };

    let mut client = start(&[]);
    client.wait_for("session ");
    let session = client.wait_for("\n> ");
    client.enter("hello");
    client.wait_for("Hello from the model.\n> ");
    client.enter("make a file");
    client.wait_for("touch allowed");
    client.wait_for("[y/n] ");
    assert!(!sandbox.project().join("allowed").exists());
    client.enter("y");
    client.wait_for("[bash]\nMade it.\n> ");
    assert!(sandbox.project().join("allowed").exists());

    // The run ends with its server, which is killed. The client detects that.
    client.enter("think");
    client.wait_for("Thinking");
    drop(server);
    let server = serve(&address);
    client.wait_for("[reconnected]\n\n> ");
    client.enter("are you there?");
    client.wait_for("Back again.\n> ");

    // A session of a server that was stopped is opened again by its id.
    assert_eq!(server.terminate(), Some(0));
    assert_eq!(client.end(), Some(0));
    let _server = serve(&address);
    let mut client = start(&["--session", &session]);
    client.wait_for("> ");
    client.enter("more");
    client.wait_for("Resumed.\n> ");
    assert_eq!(client.end(), Some(0));
}

/// Runs a client with a wrong token, and without a server; returns what it prints after the server's address.
fn failures(interpreter: &str, client: &str) -> Vec<String> {
    let sandbox = Sandbox::new();
    let server = Served::start_on(&sandbox, "127.0.0.1:0");
    let url = format!("http://{}", server.address);
    let failure = || {
        let mut command = client_command(interpreter, client);
        command.args(["--url", &url]).current_dir(sandbox.project()).env("TILLER_TOKEN", "wrong");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]));
        let error = String::from_utf8(output.stderr).unwrap();
        error.strip_prefix(&format!("{url}: ")).unwrap_or(&error).to_owned()
    };
    let refused = failure();
    assert_eq!(server.terminate(), Some(0));
    vec![refused, failure()]
}

#[test]
fn clients_python_failure_is_one_line() {
    if is_installed("python3") {
        let errno = nix::errno::Errno::ECONNREFUSED as i32;
        let unreachable = format!("[Errno {errno}] Connection refused\n");
        assert_eq!(failures("python3", "client.py"), ["A valid token is required\n".to_owned(), unreachable]);
    }
}

#[test]
fn clients_node_failure_is_one_line() {
    if is_installed("node") {
        assert_eq!(failures("node", "client.mjs"), ["A valid token is required\n", "ECONNREFUSED\n"]);
    }
}

#[test]
fn clients_python_chats_approves_and_resumes() {
    drive("python3", "client.py");
}

#[test]
fn clients_node_chats_approves_and_resumes() {
    drive("node", "client.mjs");
}
