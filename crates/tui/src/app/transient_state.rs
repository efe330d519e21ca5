//! Short-lived words to the user, and what keys mean for a while.

use tiller_core::id::{CallId, EntryId};
use tiller_core::unit::UnixMs;

use crate::approval::{AnsweredCall, HeldKey};
use crate::dialog::ConsumedKey;

/// Short-lived words to the user, and keys that mean something when pressed twice.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransientState {
    pub(crate) flash: Option<(String, UnixMs)>,
    /// The call that asks and that the flash is about; it goes with it.
    pub(crate) flash_about: Option<CallId>,
    pub(crate) pressed: Option<(DoubleKey, UnixMs)>,
    /// The key that answered something.
    pub(crate) spent: Option<ConsumedKey>,
    /// The key that answered a call last.
    pub(crate) answered: Option<AnsweredCall>,
    /// The same letter once more, or oftener, of which nobody knows yet what it is.
    pub(crate) echo: Option<HeldKey>,
    /// When what is in the editor came to mean something else without the user's doing: Enter isn't meant for that yet.
    pub(crate) shifted: Option<UnixMs>,
    /// When the panel of waiting messages closed by itself: keys for it may still be on their way.
    pub(crate) queue_closed: Option<UnixMs>,
    /// What was not sent at once, because the model doesn't take what goes with it.
    pub(crate) held_back: Option<String>,
    /// Where to go as soon as the user has said what matters in the summary of what is left behind.
    pub(crate) leaving: Option<EntryId>,
}

/// A key that means something when pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoubleKey {
    Escape,
    /// Esc that stopped something, or went on being pressed after that: whoever wants all to stop wants nothing else.
    Stopping,
    Interrupt,
    /// What cleared the editor; a second one of it means nothing, but what was said of it goes with the next key, too.
    Clear,
}
