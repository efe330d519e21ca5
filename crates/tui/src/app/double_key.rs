//! Keys with another meaning when pressed twice.

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
