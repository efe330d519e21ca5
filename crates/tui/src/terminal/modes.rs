//! The terminal's modes: changed once, and always restored, by the screen or by the panic hook.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crossterm::cursor::{SetCursorStyle, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, PopKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::style::Print;
use crossterm::terminal::{EndSynchronizedUpdate, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

/// The state of the terminal's modes, shared by the screen, the reader of keys and the panic hook.
#[derive(Debug, Default)]
pub(crate) struct TerminalModes {
    /// True while the terminal is taken over and must be restored.
    is_taken_over: AtomicBool,
    /// The terminal-specific sequences written last when the terminal is restored.
    teardown: Mutex<String>,
    /// Serializes changes of the modes.
    changes: Mutex<()>,
}

impl TerminalModes {
    /// Takes over the terminal in raw mode.
    pub(super) fn take_over(&self, teardown: String) -> io::Result<()> {
        if let Ok(mut last) = self.teardown.lock() {
            *last = teardown;
        }
        self.is_taken_over.store(true, Ordering::SeqCst);
        self.change(enable_raw_mode)
    }

    /// Restores the terminal once, because leaving the alternate screen twice would put the cursor on later
    /// output. Errors can't be reported any more.
    pub(crate) fn restore(&self) {
        if !self.is_taken_over.swap(false, Ordering::SeqCst) {
            return;
        }
        let mut out = io::stdout();
        let _ = execute!(
            out,
            EndSynchronizedUpdate,
            DisableMouseCapture,
            PopKeyboardEnhancementFlags,
            DisableFocusChange,
            DisableBracketedPaste,
            SetCursorStyle::DefaultUserShape,
            LeaveAlternateScreen,
            Show,
            // If a panic occurs while it is locked, the title isn't restored.
            Print(self.teardown.try_lock().map_or_else(|_| String::new(), |teardown| teardown.clone()))
        );
        let _ = out.flush();
        let _ = self.change(disable_raw_mode);
    }

    /// Runs `act` while no other thread changes the modes.
    pub(super) fn change<T>(&self, act: impl FnOnce() -> T) -> T {
        let _changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        act()
    }

    /// Runs `act` like [`Self::change`], unless the terminal was restored.
    pub(crate) fn while_taken_over(&self, act: impl FnOnce()) {
        self.change(|| {
            if self.is_taken_over.load(Ordering::SeqCst) {
                act();
            }
        });
    }
}
