//! The terminal while the front end owns it: screen and input.

use std::sync::Arc;

use super::super::input::{self, InputStream};
use super::super::terminal::Screen;
use super::super::terminal::modes::TerminalModes;
use crate::theme::ThemeQuery;

/// The terminal. Screen and input are `None` while another program uses it.
pub(super) struct TerminalHandle {
    pub(super) screen: Option<Screen>,
    pub(super) input: Option<InputStream>,
    /// Restores the terminal; shared with the panic hook.
    pub(super) modes: Arc<TerminalModes>,
}

impl TerminalHandle {
    /// Opens the input stream if it isn't open, and queries the background color if requested. Called only
    /// after a frame was written, so the query delays nothing.
    pub(super) fn listen(&mut self, asking: ThemeQuery) {
        let Some(screen) = self.screen.as_mut().filter(|_| self.input.is_none()) else { return };
        let mut input = InputStream::open(Arc::clone(&self.modes));
        // Earlier size changes weren't reported.
        screen.forget_size();
        if asking == ThemeQuery::AfterFirstFrame && screen.write(input::BACKGROUND_QUERY).is_ok() {
            input.expect_reply();
        }
        self.input = Some(input);
    }

    /// Releases the terminal. The input stream ends first, so that keys for other programs aren't read.
    pub(super) fn release(&mut self) {
        self.input = None;
        self.screen = None;
    }

    pub(super) fn has_pending_images(&self) -> bool {
        self.screen.as_ref().is_some_and(Screen::has_pending_images)
    }

    /// Writes control sequences outside the screen's cells. An error will occur again with the next frame.
    pub(super) fn write(&mut self, sequences: &str) {
        if let Some(screen) = self.screen.as_mut().filter(|_| !sequences.is_empty()) {
            let _ = screen.write(sequences);
        }
    }
}
