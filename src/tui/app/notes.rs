//! Short-lived words to the user, and what keys mean for a while.

use crate::id::{CallId, EntryId};
use crate::tui::approval::{Answered, Held};
use crate::tui::question::Spent;
use crate::unit::UnixMs;

/// Short-lived words to the user, and keys that mean something when pressed twice.
#[derive(Clone, Debug, Default)]
pub(in crate::tui) struct Notes {
    pub(in crate::tui) flash: Option<(String, UnixMs)>,
    /// The call that asks and that the flash is about; it goes with it.
    pub(in crate::tui) flash_about: Option<CallId>,
    pub(in crate::tui) pressed: Option<(Twice, UnixMs)>,
    /// The key that answered something.
    pub(in crate::tui) spent: Option<Spent>,
    /// The key that answered a call last.
    pub(in crate::tui) answered: Option<Answered>,
    /// The same letter once more, or oftener, of which nobody knows yet what it is.
    pub(in crate::tui) echo: Option<Held>,
    /// When what is in the editor came to mean something else without the user's doing: Enter isn't meant for that yet.
    pub(in crate::tui) shifted: Option<UnixMs>,
    /// When the panel of waiting messages closed by itself: keys for it may still be on their way.
    pub(in crate::tui) queue_closed: Option<UnixMs>,
    /// What was not sent at once, because the model doesn't take what goes with it.
    pub(in crate::tui) held_back: Option<String>,
    /// Where to go as soon as the user has said what matters in the summary of what is left behind.
    pub(in crate::tui) leaving: Option<EntryId>,
}

/// A key that means something when pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tui) enum Twice {
    Escape,
    /// Esc that stopped something, or went on being pressed after that: whoever wants all to stop wants nothing else.
    Stopping,
    Interrupt,
    /// What cleared the editor; a second one of it means nothing, but what was said of it goes with the next key, too.
    Clear,
}
