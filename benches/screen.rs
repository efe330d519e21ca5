//! The program in a pseudo-terminal: time to the first frame, and CPU time and memory when idle and during a
//! very fast stream. It prints its measurements (`cargo bench --bench screen`); CPU time and memory are known
//! on Linux only.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tiller_test_support::long_log::{self, LogLength};
use tiller_test_support::mock_server::{AnswerPart, MockServer, Reply};
use tiller_test_support::terminal::{Size, Terminal, TerminalStart};

/// Number of starts whose first frames are timed.
const STARTS: usize = 15;

/// Duration of a measurement.
const MEASURE_TIME: Duration = Duration::from_secs(10);

/// Idle time before it.
const SETTLED: Duration = Duration::from_secs(3);

/// A session of half a gigabyte.
const LONG: LogLength = LogLength { entries: 100_000, bytes: 500_000_000, compacted_every: 1_000 };

/// Maximum time that an idle highlight worker is kept.
const UNUSED: Duration = Duration::from_secs(32);

/// Time between two deltas of the fast answer, of four characters each.
const PIECE_EVERY: Duration = Duration::from_millis(1);

/// Markdown of every kind.
const TEXTS: [&str; 3] = [
    include_str!("../README.md"),
    include_str!("../docs/session-format.md"),
    concat!("\n```rust\n", include_str!("../crates/tui/src/frame_pacer.rs"), "```\n"),
];

/// Code in as many languages as a day's work has.
const CODE: [(&str, &str); 5] = [
    ("rust", "fn main() { let x: Option<u8> = None; println!(\"{x:?}\"); } // words"),
    ("python", "def main(x: int) -> str:\n    return f\"{x}\"  # words"),
    ("ts", "const main = async (x: number): Promise<string> => `${x}`; // words"),
    ("bash", "for x in *.rs; do echo \"$x\" | grep -q '^a' && exit 1; done # words"),
    ("html", "<p class=\"x\">words<script>let x = 1;</script></p><!-- the end of it -->"),
];

/// A temporary environment for the program.
struct Sandbox {
    root: TempDir,
    variables: Vec<(String, String)>,
}

impl Sandbox {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let home = root.path().join("home").display().to_string();
        let variables = [("TILLER_HOME", home.as_str()), ("HOME", &home), ("LANG", "C.UTF-8")];
        Self { root, variables: variables.map(|(name, value)| (name.into(), value.into())).into() }
    }

    /// The same, with this server's model.
    fn with_server(mut self, server: &MockServer) -> Self {
        let variables =
            [("OPENAI_BASE_URL", format!("{}/v1", server.url)), ("OPENAI_API_KEY", "none".into())];
        self.variables.extend(variables.map(|(name, value)| (name.into(), value)));
        self
    }

    fn start(&self, arguments: &[&str]) -> Terminal {
        Terminal::start(&TerminalStart {
            program: env!("CARGO_BIN_EXE_tiller").into(),
            arguments: arguments.iter().map(|&argument| argument.into()).collect(),
            cwd: self.root.path().into(),
            variables: self.variables.clone(),
            size: Size(120, 40),
        })
    }
}

/// CPU time and memory of the program and its children.
struct CpuUse {
    at: Instant,
    /// Of the program itself.
    own_cpu: Duration,
    /// Of its children that still run.
    children_cpu: Duration,
    output_bytes: usize,
    frames: usize,
}

impl CpuUse {
    fn of_terminal(terminal: &Terminal) -> Option<Self> {
        let head = terminal.pid()?;
        let cpu = |id: &u32| Process::read(*id).map(|process| Duration::from_millis(process.ticks * 10));
        let total: Duration = process_and_children(head).iter().filter_map(cpu).sum();
        let own_cpu = cpu(&head)?;
        let output = terminal.output();
        Some(Self {
            at: Instant::now(),
            own_cpu,
            children_cpu: total - own_cpu,
            output_bytes: output.len(),
            frames: output.matches("\x1b[?2026h").count(),
        })
    }

    /// CPU time since then, per second.
    fn describe_until(&self, later: &Self) -> String {
        let seconds = (later.at - self.at).as_secs_f64();
        let percent = |used: Duration| used.as_secs_f64() / seconds * 100.0;
        let own_cpu = percent(later.own_cpu - self.own_cpu);
        // The time of children that have already exited is lost.
        let children_cpu = percent(later.children_cpu.saturating_sub(self.children_cpu));
        let frames = (later.frames - self.frames) as f64 / seconds;
        let bytes = (later.output_bytes - self.output_bytes) as f64 / seconds / 1_000.0;
        let total = own_cpu + children_cpu;
        format!(
            "{total:.1} % of a core ({own_cpu:.1} + {children_cpu:.1}), {frames:.1} frames/s, {bytes:.1} kB/s"
        )
    }
}

