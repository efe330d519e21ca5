//! A command that is run by a line.

/// A command, or one of its other forms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunCommand {
    pub words: Vec<String>,
    /// True if the line is allowed only with a rule that allows this command. False for other forms of a
    /// command (without its program's directory, or some of its options), and for commands that a program may
    /// run: only denying and asking rules apply to them.
    pub needs_allow: bool,
    pub certainty: Certainty,
}

/// The certainty that a line runs a command as listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    /// It does, apart from unknown words.
    Certain,
    /// The same for a line that was searched for the values of its variables: a word stays unknown.
    Unexpanded,
    /// The command is also listed with the values of its variables.
    Expanded,
    /// The command is in code, which may only print it.
    InCode,
}
