//! Commands in the sandbox, through the real supervisor.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use tiller_tools::process::{
    ExitStatus, NetworkAccess, Program, Runner, SandboxProfile, SandboxSupport, ShellCommand,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// A directory that commands may write to, and one that they may not.
struct Dirs {
    _dir: TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

impl Dirs {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (inside, outside) = (dir.path().join("inside"), dir.path().join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("old"), "old").unwrap();
        Self { _dir: dir, inside, outside }
    }

    fn runner(&self, network: NetworkAccess) -> Runner {
        let profile = SandboxProfile { writable: vec![self.inside.clone(), "/no/such".into()], network };
        Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor")).with_sandbox(profile)
    }
}

/// Returns true, and prints a message, if the kernel can't restrict writes.
fn is_missing() -> bool {
    let is_missing = !SandboxSupport::detect().restricts_writing();
    if is_missing {
        eprintln!("SKIPPED: this kernel has no Landlock");
    }
    is_missing
}

async fn run(runner: &Runner, cwd: &Path, line: &str) -> (String, ExitStatus) {
    let mut running = runner.start(&ShellCommand { line: line.into(), cwd: cwd.into() }).unwrap();
    let mut output = Vec::new();
    while let Some(chunk) = running.chunk().await {
        output.extend_from_slice(&chunk);
    }
    (String::from_utf8(output).unwrap(), running.wait().await.unwrap().status)
}

#[tokio::test]
async fn sandbox_writes_inside_work_and_outside_fail() {
    if is_missing() {
        return;
    }
    let dirs = Dirs::new();
    let runner = dirs.runner(NetworkAccess::Denied);
    let inside = "mkdir -p a b && echo x > a/f && mv a/f b/f && ln -s f b/l && rm -r b && \
        echo seen > /dev/null && echo piped | tee /dev/stderr > /dev/stdout";
    let (output, status) = run(&runner, &dirs.inside, inside).await;
    assert_eq!((output.as_str(), status), ("piped\npiped\n", ExitStatus::Code(0)));
    for line in [
        "echo x > ../outside/new",
        "echo x >> ../outside/old",
        "rm ../outside/old",
        "mv ../outside/old .",
        "mkdir ../outside/folder",
        "ln -s /etc ../outside/link",
        "echo x > new && mv new ../outside/new",
        // The command's descendants are restricted too, even after they have left the session.
        "setsid -w sh -c 'echo x > ../outside/new'",
    ] {
        let (output, status) = run(&runner, &dirs.inside, line).await;
        assert_ne!(status, ExitStatus::Code(0), "{line}: {output}");
    }
    let left: Vec<_> = fs::read_dir(&dirs.outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["old"]);
    assert_eq!(fs::read_to_string(dirs.outside.join("old")).unwrap(), "old");
    assert_eq!(run(&runner, &dirs.inside, "cat ../outside/old").await.0, "old");
}

#[tokio::test]
async fn sandbox_refuses_tcp_unless_allowed() {
    if !SandboxSupport::detect().restricts_tcp() {
        eprintln!("SKIPPED: this kernel can't refuse TCP");
        return;
    }
    let dirs = Dirs::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let line = format!("exec 3<>/dev/tcp/127.0.0.1/{}", listener.local_addr().unwrap().port());
    let (output, status) = run(&dirs.runner(NetworkAccess::Denied), &dirs.inside, &line).await;
    assert_ne!(status, ExitStatus::Code(0));
    assert!(output.contains("Permission denied"), "{output}");
    let (output, status) = run(&dirs.runner(NetworkAccess::Allowed), &dirs.inside, &line).await;
    assert_eq!((output.as_str(), status), ("", ExitStatus::Code(0)));
}

#[tokio::test]
async fn sandbox_piped_program_is_restricted() {
    if is_missing() {
        return;
    }
    let dirs = Dirs::new();
    let program = Program {
        path: "/bin/sh".into(),
        cwd: dirs.inside.clone(),
        arguments: Vec::new(),
        withheld: Vec::new(),
        variables: Vec::new(),
    };
    let mut child = dirs.runner(NetworkAccess::Denied).start_piped(&program).unwrap();
    child.stdin.write_all(b"echo x > ../outside/new || echo refused\nexit\n").await.unwrap();
    let mut output = String::new();
    child.stdout.read_to_string(&mut output).await.unwrap();
    assert_eq!(output, "refused\n");
}

#[tokio::test]
async fn sandbox_command_is_stopped_with_its_children() {
    if is_missing() {
        return;
    }
    let dirs = Dirs::new();
    let line = "setsid sleep 1000 & echo started; sleep 1000";
    let command = ShellCommand { line: line.into(), cwd: dirs.inside.clone() };
    let mut running = dirs.runner(NetworkAccess::Denied).start(&command).unwrap();
    assert_eq!(running.chunk().await.unwrap(), "started\n");
    running.stop();
    let exit = tokio::time::timeout(Duration::from_secs(10), running.wait()).await.unwrap().unwrap();
    assert_eq!(exit.status, ExitStatus::Signal(9));
}
