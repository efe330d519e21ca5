//! `kill -9` at random moments, many times: reported events are in the log, and every log can be resumed.
//!
//! `TILLER_TEST_KILLS=2000` kills more often than usual, `TILLER_TEST_SEED=7` at other moments. A failure names
//! both.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tiller::session::verify::{Severity, verify};

use super::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

/// Default number of kills in print mode.
const KILLS: u64 = 200;

/// Kills in print mode for each one in the terminal.
const PER_TERMINAL: u64 = 10;

const SEED: u64 = 20_261_121;

/// Concurrent runs.
const LANES: usize = 2;

/// Initial estimate of a run's duration, until the first complete run has shown it.
const INITIAL_DURATION: Duration = Duration::from_millis(250);

/// Time for killed commands to disappear.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum time of a run that isn't killed.
const RUN_TIMEOUT: Duration = Duration::from_secs(30);

/// The answers of a run: thinking, slow text, a group of calls, commands with child processes, a long output,
/// and an end. The first command runs longer than the test waits for it unless it is ended together with
/// tiller.
const ANSWERS: [&str; 5] = [
    r#"{"think": "First I look around, then I decide.", "text": "Looking around here.", "delay_ms": 1, "calls": [
        {"name": "read_file", "arguments": {"path": "notes.txt"}},
        {"name": "grep", "arguments": {"pattern": "note"}},
        {"name": "list_files", "arguments": {}},
        {"name": "bash", "arguments": {"command": "sleep 20 & child=$!; sleep 0.02; [ ! -d /proc ] || grep -qa __run /proc/$PPID/cmdline && kill $child; wait"}}]}"#,
    r#"{"text": "Now two commands.", "calls": [
        {"name": "bash", "arguments": {"command": "(sleep 21 & sleep 0.01; kill $!); echo one"}},
        {"name": "read_file", "arguments": {"path": "absent.txt"}},
        {"name": "bash", "arguments": {"command": "seq 1 3000"}}]}"#,
    r#"{"think": "Hm. ", "repeat": 10, "text": "word by word ", "delay_ms": 2, "calls": [
        {"name": "write_file", "arguments": {"path": "made.txt", "content": "made"}},
        {"name": "read_file", "arguments": {"path": "made.txt"}},
        {"name": "read_file", "arguments": {"path": "notes.txt"}}]}"#,
    r#"{"calls": [{"name": "bash", "arguments": {"command": "sleep 0.01; exit 3"}}]}"#,
    r#"{"text": "That is all there is to say.", "delay_ms": 1}"#,
];

/// Beginnings of the last events before a kill: at the beginning, in a stream, in a tool, and between turns.
const PHASES: [&str; 4] = ["nothing", "message_update", "tool_execution_", "turn_"];

/// Maximum runs of one session: the script has answers for this many.
const RUNS: usize = 24;

/// A number from the environment, or the default.
fn env_number(name: &str, duration: u64) -> u64 {
    std::env::var(name).ok().map_or(duration, |text| text.parse().expect("a number"))
}

/// Reproducible random numbers (SplitMix64).
struct Rng(u64);

impl Rng {
    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }
}

/// The moment of a kill.
#[derive(Clone, Copy, Debug)]
enum KillTime {
    After(Duration),
    /// After this many lines of output.
    AtLine(usize),
    /// Never.
    Never,
}

impl KillTime {
    /// A random moment of a run with this usual duration and number of lines. Eight parts of it are hit in
    /// turn.
    fn any(rng: &mut Rng, number: u64, duration: Duration, lines: usize) -> Self {
        let part = (number / 2) % 8;
        if number.is_multiple_of(2) {
            Self::After(duration.mul_f64((part as f64 + rng.below(1_000) as f64 / 1_000.0) / 8.0))
        } else {
            let lines = lines as u64;
            Self::AtLine(usize::try_from((part * lines + rng.below(lines)) / 8).unwrap())
        }
    }
}

/// A run and its lines of output so far.
struct Run {
    child: Child,
    lines: mpsc::Receiver<String>,
    output: Vec<String>,
    reader: Option<JoinHandle<()>>,
    start: Instant,
}

