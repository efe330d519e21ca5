//! Writes to the system clipboard with helper programs, on a separate thread because they can block. Also
//! composes the messages about a copy's result.

use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// The programs that copy their input to the clipboard, each with its arguments. On Wayland and X11 they stay
/// in the background to serve it. `pbcopy` reads the encoding of the locale.
const COPY: &[&[&str]] = if cfg!(target_os = "macos") {
    &[&["env", "LC_ALL=en_US.UTF-8", "pbcopy"]]
} else {
    &[
        &["wl-copy", "--type", "text/plain"],
        &["xclip", "-selection", "clipboard", "-in"],
        &["xsel", "--clipboard", "--input"],
    ]
};

const TMUX: &[&str] = &["tmux", "load-buffer", "-"];

/// Time limit of a program; without a display that responds, some programs wait forever.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// Interval at which a running program is polled. The programs end within a few milliseconds.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Maximum bytes of text for the terminal's clipboard (OSC 52); many terminals accept 100,000 bytes of
/// base64.
pub(super) const MAX_BY_TERMINAL: usize = 74_994;

/// The result of copying through the terminal, which doesn't report whether it or a multiplexer has accepted
/// the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TerminalCopyResult {
    Sent,
    Refused,
    TooLong,
}

/// The result of copying through the system's programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SystemCopyResult {
    Accepted,
    /// There is no system clipboard; tmux stored the text in its buffer.
    Tmux,
    /// There is no system clipboard, or it rejected the text.
    Nothing,
}

/// Returns the message about a copy.
pub(super) fn message(subject: &str, terminal: TerminalCopyResult, system: SystemCopyResult) -> String {
    let max = MAX_BY_TERMINAL / 1_000;
    match (system, terminal) {
        (SystemCopyResult::Accepted, TerminalCopyResult::Sent | TerminalCopyResult::Refused) => {
            format!("Copied {subject}.")
        }
        (SystemCopyResult::Accepted, TerminalCopyResult::TooLong) => {
            format!("Copied {subject} to the system clipboard only: terminals accept up to {max} kB.")
        }
        (SystemCopyResult::Tmux, _) => {
            format!("Copied {subject} to tmux's buffer; paste it with the tmux prefix, then ].")
        }
        (SystemCopyResult::Nothing, TerminalCopyResult::Sent) => {
            format!("Sent {subject} to the terminal's clipboard.")
        }
        (SystemCopyResult::Nothing, TerminalCopyResult::Refused) => {
            "Not copied: the terminal rejected the text.".to_owned()
        }
        (SystemCopyResult::Nothing, TerminalCopyResult::TooLong) => {
            format!("Not copied: terminals accept up to {max} kB, and there is no system clipboard.")
        }
    }
}

/// The system clipboard; its thread ends when this is dropped.
#[derive(Debug)]
pub(super) struct SystemClipboard {
    fallback: CopyFallback,
    texts: Option<Sender<CopyRequest>>,
}

/// The destination of copies without a system clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyFallback {
    /// The tmux that tiller runs in.
    Tmux,
    None,
}

/// A text to copy and the callback for the result.
struct CopyRequest {
    text: String,
    then: Box<dyn FnOnce(SystemCopyResult) + Send>,
}

impl SystemClipboard {
    pub(super) fn new(fallback: CopyFallback) -> Self {
        Self { fallback, texts: None }
    }

    /// Copies a text; calls `then` with the result on the clipboard's thread.
    pub(super) fn put(&mut self, text: String, then: impl FnOnce(SystemCopyResult) + Send + 'static) {
        let fallback = self.fallback;
        let texts = self.texts.get_or_insert_with(|| {
            let (texts, received) = channel();
            thread::spawn(move || run(&received, fallback));
            texts
        });
        // The thread runs as long as the sender exists.
        let _ = texts.send(CopyRequest { text, then: Box::new(then) });
    }
}

fn run(texts: &Receiver<CopyRequest>, fallback: CopyFallback) {
    for CopyRequest { text, then } in texts {
        let accepts = |program: &[&str]| feed(program, &text, TIME_LIMIT).unwrap_or(false);
        then(if COPY.iter().any(|program| accepts(program)) {
            SystemCopyResult::Accepted
        } else if fallback == CopyFallback::Tmux && accepts(TMUX) {
            SystemCopyResult::Tmux
        } else {
            SystemCopyResult::Nothing
        });
    }
}

/// Runs a program with the text as its input; returns true if the program accepted it.
fn feed(program: &[&str], text: &str, time_limit: Duration) -> io::Result<bool> {
    let Some((name, arguments)) = program.split_first() else { return Ok(false) };
    let mut command = Command::new(name);
    // No pipe for the output: a program that stays in the background would keep it open.
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // The program continues to serve the text while tiller is suspended, and after the terminal is closed.
    let mut child = command.process_group(0).spawn()?;
    let start = Instant::now();
    thread::scope(|scope| {
        let stdin = child.stdin.take();
        // A program that doesn't read is killed below, which ends the write.
        let written = scope.spawn(|| stdin.map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes())));
        let status = loop {
            match child.try_wait()? {
                Some(status) => break status,
                None if start.elapsed() < time_limit => thread::sleep(POLL_INTERVAL),
                None => {
                    child.kill()?;
                    break child.wait()?;
                }
            }
        };
        Ok(status.success() && written.join().is_ok_and(|written| written.is_ok()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feed_is_true_only_if_the_program_accepted() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("copied");
        // More than a pipe holds.
        let text = "é".repeat(100_000);
        let script = format!("cat > '{}'", path.display());
        assert!(feed(&["sh", "-c", &script], &text, Duration::from_secs(20)).unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert!(!feed(&["sh", "-c", "cat > /dev/null; exit 1"], &text, Duration::from_secs(20)).unwrap());
        assert!(feed(&["tiller-has-no-such-program"], &text, Duration::from_secs(20)).is_err());
        let begun = Instant::now();
        assert!(!feed(&["sleep", "60"], &text, Duration::from_millis(50)).unwrap());
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn message_names_the_clipboard_that_took_the_text() {
        let terminals = [TerminalCopyResult::Sent, TerminalCopyResult::Refused, TerminalCopyResult::TooLong];
        let messages = |system| terminals.map(|terminal| message("4 lines", terminal, system));
        assert!(
            messages(SystemCopyResult::Accepted).iter().all(|message| message.starts_with("Copied 4 lines"))
        );
        assert!(
            messages(SystemCopyResult::Tmux)
                .iter()
                .all(|message| message.starts_with("Copied 4 lines to tmux"))
        );
        assert_eq!(
            messages(SystemCopyResult::Nothing),
            [
                "Sent 4 lines to the terminal's clipboard.",
                "Not copied: the terminal rejected the text.",
                "Not copied: terminals accept up to 74 kB, and there is no system clipboard.",
            ]
        );
    }
}
