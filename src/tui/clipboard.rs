//! The system's clipboard, where there is one: a thread of its own holds it, because some systems ask whoever copied for the text
//! when it is pasted, and asking for the clipboard may take its time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// Most bytes of a text that are given to the terminal (OSC 52): what many terminals take of its base64 form, 100,000 bytes.
pub(super) const MOST_BY_TERMINAL: usize = 74_994;

/// Where texts go; the thread ends with it.
#[derive(Debug, Default)]
pub(super) struct SystemClipboard {
    texts: Option<Sender<String>>,
}

impl SystemClipboard {
    /// Puts a text there. A system without a clipboard is none to tell of: the terminal has the text too.
    pub(super) fn put(&mut self, text: String) {
        let texts = self.texts.get_or_insert_with(|| {
            let (texts, received) = channel();
            thread::spawn(move || hold(&received));
            texts
        });
        // The thread ends only with the sender.
        let _ = texts.send(text);
    }
}

fn hold(texts: &Receiver<String>) {
    let mut clipboard = None;
    for text in texts {
        // A display may be there later that wasn't there before.
        if clipboard.is_none() {
            clipboard = arboard::Clipboard::new().ok();
        }
        if clipboard.as_mut().is_some_and(|clipboard| clipboard.set_text(text).is_err()) {
            clipboard = None;
        }
    }
}
