//! A temporary home and project for a test, and the binary in them.

use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use tiller_test_support::terminal::{Size, Terminal, TerminalStart};

/// A home for tiller and a working directory; both are removed on drop.
pub(crate) struct Sandbox {
    home: TempDir,
    project: TempDir,
    variables: Vec<(String, String)>,
}

/// The result of a finished run.
#[derive(Debug)]
pub(crate) struct RunOutput {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

impl Sandbox {
    pub(crate) fn new() -> Self {
        Self { home: TempDir::new().unwrap(), project: TempDir::new().unwrap(), variables: Vec::new() }
    }

    /// Sets a variable for every run.
    pub(crate) fn with_variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    /// Removes a variable that was set.
    pub(crate) fn without_variable(mut self, name: &str) -> Self {
        self.variables.retain(|(other, _)| other != name);
        self
    }

    pub(crate) fn project(&self) -> &Path {
        self.project.path()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.project().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Writes a script for the scripted provider next to the project; returns its path.
    pub(crate) fn script(&self, lines: &[&str]) -> String {
        let path = self.home().join("script.jsonl");
        fs::write(&path, lines.join("\n")).unwrap();
        path.display().to_string()
    }

    /// The binary with nothing of the tester's environment but `PATH`.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.with_environment(Command::new(env!("CARGO_BIN_EXE_tiller")), arguments)
    }

    /// The binary, started by a shell after a command such as `ulimit`.
    pub(crate) fn command_after(&self, shell: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("{shell} && exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_tiller"));
        self.with_environment(command, arguments)
    }

