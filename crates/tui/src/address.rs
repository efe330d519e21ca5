//! Addresses of the parts of the screen that ask for actions: results of an action go to the part that asked.

/// A part of the screen that requests actions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Address {
    /// The screen as a whole, or a part that waits for no results.
    #[default]
    Screen,
    Transcript,
    Composer,
    Queue,
    /// An overlay; it may be closed when the result arrives.
    Overlay(OverlayId),
}

/// An overlay with a state that results change. A dialog over an overlay has the id of that: it answers for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OverlayId(pub(crate) u32);