/// The data of a process on Linux.
struct Process {
    parent: u32,
    /// User and system time in hundredths of a second.
    ticks: u64,
}

impl Process {
    fn read(id: u32) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // After the name, which may contain anything.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self { parent: u32::try_from(number(1)?).ok()?, ticks: number(11)? + number(12)? })
    }
}

/// A process and its direct children.
fn process_and_children(head: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let children = ids.filter(|&id| Process::read(id).is_some_and(|process| process.parent == head));
    std::iter::once(head).chain(children).collect()
}

fn main() {
    // `cargo test --benches` only checks that it builds and starts.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let sandbox = Sandbox::new();
    if is_test {
        sandbox.start(&["--provider", "demo"]).wait_for("❯");
        return;
    }
    rest_after_code();
    starts("without a session", &sandbox, &["--provider", "demo"]);
    rest("without a session", &sandbox, &["--provider", "demo"]);
    let log = long_log::write(sandbox.root.path(), LONG);
    let opening = ["--provider", "demo", "--session", log.to_str().unwrap()];
    starts("with 500 MB to open", &sandbox, &opening);
    rest("with 500 MB open", &sandbox, &opening);
    fast_answer();
}

/// From the start to the first frame.
fn starts(label: &str, sandbox: &Sandbox, arguments: &[&str]) {
    let mut times: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let start = Instant::now();
            let terminal = sandbox.start(arguments);
            terminal.wait_for("❯");
            start.elapsed()
        })
        .collect();
    println!("first frame {label}: {}", spread(&mut times));
}

fn rest(label: &str, sandbox: &Sandbox, arguments: &[&str]) {
    let terminal = sandbox.start(arguments);
    terminal.wait_for("❯");
    sleep(SETTLED);
    println!("at rest {label}: {}, {}", measure_cpu(&terminal), memory(&terminal));
}

/// After code of several languages was shown.
fn rest_after_code() {
    let code = |(name, text): &(&str, &str)| format!("```{name}\n{text}\n```\n\n");
    let server =
        MockServer::start([Reply::answer([AnswerPart::text(&CODE.iter().map(code).collect::<String>())])]);
    let sandbox = Sandbox::new().with_server(&server);
    let terminal = sandbox.start(&["--provider", "openai", "--model", "fast", "go"]);
    terminal.wait_for("the end of it");
    sleep(SETTLED);
    println!("{} languages on the screen: {}", CODE.len(), memory(&terminal));
    sleep(UNUSED);
    println!("the same at rest: {}, {}", measure_cpu(&terminal), memory(&terminal));
}

/// A thousand deltas a second over HTTP, while keys are pressed.
fn fast_answer() {
    let text = TEXTS.concat().repeat(6);
    let server = MockServer::start([Reply::answer([AnswerPart::text(&text)]).with_interval(PIECE_EVERY)]);
    let sandbox = Sandbox::new().with_server(&server);
    let mut terminal = sandbox.start(&["--provider", "openai", "--model", "fast", "go"]);
    terminal.wait_for("esc stops");
    println!("1,000 pieces/s of Markdown, languages new: {}, {}", measure_cpu(&terminal), memory(&terminal));
    println!("the same, languages known: {}, {}", measure_cpu(&terminal), memory(&terminal));
    let mut typed = String::new();
    let mut times: Vec<Duration> = ('a'..='z')
        .map(|letter| {
            typed.push(letter);
            let pressed = Instant::now();
            terminal.send(&letter.to_string());
            terminal.wait_for(&format!(" {typed}"));
            pressed.elapsed()
        })
        .collect();
    println!("a key meanwhile: {}", spread(&mut times));
}

fn measure_cpu(terminal: &Terminal) -> String {
    let before = CpuUse::of_terminal(terminal);
    sleep(MEASURE_TIME);
    match (before, CpuUse::of_terminal(terminal)) {
        (Some(before), Some(after)) => before.describe_until(&after),
        _ => "not known here".to_owned(),
    }
}

/// Memory of the program and of each child.
fn memory(terminal: &Terminal) -> String {
    let process_and_children = terminal.pid().map(process_and_children).unwrap_or_default();
    let sizes: Vec<String> = process_and_children
        .into_iter()
        .filter_map(resident)
        .map(|kilobytes| format!("{:.1} MB", kilobytes / 1_024.0))
        .collect();
    sizes.join(" + ")
}

/// Resident memory of a process in kilobytes.
fn resident(id: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1_000.0;
    format!("{:.1} ms, {:.1} to {:.1}", ms(times.len() / 2), ms(0), ms(times.len() - 1))
}
