//! Reads a line from the terminal without echoing it.

use std::io::{self, Read, Stdin};

use crate::cli::console::{stderr_line, stderr_text};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// Ctrl+C and Ctrl+D, as a terminal in raw mode sends them.
const CANCEL_KEYS: [u8; 2] = [3, 4];

/// Ctrl+U clears the line; Ctrl+H and Delete remove the last character.
const CLEAR_KEY: u8 = 21;
const BACKSPACE_KEYS: [u8; 2] = [8, 127];

/// A terminal with echo, line editing and signals off, which are restored on drop.
struct HiddenInput<'a> {
    stdin: &'a Stdin,
    before: Termios,
}

impl<'a> HiddenInput<'a> {
    fn begin(stdin: &'a Stdin) -> io::Result<Self> {
        let before = tcgetattr(stdin)?;
        let mut hidden = before.clone();
        // Signals are off too, because Ctrl+C would end the process and leave echo disabled.
        hidden.local_flags.remove(LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG);
        tcsetattr(stdin, SetArg::TCSADRAIN, &hidden)?;
        Ok(Self { stdin, before })
    }
}

impl Drop for HiddenInput<'_> {
    fn drop(&mut self) {
        // Fails only if the terminal is gone.
        let _ = tcsetattr(self.stdin, SetArg::TCSADRAIN, &self.before);
    }
}

/// A terminal with echo off, while another reader reads its lines; restored on drop.
pub(in crate::cli) struct EchoOffGuard(Termios);

impl EchoOffGuard {
    /// Disables echo, and discards the part of a line that was already typed (and echoed).
    pub(in crate::cli) fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut no_echo = before.clone();
        no_echo.local_flags.remove(LocalFlags::ECHO);
        // The newline is echoed, to confirm that the line was read.
        no_echo.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &no_echo)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOffGuard {
    fn drop(&mut self) {
        // Fails only if the terminal is gone.
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.0);
    }
}

/// Prompts on stderr and reads a line without echo; `None` if the user cancels.
pub(super) fn read_hidden(question: &str) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let line = {
        let _hidden = HiddenInput::begin(&stdin)?;
        stderr_text!("{question}");
        read_line(stdin.lock().bytes())
    };
    stderr_line!();
    line
}

/// Reads up to a newline.
fn read_line(bytes: impl Iterator<Item = io::Result<u8>>) -> io::Result<Option<String>> {
    let mut input = Vec::new();
    for byte in bytes {
        match byte? {
            b'\n' | b'\r' => return Ok(Some(String::from_utf8_lossy(&input).into_owned())),
            byte if CANCEL_KEYS.contains(&byte) => return Ok(None),
            byte if BACKSPACE_KEYS.contains(&byte) => _ = input.pop(),
            CLEAR_KEY => input.clear(),
            byte => input.push(byte),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_line_applies_editing_keys() {
        let read = |input: &[u8]| read_line(input.iter().copied().map(Ok)).unwrap();
        assert_eq!(read(b"sk-one\nmore").as_deref(), Some("sk-one"));
        assert_eq!(read(b"wrong\x15sk-twp\x7fo\r").as_deref(), Some("sk-two"));
        assert_eq!(read(b"sk-\x03"), None);
        assert_eq!(read(b"sk-"), None, "end of input");
    }
}
