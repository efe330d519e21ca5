//! Standard output and error. `cli` prints only through this module, because names, error messages and
//! answers are untrusted, and a terminal would act on control characters in them.

use std::fmt;
use std::io::{self, IsTerminal as _, Write};

use crate::render::SanitizingWriter;

/// Standard output: sanitized for a terminal, unchanged for a pipe or a file.
pub(super) enum Stdout {
    Terminal(SanitizingWriter<io::Stdout>),
    Other(io::Stdout),
}

pub(super) fn stdout() -> Stdout {
    let out = io::stdout();
    if out.is_terminal() { Stdout::Terminal(SanitizingWriter::new(out)) } else { Stdout::Other(out) }
}

impl Stdout {
    /// Writes `styled`, an escape sequence, to a terminal, and `plain` to anything else.
    pub(super) fn write_escape_or(&mut self, styled: &'static str, plain: &str) -> io::Result<()> {
        match self {
            Self::Terminal(out) => out.write_escape(styled),
            Self::Other(out) => out.write_all(plain.as_bytes()),
        }
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Terminal(out) => out.write(bytes),
            Self::Other(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Terminal(out) => out.flush(),
            Self::Other(out) => out.flush(),
        }
    }
}

/// Opens standard error, always sanitized, because its text is for the user.
pub(super) fn stderr() -> SanitizingWriter<io::Stderr> {
    SanitizingWriter::new(io::stderr())
}

/// Returns true if standard error is a terminal.
pub(super) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Clears the current line of standard error's terminal, for progress that is redrawn.
pub(super) fn clear_line() {
    let _ = stderr().write_escape("\r\x1b[K");
}

/// Writes to standard error. Failures are ignored, because there is nowhere to report them.
pub(super) fn write_stderr(text: fmt::Arguments<'_>) {
    let _ = stderr().write_fmt(text);
}

/// Replaces the last `lines` lines on standard error's terminal with a text, and sets `lines` to its number
/// of lines. They aren't wrapped, so that they can be counted.
pub(super) fn redraw(lines: &mut usize, text: &str) {
    let mut err = stderr();
    for _ in 0..std::mem::replace(lines, text.lines().count()) {
        let _ = err.write_escape("\x1b[A");
    }
    let _ = err.write_escape("\r\x1b[J\x1b[?7l");
    let _ = err.write_all(text.as_bytes());
    let _ = err.write_escape("\x1b[?7h");
    let _ = err.flush();
}

/// `eprint!`, sanitized.
macro_rules! stderr_text {
    ($($argument:tt)*) => {
        $crate::cli::console::write_stderr(format_args!($($argument)*))
    };
}

/// `eprintln!`, sanitized.
macro_rules! stderr_line {
    () => {
        $crate::cli::console::write_stderr(format_args!("\n"))
    };
    ($($argument:tt)*) => {
        $crate::cli::console::write_stderr(format_args!("{}\n", format_args!($($argument)*)))
    };
}

pub(super) use {stderr_line, stderr_text};
