//! Flash messages, double key presses and keys held back.

use tiller_core::id::{CallId, EntryId};
use tiller_core::unit::UnixMs;

use crate::approval::{AnsweredCall, HeldKey};
use crate::dialog::ConsumedKey;

/// Flash messages, double key presses and keys held back.
#[derive(Clone, Debug, Default)]
pub(crate) struct TransientState {
    pub(crate) flash: Option<(String, UnixMs)>,
    /// The call that the flash is about; both disappear together.
    pub(crate) flash_call: Option<CallId>,
    pub(crate) double_key: Option<(DoubleKey, UnixMs)>,
    /// The key that answered a dialog or call; its repeats are ignored.
    pub(crate) consumed_key: Option<ConsumedKey>,
    /// The key that answered the last call.
    pub(crate) answered_call: Option<AnsweredCall>,
    /// A repeated approval key whose meaning is undecided until another key or a timeout.
    pub(crate) repeated_key: Option<HeldKey>,
    /// Time when the editor's content changed its purpose without a key; Enter is ignored for a moment after.
    pub(crate) repurposed_at: Option<UnixMs>,
    /// Time when the queue panel closed by itself: keys for it may still arrive.
    pub(crate) queue_closed_at: Option<UnixMs>,
    /// A message withheld because the model can't take its attachments or length; sending it again confirms
    /// it.
    pub(crate) withheld: Option<String>,
    /// The entry to navigate to once the user has typed an instruction for the branch summary.
    pub(crate) summary_target: Option<EntryId>,
}

/// A key with another meaning when pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DoubleKey {
    Escape,
    /// Esc that stopped a run, and its repeats; these never open the tree.
    Stopping,
    Interrupt,
    /// The key that cleared the editor. A second press does nothing, but the flash about it also disappears
    /// with the next key.
    Clear,
}
