//! The form of a row: a command, and the operands and options that its pattern covers.

use std::fmt;

/// A command whose operands don't change its effect on the machine, and its harmless options.
#[derive(Debug, PartialEq, Eq)]
pub struct CommandPattern {
    /// The program and its subcommands, as typed.
    pub(super) command: &'static str,
    pub(super) options: Options,
    pub(super) operands: Operands,
    pub(super) name: ScriptName,
}

/// The script or target name that follows the command and is part of the rule: `npm run NAME`, `make NAME`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptName {
    None,
    Fixed,
}

/// The operands that a pattern covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// Any text: the program only prints, searches or records.
    Text,
    /// Words, but none that
    /// - starts with `@`, which may name a file with options;
    /// - is an address, which names a remote;
    /// - sets a variable of a build.
    Names,
    /// At most one word of [`Operands::Names`]; the program would write to a second one.
    Single,
    /// No operands, because each would be another script, target or goal, or an argument of one.
    None,
}

/// The options that a pattern covers in addition to `UNIVERSAL_OPTIONS`, separated by spaces. `-n=` and
/// `--format=` may have a value, `-#` is a number (`-20`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Options {
    /// Any option, because the program can neither write nor run anything.
    Any,
    /// The listed options, and words that join short ones: `-la`, `-n5`.
    Joined(&'static str),
    /// The listed options. The program doesn't join short options, or not in the way of getopt.
    Whole(&'static str),
}

impl fmt::Display for CommandPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let covered = match (self.operands, self.options) {
            (Operands::None, _) => "safe options",
            (Operands::Single, _) => "any file, safe options",
            (Operands::Text | Operands::Names, Options::Any) => "any arguments",
            (Operands::Text | Operands::Names, Options::Joined(_) | Options::Whole(_)) => {
                "any arguments, safe options"
            }
        };
        write!(f, "[{covered}]")
    }
}
