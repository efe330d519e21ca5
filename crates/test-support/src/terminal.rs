//! A program in a pseudo-terminal: sends keys, and reads the emulated screen.
//!
//! A thread passes the program's output to a terminal emulator; waiting checks the emulated screen whenever it
//! has changed, fails after [`DEADLINE`] and prints the screen. The file depends on nothing else in the tests,
//! so that the examples can include it with `#[path]`.
#![allow(dead_code, reason = "each program that includes it uses a part")]
#![allow(clippy::unwrap_used, reason = "a test that can't set up its terminal has failed")]

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use portable_pty::{Child, CommandBuilder, ExitStatus, MasterPty, PtySize, native_pty_system};

/// Maximum time for anything: generous, for a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Slightly longer than the time during which a question ignores keys.
const QUESTION_DELAY: Duration = Duration::from_millis(450);

/// The characters of tiller's spinner: dots of Braille.
const SPINNER: RangeInclusive<char> = '\u{2801}'..='\u{28ff}';

/// Poll interval for the program's exit.
const POLL: Duration = Duration::from_millis(5);

/// Time after which [`Terminal::quit`] presses the key again.
const QUIT_INTERVAL: Duration = Duration::from_millis(500);

/// The program to start, and its working directory.
#[derive(Clone, Debug)]
pub struct TerminalStart {
    pub program: PathBuf,
    pub arguments: Vec<String>,
    pub cwd: PathBuf,
    /// The whole environment, except `PATH` and `TERM`.
    pub variables: Vec<(String, String)>,
    pub size: Size,
}

/// Columns and rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u16, pub u16);

/// A key that isn't a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalKey {
    Enter,
    AltEnter,
    Esc,
    Tab,
    Backspace,
    Up,
    AltUp,
    Down,
    Left,
    Right,
    ShiftUp,
    PageUp,
    PageDown,
    Home,
    End,
    Ctrl(char),
}

impl TerminalKey {
    /// The bytes that terminals of the xterm family send.
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Enter => b"\r".to_vec(),
            Self::AltEnter => b"\x1b\r".to_vec(),
            Self::Esc => b"\x1b".to_vec(),
            Self::Tab => b"\t".to_vec(),
            Self::Backspace => b"\x7f".to_vec(),
            Self::Up => b"\x1b[A".to_vec(),
            Self::AltUp => b"\x1b[1;3A".to_vec(),
            Self::Down => b"\x1b[B".to_vec(),
            Self::Right => b"\x1b[C".to_vec(),
            Self::ShiftUp => b"\x1b[1;2A".to_vec(),
            Self::Left => b"\x1b[D".to_vec(),
            Self::PageUp => b"\x1b[5~".to_vec(),
            Self::PageDown => b"\x1b[6~".to_vec(),
            Self::Home => b"\x1b[H".to_vec(),
            Self::End => b"\x1b[F".to_vec(),
            Self::Ctrl(letter) => vec![letter as u8 & 0x1f],
        }
    }
}

/// A program and its terminal. Dropping it kills the program.
pub struct Terminal {
    screen: Arc<SharedScreen>,
    /// `None` after a hangup.
    pty: Option<PtyMaster>,
    child: Box<dyn Child + Send + Sync>,
    reader: Option<JoinHandle<()>>,
}

/// The controlling side of the pseudo-terminal.
struct PtyMaster {
    writer: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
}

#[derive(Default)]
struct SharedScreen {
    state: Mutex<EmulatorState>,
    changed: Condvar,
}

struct EmulatorState {
    emulator: vt100::Parser,
    /// Bytes of an incomplete frame, which a terminal doesn't show either.
    incomplete: Vec<u8>,
    /// All output.
    output: Vec<u8>,
    /// True after the end of output.
    has_ended: bool,
    /// True after the terminal was dropped.
    hung_up: bool,
}

impl Default for EmulatorState {
    fn default() -> Self {
        Self {
            emulator: emulator(Size(80, 24)),
            incomplete: Vec::new(),
            output: Vec::new(),
            has_ended: false,
            hung_up: false,
        }
    }
}

fn emulator(Size(columns, rows): Size) -> vt100::Parser {
    vt100::Parser::new(NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap(), 0)
}

fn pty_size(Size(cols, rows): Size) -> PtySize {
    PtySize { rows, cols, pixel_width: 0, pixel_height: 0 }
}

