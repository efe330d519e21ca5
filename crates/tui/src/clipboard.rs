//! The system's clipboard, where there is one: a thread of its own holds it, because some systems ask whoever copied for the text
//! when it is pasted, and asking for the clipboard may take its time. And what is said of a copy: what is known to have come of it.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Most bytes of a text that are given to the terminal (OSC 52): what many terminals take of its base64 form, 100,000 bytes.
pub(super) const MOST_BY_TERMINAL: usize = 74_994;

/// What became of a text that was given to the terminal. Whether it keeps it, or a multiplexer lets it through, it doesn't say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ByTerminal {
    Sent,
    Refused,
    TooLong,
}

/// What became of one that was given to the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BySystem {
    Took,
    /// There is no clipboard, and tmux keeps it in a buffer of its own.
    Tmux,
    /// There is no clipboard, or it didn't take it.
    Nothing,
}

/// What is said of a text that was to be copied.
pub(super) fn said(what: &str, terminal: ByTerminal, system: BySystem) -> String {
    let most = MOST_BY_TERMINAL / 1_000;
    match (system, terminal) {
        (BySystem::Took, ByTerminal::Sent | ByTerminal::Refused) => format!("copied {what}"),
        (BySystem::Took, ByTerminal::TooLong) => {
            format!("copied {what} to the system's clipboard only: a terminal takes no more than {most} kB")
        }
        (BySystem::Tmux, _) => format!("copied {what} to tmux's buffer; its prefix and ] paste it"),
        (BySystem::Nothing, ByTerminal::Sent) => format!("sent {what} to the terminal's clipboard"),
        (BySystem::Nothing, ByTerminal::Refused) => "the terminal didn't take it".to_owned(),
        (BySystem::Nothing, ByTerminal::TooLong) => {
            format!(
                "nothing was copied: a terminal takes no more than {most} kB, and the system has no clipboard"
            )
        }
    }
}

/// Where texts go; the thread ends with it.
#[derive(Debug)]
pub(super) struct SystemClipboard {
    stead: Fallback,
    texts: Option<Sender<PastedContent>>,
}

/// Who keeps texts where the system has no clipboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// The tmux around the screen.
    Tmux,
    Nobody,
}

/// A text, and who wants to know what became of it.
struct PastedContent {
    text: String,
    then: Box<dyn FnOnce(BySystem) + Send>,
}

impl SystemClipboard {
    pub(super) fn new(stead: Fallback) -> Self {
        Self { stead, texts: None }
    }

    /// Puts a text there; `then` is told on that thread what became of it.
    pub(super) fn put(&mut self, text: String, then: impl FnOnce(BySystem) + Send + 'static) {
        let stead = self.stead;
        let texts = self.texts.get_or_insert_with(|| {
            let (texts, received) = channel();
            thread::spawn(move || hold(&received, stead));
            texts
        });
        // The thread ends only with the sender.
        let _ = texts.send(PastedContent { text, then: Box::new(then) });
    }
}

fn hold(texts: &Receiver<PastedContent>, stead: Fallback) {
    let mut clipboard = None;
    for PastedContent { text, then } in texts {
        // A display may be there later that wasn't there before.
        if clipboard.is_none() {
            clipboard = arboard::Clipboard::new().ok();
        }
        let took = clipboard.as_mut().is_some_and(|clipboard| clipboard.set_text(text.as_str()).is_ok());
        if !took {
            clipboard = None;
        }
        then(match took {
            true => BySystem::Took,
            false if stead == Fallback::Tmux && by_tmux(&text).unwrap_or(false) => BySystem::Tmux,
            false => BySystem::Nothing,
        });
    }
}

/// Gives a text to tmux; whether it took it.
fn by_tmux(text: &str) -> io::Result<bool> {
    let mut command = Command::new("tmux");
    command.args(["load-buffer", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut tmux = command.spawn()?;
    let written = tmux.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(text.as_bytes()));
    Ok(tmux.wait()?.success() && written.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_clipboard_took_is_said_to_be_copied() {
        let terminals = [ByTerminal::Sent, ByTerminal::Refused, ByTerminal::TooLong];
        let says = |system| terminals.map(|terminal| said("4 lines", terminal, system));
        assert!(says(BySystem::Took).iter().all(|said| said.starts_with("copied 4 lines")));
        assert!(says(BySystem::Tmux).iter().all(|said| said.starts_with("copied 4 lines to tmux")));
        assert_eq!(
            says(BySystem::Nothing),
            [
                "sent 4 lines to the terminal's clipboard",
                "the terminal didn't take it",
                "nothing was copied: a terminal takes no more than 74 kB, and the system has no clipboard",
            ]
        );
    }
}
