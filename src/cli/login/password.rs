//! A line typed at the terminal that isn't shown.

use std::io::{self, Read, Stdin};

use crate::cli::console::{stderr_line, stderr_text};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};

/// Ctrl+C and Ctrl+D, as a terminal sends them when it doesn't make signals of them.
const LEAVE: [u8; 2] = [3, 4];

/// Ctrl+U takes back the whole line, and these the last character.
const CLEAR: u8 = 21;
const BACK: [u8; 2] = [8, 127];

/// The terminal while it shows nothing; as before once this is dropped.
struct HiddenInput<'a> {
    stdin: &'a Stdin,
    before: Termios,
}

impl<'a> HiddenInput<'a> {
    fn begin(stdin: &'a Stdin) -> io::Result<Self> {
        let before = tcgetattr(stdin)?;
        let mut hidden = before.clone();
        // No signals either: Ctrl+C would end the process and leave the terminal mute.
        hidden.local_flags.remove(LocalFlags::ECHO | LocalFlags::ICANON | LocalFlags::ISIG);
        tcsetattr(stdin, SetArg::TCSADRAIN, &hidden)?;
        Ok(Self { stdin, before })
    }
}

impl Drop for HiddenInput<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing restored.
        let _ = tcsetattr(self.stdin, SetArg::TCSADRAIN, &self.before);
    }
}

/// The terminal while it shows nothing of the lines that somebody else reads; as before once this is dropped.
pub(in crate::cli) struct EchoOffGuard(Termios);

impl EchoOffGuard {
    /// Begins; what was typed of a line so far was shown, and is thrown away.
    pub(in crate::cli) fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut unechoed = before.clone();
        unechoed.local_flags.remove(LocalFlags::ECHO);
        // The end of the line is shown: otherwise nobody would know that it was taken.
        unechoed.local_flags.insert(LocalFlags::ECHONL);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &unechoed)?;
        Ok(Self(before))
    }
}

impl Drop for EchoOffGuard {
    fn drop(&mut self) {
        // A terminal that is gone needs nothing restored.
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.0);
    }
}

/// Asks on stderr and reads a line from the terminal without showing it; `None` when the user leaves.
pub(super) fn unseen(question: &str) -> io::Result<Option<String>> {
    let stdin = io::stdin();
    let line = {
        let _hidden = HiddenInput::begin(&stdin)?;
        stderr_text!("{question}");
        line(stdin.lock().bytes())
    };
    stderr_line!();
    line
}

/// Reads up to a new line.
fn line(bytes: impl Iterator<Item = io::Result<u8>>) -> io::Result<Option<String>> {
    let mut typed = Vec::new();
    for byte in bytes {
        match byte? {
            b'\n' | b'\r' => return Ok(Some(String::from_utf8_lossy(&typed).into_owned())),
            byte if LEAVE.contains(&byte) => return Ok(None),
            byte if BACK.contains(&byte) => _ = typed.pop(),
            CLEAR => typed.clear(),
            byte => typed.push(byte),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_to_its_end_and_keys_that_take_back_do_so() {
        let read = |typed: &[u8]| line(typed.iter().copied().map(Ok)).unwrap();
        assert_eq!(read(b"sk-one\nmore").as_deref(), Some("sk-one"));
        assert_eq!(read(b"wrong\x15sk-twp\x7fo\r").as_deref(), Some("sk-two"));
        assert_eq!(read(b"sk-\x03"), None);
        assert_eq!(read(b"sk-"), None, "the terminal went away");
    }
}