impl SharedScreen {
    fn lock(&self) -> MutexGuard<'_, EmulatorState> {
        self.state.lock().unwrap()
    }

    fn read(&self, mut source: impl Read) {
        let mut buffer = [0; 16 * 1024];
        loop {
            // A pseudo-terminal whose other end is closed is an error on Linux, and end of file elsewhere.
            let count = source.read(&mut buffer).unwrap_or(0);
            let mut state = self.lock();
            state.feed(&buffer[..count]);
            state.has_ended = count == 0;
            let ends = state.has_ended || state.hung_up;
            drop(state);
            self.changed.notify_all();
            if ends {
                return;
            }
        }
    }
}

impl EmulatorState {
    fn feed(&mut self, bytes: &[u8]) {
        self.output.extend_from_slice(bytes);
        self.incomplete.extend_from_slice(bytes);
        let complete = complete(&self.incomplete);
        let rest = self.incomplete.split_off(complete);
        self.emulator.process(&self.incomplete);
        self.incomplete = rest;
    }

    fn text(&self) -> String {
        let Size(columns, _) = size(self.emulator.screen());
        let rows = self.emulator.screen().rows(0, columns);
        rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
    }
}

/// Columns and rows of an emulated screen.
pub fn size(screen: &vt100::Screen) -> Size {
    let (rows, columns) = screen.size();
    Size(columns.get(), rows.get())
}

/// The length of `bytes` that a terminal shows immediately: without an unfinished synchronized update.
fn complete(bytes: &[u8]) -> usize {
    let last = |sequence: &[u8]| bytes.windows(sequence.len()).rposition(|window| window == sequence);
    match (last(b"\x1b[?2026h"), last(b"\x1b[?2026l")) {
        (Some(start), Some(end)) if end > start => bytes.len(),
        (Some(start), _) => start,
        (None, _) => bytes.len(),
    }
}

impl Terminal {
    pub fn start(start: &TerminalStart) -> Self {
        let pair = native_pty_system().openpty(pty_size(start.size)).unwrap();
        let mut command = CommandBuilder::new(&start.program);
        command.args(&start.arguments);
        command.cwd(&start.cwd);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("TERM", "xterm-256color");
        start.variables.iter().for_each(|(name, value)| command.env(name, value));
        let child = pair.slave.spawn_command(command).unwrap();
        let screen = Arc::new(SharedScreen::default());
        screen.lock().emulator = emulator(start.size);
        let reader = pair.master.try_clone_reader().unwrap();
        let writer = pair.master.take_writer().unwrap();
        let shared = Arc::clone(&screen);
        let reader = std::thread::spawn(move || shared.read(reader));
        Self { screen, pty: Some(PtyMaster { writer, master: pair.master }), child, reader: Some(reader) }
    }

    /// Types text.
    pub fn send(&mut self, text: &str) {
        self.write(text.as_bytes());
    }

    pub fn key(&mut self, key: TerminalKey) {
        self.write(&key.bytes());
    }

    fn write(&mut self, bytes: &[u8]) {
        let pty = self.pty.as_mut().expect("the terminal is still there");
        pty.writer.write_all(bytes).unwrap();
        pty.writer.flush().unwrap();
    }

