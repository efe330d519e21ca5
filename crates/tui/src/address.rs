//! Addresses of the parts of the screen that request actions. The result of an action goes to the part that
//! requested it.

/// A part of the screen that requests actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Address {
    /// The screen as a whole, or a part that expects no results.
    #[default]
    Screen,
    Transcript,
    Composer,
    Queue,
    /// An overlay; it may be closed when the result arrives.
    Overlay(OverlayId),
}

/// The id of an overlay whose state can be changed by results. A dialog shares the id of the overlay beneath
/// it, and gets results on its behalf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OverlayId(pub(crate) u32);
