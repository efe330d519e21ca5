//! A command that is run by a line.

/// A command, or one of its other forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunCommand {
    pub words: Vec<String>,
    /// True if the line is allowed only with a rule that allows this command. False for other forms of a
    /// command (without its program's directory, or some of its options), and for commands that a program may
    /// run: only denying and asking rules apply to them.
    pub needs_allow: bool,
}