    /// Waits until `text` is on the screen.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("`{text}` on the screen"), |screen| screen.contains(text));
    }

    /// Waits until an answer with this text is on the screen and its run has ended: then the answer is in the log, and
    /// keys have their meanings at rest. The text must not have been on the screen before.
    ///
    /// Every frame that shows an answer during its run has a spinner, even if a message covers the key hints.
    pub fn wait_for_answer(&self, text: &str) {
        let has_spinner = |screen: &str| screen.contains(|c: char| SPINNER.contains(&c));
        let is_over = |screen: &str| screen.contains(text) && !has_spinner(screen);
        self.wait_until(&format!("`{text}` at the end of a run"), is_over);
    }

    /// Waits until `text` is not on the screen.
    pub fn wait_without(&self, text: &str) {
        self.wait_until(&format!("no `{text}` on the screen"), |screen| !screen.contains(text));
    }

    /// Waits until the screen's text satisfies `is_so`; `what` describes the condition in a failure.
    pub fn wait_until(&self, description: &str, mut condition: impl FnMut(&str) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.screen.lock();
        while !condition(&state.text()) {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() || state.has_ended {
                let reason = if state.has_ended { "and the program is over" } else { "in time" };
                let text = state.text();
                drop(state);
                panic!("there never was {description} {reason}:\n{}", framed(&text));
            }
            state = self.screen.changed.wait_timeout(state, remaining).unwrap().0;
        }
    }

    /// Waits until the emulated screen satisfies `is_so`, colors included.
    pub fn wait_until_screen(&self, description: &str, condition: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + DEADLINE;
        let mut state = self.screen.lock();
        while !condition(state.emulator.screen()) {
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() || state.has_ended {
                let text = state.text();
                drop(state);
                panic!("there never was {description}:\n{}", framed(&text));
            }
            state = self.screen.changed.wait_timeout(state, remaining).unwrap().0;
        }
    }

    /// Waits for `text`, and checks that it stays on the screen for `lasting`.
    pub fn wait_for_stable(&self, text: &str, duration: Duration) {
        self.wait_for(text);
        let deadline = Instant::now() + duration;
        let mut state = self.screen.lock();
        loop {
            let screen = state.text();
            let remaining = deadline.saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            if !screen.contains(text) {
                drop(state);
                panic!("`{text}` went away:\n{}", framed(&screen));
            }
            state = self.screen.changed.wait_timeout(state, remaining).unwrap().0;
        }
    }

    /// Waits for a question with this text, and until it takes keys.
    pub fn wait_for_question(&self, text: &str) {
        self.wait_for_stable(text, QUESTION_DELAY);
    }

    /// The screen's text: a line per row, without trailing blanks.
    pub fn screen(&self) -> String {
        self.screen.lock().text()
    }

    /// Reads the emulated screen.
    pub fn inspect<T>(&self, inspect: impl FnOnce(&vt100::Screen) -> T) -> T {
        inspect(self.screen.lock().emulator.screen())
    }

    /// All output of the program.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().output).into_owned()
    }

    pub fn resize(&mut self, size: Size) {
        let pty = self.pty.as_ref().expect("the terminal is still there");
        let Size(columns, rows) = size;
        let (rows, columns) = (NonZeroU16::new(rows).unwrap(), NonZeroU16::new(columns).unwrap());
        self.screen.lock().emulator.set_size(rows, columns);
        pty.master.resize(pty_size(size)).unwrap();
    }

    /// Returns true if the terminal is in canonical mode with echo, as a shell expects it.
    pub fn is_cooked(&self) -> bool {
        let pty = self.pty.as_ref().expect("the terminal is still there");
        let modes = format!("{:?}", pty.master.get_termios().unwrap().local_flags);
        modes.contains("ICANON") && modes.contains("ECHO")
    }

    /// The process id.
    pub fn pid(&self) -> Option<u32> {
        self.child.process_id()
    }

    pub fn signal(&self, signal: Signal) {
        let pid = self.child.process_id().unwrap();
        kill(Pid::from_raw(i32::try_from(pid).unwrap()), signal).unwrap();
    }

    /// Hangs up the terminal. It sends a key first, so that the program writes again.
    pub fn hang_up(&mut self) {
        self.screen.lock().hung_up = true;
        self.send("x");
        self.reader.take().unwrap().join().unwrap();
        self.pty = None;
    }

    /// Presses Ctrl+D until the program exits, and waits for its last output.
    ///
    /// The key does nothing during a run, and a run ends after its last text is shown.
    pub fn quit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            // The program may have exited in between, and the key isn't read.
            if let Some(pty) = &mut self.pty {
                let _ = pty.writer.write_all(&TerminalKey::Ctrl('d').bytes());
            }
            let next = Instant::now() + QUIT_INTERVAL;
            while Instant::now() < next {
                if self.child.try_wait().unwrap().is_some() {
                    return self.wait();
                }
                std::thread::sleep(POLL);
            }
        }
        self.wait()
    }

    /// Waits for the program's exit and its last output.
    pub fn wait(&mut self) -> ExitStatus {
        let deadline = Instant::now() + DEADLINE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "it never ended:\n{}", framed(&self.screen()));
            std::thread::sleep(POLL);
        };
        let state = self.screen.lock();
        let is_open = |state: &mut EmulatorState| !state.has_ended && !state.hung_up;
        let (state, late) = self.screen.changed.wait_timeout_while(state, DEADLINE, is_open).unwrap();
        drop(state);
        assert!(!late.timed_out(), "it ended, but something still holds its terminal");
        status
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn framed(screen: &str) -> String {
    let rows: Vec<String> = screen.lines().map(|row| format!("│{row}")).collect();
    rows.join("\n")
}
