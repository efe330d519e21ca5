//! A key that answered something, its owner and its intent.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::id::CallId;

use crate::keymap::chord::Chord;
use crate::shown_since::ShownSince;

/// A key that answered something, with the time since when the key's next receiver has been visible.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConsumedKey {
    pub(crate) key: (KeyCode, KeyModifiers),
    pub(crate) since: ShownSince,
    pub(crate) answered_call: bool,
}

/// The part that owns the next answering key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FocusOwner {
    /// A dialog that opened automatically, with the number of open overlays. Any key that closes it is
    /// consumed.
    Dialog(usize),
    /// A list over another overlay, with the number of open overlays. The same key steps back through several
    /// lists, so only the accepting key is consumed.
    List(usize),
    Call(CallId),
}

/// The intent of a key that the user may have pressed before seeing a new overlay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyIntent {
    /// Types or sends text.
    Text,
    /// Stops, leaves or moves.
    Other,
}

impl KeyIntent {
    pub(crate) fn from_key(key: KeyEvent) -> Self {
        if key.code == KeyCode::Enter || Chord::from_event(key).is_text() { Self::Text } else { Self::Other }
    }
}
