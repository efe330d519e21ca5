//! What components ask for, as data. The app applies effects on the screen and hands actions to the executor.

use tiller_core::id::CallId;
use tiller_render::Line;

use crate::action::Action;

/// An effect that a component asks for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Effect {
    /// Performs an action outside of the screen.
    Perform(Action),
    /// Shows a message at the bottom of the screen for a while.
    Flash(FlashText),
    /// The pending call was answered here.
    CallAnswered(CallId),
    /// The editor takes the reason for denying this call.
    WriteReason(CallId),
    /// Opens the pending call on a page of its own.
    OpenCallPage { call: CallId, title: String, lines: Vec<Line> },
    /// Replaces the lines of the pending call's page, if it is open.
    UpdateCallPage { call: CallId, lines: Vec<Line> },
    /// Closes the page of a pending call.
    CloseCallPage(CallId),
}

/// A message at the bottom of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlashText {
    pub(crate) text: String,
    /// The call that it is about; both disappear together.
    pub(crate) call: Option<CallId>,
}

impl From<Action> for Effect {
    fn from(action: Action) -> Self {
        Self::Perform(action)
    }
}