impl Run {
    fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let started = Instant::now();
        let mut child = sandbox.start(&mut sandbox.command(arguments));
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            let mut line = String::new();
            // A line without a newline was not written completely.
            while out.read_line(&mut line).is_ok_and(|count| count > 0) && line.ends_with('\n') {
                let _ = sender.send(std::mem::take(&mut line));
            }
        });
        Self { child, lines, output: Vec::new(), reader: Some(reader), start: started }
    }

    /// Kills the run at the chosen moment, and waits for its end.
    fn wait_until_killed(&mut self, kill_time: KillTime) -> ExitStatus {
        let (end, max_lines) = match kill_time {
            KillTime::After(time) => (time, usize::MAX),
            KillTime::AtLine(max_lines) => (RUN_TIMEOUT, max_lines),
            KillTime::Never => (RUN_TIMEOUT, usize::MAX),
        };
        while self.output.len() < max_lines {
            let remaining = end.saturating_sub(self.start.elapsed());
            match self.lines.recv_timeout(remaining) {
                Ok(line) => self.output.push(line),
                Err(mpsc::RecvTimeoutError::Timeout) => break,
                // No more output: it is about to exit.
                Err(mpsc::RecvTimeoutError::Disconnected) => return self.end(),
            }
        }
        let _ = self.child.kill();
        self.end()
    }

    fn end(&mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        self.output.extend(self.lines.try_iter());
        status
    }

    /// The entries in its output, as on stdout.
    fn entries(&self) -> Vec<Box<str>> {
        #[derive(Deserialize)]
        struct AtLine {
            entry: Box<RawValue>,
        }
        let of_entry = self.output.iter().filter(|line| line.contains("entry_appended"));
        of_entry.map(|line| serde_json::from_str::<AtLine>(line).unwrap().entry.into()).collect()
    }

    /// The last event of its output.
    fn last(&self) -> String {
        let last = self.output.last().map(|line| serde_json::from_str::<Value>(line).unwrap());
        last.map_or("nothing".into(), |event| event["type"].as_str().unwrap().to_owned())
    }
}

/// A sandbox where sessions are created and killed one after the other.
struct Lane {
    sandbox: Sandbox,
    script: String,
    /// The directory of the current session, which is alone in it.
    dir: PathBuf,
    /// The session's file after the last run.
    before: Vec<u8>,
    sessions: usize,
    /// Number of runs of this session.
    runs: usize,
    duration: Duration,
    lines: usize,
}

impl Lane {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        sandbox.write("notes.txt", "a note\nand another note\n");
        let answers = ANSWERS.map(|answer| answer.replace('\n', " "));
        let lines: Vec<&str> = std::iter::repeat_n(&answers, RUNS).flatten().map(String::as_str).collect();
        let script = sandbox.script(&lines);
        let dir = sandbox.home().join("sessions-0");
        let mut lane = Self {
            sandbox,
            script,
            dir,
            before: Vec::new(),
            sessions: 0,
            runs: 0,
            duration: INITIAL_DURATION,
            lines: 100,
        };
        lane.finish();
        lane
    }

    /// The session's file, if it exists.
    fn log(&self) -> Option<PathBuf> {
        let files = fs::read_dir(&self.dir).into_iter().flatten().map(|entry| entry.unwrap().path());
        files.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
    }

    fn arguments(&self, prompt: &str) -> Vec<String> {
        let dir = self.dir.display().to_string();
        let mut arguments = vec!["--session-dir".to_owned(), dir, "--yes".into()];
        arguments.extend(["--provider", "scripted", "--model", &self.script].map(str::to_owned));
        if let Some(log) = self.log() {
            arguments.extend(["--session".into(), log.display().to_string()]);
        }
        arguments.push(prompt.into());
        arguments
    }

    /// Runs and kills at the chosen moment; returns the last event, or `None` if the run ended before.
    fn kill(&mut self, kill_time: KillTime) -> Option<String> {
        let arguments = self.arguments("go on");
        let arguments: Vec<&str> =
            ["-p", "--mode", "json"].into_iter().chain(arguments.iter().map(String::as_str)).collect();
        let mut run = Run::start(&self.sandbox, &arguments);
        let status = run.wait_until_killed(kill_time);
        self.examine(&run.entries());
        match status.code() {
            None => Some(run.last()),
            Some(code) => {
                let err = std::io::read_to_string(run.child.stderr.take().unwrap()).unwrap();
                assert_eq!((code, run.last().as_str()), (0, "agent_settled"), "{err}");
                (self.duration, self.lines) = (run.start.elapsed(), run.output.len());
                None
            }
        }
    }

    /// Completes a last run of the session, and starts another session.
    fn finish(&mut self) {
        assert_eq!(self.kill(KillTime::Never), None, "it had to be stopped");
        let log = fs::read_to_string(self.log().unwrap()).unwrap();
        assert_eq!(
            tiller_test_support::format_check::check(&tiller_test_support::format_check::without_torn(&log)),
            Ok(())
        );
        self.sessions += 1;
        self.dir = self.sandbox.home().join(format!("sessions-{}", self.sessions));
        self.before.clear();
        self.runs = 0;
    }

    /// Ends the session at random, and before the script is exhausted.
    fn perhaps_finish(&mut self, rng: &mut Rng) {
        self.runs += 1;
        if rng.below(5) == 0 || self.runs == RUNS - 1 {
            self.finish();
        }
    }

    /// Compares the log to its previous state and to the output since, and looks for remaining commands.
    fn examine(&mut self, reported: &[Box<str>]) {
        let Some(log) = self.log() else {
            assert!(reported.is_empty(), "events were reported, but there is no log: {reported:?}");
            return;
        };
        let log_bytes = fs::read(&log).unwrap();
        assert!(log_bytes.starts_with(&self.before), "what was written before is no longer there");
        let lines: HashSet<&[u8]> = log_bytes.split(|byte| *byte == b'\n').collect();
        for entry in reported {
            assert!(lines.contains(entry.as_bytes()), "reported, but not in the log: {entry}");
        }
        assert_no_process(&self.sandbox);
        if log_bytes.is_empty() {
            // Killed between creating the file and writing its first line; it isn't a session and nothing is lost.
            fs::remove_file(log).unwrap();
            return;
        }
        let errors = verify(&log).unwrap().findings;
        let errors: Vec<_> = errors.iter().filter(|found| found.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{errors:?}");
        assert_sendable(&self.sandbox, &log);
        self.before = log_bytes;
    }
}

