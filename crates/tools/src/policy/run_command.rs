//! A command that a line runs.

/// A command, or another form of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RunCommand {
    pub words: Vec<String>,
    /// True for a form that names the same program without its folder or some of its options: a rule that denies covers
    /// it as well.
    pub is_short_form: bool,
}
