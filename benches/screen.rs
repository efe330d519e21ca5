//! The program itself in a pseudo-terminal: how soon it is there, what it takes at rest, and what while a model is faster than any.
//! It prints what it measures (`cargo bench --bench screen`); what it takes is known on Linux only.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "../tests/support/long_log.rs"]
mod long_log;
#[path = "../tests/support.rs"]
mod support;
#[path = "../tests/support/terminal.rs"]
mod terminal;

use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use long_log::Length;
use support::{MockServer, Reply, Say};
use tempfile::TempDir;
use terminal::{Size, Start, Terminal};

/// Starts whose first frames are timed.
const STARTS: usize = 15;

/// How long the program is watched.
const WATCHED: Duration = Duration::from_secs(10);

/// How long it is left alone before that.
const SETTLED: Duration = Duration::from_secs(3);

/// A session of half a gigabyte.
const LONG: Length = Length { entries: 100_000, bytes: 500_000_000, compacted_every: 1_000 };

/// Time between two pieces of the fast answer, of four characters each.
const PIECE_EVERY: Duration = Duration::from_millis(1);

/// Markdown of every kind.
const TEXTS: [&str; 3] = [
    include_str!("../README.md"),
    include_str!("../docs/session-format.md"),
    concat!("\n```rust\n", include_str!("../src/tui/pace.rs"), "```\n"),
];

/// A place of its own for the program.
struct Place {
    root: TempDir,
    variables: Vec<(String, String)>,
}

impl Place {
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        let home = root.path().join("home").display().to_string();
        let variables = [("TILLER_HOME", home.as_str()), ("HOME", &home), ("LANG", "C.UTF-8")];
        Self { root, variables: variables.map(|(name, value)| (name.into(), value.into())).into() }
    }

    fn start(&self, arguments: &[&str]) -> Terminal {
        Terminal::start(&Start {
            program: env!("CARGO_BIN_EXE_tiller").into(),
            arguments: arguments.iter().map(|&argument| argument.into()).collect(),
            cwd: self.root.path().into(),
            variables: self.variables.clone(),
            size: Size(120, 40),
        })
    }
}

/// What a process took so far.
struct Taken {
    at: Instant,
    cpu: Duration,
    written: usize,
    frames: usize,
}

impl Taken {
    fn by(terminal: &Terminal) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", terminal.process()?)).ok()?;
        // Behind the name, which may hold anything: the 12th and 13th field are user's and system's time in hundredths of a second.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks: u64 = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        let written = terminal.written();
        Some(Self {
            at: Instant::now(),
            cpu: Duration::from_millis(ticks * 10),
            written: written.len(),
            frames: written.matches("\x1b[?2026h").count(),
        })
    }

    /// What was taken since, a second.
    fn until(&self, later: &Self) -> String {
        let seconds = (later.at - self.at).as_secs_f64();
        let share = (later.cpu - self.cpu).as_secs_f64() / seconds * 100.0;
        let frames = (later.frames - self.frames) as f64 / seconds;
        let bytes = (later.written - self.written) as f64 / seconds / 1_000.0;
        format!("{share:.1} % of a core, {frames:.1} frames/s, {bytes:.1} kB/s")
    }
}

fn main() {
    // `cargo test --benches` only wants to know that it builds and begins.
    let is_test = !std::env::args().any(|argument| argument == "--bench");
    let place = Place::new();
    if is_test {
        place.start(&["--provider", "demo"]).wait_for("❯");
        return;
    }
    starts("without a session", &place, &["--provider", "demo"]);
    rest("without a session", &place, &["--provider", "demo"]);
    let log = long_log::write(place.root.path(), LONG);
    let opening = ["--provider", "demo", "--session", log.to_str().unwrap()];
    starts("with 500 MB to open", &place, &opening);
    rest("with 500 MB open", &place, &opening);
    fast_answer();
}

/// From the start to the first frame.
fn starts(what: &str, place: &Place, arguments: &[&str]) {
    let mut times: Vec<Duration> = (0..STARTS)
        .map(|_| {
            let began = Instant::now();
            let terminal = place.start(arguments);
            terminal.wait_for("❯");
            began.elapsed()
        })
        .collect();
    println!("first frame {what}: {}", spread(&mut times));
}

fn rest(what: &str, place: &Place, arguments: &[&str]) {
    let terminal = place.start(arguments);
    terminal.wait_for("❯");
    sleep(SETTLED);
    println!("at rest {what}: {}, {}", watched(&terminal), memory(&terminal));
}

/// A thousand pieces a second over HTTP, and keys pressed meanwhile.
fn fast_answer() {
    let text = TEXTS.concat().repeat(3);
    let server = MockServer::start([Reply::says([Say::text(&text)]).every(PIECE_EVERY)]);
    let mut place = Place::new();
    let variables = [("OPENAI_BASE_URL", format!("{}/v1", server.url)), ("OPENAI_API_KEY", "none".into())];
    place.variables.extend(variables.map(|(name, value)| (name.into(), value)));
    let mut terminal = place.start(&["--provider", "openai", "--model", "fast", "go"]);
    terminal.wait_for("esc stops");
    sleep(SETTLED);
    println!("1,000 pieces/s of Markdown: {}, {}", watched(&terminal), memory(&terminal));
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

fn watched(terminal: &Terminal) -> String {
    let before = Taken::by(terminal);
    sleep(WATCHED);
    match (before, Taken::by(terminal)) {
        (Some(before), Some(after)) => before.until(&after),
        _ => "not known here".to_owned(),
    }
}

fn memory(terminal: &Terminal) -> String {
    let status = terminal.process().and_then(|id| {
        let path = format!("/proc/{id}/status");
        std::fs::read_to_string(Path::new(&path)).ok()
    });
    let kilobytes = status.and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse::<f64>().ok()
    });
    kilobytes.map_or_else(String::new, |kilobytes| format!("{:.1} MB", kilobytes / 1_024.0))
}

fn spread(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let ms = |at: usize| times[at].as_secs_f64() * 1_000.0;
    format!("{:.1} ms, {:.1} to {:.1}", ms(times.len() / 2), ms(0), ms(times.len() - 1))
}