/// Waits until no process with this sandbox as its home is left.
fn assert_no_process(sandbox: &Sandbox) {
    let home = format!("HOME={}\0", sandbox.home().display());
    let deadline = Instant::now() + EXIT_TIMEOUT;
    loop {
        let remaining = processes_with_variable(home.as_bytes());
        if remaining.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left running: {remaining:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Processes with this value in their environment; none without `/proc`.
fn processes_with_variable(variable: &[u8]) -> Vec<String> {
    let processes = fs::read_dir("/proc").into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    let has = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.windows(variable.len()).any(|part| part == variable)
    };
    processes
        .filter(has)
        .map(|path| fs::read_to_string(path.join("cmdline")).unwrap_or_default().replace('\0', " "))
        .filter(|command| !command.is_empty())
        .collect()
}

/// Reads the context as sent to the model, and looks for calls and results that don't pair up.
fn assert_sendable(sandbox: &Sandbox, log: &Path) {
    let run_output = sandbox.run(&["sessions", "show", &log.display().to_string(), "--context", "--json"]);
    assert_eq!(run_output.code, Some(0), "{}", run_output.err);
    let messages: Vec<Value> = serde_json::from_str(&run_output.out).unwrap();
    let mut open: Vec<&str> = Vec::new();
    for message in &messages {
        if message["role"] == "toolResult" {
            assert_eq!(
                Some(message["toolCallId"].as_str().unwrap()),
                open.first().copied(),
                "{}",
                run_output.out
            );
            open.remove(0);
            continue;
        }
        assert!(open.is_empty(), "{open:?} have no result: {}", run_output.out);
        let blocks = message["content"].as_array().into_iter().flatten();
        open.extend(
            blocks.filter(|block| block["type"] == "toolCall").map(|call| call["id"].as_str().unwrap()),
        );
    }
    assert!(open.is_empty(), "{open:?} have no result: {}", run_output.out);
}

/// Names the kill if the test fails before this is dropped.
struct FailureContext(String);

impl Drop for FailureContext {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// State shared by all lanes.
struct Plan {
    seed: u64,
    kills: u64,
    next: AtomicUsize,
    /// Counts of the last events before a kill.
    hit: Mutex<BTreeMap<String, u64>>,
}

impl Plan {
    fn new(kills: u64) -> Self {
        let seed = env_number("TILLER_TEST_SEED", SEED);
        println!("TILLER_TEST_SEED={seed} TILLER_TEST_KILLS={kills}");
        Self { seed, kills, next: AtomicUsize::new(0), hit: Mutex::default() }
    }

    /// The number of the next kill, and its random numbers.
    fn next(&self) -> Option<(u64, Rng)> {
        let number = self.next.fetch_add(1, Ordering::Relaxed) as u64;
        (number < self.kills).then(|| (number, Rng(self.seed.wrapping_add(number))))
    }

    /// Kills runs until the number is reached, ending a session now and then.
    fn run(&self) {
        let mut lane = Lane::new();
        while let Some((number, mut rng)) = self.next() {
            let kill_time = KillTime::any(&mut rng, number, lane.duration, lane.lines);
            let session = &lane.dir;
            let _context =
                FailureContext(format!("kill {number} of seed {}, {kill_time:?}, in {session:?}", self.seed));
            if let Some(last) = lane.kill(kill_time) {
                *self.hit.lock().unwrap().entry(last).or_default() += 1;
            }
            lane.perhaps_finish(&mut rng);
        }
        lane.finish();
    }
}

#[test]
fn kill_at_any_time_keeps_reported_events_in_the_log() {
    let plan = Plan::new(env_number("TILLER_TEST_KILLS", KILLS));
    std::thread::scope(|scope| {
        for _ in 0..LANES {
            scope.spawn(|| plan.run());
        }
    });
    let hit = plan.hit.into_inner().unwrap();
    println!("killed after {hit:?}");
    let is_missed = |phase: &str| !hit.keys().any(|last| last.starts_with(phase));
    let missed: Vec<&str> = PHASES.into_iter().filter(|phase| is_missed(phase)).collect();
    assert!(plan.kills < KILLS || missed.is_empty(), "nothing was killed after {missed:?}: {hit:?}");
}

/// Types prompts, commands and queued messages; returns the queued ones that were shown when it was killed.
fn type_and_kill(terminal: &mut Terminal, kill: u64, rng: &mut Rng) -> Vec<String> {
    terminal.wait_for("❯");
    terminal.send("go on");
    terminal.key(TerminalKey::Enter);
    for number in 0..rng.below(4) {
        std::thread::sleep(Duration::from_millis(rng.below(25)));
        match rng.below(3) {
            0 => {
                terminal.send(&format!("!sleep 22 & sleep 0.0{number}; kill $!"));
                terminal.key(TerminalKey::Enter);
            }
            kind => {
                terminal.send(&format!("message {kill}-{number}"));
                terminal.key(if kind == 1 { TerminalKey::Enter } else { TerminalKey::AltEnter });
            }
        }
    }
    std::thread::sleep(Duration::from_millis(rng.below(60)));
    terminal.signal(nix::sys::signal::Signal::SIGKILL);
    terminal.wait();
    let screen = terminal.screen();
    // A command that had to wait stays in the editor and is part of the next input.
    let queued = screen.lines().filter_map(|line| line.trim_start().strip_prefix("↳ ")?.split_once("   "));
    // Key hints are not part of a message.
    let words = |text: &str| text.split(" · ").next().map(|text| text.trim().to_owned());
    let texts = queued.filter_map(|(_, text)| words(text));
    texts.filter(|text| text.contains(&format!("message {kill}-"))).collect()
}

#[test]
fn kill_of_tui_keeps_shown_queue_in_the_log() {
    let plan = Plan::new(env_number("TILLER_TEST_KILLS", KILLS).div_ceil(PER_TERMINAL));
    let mut lane = Lane::new();
    let mut shown = 0;
    while let Some((number, mut rng)) = plan.next() {
        let _context = FailureContext(format!("terminal {number} of seed {}", plan.seed));
        let arguments = lane.arguments("");
        let arguments: Vec<&str> =
            arguments.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
        let mut terminal = lane.sandbox.open(&arguments);
        let queue = type_and_kill(&mut terminal, number, &mut rng);
        lane.examine(&[]);
        let log = String::from_utf8(lane.before.clone()).unwrap();
        for text in &queue {
            let queued = format!(r#""text":"{text}""#);
            assert!(log.contains(&queued), "seen, and not in the log: {text}\n{}", terminal.screen());
        }
        shown += queue.len();
        lane.perhaps_finish(&mut rng);
    }
    lane.finish();
    assert!(plan.kills < KILLS / PER_TERMINAL || shown > 0, "no message was ever seen to wait");
}
