//! Commands through the real supervisor.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tiller_tools::process::{
    Exit, ExitStatus, NetworkAccess, PipedChild, ProcessError, Program, Runner, RunningCommand,
    SandboxProfile, SandboxSupport, ShellCommand,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Timeout for real processes to start or end on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(10);

fn start(dir: &Path, line: &str) -> RunningCommand {
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
    runner.start(&ShellCommand { line: line.into(), cwd: dir.into() }).unwrap()
}

async fn run(line: &str) -> (String, Exit) {
    let dir = TempDir::new().unwrap();
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
    let (output, exit) = run_with(&runner, dir.path(), line).await;
    (output, exit.unwrap())
}

fn code(code: i32) -> Exit {
    Exit { status: ExitStatus::Code(code), leftovers: 0 }
}

/// Waits until the file contains a line, and returns the process id in it.
fn pid_in(path: &Path) -> Pid {
    let start = Instant::now();
    loop {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        if let Some(pid) = text.strip_suffix('\n') {
            return Pid::from_raw(pid.parse().unwrap());
        }
        assert!(start.elapsed() < TIMEOUT, "nothing in {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_dies(pid: Pid) {
    let start = Instant::now();
    while kill(pid, None) != Err(Errno::ESRCH) {
        assert!(start.elapsed() < TIMEOUT, "process {pid} lives");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that leaves behind a process in a separate session, whose id is written to the file `daemon`.
const DAEMON: &str =
    r"setsid bash -c 'echo $$ > daemon; exec sleep 1000' & while ! [ -s daemon ]; do sleep 0.01; done";

#[tokio::test]
async fn command_exit_code_is_returned() {
    assert_eq!(run("exit 0").await, (String::new(), code(0)));
    assert_eq!(run("exit 42").await, (String::new(), code(42)));
}

#[tokio::test]
async fn command_signal_is_returned_real_time_ones_included() {
    for signal in [9, 15, 35] {
        let (_, exit) = run(&format!("kill -{signal} $$")).await;
        assert_eq!(exit, Exit { status: ExitStatus::Signal(signal), leftovers: 0 });
    }
}

#[tokio::test]
async fn command_stdout_and_stderr_keep_their_order() {
    let (output, _) = run("for i in 1 2 3; do echo out $i; echo err $i >&2; done").await;
    assert_eq!(output, "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
}

#[tokio::test]
async fn command_large_output_arrives_whole() {
    let (output, exit) = run("seq 1 200000").await;
    assert_eq!((output.lines().count(), output.lines().last()), (200_000, Some("200000")));
    assert_eq!(exit, code(0));
}

#[tokio::test]
async fn command_has_no_stdin_and_no_terminal() {
    let (output, _) = run("cat; (: < /dev/tty) 2>/dev/null || echo none").await;
    assert_eq!(output, "none\n");
}

#[tokio::test]
async fn command_signals_are_neither_blocked_nor_ignored() {
    let (output, _) = run("grep -E '^Sig(Blk|Ign)' /proc/self/status | cut -f2").await;
    for mask in output.lines() {
        // 32 and 33 belong to glibc, and its posix_spawn ignores them.
        let mask = u64::from_str_radix(mask, 16).unwrap() & !(0b11 << 31);
        assert_eq!(mask, 0, "{output}");
    }
}

#[tokio::test]
async fn command_background_child_neither_blocks_nor_survives() {
    let started = Instant::now();
    let (output, exit) = run("sleep 1000 & echo $!").await;
    assert!(started.elapsed() < TIMEOUT);
    assert_eq!(exit, Exit { status: ExitStatus::Code(0), leftovers: 1 });
    assert_dies(Pid::from_raw(output.trim().parse().unwrap()));
}

#[tokio::test]
async fn command_late_output_of_substitution_is_not_lost() {
    let (output, exit) = run("echo word > >(sleep 0.05; cat)").await;
    assert_eq!((output.as_str(), exit), ("word\n", code(0)));
}

#[tokio::test]
async fn command_end_kills_its_daemon() {
    let dir = TempDir::new().unwrap();
    let exit = start(dir.path(), DAEMON).wait().await.unwrap();
    assert_eq!(exit, Exit { status: ExitStatus::Code(0), leftovers: 1 });
    assert_dies(pid_in(&dir.path().join("daemon")));
}

#[tokio::test]
async fn command_stopped_is_reported_and_leaves_no_process() {
    let dir = TempDir::new().unwrap();
    let mut running = start(dir.path(), &format!("trap '' TERM; {DAEMON}; echo up; sleep 1000"));
    assert_eq!(running.chunk().await.as_deref(), Some(b"up\n".as_slice()));
    running.stop();
    assert_eq!(running.wait().await.unwrap().status, ExitStatus::Signal(9));
    assert_dies(pid_in(&dir.path().join("daemon")));
}

#[tokio::test]
async fn command_dropped_dies_with_its_daemon() {
    let dir = TempDir::new().unwrap();
    let running = start(dir.path(), &format!("echo $$ > shell; {DAEMON}; sleep 1000"));
    let (shell, daemon) = (pid_in(&dir.path().join("shell")), pid_in(&dir.path().join("daemon")));
    drop(running);
    assert_dies(shell);
    assert_dies(daemon);
}

#[tokio::test]
async fn supervisor_terminated_kills_its_command() {
    let dir = TempDir::new().unwrap();
    let mut running = start(dir.path(), "echo $PPID; sleep 1000");
    let supervisor = running.chunk().await.unwrap();
    let supervisor = Pid::from_raw(std::str::from_utf8(&supervisor).unwrap().trim().parse().unwrap());
    kill(supervisor, Signal::SIGTERM).unwrap();
    assert_eq!(running.wait().await.unwrap().status, ExitStatus::Signal(9));
}

#[tokio::test]
async fn supervisor_killed_is_an_error() {
    let dir = TempDir::new().unwrap();
    let running = start(dir.path(), "sleep 3 & kill -9 $PPID");
    assert!(matches!(running.wait().await, Err(ProcessError::Lost)));
}

/// Waits until no process has the directory as its working directory.
#[cfg(target_os = "linux")]
fn assert_abandoned(dir: &Path) {
    let start = Instant::now();
    loop {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let running: Vec<_> = processes
            .filter(|process| std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == dir))
            .map(|process| std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default())
            .collect();
        if running.is_empty() {
            return;
        }
        assert!(start.elapsed() < TIMEOUT, "{running:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn command_that_kills_its_supervisor_leaves_no_process() {
    let watchdog = "watchdog=$(awk '{print $4}' /proc/$PPID/stat)";
    for attack in [
        "kill -9 $PPID; sleep 1000".to_owned(),
        "kill -9 -$PPID; sleep 1000".to_owned(),
        format!("{DAEMON}; sleep 1000 & kill -9 $PPID; sleep 1000"),
        "(trap '' TERM HUP; setsid bash -c 'kill -9 '$PPID'; sleep 1000 & sleep 1000') & sleep 1000"
            .to_owned(),
        format!("{watchdog}; {DAEMON}; kill -9 $watchdog; sleep 1000"),
        format!("{watchdog}; {DAEMON}; kill -TERM $watchdog; sleep 1000"),
    ] {
        let dir = TempDir::new().unwrap();
        let running = start(dir.path(), &attack);
        // Lost, or stopped by a signal if the supervisor could still report.
        drop(running.wait().await);
        assert_abandoned(dir.path());
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn command_that_suspends_its_supervisor_can_be_stopped() {
    let dir = TempDir::new().unwrap();
    let mut running = start(dir.path(), "kill -STOP $PPID; echo up; sleep 1000");
    assert_eq!(running.chunk().await.as_deref(), Some(b"up\n".as_slice()));
    running.stop();
    assert!(matches!(running.wait().await, Err(ProcessError::Lost)));
    assert_abandoned(dir.path());
}

#[tokio::test]
async fn start_missing_dir_is_named() {
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
    let command = ShellCommand { line: "true".into(), cwd: "/no/such/directory".into() };
    let error = runner.start(&command).unwrap_err();
    assert_eq!(error.to_string(), "working directory /no/such/directory: not a directory");
}

/// Writes an executable script with this text and returns its program.
fn script(dir: &Path, text: &str) -> Program {
    use std::os::unix::fs::PermissionsExt;

    let path = dir.join("program");
    std::fs::write(&path, format!("#!/bin/bash\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    Program { path, arguments: vec![], cwd: dir.into(), withheld: vec!["HOME".into()], variables: vec![] }
}

fn converse(dir: &Path, text: &str) -> PipedChild {
    Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor")).start_piped(&script(dir, text)).unwrap()
}

/// Closes the program's stdin and returns the remaining output of both streams.
async fn rest(child: PipedChild) -> (String, String) {
    let PipedChild { stdin, mut stdout, mut stderr, supervisor: _supervisor } = child;
    drop(stdin);
    let (mut output, mut errors) = (String::new(), String::new());
    let (_, _) = tokio::join!(stdout.read_to_string(&mut output), stderr.read_to_string(&mut errors));
    (output, errors)
}

#[tokio::test]
async fn piped_child_answers_and_ends_with_its_stdin() {
    let dir = TempDir::new().unwrap();
    let text = "while read -r line; do echo \"got $line\"; echo \"seen $HOME\" >&2; done; echo bye; printf odd >&2; exit 3";
    let mut child = converse(dir.path(), text);
    child.stdin.write_all(b"one\ntwo\n").await.unwrap();
    let mut first = [0; 16];
    child.stdout.read_exact(&mut first).await.unwrap();
    assert_eq!(&first, b"got one\ngot two\n");
    let (output, errors) = rest(child).await;
    assert_eq!((output.as_str(), errors.as_str()), ("bye\n", "seen \nseen \nodd\ncode 3 leftovers 0\n"));
    assert_eq!(PipedChild::end("code 3 leftovers 0").unwrap().status, ExitStatus::Code(3));
}

#[tokio::test]
async fn piped_child_slow_program_gets_large_input_whole() {
    let dir = TempDir::new().unwrap();
    let mut child = converse(dir.path(), "sleep 0.2; wc -c");
    let flood = vec![b'x'; 3_000_000];
    let (mut stdin, mut output) = (child.stdin, String::new());
    let _ = tokio::join!(
        async move {
            stdin.write_all(&flood).await.unwrap();
            // The pipe's content is read before its end is noticed.
            drop(stdin);
        },
        child.stdout.read_to_string(&mut output)
    );
    assert_eq!(output.trim(), "3000000");
}

#[tokio::test]
async fn piped_child_slow_program_reads_input_before_the_end() {
    let dir = TempDir::new().unwrap();
    // As much as three pipes hold: the program's pipe, the supervisor's buffer, and the supervisor's pipe.
    let mut child = converse(dir.path(), "sleep 0.1; head -c 65536 | wc -c; sleep 0.05; wc -c");
    child.stdin.write_all(&[b'x'; 160_000]).await.unwrap();
    let (output, _) = rest(child).await;
    assert_eq!(output, "65536\n94464\n");
}

#[tokio::test]
async fn piped_child_that_neither_reads_nor_ends_is_killed() {
    let dir = TempDir::new().unwrap();
    let mut child =
        converse(dir.path(), &format!("trap '' TERM; {DAEMON}; echo $$ > shell; exec sleep 1000"));
    let (shell, daemon) = (pid_in(&dir.path().join("shell")), pid_in(&dir.path().join("daemon")));
    // More than the capacity of all pipes and buffers in between.
    let flood = vec![b'x'; 1_000_000];
    let stuck = tokio::time::timeout(Duration::from_millis(300), child.stdin.write_all(&flood)).await;
    assert!(stuck.is_err(), "a million bytes were read");
    let (_, errors) = rest(child).await;
    assert_eq!(errors, "\nsignal 9 leftovers 0\n");
    assert_dies(shell);
    assert_dies(daemon);
}

#[tokio::test]
async fn piped_child_that_cannot_be_started_is_named_at_its_end() {
    let dir = TempDir::new().unwrap();
    let program = Program { path: "/no/such/program".into(), ..script(dir.path(), "") };
    let child =
        Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor")).start_piped(&program).unwrap();
    let (_, errors) = rest(child).await;
    let end = PipedChild::end(errors.trim()).unwrap_err().to_string();
    assert!(end.starts_with("can't start /no/such/program: "), "{end}");
}

/// The directory where [`holder_for_kill_tests`] runs its command.
const HOLDER_DIR: &str = "TILLER_TEST_HOLDER_DIR";

/// Not a real test: the process that the tests `runner_killed_outright_…` kill.
#[tokio::test]
#[ignore = "is started, and killed, by another test"]
async fn holder_for_kill_tests() {
    let dir = PathBuf::from(std::env::var_os(HOLDER_DIR).expect("the other test names a directory"));
    let line = format!("echo $$ > shell; {DAEMON}; sleep 1000");
    let _child = std::env::var_os(HOLDER_PIPED).map(|_| converse(&dir, &line));
    let running = start(&dir, if _child.is_some() { "sleep 1000" } else { &line });
    let _ = running.wait().await;
}

/// If set, the holder starts a program with piped stdio instead of a command.
const HOLDER_PIPED: &str = "TILLER_TEST_HOLDER_PIPED";

#[test]
fn runner_killed_outright_leaves_no_command() {
    assert_holder_leaves_no_process(&[]);
}

#[test]
fn runner_killed_outright_leaves_no_piped_child() {
    assert_holder_leaves_no_process(&[(HOLDER_PIPED, "yes")]);
}

fn assert_holder_leaves_no_process(variables: &[(&str, &str)]) {
    let dir = TempDir::new().unwrap();
    let mut holder = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::holder_for_kill_tests", "--ignored", "--nocapture"])
        .env(HOLDER_DIR, dir.path())
        .envs(variables.iter().copied())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let (shell, daemon) = (pid_in(&dir.path().join("shell")), pid_in(&dir.path().join("daemon")));
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_dies(shell);
    assert_dies(daemon);
}

#[tokio::test]
async fn runner_prefix_shell_and_withheld_variables_apply() {
    let dir = TempDir::new().unwrap();
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor")).with_shell("sh").unwrap();
    // PATH, because every process has it.
    let runner = runner.with_prefix("false\ngreet=hello").without_variables(["PATH".to_owned()]);
    assert!(runner.shell().ends_with("sh") && !runner.shell().ends_with("bash"));
    let line =
        "echo $greet $(/usr/bin/env | while read -r line; do case $line in PATH=*) echo leak;; esac; done)";
    let (output, exit) = run_with(&runner, dir.path(), line).await;
    assert_eq!((output.as_str(), exit.unwrap()), ("hello\n", code(0)));
    let error = Runner::with_supervisor("unused").with_shell("no-such-shell-anywhere").unwrap_err();
    assert!(matches!(error, ProcessError::NoShell { .. }), "{error}");
}

/// Returns a runner whose supervisor has a unique path that identifies its processes.
#[cfg(target_os = "linux")]
fn runner_with_link(dir: &Path) -> (Runner, PathBuf) {
    let supervisor = dir.join("helper");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tools-supervisor"), &supervisor).unwrap();
    (Runner::with_supervisor(&supervisor), supervisor)
}

/// Lists the processes with this program whose last argument is `--standby`.
#[cfg(target_os = "linux")]
fn standbys(supervisor: &Path) -> Vec<Pid> {
    let is_standby = |line: &[u8]| {
        line.starts_with(supervisor.as_os_str().as_encoded_bytes()) && line.ends_with(b"\0--standby\0")
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| std::fs::read(entry.path().join("cmdline")).is_ok_and(|line| is_standby(&line)))
        .map(|entry| Pid::from_raw(entry.file_name().into_string().unwrap().parse().unwrap()))
        .collect()
}

/// Waits until `count` standbys are running, and returns them.
#[cfg(target_os = "linux")]
async fn wait_for_standbys(supervisor: &Path, count: usize) -> Vec<Pid> {
    let started = Instant::now();
    loop {
        let children = standbys(supervisor);
        if children.len() == count {
            return children;
        }
        assert!(started.elapsed() < TIMEOUT, "{} standbys, not {count}", children.len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits for the only child of a process.
#[cfg(target_os = "linux")]
async fn child_of(parent: Pid) -> Pid {
    let started = Instant::now();
    loop {
        let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
        if let Some(child) = children.split_whitespace().next() {
            return Pid::from_raw(child.parse().unwrap());
        }
        assert!(started.elapsed() < TIMEOUT, "{parent} has no child");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn run_with(runner: &Runner, dir: &Path, line: &str) -> (String, Result<Exit, ProcessError>) {
    let mut running = runner.start(&ShellCommand { line: line.into(), cwd: dir.into() }).unwrap();
    let mut output = Vec::new();
    while let Some(chunk) = running.chunk().await {
        output.extend_from_slice(&chunk);
    }
    (String::from_utf8(output).unwrap(), running.wait().await)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn standby_command_runs_in_the_sandbox() {
    if !SandboxSupport::detect().restricts_writing() {
        eprintln!("SKIPPED: this kernel has no Landlock");
        return;
    }
    let dir = TempDir::new().unwrap();
    let inside = dir.path().join("inside");
    std::fs::create_dir(&inside).unwrap();
    let (runner, supervisor) = runner_with_link(dir.path());
    let profile = SandboxProfile { writable: vec![inside.clone()], network: NetworkAccess::Denied };
    let runner = runner.with_sandbox(profile);
    runner.start_standby();
    let standby_pids = wait_for_standbys(&supervisor, 1).await;
    let line = "cut -d' ' -f4 /proc/$PPID/stat; echo x > f && echo x > ../outside";
    let (output, exit) = run_with(&runner, &inside, line).await;
    assert_eq!(output.lines().next(), Some(standby_pids[0].to_string().as_str()), "{output}");
    assert_eq!((exit.unwrap(), inside.join("f").exists()), (code(1), true));
    assert!(!dir.path().join("outside").exists());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn standby_runs_the_command_as_a_new_supervisor_would() {
    let dir = TempDir::new().unwrap();
    let (runner, supervisor) = runner_with_link(dir.path());
    let runner = runner.without_variables(["PATH".to_owned()]).with_prefix("greet='hello you'");
    runner.start_standby();
    let standby_pids = wait_for_standbys(&supervisor, 1).await;
    // The supervisor's parent is its watchdog.
    let line =
        "echo $greet; pwd; /bin/cut -d' ' -f4 /proc/$PPID/stat; /usr/bin/env | /bin/grep -c ^PATH=; exit 3";
    let (output, exit) = run_with(&runner, dir.path(), line).await;
    let expected = format!("hello you\n{}\n{}\n0\n", dir.path().display(), standby_pids[0]);
    assert_eq!((output, exit.unwrap()), (expected, code(3)));
    runner.start_standby();
    wait_for_standbys(&supervisor, 1).await;
    runner.end_standby();
    wait_for_standbys(&supervisor, 0).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn standby_killed_is_replaced() {
    let dir = TempDir::new().unwrap();
    let (runner, supervisor) = runner_with_link(dir.path());
    runner.start_standby();
    let watchdog = wait_for_standbys(&supervisor, 1).await[0];
    let supervisor = child_of(watchdog).await;
    // Its watchdog ends with it, and then no process holds the pipe of the order anymore.
    kill(supervisor, Signal::SIGKILL).unwrap();
    let has_files =
        |pid: Pid| std::fs::read_dir(format!("/proc/{pid}/fd")).is_ok_and(|mut files| files.next().is_some());
    let started = Instant::now();
    while has_files(watchdog) || has_files(supervisor) {
        assert!(started.elapsed() < TIMEOUT, "the standby is still alive");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let (output, exit) = run_with(&runner, dir.path(), "echo here").await;
    assert_eq!((output.as_str(), exit.unwrap()), ("here\n", code(0)));
    runner.end_standby();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn standby_too_small_for_a_long_line_is_left_waiting() {
    let dir = TempDir::new().unwrap();
    let (runner, supervisor) = runner_with_link(dir.path());
    runner.start_standby();
    let standby_pids = wait_for_standbys(&supervisor, 1).await;
    let (output, _) = run_with(&runner, dir.path(), &format!("printf %s {}", "x".repeat(100_000))).await;
    assert_eq!((output.len(), standbys(&supervisor)), (100_000, standby_pids));
    runner.end_standby();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn standby_ends_with_the_last_runner() {
    let dir = TempDir::new().unwrap();
    let (runner, supervisor) = runner_with_link(dir.path());
    runner.start_standby();
    wait_for_standbys(&supervisor, 1).await;
    drop(runner);
    wait_for_standbys(&supervisor, 0).await;
}
