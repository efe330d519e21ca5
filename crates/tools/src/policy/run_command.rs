//! A command that a line runs.

/// A command, or another form of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunCommand {
    pub words: Vec<String>,
    /// True if the line is allowed only with a rule that allows this command. False for other forms of a command
    /// (without its program's directory, or some of its options), and for what a program may run: only rules that deny
    /// or ask are for them.
    pub needs_allow: bool,
}
