//! The terminal as long as it is ours: what is drawn on it, and what is heard from it.

use super::super::input::{self, InputStream};
use super::super::terminal::Screen;
use crate::ThemeQuery;

/// The terminal. While somebody else has it neither half is there.
pub(super) struct TerminalHandle {
    pub(super) screen: Option<Screen>,
    pub(super) keys: Option<InputStream>,
}

impl TerminalHandle {
    /// Listens to the terminal, if nobody does, and asks for the colour of its ground where that is wanted. Only after a frame: that is
    /// on its way then, so the question delays nothing.
    pub(super) fn listen(&mut self, asking: ThemeQuery) {
        let Some(screen) = self.screen.as_mut().filter(|_| self.keys.is_none()) else { return };
        let mut ears = InputStream::open();
        // Nobody heard of another size before.
        screen.measure_anew();
        if asking == ThemeQuery::AfterFirstFrame && screen.write(input::QUESTION).is_ok() {
            ears.expect();
        }
        self.keys = Some(ears);
    }

    /// Gives the terminal back. The keys first: nobody else shall read them meanwhile.
    pub(super) fn give_back(&mut self) {
        self.keys = None;
        self.screen = None;
    }

    pub(super) fn owes_pictures(&self) -> bool {
        self.screen.as_ref().is_some_and(Screen::owes_pictures)
    }

    /// Tells the terminal something beside the screen. That it doesn't take it shows with the next frame.
    pub(super) fn tell(&mut self, words: &str) {
        if let Some(screen) = self.screen.as_mut().filter(|_| !words.is_empty()) {
            let _ = screen.write(words);
        }
    }
}