    fn with_environment(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.args(arguments).current_dir(self.project()).env_clear().stdin(Stdio::null());
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("TILLER_HOME", self.home().join("tiller"));
        // Approval modes are tested without it.
        command.env("TILLER_SANDBOX_MODE", "off");
        // The tester's machine may run a model server.
        command.env("TILLER_LOCAL_SERVERS", "off");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The binary in a terminal of 100 columns and 40 rows.
    pub(crate) fn open(&self, arguments: &[&str]) -> Terminal {
        self.open_in(Size(100, 40), arguments)
    }

    /// The binary in a terminal of this size.
    pub(crate) fn open_in(&self, size: Size, arguments: &[&str]) -> Terminal {
        self.start_in(size, self.variables.clone(), arguments)
    }

    /// The binary in a terminal, with this text piped into it.
    pub(crate) fn open_with_stdin(&self, text: &str, arguments: &[&str]) -> Terminal {
        let piped = self.home().join("piped");
        fs::write(&piped, text).unwrap();
        let piped = piped.display().to_string();
        let fixed = ["-c", "cat \"$0\" | \"$@\"", &piped, env!("CARGO_BIN_EXE_tiller")];
        self.open_shell(&[&fixed, arguments].concat())
    }

    /// A shell in a terminal of 100 columns and 40 rows, for lines that start the binary in a pipe.
    pub(crate) fn open_shell(&self, arguments: &[&str]) -> Terminal {
        self.start_program("/bin/sh", Size(100, 40), self.variables.clone(), arguments)
    }

    fn start_in(&self, size: Size, variables: Vec<(String, String)>, arguments: &[&str]) -> Terminal {
        self.start_program(env!("CARGO_BIN_EXE_tiller"), size, variables, arguments)
    }

    fn start_program(
        &self,
        program: &str,
        size: Size,
        variables: Vec<(String, String)>,
        arguments: &[&str],
    ) -> Terminal {
        let homes = [("HOME", self.home().to_owned()), ("TILLER_HOME", self.home().join("tiller"))];
        let homes = homes.map(|(name, path)| (name.to_owned(), path.display().to_string()));
        let fixed = [("TILLER_SANDBOX_MODE".to_owned(), "off".to_owned())];
        Terminal::start(&TerminalStart {
            program: program.into(),
            arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
            cwd: self.project().to_owned(),
            variables: homes.into_iter().chain(fixed).chain(variables).collect(),
            size,
        })
    }

    /// The binary in a terminal, with a script of these lines that allows every call.
    pub(crate) fn open_scripted(&self, lines: &[&str], arguments: &[&str]) -> Terminal {
        let script = self.script(lines);
        let fixed = ["--yes", "--provider", "scripted", "--model", &script];
        self.open(&[&fixed, arguments].concat())
    }

    /// The same with another model, `sonnet`, whose server is at this address, and an image on the clipboard.
    pub(crate) fn open_with_server(&self, server: &str, lines: &[&str], arguments: &[&str]) -> Terminal {
        let script = self.script(lines);
        let programs = self.home().join("programs");
        let path = std::env::var("PATH").unwrap_or_default();
        let variables = [
            ("PATH", format!("{}:{path}", programs.display())),
            ("ANTHROPIC_API_KEY", "k".to_owned()),
            ("ANTHROPIC_BASE_URL", server.to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        self.install_clipboard(&programs);
        let models = format!("{script},claude-sonnet-5-5");
        let fixed = ["--yes", "--provider", "scripted", "--model", &script, "--models", &models];
        self.start_in(Size(100, 40), variables, &[&fixed, arguments].concat())
    }

    /// Installs a fake Wayland clipboard program that returns an image of one pixel.
    fn install_clipboard(&self, dir: &Path) {
        let (picture, program) = (dir.join("pixel.png"), dir.join("wl-paste"));
        fs::create_dir_all(dir).unwrap();
        fs::write(&picture, include_bytes!("screen/pixel.png")).unwrap();
        let script =
            format!("#!/bin/sh\n[ \"$3\" = image/png ] && exec cat '{}'\nexit 1\n", picture.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Waits until a file is in the project.
    pub(crate) fn wait_for_file(&self, name: &str) {
        let (path, start) = (self.project().join(name), std::time::Instant::now());
        while !path.exists() {
            assert!(start.elapsed().as_secs() < 60, "{name} did not come");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> RunOutput {
        self.command(arguments).output().unwrap().into()
    }

    pub(crate) fn run_with_stdin(&self, arguments: &[&str], stdin: &str) -> RunOutput {
        let mut child = self.start(self.command(arguments).stdin(Stdio::piped()));
        // The program may have exited without reading.
        if let Err(error) = child.stdin.take().unwrap().write_all(stdin.as_bytes()) {
            assert_eq!(error.kind(), ErrorKind::BrokenPipe, "{error}");
        }
        child.wait_with_output().unwrap().into()
    }

    pub(crate) fn start(&self, command: &mut Command) -> Child {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// All logs.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let root = self.home().join("tiller/sessions");
        let dirs = fs::read_dir(root).into_iter().flatten().map(|entry| entry.unwrap().path());
        let files = dirs.flat_map(|dir| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()));
        files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
    }

    /// The lines of the only log. Text after the last newline is a line that is still being written.
    pub(crate) fn log(&self) -> Vec<Value> {
        let logs = self.logs();
        assert_eq!(logs.len(), 1, "{logs:?}");
        let text = fs::read_to_string(&logs[0]).unwrap();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The messages of the only log, a line each: role, then text.
    pub(crate) fn messages(&self) -> Vec<String> {
        self.log()
            .iter()
            .filter(|line| line["type"] == "message")
            .map(|line| message_line(&line["message"]))
            .collect()
    }
}

/// Checks the logs of every test against the format. Handmade logs have other ids.
impl Drop for Sandbox {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        for log in self.logs() {
            let text = tiller_test_support::format_check::without_torn(
                &fs::read_to_string(&log).unwrap_or_default(),
            );
            if !text.is_empty() && is_own(&text) {
                assert_eq!(tiller_test_support::format_check::check(&text), Ok(()), "{}", log.display());
            }
        }
    }
}

/// Returns true if tiller wrote all of the log, without copied lines: its ids are ULIDs.
fn is_own(log: &str) -> bool {
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lengths: Vec<usize> = lines.filter_map(|line| Some(line["id"].as_str()?.len())).collect();
    !lengths.is_empty() && lengths.iter().all(|length| *length == 26)
}

pub(crate) fn message_line(message: &Value) -> String {
    let role = message["role"].as_str().unwrap();
    let block = |block: &Value| match block["type"].as_str() {
        Some("text") => block["text"].as_str().unwrap().to_owned(),
        Some("toolCall") => format!("<{}>", block["name"].as_str().unwrap()),
        _ => block.to_string(),
    };
    let texts: Vec<String> = message["content"].as_array().into_iter().flatten().map(block).collect();
    format!("{role}: {}", texts.join(" "))
}

impl From<Output> for RunOutput {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }
}
