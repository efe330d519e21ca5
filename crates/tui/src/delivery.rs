//! The time and form in which a message is sent.

/// The delivery of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryTime {
    /// Now, interrupting the request in flight.
    Now,
    /// At the next steering point.
    NextStep,
    AfterRun,
}

/// The ways to send a long message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LongMessage {
    /// Unchanged.
    Whole,
    /// As a file that the model reads in parts.
    AsFile,
}
